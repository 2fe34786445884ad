#pragma once

// Builders of DyNet 2.1 for trees, from the leaves up. A program numbers the nodes; a node has a
// vector x of its own and any number of children:
//
//   builder.new_graph(cg);
//   builder.start_new_sequence();             once for each tree
//   builder.add_input(0, {}, x0);             a leaf
//   builder.add_input(1, {}, x1);
//   top = builder.add_input(2, {0, 1}, x2);   the top layer's output
//
// Nodes come in the order 0, 1, 2, ...; after set_num_elements(n) in any order in which children
// come before their parents. Errors name builder and node: StateError for a call out of order,
// IndexError for a number other than the next and for a missing child, ShapeError for an x of
// another size and for batches that do not fit; else the errors of the operations, with the
// caller's line.
//
// Builders that DyNet 2.1 lacks are in tree-builders.h: their names may be names of a program
// (docs/decisions/0027).

#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"

namespace dynet {

/// The interface of DyNet 2.1, from which programs derive, too. A function that a class does not
/// override fails with UsageError; steps of sequences (`add_input(x)`, set_h, set_s) have no
/// meaning in trees.
struct TreeLSTMBuilder : public RNNBuilder {
  /// Node `id` over its children, which were added before. The top layer's output, {hidden_dim}.
  virtual Expression add_input(int id, std::vector<int> children, const Expression& x) = 0;
  /// From now to the end of this tree: it has the nodes 0, ..., num - 1, which come in any order.
  virtual void set_num_elements(int num) = 0;

  [[nodiscard]] Expression back() const override;
  [[nodiscard]] std::vector<Expression> final_h() const override;
  [[nodiscard]] std::vector<Expression> final_s() const override;
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override;
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override;
  [[nodiscard]] unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;

 protected:
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;
};

namespace detail {
/// Takes calls through the base class, which have no line. In one class with the add_input below
/// the overloads would be ambiguous.
struct TreeCallsWithoutLine : public TreeLSTMBuilder {
  Expression add_input(int id, std::vector<int> children, const Expression& x) final;

 private:
  virtual Expression add_numbered(int id, const std::vector<int>& children, const Expression& x,
                                  Where where) = 0;
};
}  // namespace detail

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverloaded-virtual"  // hiding is intended
#endif

/// Base of the builders for trees whose nodes have any number of children. `add_input` makes a node
/// over nodes that were added before.
///
/// C++: Invariant: `h`, and `c` if nodes have cells, have an entry per node, empty until the node
/// is added.
struct TreeNodesBuilder : public detail::TreeCallsWithoutLine {
  /// Node `id` with the vector `x` over its children, which were added before: its output. Nodes
  /// come in the order 0, 1, 2, ..., unless set_num_elements() says how many there are.
  Expression add_input(int id, const std::vector<int>& children, const Expression& x,
                       Where where = Where::here()) {
    return add_numbered(id, children, x, where);
  }
  /// The tree has the nodes 0 to num - 1, which come in any order from now on.
  void set_num_elements(int num) final;
  /// The output of the node added last.
  [[nodiscard]] Expression back() const override;
  /// Hidden states of the node added last.
  [[nodiscard]] std::vector<Expression> final_h() const override;
  /// The whole state of the node added last.
  [[nodiscard]] std::vector<Expression> final_s() const override;
  /// Hidden states of a node, one per layer; the embedding alone if an LSTM reads the children. -1:
  /// the initial state.
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override;
  /// The whole state of a node: cells, if there are any, then hidden states.
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override;
  /// The collection of the builder's parameters.
  ParameterCollection& get_parameter_collection() override { return local_model; }
  /// The name of the class in errors.
  [[nodiscard]] virtual const char* name() const = 0;

  ParameterCollection local_model;
  std::vector<std::vector<Expression>> h;  ///< [id][layer]
  std::vector<std::vector<Expression>> c;  ///< empty in builders without cells
  bool has_initial_state = false;
  std::vector<Expression> h0;
  std::vector<Expression> c0;
  unsigned layers = 0;
  unsigned input_dim = 0;
  unsigned hid = 0;

 protected:
  TreeNodesBuilder() = default;
  TreeNodesBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim)
      : layers(layer_count), input_dim(input_size), hid(hidden_dim) {}

  void new_graph_impl(ComputationGraph& cg, bool update) final;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) final;

  [[nodiscard]] virtual bool has_cells() const { return false; }
  virtual void enter_graph(ComputationGraph& cg, bool update) = 0;
  virtual void start_tree(const std::vector<Expression>& h_0) = 0;
  /// Expressions of a node's hidden state.
  [[nodiscard]] virtual std::size_t state_size() const { return layers; }
  /// Fills the state of a node whose arguments were checked.
  virtual void add_node(const std::vector<int>& children, const Expression& x,
                        std::vector<Expression>& new_h, std::vector<Expression>& new_c) = 0;
  /// The entry of `of` (h or c) for node `i`, or for -1 `initial`. IndexError for a missing node.
  [[nodiscard]] const std::vector<Expression>& state_of(
      const std::vector<std::vector<Expression>>& of, const std::vector<Expression>& initial,
      RNNPointer i) const;

 private:
  Expression add_numbered(int id, const std::vector<int>& children, const Expression& x,
                          Where where) final;
  Expression add_checked(int id, const std::vector<int>& children, const Expression& x);
  void check_place(int id) const;
  void check_children(int id, const std::vector<int>& children, const Expression& x,
                      Where where) const;
  [[nodiscard]] bool has_node(int id) const;

  detail::StepMemory memory_h_;
  detail::StepMemory memory_c_;
  bool is_reading_ = false;
  bool any_order_ = false;
  int last_ = -1;
};

#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

/// Base of builders whose layers read the children's states of the same layer: parameters, and
/// dropout by one mask per tree, layer and place. `set_dropout` has the rates of the layers' inputs
/// and of the children's hidden states. An initial state is the only child of each leaf.
struct LayeredTreeBuilder : public TreeNodesBuilder {
  void set_dropout(float d) override;
  /// The rates of dropout of the layers' inputs, and of the children's hidden states.
  void set_dropout(float d, float d_h);
  void disable_dropout() override;
  /// Draws the masks of this tree now; add_input does it otherwise. StateError before new_graph.
  void set_dropout_masks(unsigned batch_size = 1);
  [[nodiscard]] unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;

  std::vector<std::vector<Parameter>> params;       ///< [layer][parameter]
  std::vector<std::vector<Expression>> param_vars;  ///< the same in the current graph
  std::vector<std::vector<Expression>> masks;       ///< [layer][input, children]
  bool dropout_masks_valid = false;
  float dropout_rate_h = 0.0F;

 protected:
  LayeredTreeBuilder() = default;
  using TreeNodesBuilder::TreeNodesBuilder;

  void enter_graph(ComputationGraph& cg, bool update) override;
  void start_tree(const std::vector<Expression>& h_0) override;
  void add_node(const std::vector<int>& children, const Expression& x,
                std::vector<Expression>& new_h, std::vector<Expression>& new_c) final;

  /// One layer of a node.
  struct LayerState {
    Expression c;  ///< unset in builders without cells
    Expression h;  ///< of a child: behind its mask
  };
  virtual LayerState add_layer(unsigned layer, const Expression& x,
                               const std::vector<LayerState>& children) = 0;
  /// The children's hidden states added up.
  Expression sum_of_h(const std::vector<LayerState>& children);
  /// The states c or h of the children from `first` on behind the gates in `forget_`, added up;
  /// unset if there are none.
  Expression behind_gates(const std::vector<LayerState>& children, Expression LayerState::* state,
                          std::size_t first);
  /// c = logistic(i) * tanh(g) + logistic(forget_1) * c_1 + ...,  h = logistic(o) * tanh(c), from
  /// the gates before the logistic function; `forget_` has one for each child.
  LayerState close_cell(const Expression& i, const Expression& g, const Expression& o,
                        const std::vector<LayerState>& children);

  std::vector<Expression> forget_;  ///< or reset gates, before the logistic function
  std::vector<Expression> terms_;   ///< arguments of the node that is being made

 private:
  std::vector<LayerState> children_;
};

/// The tree LSTM whose matrices know the places of the children (Tai et al., 2015), with peepholes.
/// Over children 0, ..., K - 1, where e(j) = min(j, N - 1):
///
///   i = logistic(bi + x2i x + sum_j(h2i[e(j)] h_j + c2i[e(j)] c_j)),  o alike,
///   f_k = logistic(bf + x2f x + sum_j(h2f[e(j) N + e(k)] h_j + c2f[e(j) N + e(k)] c_j) + 1),
///   g = tanh(bc + x2c x + sum_j h2c[e(j)] h_j),  c = i * g + sum_k f_k * c_k,  h = o * tanh(c)
///
/// Parameters of a layer, in the collection `nary-tree-lstm-builder`, made in this order (tables
/// have matrices {h,h}): x2i {h,in}, h2i N, c2i N, bi {h}, x2f, h2f N*N, c2f N*N, bf, x2o, h2o N,
/// c2o N, bo, x2c, h2c N, bc; biases 0.
///
/// C++: `params` has x2i, bi, x2f, bf, x2o, bo, x2c, bc, and `lparams` h2i, h2f, h2o, h2c, c2i,
/// c2f, c2o.
struct NaryTreeLSTMBuilder : public LayeredTreeBuilder {
  NaryTreeLSTMBuilder() = default;
  /// ValueError if N is 0.
  // NOLINTNEXTLINE(readability-identifier-naming): DyNet's name
  explicit NaryTreeLSTMBuilder(unsigned N, unsigned layers, unsigned input_dim, unsigned hidden_dim,
                               ParameterCollection& model);
  void copy(const RNNBuilder& params) override;

  std::vector<std::vector<LookupParameter>> lparams;              ///< [layer][table]
  std::vector<std::vector<std::vector<Expression>>> lparam_vars;  ///< [layer][table][row]
  unsigned N = 0;  // NOLINT(readability-identifier-naming): DyNet's name

 protected:
  [[nodiscard]] const char* name() const override { return "NaryTreeLSTMBuilder"; }
  [[nodiscard]] bool has_cells() const override { return true; }
  void enter_graph(ComputationGraph& cg, bool update) override;
  LayerState add_layer(unsigned layer, const Expression& x,
                       const std::vector<LayerState>& children) override;

 private:
  [[nodiscard]] std::size_t slot(std::size_t child) const;
  void add_forget_gates(unsigned layer, const Expression& of_x,
                        const std::vector<LayerState>& children);
  std::vector<Expression> forget_bias_;  ///< bf + 1, [layer]
};

/// A standard LSTM that reads a node's x, then its children's embeddings in order; its last output
/// is the node's embedding. An initial state, dropout and its masks are as in the LSTM.
///
/// Parameters, in the collection `unidirectional-tree-lstm-builder`: a VanillaLSTMBuilder's.
struct UnidirectionalTreeLSTMBuilder : public TreeNodesBuilder {
  UnidirectionalTreeLSTMBuilder() = default;
  /// Nodes with children are a ShapeError unless input_dim is hidden_dim: children are read as
  /// inputs.
  explicit UnidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                         ParameterCollection& model);
  void set_dropout(float d) override;
  void disable_dropout() override;
  [[nodiscard]] unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;
  [[nodiscard]] const char* name() const override { return "UnidirectionalTreeLSTMBuilder"; }

  VanillaLSTMBuilder node_builder;

 protected:
  [[nodiscard]] std::size_t state_size() const override { return 1; }
  void enter_graph(ComputationGraph& cg, bool update) override;
  void start_tree(const std::vector<Expression>& h_0) override;
  void add_node(const std::vector<int>& children, const Expression& x,
                std::vector<Expression>& new_h, std::vector<Expression>& new_c) override;
};

/// Two standard LSTMs of hidden_dim / 2: one reads x, then the children in order, the other x, then
/// the children from the last to the first. The node's embedding is the last output of both, one
/// below the other. Both start from the initial state, if there is one.
///
/// Parameters, in the collection `bidirectional-tree-lstm-builder`: two VanillaLSTMBuilders'.
struct BidirectionalTreeLSTMBuilder : public TreeNodesBuilder {
  BidirectionalTreeLSTMBuilder() = default;
  /// ValueError unless hidden_dim is even. Nodes with children are a ShapeError unless input_dim is
  /// hidden_dim: children are read as inputs.
  explicit BidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                        ParameterCollection& model);
  void set_dropout(float d) override;
  void disable_dropout() override;
  [[nodiscard]] unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;
  [[nodiscard]] const char* name() const override { return "BidirectionalTreeLSTMBuilder"; }

  VanillaLSTMBuilder fwd_node_builder;
  VanillaLSTMBuilder rev_node_builder;

 protected:
  [[nodiscard]] std::size_t state_size() const override { return 1; }
  void enter_graph(ComputationGraph& cg, bool update) override;
  void start_tree(const std::vector<Expression>& h_0) override;
  void add_node(const std::vector<int>& children, const Expression& x,
                std::vector<Expression>& new_h, std::vector<Expression>& new_c) override;
};

}  // namespace dynet
