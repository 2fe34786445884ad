#pragma once

// Recurrent builders: the interface, and the simple recurrent network.
//
//   builder.new_graph(cg);            once for each graph
//   builder.start_new_sequence();     once for each sequence
//   h = builder.add_input(x);         once for each step: the top layer's output
//
// A step is known by its index, the number of steps made before it in this sequence; -1 is the
// initial state. `add_input(prev, x)` continues any step, so steps form a tree. Errors: StateError
// for a call out of order, ValueError for a wrong number of expressions or a bad rate, IndexError
// for a step that does not exist.

#include <vector>

#include "dynet/expr.h"
#include "dynet/rnn-state-machine.h"

namespace dynet {

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
  /// Removes all steps.
  void clear(std::vector<std::vector<Expression>>& steps);
  /// A vector of `size` unset expressions to fill and push.
  [[nodiscard]] std::vector<Expression> take(std::size_t size);
  /// Appends a step, and with it nothing that can fail.
  void push(std::vector<std::vector<Expression>>& steps, std::vector<Expression>&& step);

 private:
  std::vector<std::vector<Expression>> spare_;
};

}  // namespace detail

/// Base of the recurrent builders. Programs derive from it and write the functions named `_impl`.
/// Copies of a builder share its parameters. Thread rule: one thread at a time, like its graph.
struct RNNBuilder {
  RNNBuilder() = default;
  RNNBuilder(const RNNBuilder&) = default;
  RNNBuilder& operator=(const RNNBuilder&) = default;
  virtual ~RNNBuilder();

  /// The current step.
  [[nodiscard]] RNNPointer state() const { return cur; }
  /// Adds the parameters to a graph; without `update` they get no gradient.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Forgets all steps. `h_0` is the initial state: for LSTMs the cells of all layers, then the
  /// hidden states of all layers; else the hidden states. Empty: there is none, and what would use
  /// it is left out.
  void start_new_sequence(const std::vector<Expression>& h_0 = {});
  /// Appends a step after `prev` whose hidden states are `h_new`, one per layer; cells are those of
  /// `prev` (zeros where there are none).
  Expression set_h(const RNNPointer& prev, const std::vector<Expression>& h_new = {},
                   Where where = Where::here());
  /// Replaces the whole state. LSTMs: one expression per layer gives cells (hidden states stay
  /// those of `prev`), two per layer give cells, then hidden states.
  Expression set_s(const RNNPointer& prev, const std::vector<Expression>& s_new = {},
                   Where where = Where::here());
  /// Appends a step after the current one and makes it the current one. The top layer's output.
  Expression add_input(const Expression& x, Where where = Where::here());
  /// Adds a step after step `prev`, which need not be the last one.
  Expression add_input(const RNNPointer& prev, const Expression& x, Where where = Where::here());
  /// add_input for each of them in order, after the current step or after step `prev`. The top
  /// layer's outputs.
  std::vector<Expression> transduce(const std::vector<Expression>& xs, Where where = Where::here());
  std::vector<Expression> transduce(const RNNPointer& prev, const std::vector<Expression>& xs,
                                    Where where = Where::here());
  /// Makes the step before the current one the current one; steps stay. StateError where there is
  /// none.
  void rewind_one_step();
  /// The step before `p`.
  [[nodiscard]] RNNPointer get_head(const RNNPointer& p) const;

  /// Share of the numbers that are set to 0, from 0 to 1.
  virtual void set_dropout(float d);
  virtual void disable_dropout();
  /// The top layer's output at the current step, which may be the initial state.
  [[nodiscard]] virtual Expression back() const = 0;
  /// Hidden states of all layers after the step added last (not the current one, after a rewind).
  [[nodiscard]] virtual std::vector<Expression> final_h() const = 0;
  [[nodiscard]] virtual std::vector<Expression> get_h(RNNPointer i) const = 0;
  /// Whole states likewise: for LSTMs cells, then hidden states.
  [[nodiscard]] virtual std::vector<Expression> final_s() const = 0;
  [[nodiscard]] virtual std::vector<Expression> get_s(RNNPointer i) const = 0;
  /// Number of expressions of an initial state.
  [[nodiscard]] virtual unsigned num_h0_components() const = 0;
  /// Makes this builder use the parameters of `params`, a builder of the same kind and sizes. Those
  /// that it had stay in their collection.
  virtual void copy(const RNNBuilder& params) = 0;
  virtual ParameterCollection& get_parameter_collection() = 0;

 protected:
  virtual void new_graph_impl(ComputationGraph& cg, bool update) = 0;
  virtual void start_new_sequence_impl(const std::vector<Expression>& h_0) = 0;
  virtual Expression add_input_impl(int prev, const Expression& x) = 0;
  virtual Expression set_h_impl(int prev, const std::vector<Expression>& h_new) = 0;
  virtual Expression set_s_impl(int prev, const std::vector<Expression>& c_new) = 0;
  /// For a step that a derived class appended by itself: gives it an index, `cur` stays.
  void note_step(RNNPointer prev);

  RNNPointer cur = -1;
  float dropout_rate = 0.0F;
  /// The user's line, for the nodes that `_impl` functions add.
  Where user_where;

 private:
  /// Appends a step made by `impl`; without it if that throws.
  template <class Impl>
  Expression append(RNNPointer prev, Where where, Impl impl);

  RNNStateMachine sm_;
  std::vector<RNNPointer> head_;  ///< of each step the one before
};

/// h_t = tanh(hb + x2h x_t + h2h h_{t-1}), layer on layer.
///
/// Parameters of a layer, in the collection `simple-rnn-builder`: x2h {h,in}, h2h {h,h}, hb {h}
/// (0), and with `support_lags` l2h {h,h}. Dropout: one mask a sequence, on inputs and on h_{t-1}.
struct SimpleRNNBuilder : public RNNBuilder {
  SimpleRNNBuilder() = default;
  explicit SimpleRNNBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                            ParameterCollection& model, bool support_lags = false);

  /// A step with l2h aux added in each layer, after the one added last; the current step stays.
  Expression add_auxiliary_input(const Expression& x, const Expression& aux,
                                 Where where = Where::here());

  void set_dropout(float d) override;
  void set_dropout(float d, float d_h);
  void disable_dropout() override;
  /// Draws the masks of this sequence now; add_input does it otherwise.
  void set_dropout_masks(unsigned batch_size = 1);

  [[nodiscard]] Expression back() const override;
  [[nodiscard]] std::vector<Expression> final_h() const override;
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override;
  [[nodiscard]] std::vector<Expression> final_s() const override { return final_h(); }
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override { return get_h(i); }
  [[nodiscard]] unsigned num_h0_components() const override { return layers; }
  void copy(const RNNBuilder& params) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }

  ParameterCollection local_model;
  std::vector<std::vector<Parameter>> params;       ///< [layer][x2h, h2h, hb, l2h]
  std::vector<std::vector<Expression>> param_vars;  ///< the same in the current graph
  std::vector<std::vector<Expression>> masks;       ///< [layer][input, recurrent]
  std::vector<std::vector<Expression>> h;           ///< [step][layer]
  std::vector<Expression> h0;                       ///< [layer], or empty
  float dropout_rate_h = 0.0F;
  unsigned layers = 0;
  unsigned input_dim = 0;
  unsigned hid = 0;
  bool lagging = false;
  bool dropout_masks_valid = false;

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;

 private:
  [[nodiscard]] const std::vector<Expression>& hidden(RNNPointer i) const;
  Expression add_step(int prev, const Expression& x, const Expression* aux);

  detail::StepMemory memory_;
};

}  // namespace dynet
