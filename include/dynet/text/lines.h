#pragma once

// Lines of a text file, one after another, and errors that name a place in the file. All readers of
// dynet/text use this reader. Example: "train.conllu:12:7: ..." is line 12, column 7 in bytes.

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet/except.h"

namespace dynet::text {

/// Text that cannot be understood. `what()` reads "file:line:column: reason"; lines and columns
/// count from 1, columns in bytes. The mark that UTF-8 files may begin with is no column.
struct TextError : errors::IoError {
  TextError(const std::string& file, std::size_t line, std::size_t column,
            const std::string& reason);
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t column() const { return column_; }

 private:
  std::string file_;
  std::size_t line_;
  std::size_t column_;
};

/// The bytes that a text may have. kUtf8: valid UTF-8, anything else is a TextError. kBytes: all
/// but zeros; for files in an older encoding.
enum class Encoding : std::uint8_t { kUtf8, kBytes };

struct Options {
  Encoding encoding = Encoding::kUtf8;
  /// A line of more bytes is a TextError: a file without line ends is not read into memory.
  std::size_t longest_line = std::size_t{1} << 26;
};

/// The kind of a file that is no text, by its first bytes (512 are enough): "it is compressed with
/// gzip; unpack it first". Empty if unknown.
[[nodiscard]] std::string foreign_file(std::string_view begin);

/// Reads lines in pieces of a fixed size; memory grows with the longest line. A line ends with
/// "\n", "\r\n" or the end of the file. A zero byte is a TextError, and so is a file of another
/// kind by its first bytes, such as a compressed file. After an error, reading goes on with the
/// line behind the error.
///
/// Not thread-safe; several readers of the same file may work at once.
class Lines {
 public:
  /// IoError if the file cannot be opened. Readers take file names for this.
  // NOLINTBEGIN(google-explicit-constructor): readers are made from names of files
  Lines(const std::string& file, Options options = {});
  Lines(const char* file, Options options = {}) : Lines(std::string(file), options) {}
  // NOLINTEND(google-explicit-constructor)
  /// Reads from a stream, which has to outlive this. `name` stands for the file in errors.
  Lines(std::istream& in, std::string name, Options options = {});
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  Lines(Lines&&) noexcept;
  Lines& operator=(Lines&&) noexcept;
  ~Lines();

  /// The next line without its end, valid until the next call; false at the end of the file.
  /// TextError; IoError if the file cannot be read.
  bool next(std::string_view& line);
  /// The next line that has more in it than white space.
  bool next_with_words(std::string_view& line);

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Number of the line read last, from 1; 0 before the first.
  [[nodiscard]] std::size_t number() const { return number_; }
  /// TextError at a column of the line read last, or of another one.
  [[noreturn]] void fail(std::size_t column, const std::string& reason) const;
  [[noreturn]] void fail(std::size_t line, std::size_t column, const std::string& reason) const;

 private:
  bool find_end(std::size_t& end);
  bool refill();
  void check(std::string_view line) const;
  void check_kind(std::size_t at) const;

  std::string file_;
  Options options_;
  std::unique_ptr<std::istream> own_;
  std::istream* in_ = nullptr;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< of the bytes not returned yet
  std::size_t end_ = 0;    ///< of the bytes read from the file
  std::size_t number_ = 0;
  bool skips_ = false;  ///< the rest of a line that was too long
};

/// White space in all formats: blanks, tabs, and line, page and carriage controls. A no-break space
/// is part of a word.
[[nodiscard]] constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Calls `read(word, column)` for the words of a line, which white space separates.
template <class Read>
void for_each_word(std::string_view line, Read&& read) {
  std::size_t at = 0;
  while (true) {
    while (at < line.size() && is_space(line[at])) {
      ++at;
    }
    if (at == line.size()) {
      return;
    }
    const std::size_t begin = at;
    while (at < line.size() && !is_space(line[at])) {
      ++at;
    }
    read(line.substr(begin, at - begin), begin + 1);
  }
}

/// Base of all readers: `bool next(Item&)` of `Reader` as a range, with one item in memory at a
/// time:
///
///     for (const Words& sentence : PlainReader("train.txt")) ...
template <class Reader, class Item>
class Stream {
 public:
  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): names of the standard
    using iterator_category = std::input_iterator_tag;
    using value_type = Item;
    using difference_type = std::ptrdiff_t;
    using pointer = Item*;
    using reference = Item&;
    // NOLINTEND(readability-identifier-naming)

    Iterator() = default;
    explicit Iterator(Stream* stream) : stream_(stream) { ++*this; }
    reference operator*() const { return stream_->item_; }
    pointer operator->() const { return &stream_->item_; }
    Iterator& operator++() {
      if (!static_cast<Reader*>(stream_)->next(stream_->item_)) {
        stream_ = nullptr;
      }
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.stream_ == b.stream_; }
    friend bool operator!=(const Iterator& a, const Iterator& b) { return !(a == b); }

   private:
    Stream* stream_ = nullptr;
  };

  /// Reads on from where the reader is.
  Iterator begin() { return Iterator(this); }
  Iterator end() { return {}; }
  /// All that is left.
  std::vector<Item> read_all() {
    std::vector<Item> items;
    for (Item& item : *this) {
      items.push_back(std::move(item));
      item = Item();
    }
    return items;
  }

 private:
  friend Reader;
  Stream() = default;
  Item item_;
};

}  // namespace dynet::text
