#pragma once

// Trees that the benches generate.

#include "trees.h"

namespace dynet::bench {

/// Appends a binary tree over `words` words, split at random places, with one of five labels at
/// every node. `draw()` returns the number of a word.
template <class Draw>
void append_random_tree(example::Tree& tree, unsigned words, example::Random& random, Draw draw) {
  const unsigned label = random.below(5);
  if (words == 1) {
    tree.push_back({example::kNone, example::kNone, draw(), label});
    return;
  }
  const unsigned left = 1 + random.below(words - 1);
  append_random_tree(tree, left, random, draw);
  const auto left_root = static_cast<unsigned>(tree.size()) - 1;
  append_random_tree(tree, words - left, random, draw);
  tree.push_back({left_root, static_cast<unsigned>(tree.size()) - 1, 0, label});
}

}  // namespace dynet::bench
