#include "dynet/text/lines.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <istream>
#include <ostream>

#include "text/text_support.h"
#include "util/foreign_file.h"
#include "util/utf8_mark.h"

namespace dynet::text {

namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// Bytes of the character at `at`, or 0 if there is none: the well-formed sequences of the Unicode
/// standard, table 3-7.
std::size_t length_of_character(std::string_view text, std::size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80U) {
    return 1;
  }
  if (first < 0xC2U || first > 0xF4U || !continues(text, at + 1)) {
    return 0;
  }
  if (first < 0xE0U) {
    return 2;
  }
  const auto second = static_cast<unsigned char>(text[at + 1]);
  if (first < 0xF0U) {
    const bool is_long_form = first == 0xE0U && second < 0xA0U;
    const bool is_surrogate = first == 0xEDU && second >= 0xA0U;
    return is_long_form || is_surrogate || !continues(text, at + 2) ? 0 : 3;
  }
  const bool is_long_form = first == 0xF0U && second < 0x90U;
  const bool is_too_large = first == 0xF4U && second >= 0x90U;
  return is_long_form || is_too_large || !continues(text, at + 2) || !continues(text, at + 3) ? 0
                                                                                              : 4;
}

}  // namespace

std::size_t find_no_utf8(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    // Eight bytes below 0x80 at a time.
    std::uint64_t eight = 0;
    while (at + sizeof eight <= text.size()) {
      std::memcpy(&eight, text.data() + at, sizeof eight);
      if ((eight & 0x8080808080808080U) != 0) {
        break;
      }
      at += sizeof eight;
    }
    if (at == text.size()) {
      break;
    }
    const std::size_t bytes = length_of_character(text, at);
    if (bytes == 0) {
      return at;
    }
    at += bytes;
  }
  return std::string_view::npos;
}

std::string foreign_file(std::string_view begin) { return util::foreign_file(begin); }

void check_word(const char* what, const std::string& word, std::string_view others) {
  if (word.empty() || word.find_first_of(kNoPartOfWords) != std::string::npos ||
      word.find_first_of(others) != std::string::npos) {
    std::string text = std::string("text: the ") + what + " '" + word +
                       "'; want one that is not empty and has no white space";
    for (const char other : others) {
      text += std::string(", no '") + other + "'";
    }
    throw errors::ValueError(text);
  }
}

void check_no_mark(std::ostream& out, const std::string& first) {
  // A stream that does not know its place (-1), such as a pipe, may be at the front.
  if (util::mark_size(first) != 0 && out.tellp() <= std::streampos(0)) {
    throw errors::ValueError("text::write: the first word, '" + first +
                             "', begins with the mark of UTF-8 files, which a reader would skip");
  }
}

TextError::TextError(const std::string& file, std::size_t line, std::size_t column,
                     const std::string& reason)
    : errors::IoError(file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                      reason),
      file_(file),
      line_(line),
      column_(column) {}

Lines::Lines(const std::string& file, Options options)
    : file_(file),
      options_(options),
      own_(std::make_unique<std::ifstream>(file, std::ios::binary)),
      in_(own_.get()) {
  if (!*own_) {
    const int error = errno;
    throw errors::IoError("cannot open '" + file + "': " + std::strerror(error));
  }
}

Lines::Lines(std::istream& in, std::string name, Options options)
    : file_(std::move(name)), options_(options), in_(&in) {}

Lines::Lines(Lines&&) noexcept = default;
Lines& Lines::operator=(Lines&&) noexcept = default;
Lines::~Lines() = default;

void Lines::fail(std::size_t column, const std::string& reason) const {
  fail(number_, column, reason);
}

void Lines::fail(std::size_t line, std::size_t column, const std::string& reason) const {
  throw TextError(file_, line, column, reason);
}

/// Reads on from the file; false at its end. Bytes not yet returned move to the front.
bool Lines::refill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_),
            buffer_.begin() + static_cast<std::ptrdiff_t>(end_), buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() - end_ < kPiece) {
    buffer_.resize(std::max(2 * buffer_.size(), end_ + kPiece));
  }
  std::size_t count = 0;
  if (in_->good()) {
    in_->read(buffer_.data() + end_, static_cast<std::streamsize>(kPiece));
    count = static_cast<std::size_t>(in_->gcount());
  }
  if (in_->bad()) {
    throw errors::IoError("cannot read '" + file_ + "' after line " + std::to_string(number_));
  }
  end_ += count;
  return count > 0;
}

/// Finds the end of the line at `begin_`, relative to it; false if nothing is left.
bool Lines::find_end(std::size_t& end) {
  std::size_t seen = 0;
  while (true) {
    const std::size_t left = end_ - begin_;
    const void* const found =
        left == seen ? nullptr : std::memchr(buffer_.data() + begin_ + seen, '\n', left - seen);
    if (found != nullptr) {
      end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) - begin_;
      return true;
    }
    seen = left;
    if (skips_ || seen > options_.longest_line) {
      end = seen;
      if (!skips_) {
        return true;
      }
      begin_ = end_;
      seen = 0;
    }
    if (!refill()) {
      end = seen;
      return seen > 0;
    }
  }
}

bool Lines::next(std::string_view& line) {
  std::size_t end = 0;
  if (skips_) {
    if (!find_end(end)) {
      return false;
    }
    skips_ = false;
    begin_ += end + 1;
  }
  if (!find_end(end)) {
    return false;
  }
  ++number_;
  const std::size_t line_at = begin_;
  const bool has_end = begin_ + end < end_;
  std::string_view text(buffer_.data() + begin_, end);
  begin_ += end + (has_end ? 1 : 0);
  if (end > options_.longest_line) {
    skips_ = !has_end;
    fail(options_.longest_line + 1, "a line of more than " + std::to_string(options_.longest_line) +
                                        " bytes, which is the limit");
  }
  if (number_ == 1) {
    text.remove_prefix(util::mark_size(text));
    check_kind(line_at);
  }
  if (!text.empty() && text.back() == '\r') {
    text.remove_suffix(1);
  }
  check(text);
  line = text;
  return true;
}

/// Refuses a file, which begins at `at`, of another kind.
void Lines::check_kind(std::size_t at) const {
  const std::string what = util::foreign_file(std::string_view(buffer_.data() + at, end_ - at));
  if (!what.empty()) {
    fail(1, "no text: " + what);
  }
}

void Lines::check(std::string_view line) const {
  const void* const zero = line.empty() ? nullptr : std::memchr(line.data(), '\0', line.size());
  if (zero != nullptr) {
    fail(static_cast<std::size_t>(static_cast<const char*>(zero) - line.data()) + 1,
         "a zero byte; want text (UTF-16 has to be converted to UTF-8)");
  }
  if (options_.encoding == Encoding::kUtf8) {
    const std::size_t bad = find_no_utf8(line);
    if (bad != std::string_view::npos) {
      constexpr const char* kDigits = "0123456789ABCDEF";
      const auto byte = static_cast<unsigned char>(line[bad]);
      fail(bad + 1,
           std::string("byte 0x") + kDigits[byte >> 4U] + kDigits[byte & 15U] +
               " is not UTF-8 here; convert the file (C++ can read it as Encoding::kBytes)");
    }
  }
}

bool Lines::next_with_words(std::string_view& line) {
  while (next(line)) {
    if (!std::all_of(line.begin(), line.end(), is_space)) {
      return true;
    }
  }
  return false;
}

}  // namespace dynet::text
