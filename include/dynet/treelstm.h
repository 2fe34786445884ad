#pragma once

// Builders for trees with two branches, from the words up:
//
//   builder.new_graph(cg);
//   TreeState left = builder.add_input(x1), right = builder.add_input(x2);
//   TreeState top = builder.add_input(left, right);      top.h is its vector
//
// States are values: keep as many as the tree needs. Errors: StateError before new_graph; else
// those of the operations, with the caller's line.

#include <vector>

#include "dynet/expr.h"

namespace dynet {

/// A node of a tree: its vector, and for an LSTM its cell (else unset).
struct TreeState {
  Expression c;
  Expression h;
};

/// What the tree builders share. Copies of a builder share its parameters. Thread rule: one thread
/// at a time, like its graph.
class BinaryTreeBuilder {
 public:
  BinaryTreeBuilder(const BinaryTreeBuilder&) = default;
  BinaryTreeBuilder& operator=(const BinaryTreeBuilder&) = default;
  virtual ~BinaryTreeBuilder();

  /// Adds the parameters to a graph: once for each. Without `update` they get no gradient.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// A word with vector `x`.
  virtual TreeState add_input(const Expression& x, Where where = Where::here()) = 0;
  /// A node over two others.
  virtual TreeState add_input(const TreeState& left, const TreeState& right,
                              Where where = Where::here()) = 0;
  ParameterCollection& get_parameter_collection() { return local_model; }

  ParameterCollection local_model;
  std::vector<Parameter> params;
  std::vector<Expression> param_vars;  ///< the same in the current graph

 protected:
  explicit BinaryTreeBuilder(const ParameterCollection& collection) : local_model(collection) {}
  /// StateError before new_graph.
  void check_ready(const char* name) const;
};

/// The tree LSTM of the DyNet paper's benchmark (Tai et al., 2015). Over a word with vector x:
///
///   i = logistic(W_i x + b_i),  o = logistic(W_o x + b_o),  u = tanh(W_u x + b_u),
///   c = i * u,  h = o * tanh(c)
///
/// and over two nodes:
///
///   i = logistic(U_i [h1; h2] + b_i), o and u alike,  f_k = logistic(F_k h_k + b_f),
///   c = i * u + f_1 * c1 + f_2 * c2,  h = o * tanh(c)
///
/// Parameters, in the collection `binary-tree-lstm-builder`, the gates i, o, u stacked: W {3h,in},
/// b {3h} (0), U {3h,2h}, F_1, F_2 {h,h}, b_f {h} (0). Each matrix of a gate is initialised by
/// Glorot for itself.
class BinaryTreeLSTMBuilder final : public BinaryTreeBuilder {
 public:
  explicit BinaryTreeLSTMBuilder(unsigned input_dim, unsigned hidden_dim,
                                 ParameterCollection& model);
  TreeState add_input(const Expression& x, Where where = Where::here()) override;
  TreeState add_input(const TreeState& left, const TreeState& right,
                      Where where = Where::here()) override;

  unsigned input_dim;
  unsigned hid;
};

/// The recursive network of the paper's Figure 2: h = tanh(W [h1; h2]); a word's vector is its own
/// state. Parameter, in the collection `tree-rnn-builder`: W {h,2h}.
class TreeRNNBuilder final : public BinaryTreeBuilder {
 public:
  explicit TreeRNNBuilder(unsigned hidden_dim, ParameterCollection& model);
  TreeState add_input(const Expression& x, Where where = Where::here()) override;
  TreeState add_input(const TreeState& left, const TreeState& right,
                      Where where = Where::here()) override;

  unsigned hid;
};

}  // namespace dynet
