#pragma once

// The tree LSTM of the paper: words are rows of a table, nodes are joined by a
// BinaryTreeLSTMBuilder, and a matrix scores the classes of each node.

#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "trees.h"

namespace example {

struct TreeModel {
  ParameterCollection m;
  LookupParameter words;
  BinaryTreeLSTMBuilder builder;
  Parameter classes;
  Expression c;  // in the graph

  explicit TreeModel(const Settings& s)
      : words(m.add_lookup_parameters(s["words"], {s["hidden"]})),
        builder(s["hidden"], s["hidden"], m),
        classes(m.add_parameters({s["classes"], s["hidden"]})) {}

  void new_graph(ComputationGraph& cg) {
    builder.new_graph(cg);
    c = parameter(cg, classes);
  }

  std::vector<TreeState> states(ComputationGraph& cg, const Tree& tree) {
    std::vector<TreeState> all;
    all.reserve(tree.size());
    for (const Node& node : tree) {
      all.push_back(node.is_word() ? builder.add_input(lookup(cg, words, node.word))
                                   : builder.add_input(all[node.left], all[node.right]));
    }
    return all;
  }

  /// The sum over the nodes that have a label.
  Expression loss(ComputationGraph& cg, const Tree& tree) {
    const std::vector<TreeState> all = states(cg, tree);
    Expressions losses;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (tree[i].label != kNone) {
        losses.push_back(pickneglogsoftmax(c * all[i].h, tree[i].label));
      }
    }
    return sum(losses);
  }

  /// The scores of the root's classes.
  Expression scores(ComputationGraph& cg, const Tree& tree) {
    return c * states(cg, tree).back().h;
  }
};

}  // namespace example
