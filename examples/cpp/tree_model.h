#pragma once

// A tree LSTM with a classifier at each node: all of the example that knows the library.

#include <cstddef>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/model.h"
#include "dynet/treelstm.h"

#include "model_file.h"
#include "trees.h"

namespace examples {

/// What has to be known before a model file can be read.
struct ModelSettings {
  std::string task;  ///< "listops" or "trees"
  unsigned hidden = 0;
  unsigned classes = 0;
  std::vector<std::string> words;

  [[nodiscard]] Settings saved() const;
  static ModelSettings from(const Settings& settings);
};

/// Words are rows of a table, nodes are joined by a BinaryTreeLSTMBuilder, and a {classes,hidden}
/// matrix scores the classes. Thread rule: one graph at a time.
class TreeModel {
 public:
  explicit TreeModel(const ModelSettings& settings);

  /// Call once for each graph, before add_tree.
  void new_graph(dynet::ComputationGraph& cg);
  struct Outputs {
    dynet::Expression loss;         ///< {1}: sum over the labelled nodes
    dynet::Expression root_scores;  ///< {classes}
    unsigned losses = 0;            ///< how many are in the sum; at least one
  };
  Outputs add_tree(dynet::ComputationGraph& cg, const Tree& tree);
  /// Scores of the root alone, {classes}.
  dynet::Expression score_root(dynet::ComputationGraph& cg, const Tree& tree);

  [[nodiscard]] dynet::ParameterCollection& parameters() { return parameters_; }

 private:
  void add_states(dynet::ComputationGraph& cg, const Tree& tree);

  dynet::ParameterCollection parameters_;
  dynet::LookupParameter words_;
  dynet::BinaryTreeLSTMBuilder builder_;
  dynet::Parameter classifier_;
  dynet::Expression weights_;              // the classifier in the current graph
  std::vector<dynet::TreeState> states_;   // of the current tree's nodes
  std::vector<dynet::Expression> losses_;  // kept to reuse its memory
};

/// Share of trees whose root is classified rightly.
double root_accuracy(TreeModel& model, const std::vector<Tree>& trees, std::size_t limit);
/// Class of the root, one a tree.
std::vector<unsigned> classify_roots(TreeModel& model, const std::vector<Tree>& trees,
                                     std::size_t limit);

}  // namespace examples
