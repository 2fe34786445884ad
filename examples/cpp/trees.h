#pragma once

// Binary trees with a label at each node, of bracketed trees as dynet/text/trees.h reads them:
//
//   (3 (2 It) (4 (2 's) (4 fun)))      one tree a line: a label, then a word or two subtrees
//
// A tree is a flat array in which children stand before their parent, so that a model computes the
// nodes from front to back and the root is the last one.

#include <cstddef>
#include <string>
#include <vector>

#include "dynet/treelstm.h"

#include "program.h"

namespace examples {

constexpr unsigned kNone = ~0U;

/// A word (without `left`) or a node over two earlier ones.
struct TreeNode {
  unsigned left = kNone;
  unsigned right = kNone;
  unsigned symbol = 0;     ///< of a word: its number in the vocabulary
  unsigned label = kNone;  ///< class; without one there is no loss here

  [[nodiscard]] bool is_word() const { return left == kNone; }
  [[nodiscard]] bool has_label() const { return label != kNone; }
};

/// Invariant: not empty; `left` and `right` are smaller than the node's own index; root last.
struct Tree {
  std::vector<TreeNode> nodes;

  [[nodiscard]] const TreeNode& root() const { return nodes.back(); }
  [[nodiscard]] std::size_t words() const { return (nodes.size() + 1) / 2; }
  [[nodiscard]] std::size_t labels() const;
};

/// One tree from one line. Labels must be below `classes`. Throws DataError; the vocabulary may
/// then have grown.
Tree parse_tree(const std::string& text, Dict& words, unsigned classes, const std::string& file);
/// All trees of a file, blank lines left out. Throws DataError, also where there are none.
std::vector<Tree> read_tree_file(const std::string& file, Dict& words, unsigned classes);

}  // namespace examples
