#pragma once

// What the readers of all programs share: errors with a place, vocabularies, random orders. Of the
// library it uses what reads text.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "dynet/text/lines.h"

namespace examples {

/// Data that cannot be read. `what()` reads "file:line:column: reason"; both count from 1.
using DataError = dynet::text::TextError;
using dynet::text::is_space;

/// Calls `read` for every line of a file that is not blank, with its number. A file that cannot be
/// opened: std::runtime_error; without such a line: DataError.
void for_each_line(const std::string& file,
                   const std::function<void(std::string_view text, std::size_t line)>& read);
/// DataError, as for_each_line, unless there was something in a file.
void check_not_blank(const std::string& file, std::size_t found);

/// Numbers words in the order in which they are first seen. Number 0 is `<unk>`, which every word
/// not seen before gets once the vocabulary is frozen.
class Vocabulary {
 public:
  Vocabulary();
  /// Frozen, with the words of a saved one.
  explicit Vocabulary(const std::vector<std::string>& words);
  unsigned number(std::string_view word);
  void freeze() { is_frozen_ = true; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(words_.size()); }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, unsigned> numbers_;
  bool is_frozen_ = false;
};

/// Random integers that are the same in C++ and in Python: the words of mt19937, scaled by a
/// multiplication (the standard's distributions differ between libraries).
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// In [0, n): the upper half of a word times n.
  unsigned below(unsigned n) { return static_cast<unsigned>((std::uint64_t{engine_()} * n) >> 32); }

 private:
  std::mt19937 engine_;
};

/// A random order of [0, n) (Fisher and Yates, from the back).
std::vector<std::size_t> random_order(std::size_t n, Random& random);

/// Goes over `count` examples in a new random order each time, some of them an update. The last
/// update of a pass may have fewer: none mixes two passes.
class Minibatches {
 public:
  Minibatches(std::uint32_t seed, std::size_t count, std::size_t size)
      : random_(seed), count_(count), size_(size) {}
  /// Valid until the next call.
  const std::vector<std::size_t>& next();
  [[nodiscard]] std::size_t updates_an_epoch() const { return (count_ + size_ - 1) / size_; }

 private:
  Random random_;
  std::size_t count_;
  std::size_t size_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
  std::vector<std::size_t> batch_;
};

}  // namespace examples
