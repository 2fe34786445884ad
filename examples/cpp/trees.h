#pragma once

// Binary trees with classes at their nodes, which listops and sentiment learn from.

#include <vector>

#include "example.h"
#include "training.h"

namespace example {

/// A word, or a node over two that stand before it.
struct Node {
  unsigned left = kNone;
  unsigned right = kNone;
  unsigned word = 0;
  unsigned label = kNone;  ///< class; without one there is no loss here

  [[nodiscard]] bool is_word() const { return left == kNone; }
};
/// The root is the last node.
using Tree = std::vector<Node>;

/// The share of trees for whose root a model with `scores` gives the right class.
template <class Model>
double root_accuracy(Model& model, const std::vector<Tree>& trees) {
  Numbers labels;
  for (const Tree& tree : trees) {
    labels.push_back(tree.back().label);
  }
  const auto ask = [&](ComputationGraph& cg, const Tree& tree, Expressions& all) {
    all.push_back(model.scores(cg, tree));
  };
  return share_right(answers_to(model, trees, ask), labels);
}

/// The class of a tree's root.
template <class Model>
unsigned classify(Model& model, const Tree& tree) {
  ComputationGraph cg;
  model.new_graph(cg);
  return best_of_each({model.scores(cg, tree)})[0];
}

}  // namespace example
