// Reads the state of trainers. Nothing is changed here.

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <ios>
#include <istream>
#include <limits>
#include <sstream>
#include <streambuf>
#include <string>
#include <system_error>
#include <vector>

#include "dynet/str-util.h"

#include "params/access.h"
#include "params/stored.h"
#include "trainers/settings.h"
#include "trainers/text.h"
#include "util/number_text.h"

namespace dynet::trainers {

namespace {
/// Where a stream has the source of tensors that are kept aside.
int source_slot() {
  static const int slot = std::ios_base::xalloc();
  return slot;
}
}  // namespace

void read_aside(std::istream& is, const TensorSource& source) {
  is.pword(source_slot()) = const_cast<TensorSource*>(&source);  // pword has no pointers to const
}

void TextReader::fail(const std::string& what) {
  throw errors::IoError("Trainer::populate: " + place() + what);
}

/// "line 2, byte 40: ", the begin of the last word; empty if the stream cannot go back.
std::string TextReader::place() {
  std::streambuf& text = *is_.rdbuf();
  const std::streamoff after = text.pubseekoff(0, std::ios::cur, std::ios::in);
  if (after < 0 || text.pubseekpos(0, std::ios::in) != std::streampos(0)) {
    return "";
  }
  const std::streamoff at = after - static_cast<std::streamoff>(last_word_bytes_);
  std::streamoff line = 1;
  for (std::streamoff i = 0; i < at; ++i) {
    line += text.sbumpc() == '\n' ? 1 : 0;
  }
  text.pubseekpos(after, std::ios::in);
  return "line " + std::to_string(line) + ", byte " + std::to_string(at) + ": ";
}

void TextReader::fail_cut(const std::string& last, const std::string& wanted) {
  fail("the text ends in '" + last + "'; want " + wanted + ", and white space after it");
}

/// A word is whole only if something comes after it.
std::string TextReader::word(const std::string& wanted, bool may_be_last) {
  std::string w;
  last_word_bytes_ = 0;
  if (!(is_ >> w)) {
    fail("the text ends; want " + wanted);
  }
  last_word_bytes_ = w.size();
  if (is_.eof() && !may_be_last) {
    fail_cut(w, wanted);
  }
  return w;
}

namespace {
/// Whether the state of a rule begins so; other texts of programs behind a state do not.
bool is_trainer_header(const std::string& word) {
  return word.size() > 2 && word.front() == '#' && word.back() == '#' && word != "#Trainer#" &&
         word != params::type_word(false) && word != params::type_word(true);
}

/// The whole of `w` as a number; a plus sign may come first.
template <class Number>
bool parse(const std::string& w, Number& value) {
  const char* const begin = w.data() + (w[0] == '+' ? 1 : 0);
  const char* const end = w.data() + w.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  return error == std::errc() && rest == end;
}
}  // namespace

double TextReader::precise_number(const char* wanted) {
  const std::string w = word(wanted);
  double value = 0.0;
  if (!parse(w, value)) {
    fail("'" + w + "'; want " + wanted);
  }
  return value;
}

float TextReader::number(const char* wanted) { return static_cast<float>(precise_number(wanted)); }

float TextReader::number(const char* what, Range range) {
  const float value = number(what);
  if (const char* const wanted = missed_range(range, value)) {
    fail(std::string(what) + " is " + util::text_of(value) + "; want " + wanted);
  }
  return value;
}

std::uint64_t TextReader::large_count(const char* wanted) {
  const std::string w = word(wanted);
  std::uint64_t value = 0;
  if (!parse(w, value)) {
    fail("'" + w + "'; want " + wanted);
  }
  return value;
}

unsigned TextReader::count(const char* wanted) {
  const std::uint64_t value = large_count(wanted);
  if (value > std::numeric_limits<unsigned>::max()) {
    fail(std::to_string(value) + "; want " + wanted);
  }
  return static_cast<unsigned>(value);
}

bool TextReader::flag(const char* wanted, bool may_be_last) {
  const std::string w = word(wanted, may_be_last);
  unsigned value = 0;
  if (!parse(w, value) || value > 1) {
    if (is_.eof()) {
      fail_cut(w, wanted);
    }
    fail("'" + w + "', which is not 0 or 1; want " + wanted);
  }
  return value == 1;
}

ShadowCounts TextReader::header(const std::string& name) {
  return rest_of_header(word("'#" + name + "#'"), name);
}

/// `found` was read. An empty name stands for a trainer that has none.
ShadowCounts TextReader::rest_of_header(const std::string& found, const std::string& name) {
  if (found != "#" + name + "#") {
    throw errors::UsageError("Trainer::populate: Type does not match expected type: '" + found +
                             "'; want " +
                             (name.empty() ? "no state of a rule" : "'#" + name + "#'"));
  }
  ShadowCounts counts;
  counts.parameters = count("a number of parameters");
  counts.lookups = count("a number of lookup parameters");
  if (counts.parameters > detail::ModelAccess::parameters(model_).size() ||
      counts.lookups > detail::ModelAccess::lookups(model_).size()) {
    throw errors::UsageError("Trainer::populate: #" + name + "# has state for " +
                             std::to_string(counts.parameters) + " parameters and " +
                             std::to_string(counts.lookups) + " lookup parameters; the model has " +
                             std::to_string(detail::ModelAccess::parameters(model_).size()) +
                             " and " + std::to_string(detail::ModelAccess::lookups(model_).size()));
  }
  return counts;
}

void TextReader::header_of_nothing(const char* name) {
  const std::istream::pos_type begin = is_.tellg();
  std::string next;
  is_ >> std::ws;
  if (!is_.eof() && is_.peek() == '#') {
    is_ >> next;
  }
  if (is_trainer_header(next)) {
    static_cast<void>(rest_of_header(next, name == nullptr ? "" : name));
    return;
  }
  if (is_.eof() && name != nullptr && !next.empty() && startswith("#" + std::string(name), next)) {
    last_word_bytes_ = next.size();
    fail("the text ends in '" + next + "'; want '#" + name + "#'");
  }
  const bool has_more = !is_.eof() || !next.empty();
  is_.clear();
  if (begin != std::istream::pos_type(-1)) {
    is_.seekg(begin);
  } else if (has_more) {
    fail("something follows the state, and the stream cannot go back");
  }
}

/// A flag is whole without anything after it. So the text of EGTrainer may end at the end of 2.1's
/// text.
double TextReader::setting(const StateLists::Number& n) {
  if (n.value == nullptr) {
    return n.count != nullptr ? count(n.name) : static_cast<double>(flag(n.name, true));
  }
  return static_cast<double>(number(n.name, n.range));
}

Schedule::Pointer TextReader::schedule(const Schedule::Pointer& own) {
  std::string text;
  Schedule::Pointer read = schedule_inside(text, 0);
  if (read == nullptr && own != nullptr && text_of(*own) == text) {
    read = own;
  }
  if (read == nullptr) {
    throw errors::UsageError(
        "Trainer::populate: no schedule of the library is '" + text +
        "'; set a schedule of your own as it was when the state was saved, first");
  }
  return read;
}

/// Appends the schedule's words to `text`, as text_of() writes them; null for a schedule that is
/// not one of the library's.
Schedule::Pointer TextReader::schedule_inside(std::string& text, int depth) {
  constexpr std::uint64_t kMost = 64;  // numbers, and schedules in each other
  const std::string name = word("a schedule");
  const std::uint64_t size = large_count("a number of numbers");
  if (size > kMost || static_cast<std::uint64_t>(depth) > kMost) {
    fail("the schedule " + name + " has " + std::to_string(size) + " numbers, inside of " +
         std::to_string(depth) + " others; want at most " + std::to_string(kMost) + " of each");
  }
  std::vector<double> numbers(size);
  std::ostringstream written;
  written.precision(std::numeric_limits<double>::max_digits10);
  written << name << ' ' << size;
  for (double& n : numbers) {
    n = precise_number("a number of a schedule");
    written << ' ' << n;
  }
  const bool has_inner = flag("0, or 1 and the schedule inside");
  text += written.str() + (has_inner ? " 1 " : " 0");
  const Schedule::Pointer inner = has_inner ? schedule_inside(text, depth + 1) : nullptr;
  if (has_inner && inner == nullptr) {
    return nullptr;
  }
  try {
    return make_schedule(name, numbers, inner);
  } catch (const errors::ValueError& e) {
    fail(e.what());
  }
}

std::vector<double> TextReader::tensor(const char* kind, std::size_t size) {
  const std::string w = word(kind);
  if (w != kind) {
    fail("'" + w + "'; want " + kind);
  }
  const std::string found = word("a number of values");
  if (found != std::to_string(size) && found != "+" + std::to_string(size)) {
    throw errors::UsageError("Trainer::populate: " + std::string(kind) + " has " + found +
                             " values; the model's has " + std::to_string(size));
  }
  if (const auto* const aside = static_cast<const TensorSource*>(is_.pword(source_slot()))) {
    return (*aside)(aside_++, size);
  }
  std::vector<double> numbers(size);
  for (double& n : numbers) {
    n = precise_number("a value");
  }
  return numbers;
}

/// The first `count` tensors of these.
template <class Storages>
Block TextReader::block(const Storages& storages, std::size_t count, bool is_table) {
  Block block;
  for (std::size_t i = 0; i < count; ++i) {
    block.push_back(tensor(params::type_word(is_table), storages[i]->size()));
  }
  return block;
}
Block TextReader::parameters(ShadowCounts counts) {
  return block(detail::ModelAccess::parameters(model_), counts.parameters, false);
}
Block TextReader::lookups(ShadowCounts counts) {
  return block(detail::ModelAccess::lookups(model_), counts.lookups, true);
}

}  // namespace dynet::trainers
