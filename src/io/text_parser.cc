#include "io/text_parser.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <system_error>
#include <type_traits>

#include "dynet/except.h"

#include "io/descriptor.h"
#include "io/keys.h"
#include "params/stored.h"
#include "util/foreign_file.h"
#include "util/interrupt.h"

namespace dynet::io {
namespace {

void read_all(const std::string& name, std::string& text) {
  const Descriptor file(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
  const auto fail = [&](const char* step) {
    const int error = errno;
    throw errors::IoError("cannot " + std::string(step) + " '" + name +
                          "': " + std::strerror(error));
  };
  if (!file.is_open()) {
    fail("open");
  }
  struct stat info{};
  if (::fstat(file.number(), &info) == 0 && S_ISREG(info.st_mode)) {
    text.reserve(static_cast<std::size_t>(info.st_size) + 1);
  }
  std::array<char, std::size_t{1} << 16> piece{};
  util::Interrupt interrupt;
  while (true) {
    interrupt.pass(piece.size() / 4096);
    const ssize_t n = ::read(file.number(), piece.data(), piece.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      fail("read");
    }
    if (n == 0) {
      break;
    }
    const bool is_first = text.empty();
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (is_first) {  // before all of a large archive is read
      const std::string what = util::foreign_file(text, util::OwnFile::kTextModel);
      if (!what.empty()) {
        throw errors::IoError("'" + name + "' is no model of DyNet: " + what);
      }
    }
  }
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [rest, error] = std::from_chars(begin, end, value);
  return error == std::errc() && rest == end;
}

/// Characters between words, and at the ends of lines.
bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/// Takes the next word off a line; empty if there is none.
std::string_view next_word(std::string_view& rest) {
  const char* const begin = rest.data();
  const char* const end = begin + rest.size();
  const char* const first = std::find_if_not(begin, end, is_space);
  const char* const last = std::find_if(first, end, is_space);
  rest = {last, static_cast<std::size_t>(end - last)};
  return {first, static_cast<std::size_t>(last - first)};
}

/// Bytes of a line with one space after each word.
std::size_t tight_bytes(std::string_view line) {
  std::size_t bytes = 1;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    bytes += word.size() + 1;
  }
  return bytes;
}

/// Bytes that DyNet 2.1 declares for `count` numbers: it takes each for 16, NaN and infinity too.
std::size_t usual_bytes(std::size_t count) { return 16 * count + 1; }

}  // namespace

TextParser::TextParser(std::string file_name) : file_name_(std::move(file_name)) {
  read_all(file_name_, text_);
}

void TextParser::fail(std::size_t at, const std::string& what) const {
  const auto lines =
      std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
  throw errors::IoError("'" + file_name_ + "', line " + std::to_string(lines + 1) + ", byte " +
                        std::to_string(at) + ": " + what);
}

/// The text up to the next line end, which is passed over.
std::string_view TextParser::line(const char* wanted) {
  const std::size_t end = text_.find('\n', position_);
  if (end == std::string::npos) {
    fail(position_, std::string("the file ends in the middle of a line; want ") + wanted);
  }
  const std::string_view found(text_.data() + position_, end - position_);
  position_ = end + 1;
  return found;
}

bool TextParser::next(TextObject& object) {
  if (text_.find_first_not_of(" \t\r\n", position_) == std::string::npos) {
    return false;
  }
  header_at_ = position_;
  const std::string_view header = line("a header");
  const auto bad = [&](const char* wanted) {
    fail(header_at_, "the header is '" + shown(header) + "'; want " + wanted);
  };
  std::array<std::string_view, 6> fields;
  std::size_t fields_found = 0;
  std::string_view rest = header;
  while (fields_found < fields.size() && !(fields[fields_found] = next_word(rest)).empty()) {
    ++fields_found;
  }
  if (fields_found == fields.size()) {
    bad("type, name, shape, bytes and gradient flag");
  }
  if (fields[0] != params::type_word(false) && fields[0] != params::type_word(true)) {
    bad("#Parameter# or #LookupParameter#");
  }
  if (fields_found < 4) {
    bad("type, name, shape, bytes and gradient flag");
  }
  object.is_lookup = fields[0] == params::type_word(true);
  object.name = fields[1];
  object.at = header_at_;
  read_dim(fields[2], object.dim);
  if (!parse_whole(fields[3], declared_bytes_)) {
    bad("a number of bytes");
  }
  has_flag_ = fields_found == 5;
  if (has_flag_ && fields[4] != "ZERO_GRAD" && fields[4] != "FULL_GRAD") {
    bad("ZERO_GRAD or FULL_GRAD");
  }
  // Files of DyNet 2.0 have no flag, and always a gradient.
  has_gradient_ = !has_flag_ || fields[4] == "FULL_GRAD";
  const std::int64_t count = object.dim.elements();
  // A number takes at least two characters: nothing is allocated for numbers that cannot be there.
  if (count > static_cast<std::int64_t>((text_.size() - position_) / 2)) {
    fail(header_at_,
         "the shape " + to_string(object.dim) + " has more numbers than the rest of the file");
  }
  count_ = static_cast<std::size_t>(count);
  return true;
}

/// "{2,3}", without a batch.
void TextParser::read_dim(std::string_view text, Dim& dim) const {
  const auto bad = [&] {
    fail(header_at_, "the shape is '" + shown(text) + "'; want {a,b,...}, at most 7");
  };
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') {
    bad();
  }
  Dim d;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (d.nd == DYNET_MAX_TENSOR_DIM || !parse_whole(rest.substr(0, comma), d.d[d.nd])) {
      bad();
    }
    ++d.nd;
    if (comma == std::string_view::npos) {
      break;
    }
    rest.remove_prefix(comma + 1);
    if (rest.empty()) {
      bad();
    }
  }
  try {
    static_cast<void>(d.elements());
  } catch (const errors::SizeError& e) {
    fail(header_at_, e.what());
  }
  dim = d;
}

template <class T>
std::vector<T> TextParser::read_line() {
  const std::size_t begin = position_;
  std::string_view rest = line("a line of numbers");
  const auto bad = [&](std::size_t i, std::string_view at, const std::string& what) {
    const auto offset = static_cast<std::size_t>(at.data() - (text_.data() + begin));
    fail(begin + offset,
         "number " + std::to_string(i + 1) + " of " + std::to_string(count_) + ": " + what);
  };
  std::vector<T> to;
  to.reserve(count_);
  constexpr std::size_t kAtOnce = 256;
  util::Interrupt interrupt;
  ++tight_bytes_;
  for (std::size_t i = 0; i < count_; ++i) {
    if (i % kAtOnce == 0) {
      interrupt.pass(kAtOnce / 16);
    }
    const std::string_view word = next_word(rest);
    if (word.empty()) {
      bad(i, rest, "the line ends; want " + std::to_string(count_) + " numbers");
    }
    const bool has_plus = word.front() == '+';
    T value = 0;
    if ((has_plus && word.size() > 1 && word[1] == '-') ||
        !parse_whole(word.substr(has_plus ? 1 : 0), value)) {
      bad(i, word,
          "'" + shown(word) + "'; want a number in the range of " +
              (std::is_same_v<T, float> ? "float" : "double"));
    }
    to.push_back(value);
    tight_bytes_ += word.size() + 1;
  }
  if (const std::string_view word = next_word(rest); !word.empty()) {
    const auto offset = static_cast<std::size_t>(word.data() - (text_.data() + begin));
    fail(begin + offset, "'" + shown(word) + "' after the last of " + std::to_string(count_) +
                             (count_ == 1 ? " number" : " numbers"));
  }
  return to;
}

TextNumbers TextParser::read_numbers(ext::Number number) {
  TextNumbers numbers;
  if (number == ext::Number::kDouble) {
    numbers.doubles = read_line<double>();
  } else {
    numbers.floats = read_line<float>();
  }
  return numbers;
}

bool TextParser::has_usual_bytes(std::size_t bytes) const {
  return bytes == usual_bytes(count_) * (has_gradient_ ? 2 : 1);
}

/// The header's bytes are the bytes of the lines, or the bytes that DyNet 2.1 declares for so many
/// numbers. A person who edits a file by hand does not count white space, so `tight` counts one
/// space after each number. But if lines of the right length have more white space, a digit became
/// a space.
void TextParser::check_bytes(std::size_t begin, std::size_t tight) const {
  const std::size_t bytes = position_ - begin;
  const bool is_lost = bytes == declared_bytes_ && tight != bytes;
  if (has_flag_ && (is_lost || (declared_bytes_ != tight && !has_usual_bytes(declared_bytes_)))) {
    fail(header_at_, "the header declares " + std::to_string(declared_bytes_) +
                         " bytes; there are " + std::to_string(tight) +
                         (is_lost ? ", and white space in the place of the rest" : ""));
  }
}

void TextParser::read(TextObject& object, ext::Number number) {
  const std::size_t begin = position_;
  tight_bytes_ = 0;
  object.values = read_numbers(number);
  object.gradient = has_gradient_ ? read_numbers(number) : TextNumbers();
  check_bytes(begin, tight_bytes_);
}

void TextParser::skip() {
  const std::size_t begin = position_;
  const std::string_view values = line("a line of numbers");
  const std::string_view gradients = has_gradient_ ? line("a line of gradients") : "";
  const std::size_t bytes = position_ - begin;
  const bool is_right = bytes == declared_bytes_ || has_usual_bytes(declared_bytes_);
  check_bytes(
      begin, is_right ? bytes : tight_bytes(values) + (has_gradient_ ? tight_bytes(gradients) : 0));
}

}  // namespace dynet::io
