#pragma once

// Binary trees with a label at each node, and the reader of bracketed ones.
//
//   (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees
//
// A tree is a flat array in which children stand before their parent, so that a model computes the
// nodes from front to back and the root is the last one. No part of this file knows the library.

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace examples {

/// A word (`left < 0`) or a node over two earlier ones.
struct TreeNode {
  int left = -1;
  int right = -1;
  unsigned symbol = 0;  ///< of a word: its number in the vocabulary
  int label = -1;       ///< class, or -1: no loss here

  [[nodiscard]] bool is_word() const { return left < 0; }
};

/// Invariant: not empty; `left` and `right` are smaller than the node's own index; root last.
struct Tree {
  std::vector<TreeNode> nodes;

  [[nodiscard]] const TreeNode& root() const { return nodes.back(); }
  [[nodiscard]] std::size_t words() const { return (nodes.size() + 1) / 2; }
};

/// Text that is not a tree. `what()` reads "file:line:column: reason"; both count from 1.
class TreeError : public std::runtime_error {
 public:
  TreeError(const std::string& file, std::size_t line, std::size_t column,
            const std::string& reason);
  [[nodiscard]] std::size_t line() const { return line_; }
  [[nodiscard]] std::size_t column() const { return column_; }

 private:
  std::size_t line_;
  std::size_t column_;
};

/// Numbers words in the order in which they are first seen. Number 0 is `<unk>`, which every word
/// not seen before gets once the vocabulary is frozen.
class Vocabulary {
 public:
  Vocabulary();
  unsigned number(std::string_view word);
  void freeze() { is_frozen_ = true; }
  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(words_.size()); }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, unsigned> numbers_;
  bool is_frozen_ = false;
};

/// One tree from one line. Labels must be below `classes`. Throws TreeError; the vocabulary may
/// then have grown.
Tree parse_tree(std::string_view text, Vocabulary& vocabulary, unsigned classes,
                const std::string& file = "tree", std::size_t line = 1);

/// All trees of a stream, skipping empty lines. Throws TreeError.
std::vector<Tree> read_trees(std::istream& in, const std::string& file, Vocabulary& vocabulary,
                             unsigned classes);
/// The same from a file, one that cannot be opened: std::runtime_error.
std::vector<Tree> read_tree_file(const std::string& file, Vocabulary& vocabulary, unsigned classes);

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

}  // namespace examples
