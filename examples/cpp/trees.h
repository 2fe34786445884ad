#pragma once

// Binary trees with a label at each node, and the reader of bracketed ones.
//
//   (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees
//
// A tree is a flat array in which children stand before their parent, so that a model computes the
// nodes from front to back and the root is the last one. No part of this file knows the library.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "data.h"

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

/// One tree from one line. Labels must be below `classes`. Throws DataError; the vocabulary may
/// then have grown.
Tree parse_tree(std::string_view text, Vocabulary& vocabulary, unsigned classes,
                const std::string& file = "tree", std::size_t line = 1);

/// All trees of a file, blank lines left out. Throws DataError, also where there are none.
std::vector<Tree> read_tree_file(const std::string& file, Vocabulary& vocabulary, unsigned classes);

}  // namespace examples
