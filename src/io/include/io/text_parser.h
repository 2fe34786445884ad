#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dim.h"
#include "dynet/ext/operand.h"

namespace dynet::io {

/// Numbers of a line in the type of the device they are for: one of the two lists is empty.
struct TextNumbers {
  std::vector<float> floats;
  std::vector<double> doubles;
  [[nodiscard]] bool empty() const { return floats.empty() && doubles.empty(); }
};

/// One object of a file. `name` points into the reader's text.
struct TextObject {
  bool is_lookup = false;
  std::string_view name;
  Dim dim;
  TextNumbers values;
  TextNumbers gradient;  ///< empty for ZERO_GRAD
  std::size_t at = 0;    ///< first byte of the header
};

/// Reads a model file strictly: every count must be right, every number whole, every line ended.
/// White space is free as in DyNet 2.1: any number of spaces, tabs and carriage returns between
/// words and at the ends of lines, and empty lines at the end of the file. Truncation is still
/// found: a file that ends within a line lacks the line end, and a file that ends after a line
/// lacks an object. Holds the text; other allocations are bounded by the size of the text. Not
/// thread-safe.
class TextParser {
 public:
  /// Reads the whole file. IoError.
  explicit TextParser(std::string file_name);

  /// Back to the first object.
  void rewind() { position_ = 0; }
  /// Reads the next header into `object`; false at the end of the file. Then one of the two below.
  bool next(TextObject& object);
  /// Reads the numbers of the object, each rounded once to the type. IoError beyond its range.
  void read(TextObject& object, ext::Number number);
  /// Passes over the numbers; checks line ends and the byte count only.
  void skip();

  [[nodiscard]] const std::string& file_name() const { return file_name_; }
  /// IoError with file, line and byte.
  [[noreturn]] void fail(std::size_t at, const std::string& what) const;

 private:
  std::string_view line(const char* wanted);
  TextNumbers read_numbers(ext::Number number);
  template <class T>
  std::vector<T> read_line();
  void read_dim(std::string_view text, Dim& dim) const;
  [[nodiscard]] bool has_usual_bytes(std::size_t bytes) const;
  void check_bytes(std::size_t begin, std::size_t tight) const;

  std::string file_name_;
  std::string text_;
  std::size_t position_ = 0;
  // Of the object whose header was read last.
  std::size_t header_at_ = 0;
  std::size_t count_ = 0;  ///< numbers of a line
  std::size_t declared_bytes_ = 0;
  bool has_gradient_ = false;
  bool has_flag_ = false;
  /// Bytes of the lines that were read, if one space followed each number.
  std::size_t tight_bytes_ = 0;
};

}  // namespace dynet::io
