#pragma once

// Recurrent builders: the interface, the base of builders with layers, and the simple recurrent
// network. lstm.h, gru.h, fast-lstm.h and deep-lstm.h have the others.
//
//   builder.new_graph(cg);            once for each graph
//   builder.start_new_sequence();     once for each sequence
//   h = builder.add_input(x);         once for each step: the top layer's output
//
// The index of a step is the number of steps made before in this sequence; -1 is the initial state.
// `add_input(prev, x)` continues any step, so steps form a tree: after steps 0 and 1, add_input(0,
// x) makes step 2, a second continuation of step 0. Errors: StateError for a call out of order,
// ValueError for a wrong number of expressions or a bad rate, IndexError for a step that does not
// exist. Calls check their inputs and states: ShapeError for another shape or number of examples;
// for states StaleExpression if unset or of a dead graph, GraphError for a node of another graph
// than the parameters'. out_of_memory for any failed allocation. After an error the builder is as
// before, and the call may be repeated; after an error of new_graph the builder waits for another
// new_graph.

#include <vector>

#include "dynet/expr.h"
#include "dynet/rnn-state-machine.h"

namespace dynet {

struct SimpleRNNBuilder;

/// Index of a step; -1: before the first.
using RNNPointer = int;
inline void swap(RNNPointer& n1, RNNPointer& n2) noexcept {
  const RNNPointer kept = n1;
  n1 = n2;
  n2 = kept;
}

namespace detail {

/// States of the steps of a sequence, `steps[step][layer]`, whose inner vectors are kept for the
/// next sequence: the tenth sequence of a length allocates nothing.
class StepMemory {
 public:
  /// A vector of `size` unset expressions to fill and push.
  [[nodiscard]] std::vector<Expression> take(std::size_t size);
  /// Removes all steps but the first `count`.
  void keep(std::vector<std::vector<Expression>>& steps, std::size_t count) noexcept;

 private:
  std::vector<std::vector<Expression>> spare_;
};

}  // namespace detail

/// Base of the recurrent builders. Copies of a builder share its parameters.
///
/// C++: Programs derive from it and write the functions named `_impl`. Thread rule: one thread at a
/// time, like its graph.
struct RNNBuilder {
  RNNBuilder() = default;
  RNNBuilder(const RNNBuilder&) = default;
  RNNBuilder& operator=(const RNNBuilder&) = default;
  virtual ~RNNBuilder();

  /// The current step.
  [[nodiscard]] RNNPointer state() const { return cur; }
  /// Adds the parameters to a graph; without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first `start_new_sequence` in a
  /// graph does it.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Forgets all steps. `h_0` is the initial state: for LSTMs the cells of all layers, then the
  /// hidden states of all layers; else the hidden states. Empty: the first step leaves out all
  /// terms of a state.
  void start_new_sequence(const std::vector<Expression>& h_0 = {}, Where where = Where::here());
  /// Appends a step after `prev` whose hidden states are `h_new`, one per layer; cells are the
  /// cells of `prev` (zeros if there are none).
  Expression set_h(const RNNPointer& prev, const std::vector<Expression>& h_new = {},
                   Where where = Where::here());
  /// Replaces the whole state. LSTMs: one expression per layer gives cells (hidden states stay as
  /// in `prev`), two per layer give cells, then hidden states.
  Expression set_s(const RNNPointer& prev, const std::vector<Expression>& s_new = {},
                   Where where = Where::here());
  /// Appends a step after the current one and makes it the current one. The top layer's output.
  /// `x`: {in} or {in,1}, with a batch or without; ShapeError for another.
  Expression add_input(const Expression& x, Where where = Where::here());
  /// Adds a step after step `prev`, which need not be the last one.
  Expression add_input(const RNNPointer& prev, const Expression& x, Where where = Where::here());
  /// add_input for each of `xs` in order, after the current step or after step `prev`. The top
  /// layer's outputs.
  std::vector<Expression> transduce(const std::vector<Expression>& xs, Where where = Where::here());
  std::vector<Expression> transduce(const RNNPointer& prev, const std::vector<Expression>& xs,
                                    Where where = Where::here());
  /// Goes back to the step before the current step; no step is removed. StateError if there is
  /// none.
  void rewind_one_step();
  /// Removes all steps after `p` (-1: all), which becomes the current step. Removed steps must not
  /// be used any more; their nodes stay. Does nothing in classes that keep their steps. IndexError
  /// if there is no step `p`.
  void forget_after(const RNNPointer& p);
  /// The step before `p`.
  [[nodiscard]] RNNPointer get_head(const RNNPointer& p) const;
  /// The output of step `p`, as the call that made the step returned it.
  [[nodiscard]] Expression get_output(const RNNPointer& p) const;

  /// Share of the numbers that are set to 0, from 0 to 1.
  virtual void set_dropout(float d);
  /// No dropout any more.
  virtual void disable_dropout();
  /// The top layer's output at the current step, which may be the initial state. StateError if
  /// there is none.
  [[nodiscard]] virtual Expression back() const = 0;
  /// Hidden states of all layers after the step added last (not the current step, after a rewind).
  [[nodiscard]] virtual std::vector<Expression> final_h() const = 0;
  [[nodiscard]] virtual std::vector<Expression> get_h(RNNPointer i) const = 0;
  /// Whole states likewise: for LSTMs cells, then hidden states.
  [[nodiscard]] virtual std::vector<Expression> final_s() const = 0;
  [[nodiscard]] virtual std::vector<Expression> get_s(RNNPointer i) const = 0;
  /// Number of expressions of an initial state.
  [[nodiscard]] virtual unsigned num_h0_components() const = 0;
  /// Makes this builder use the parameters of `params`, a builder of the same kind and sizes. The
  /// old parameters stay in their collection.
  virtual void copy(const RNNBuilder& params) = 0;
  /// The collection of the builder's parameters.
  virtual ParameterCollection& get_parameter_collection() = 0;

 protected:
  virtual void new_graph_impl(ComputationGraph& cg, bool update) = 0;
  virtual void start_new_sequence_impl(const std::vector<Expression>& h_0) = 0;
  virtual Expression add_input_impl(int prev, const Expression& x) = 0;
  virtual Expression set_h_impl(int prev, const std::vector<Expression>& h_new) = 0;
  virtual Expression set_s_impl(int prev, const std::vector<Expression>& c_new) = 0;
  /// Removes all steps but the first `count`; false if it cannot. Does not throw.
  virtual bool forget_impl(std::size_t count);
  /// Draws the masks of a sequence, if not yet drawn; called before `x` is read.
  virtual void begin_steps(const Expression& x);

  RNNPointer cur = -1;
  float dropout_rate = 0.0F;
  /// The user's line, for the nodes that `_impl` functions add.
  Where user_where;

 private:
  friend struct SimpleRNNBuilder;  // whose auxiliary inputs are steps, too

  /// Appends a step, which becomes the current one; nothing is appended if `impl` throws.
  template <class Impl>
  Expression append(RNNPointer prev, Where where, Impl impl);

  struct Step {
    RNNPointer before;
    Expression output;
  };
  [[nodiscard]] const Step& step(const char* call, RNNPointer p) const;

  RNNStateMachine sm_;
  std::vector<Step> steps_;
};

/// The base of builders with layers: each layer has parameters and, at each step, a hidden state
/// and perhaps a cell. A class adds its parameters and `add_layer`.
///
/// Invariant: `h`, and `c` if there are cells, have one entry per step.
struct LayeredRNNBuilder : public RNNBuilder {
  /// C++: Both rates are `d`.
  void set_dropout(float d) override;
  /// The rates of dropout of the layers' inputs, and of their hidden states. One mask per sequence,
  /// layer and rate is drawn at the first step.
  void set_dropout(float d, float d_h);
  void disable_dropout() override;
  /// Draws the masks of the sequence that was begun last now; its first input does it otherwise.
  /// StateError before the first use in a graph.
  void set_dropout_masks(unsigned batch_size = 1);

  [[nodiscard]] Expression back() const override;
  [[nodiscard]] std::vector<Expression> final_h() const override;
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override;
  [[nodiscard]] std::vector<Expression> final_s() const override;
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override;
  [[nodiscard]] unsigned num_h0_components() const override;
  void copy(const RNNBuilder& params) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }
  /// The name of the class in errors.
  [[nodiscard]] virtual const char* name() const = 0;

  ParameterCollection local_model;
  std::vector<std::vector<Parameter>> params;       ///< [layer][parameter]
  std::vector<std::vector<Expression>> param_vars;  ///< the same in the current graph
  std::vector<std::vector<Expression>> masks;       ///< [layer][input, recurrent, cell]
  std::vector<std::vector<Expression>> h;           ///< [step][layer]
  std::vector<std::vector<Expression>> c;           ///< empty in builders without cells
  bool has_initial_state = false;
  std::vector<Expression> h0;  ///< [layer], or empty
  std::vector<Expression> c0;
  unsigned layers = 0;
  unsigned input_dim = 0;
  unsigned hid = 0;
  bool dropout_masks_valid = false;
  float dropout_rate_h = 0.0F;

 protected:
  LayeredRNNBuilder() = default;
  LayeredRNNBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim)
      : layers(layer_count), input_dim(input_size), hid(hidden_dim) {}

  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;
  bool forget_impl(std::size_t count) override;
  void begin_steps(const Expression& x) override;

  [[nodiscard]] virtual bool has_cells() const { return false; }
  /// Rate of the masks on cells; negative: there are none.
  [[nodiscard]] virtual float cell_rate() const { return -1.0F; }
  /// Whether all steps share the dropout masks.
  [[nodiscard]] virtual bool has_masks() const { return true; }
  /// One layer's state after a step.
  struct LayerState {
    Expression c;  ///< unset in builders without cells
    Expression h;
  };
  /// One layer of one step. `before` is null at the start of a sequence without an initial state;
  /// its hidden state has gone through the recurrent mask.
  virtual LayerState add_layer(unsigned layer, const Expression& x, const LayerState* before) = 0;
  /// The input of a layer: the output of the layer below (`x` for the lowest), times the input
  /// mask.
  virtual Expression layer_input(unsigned layer, const Expression& below, const Expression& x);
  /// The output of a step with these hidden states.
  [[nodiscard]] virtual Expression output_of(const std::vector<Expression>& hidden_states) const {
    return hidden_states.back();
  }
  /// The result of add_input for a step with the output `output`.
  [[nodiscard]] virtual Expression returned(const Expression& output) const { return output; }

 private:
  void check_input(const Expression& x) const;
  /// The number of examples of a state: one expression per layer, or null for a kind that the state
  /// lacks. Throws if the state does not fit this builder.
  unsigned check_state(const char* what, const Expression* cell_states,
                       const Expression* hidden_states) const;
  void explain_failure(int prev, const Expression& x) const;
  [[nodiscard]] const std::vector<Expression>& hidden(RNNPointer i) const;
  [[nodiscard]] const std::vector<Expression>& cells(RNNPointer i) const;
  [[nodiscard]] Expression old_or_zeros(const std::vector<Expression>& of, unsigned layer) const;
  void push(std::vector<Expression>&& new_h, std::vector<Expression>&& new_c);
  [[nodiscard]] ComputationGraph& graph() const;

  detail::StepMemory memory_h_;
  detail::StepMemory memory_c_;
};

/// h_t = tanh(hb + x2h x_t + h2h h_{t-1}), layer on layer.
///
/// Parameters of a layer, in the collection `simple-rnn-builder`: x2h {h,in}, h2h {h,h}, hb {h}
/// (0). Dropout: one mask per sequence, on inputs and on h_{t-1}.
///
/// C++: with `support_lags` a layer has l2h {h,h}, too.
struct SimpleRNNBuilder : public LayeredRNNBuilder {
  SimpleRNNBuilder() = default;
  explicit SimpleRNNBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                            ParameterCollection& model, bool support_lags = false);

  /// A step with l2h aux added in each layer, after the one added last; the current step stays.
  Expression add_auxiliary_input(const Expression& x, const Expression& aux,
                                 Where where = Where::here());

  bool lagging = false;

 protected:
  [[nodiscard]] const char* name() const override { return "SimpleRNNBuilder"; }
  LayerState add_layer(unsigned layer, const Expression& x, const LayerState* before) override;

 private:
  const Expression* aux_ = nullptr;  ///< while add_auxiliary_input runs
};

}  // namespace dynet
