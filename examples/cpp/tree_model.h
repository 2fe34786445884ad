#pragma once

// A tree LSTM with a classifier at each node: all of the example that knows the library.

#include <cstdint>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/model.h"
#include "dynet/treelstm.h"

#include "trees.h"

namespace examples {

/// What has to be known before a model file can be read. Written beside it as FILE.settings.
struct ModelSettings {
  std::string task;  ///< "listops" or "trees"
  unsigned hidden = 0;
  unsigned classes = 0;
  std::vector<std::string> words;
};
void save_settings(const ModelSettings& settings, const std::string& model_file);
/// Throws std::runtime_error for a file that is missing or is not such a file.
ModelSettings load_settings(const std::string& model_file);

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

  /// Initial values by a formula: the same in C++ and in Python.
  void set_deterministic_values();
  void save(const std::string& file);
  void populate(const std::string& file);
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
unsigned highest(const std::vector<float>& scores);

}  // namespace examples
