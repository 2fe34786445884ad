#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "dynet/trainers/trainer.h"

namespace dynet::trainers {

/// Sets a stream to the format of trainer files and back.
class TextFormat {
 public:
  explicit TextFormat(std::ostream& os);
  TextFormat(const TextFormat&) = delete;
  TextFormat& operator=(const TextFormat&) = delete;
  ~TextFormat();

 private:
  std::ostream& os_;
  std::ios::fmtflags flags_;
  std::streamsize precision_;
};

/// "#name# parameters lookups".
void write_header(std::ostream& os, const char* name, std::size_t parameters, std::size_t lookups);
void write_shadows(std::ostream& os, const std::vector<ShadowParameters>& shadows);
void write_shadows(std::ostream& os, const std::vector<ShadowLookupParameters>& shadows);
void write_number(std::ostream& os, const StateLists::Number& n);
/// IoError when the stream has failed.
void check_written(std::ostream& os);

// A file with a place for tensors does not need millions of numbers as text. A stream may keep the
// tensors aside for all writers and readers: then the text has the size of each tensor in place of
// the numbers.

/// From now on, tensors written to `os` are appended to the list, which must live as long as the
/// stream is written to.
void write_aside(std::ostream& os, std::vector<const Tensor*>& tensors);
/// The numbers of the i-th tensor that was kept aside; IoError unless there are `size`.
using TensorSource = std::function<std::vector<double>(std::size_t i, std::size_t size)>;
/// The other direction; `source` must live as long as the stream is read from.
void read_aside(std::istream& is, const TensorSource& source);

/// The numbers of the tensors of one kind of state, one vector a parameter.
using Block = std::vector<std::vector<double>>;
struct ShadowCounts {
  std::size_t parameters = 0;
  std::size_t lookups = 0;
};

/// Reads a trainer's text strictly. Sizes are checked against the model before memory is asked for.
class TextReader {
 public:
  TextReader(std::istream& is, const ParameterCollection& model) : is_(is), model_(model) {}
  /// The next word. IoError if there is none, or if nothing comes after the word, as the text may
  /// have been cut there. `wanted` is the expected thing in errors.
  std::string word(const std::string& wanted, bool may_be_last = false);
  float number(const char* wanted);
  /// A number in a range; errors name it as `what`.
  float number(const char* what, Range range);
  double precise_number(const char* wanted);
  unsigned count(const char* wanted);
  std::uint64_t large_count(const char* wanted);
  bool flag(const char* wanted, bool may_be_last = false);
  /// A number of a trainer's rule, of whichever kind.
  double setting(const StateLists::Number& n);
  /// The line of write_header. UsageError for another name; UsageError when the model has fewer.
  ShadowCounts header(const std::string& name);
  /// The same line of an empty state, if it is there: DyNet 2.1 writes none. Another line stays in
  /// the stream. `name` may be null: UsageError for any.
  void header_of_nothing(const char* name);
  Block parameters(ShadowCounts counts);
  Block lookups(ShadowCounts counts);
  /// The schedule of a text by text_of(schedule); `own` if `own` is a schedule of the program with
  /// this text. UsageError for an unknown schedule, IoError for numbers that the schedule refuses.
  Schedule::Pointer schedule(const Schedule::Pointer& own);
  /// IoError, with the place of the last word.
  [[noreturn]] void fail(const std::string& what);

 private:
  std::string place();
  [[noreturn]] void fail_cut(const std::string& last, const std::string& wanted);
  ShadowCounts rest_of_header(const std::string& found, const std::string& wanted);
  Schedule::Pointer schedule_inside(std::string& text, int depth);
  std::vector<double> tensor(const char* kind, std::size_t size);
  template <class Storages>
  Block block(const Storages& storages, std::size_t count, bool is_table);

  std::istream& is_;
  const ParameterCollection& model_;
  std::size_t last_word_bytes_ = 0;
  std::size_t aside_ = 0;  ///< tensors that were read from aside
};

void assign(const StateLists::Number& n, double value);
/// Copies the numbers that were read; tensors beyond become zero.
void assign(std::vector<ShadowParameters>& shadows, const Block& block);
void assign(std::vector<ShadowLookupParameters>& shadows, const Block& block);

}  // namespace dynet::trainers

/// The result of read_base; complete and checked.
struct dynet::Trainer::Saved {
  float rate = 0.0F;
  bool clipping = false;
  float threshold = 0.0F;
  float update_count = 0.0F;
  float beta = 0.0F;
  MovingAverage mode = MovingAverage::None;
  bool swapped = false;
  bool saved = false;
  unsigned freq = 0;
  unsigned average_count = 0;
  // Settings that 2.1 lacks; absent: no change.
  struct Epochs {
    float rate = 0.0F;
    float decay = 0.0F;
    float count = 0.0F;
  };
  std::optional<float> value_limit;
  std::optional<Epochs> epochs;
  std::optional<std::uint64_t> steps;
  trainers::Schedule::Pointer schedule;
  std::uint64_t schedule_start = 0;
  trainers::Block averages, lookup_averages;
  std::vector<ShadowParameters> shadows;
  std::vector<ShadowLookupParameters> lookup_shadows;
};
