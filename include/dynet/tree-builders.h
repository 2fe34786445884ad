#pragma once

// Builders for trees that DyNet 2.1 lacks, beside the builders of treelstm.h.
//
// Builders for trees with two branches, in which only words have vectors, hand out states as
// values:
//
//   TreeState left = builder.add_input(x1), right = builder.add_input(x2);
//   TreeState top = builder.add_input(left, right);      top.h is its vector
//
// or add a whole tree in one call, transduce, as builders of sequences do. Errors: StateError
// before new_graph; else the errors of the operations, with the caller's line.
//
// Builders for nodes with any number of children are used as in treelstm.h.

#include <vector>

#include "dynet/treelstm.h"

namespace dynet {

// ---- two branches
// --------------------------------------------------------------------------------

/// A node of a tree: its vector, and for an LSTM its cell.
struct TreeState {
  /// The node's cell, if it has one.
  Expression c;
  /// The node's vector.
  Expression h;
};

/// Base of the builders for binary trees. Copies of a builder share its parameters.
///
/// C++: Thread rule: one thread at a time, like its graph.
class BinaryTreeBuilder {
 public:
  BinaryTreeBuilder(const BinaryTreeBuilder&) = default;
  BinaryTreeBuilder& operator=(const BinaryTreeBuilder&) = default;
  virtual ~BinaryTreeBuilder();

  /// Adds the parameters to a graph: once for each. Without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first use in a graph does it.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// A word with vector `x`.
  virtual TreeState add_input(const Expression& x, Where where = Where::here()) = 0;
  /// A node over two nodes.
  virtual TreeState add_input(const TreeState& left, const TreeState& right,
                              Where where = Where::here()) = 0;
  /// add_input for all nodes of a tree, children before their parents: node i is over the nodes
  /// `left[i]` and `right[i]`, or, if both are -1, the next word of `xs`. The vectors h of all
  /// nodes. ValueError if the lists do not fit together, IndexError for a child that does not come
  /// before its parent: nothing is added then. Else the errors of add_input.
  std::vector<Expression> transduce(const std::vector<Expression>& xs, const std::vector<int>& left,
                                    const std::vector<int>& right, Where where = Where::here());
  /// The collection of the builder's parameters.
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

// ---- nodes with any number of children
// -------------------------------------------------------------

/// The tree LSTM that adds its children up, for nodes with many or unordered ones (Tai et al.,
/// 2015). With H = sum_k h_k:
///
///   i = logistic(bi + x2i x + h2i H),  o alike,  f_k = logistic(bf + x2f x + h2f h_k),
///   g = tanh(bc + x2c x + h2c H),  c = i * g + sum_k f_k * c_k,  h = o * tanh(c)
///
/// Parameters of a layer, in the collection `child-sum-tree-lstm-builder`: x2i {h,in}, h2i {h,h},
/// bi {h}, x2f, h2f, bf, x2o, h2o, bo, x2c, h2c, bc; biases 0.
struct ChildSumTreeLSTMBuilder : public LayeredTreeBuilder {
  ChildSumTreeLSTMBuilder() = default;
  explicit ChildSumTreeLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                   ParameterCollection& model);

 protected:
  [[nodiscard]] const char* name() const override { return "ChildSumTreeLSTMBuilder"; }
  [[nodiscard]] bool has_cells() const override { return true; }
  LayerState add_layer(unsigned layer, const Expression& x,
                       const std::vector<LayerState>& children) override;
};

/// The gated recurrent unit over trees: GRUBuilder's step with the children's sum H = sum_k h_k for
/// the state before, and a reset gate for each child. Over one child it is that step.
///
///   z = logistic(bz + x2z x + h2z H),  r_k = logistic(br + x2r x + h2r h_k),
///   h = (1 - z) * H + z * tanh(bh + x2h x + h2h sum_k(r_k * h_k))
///
/// Parameters of a layer, in the collection `tree-gru-builder`: x2z {h,in}, h2z {h,h}, bz {h}, x2r,
/// h2r, br, x2h, h2h, bh; biases 0.
struct TreeGRUBuilder : public LayeredTreeBuilder {
  TreeGRUBuilder() = default;
  explicit TreeGRUBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                          ParameterCollection& model);

 protected:
  [[nodiscard]] const char* name() const override { return "TreeGRUBuilder"; }
  LayerState add_layer(unsigned layer, const Expression& x,
                       const std::vector<LayerState>& children) override;
};

}  // namespace dynet
