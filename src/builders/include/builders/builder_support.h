#pragma once

// Builders: recurrent and tree networks out of parameters and the operations of expr.h.
//
// In: a collection to make parameters in; then, for each graph, input expressions. Out: expressions
// of the new states. A builder computes nothing: for each layer and step it adds affine
// transformations and cells (dynet/ops/recurrent.h), and remembers the expressions of each step's
// state. Programs could write the same with expr.h.
//
// Softmaxes over many words (dynet/cfsm-builder.h) are built in the same way, one vector at a time.
//
// Start reading at dynet/rnn.h (the interface, its state machine, and LayeredRNNBuilder, the base
// of all recurrent builders of the library), then layered_rnn.cc and a builder such as gru.cc. This
// header has the functions that several sources need. Surprising: the order in which parameters are
// made is part of saved models. And steps lie in vectors that are never freed (detail::StepMemory):
// a sequence like an earlier one allocates nothing.

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/repeatable.h"
#include "dynet/rnn.h"

namespace dynet::builders {

/// Throws StaleExpression for `e`, which is unset or whose node is gone. The text begins with
/// `user` and has the line `where`.
[[noreturn]] void fail_stale(const Expression& e, const std::string& user, Where where);
/// The shape of an expression that a program gave. Calls fail_stale, with the text of `user()`, if
/// the expression is unset or its node is gone.
template <class User>
[[nodiscard]] const Dim& dim_of(const Expression& e, Where where, User user) {
  try {
    return e.dim();  // checks the node anyway, so the good case pays one check
  } catch (const errors::StaleExpression&) {
    fail_stale(e, user(), where);
  }
}

/// ValueError unless 0 <= share <= 1; `what` names the share.
void check_share(const char* builder, const std::string& what, float share);
/// ValueError unless epsilon >= 0; `name` is its name.
void check_epsilon(const char* builder, const char* name, float epsilon);
/// ValueError unless the dropout rate `name` is between 0 and 1.
void check_rate(const char* builder, const char* name, float rate);
/// ValueError unless `given` is `wanted`.
void check_count(const char* builder, const char* what, std::size_t given, std::size_t wanted);
/// Has `x` `rows` numbers in one column: {rows} or {rows,1}, with or without a batch?
[[nodiscard]] inline bool is_column(const Dim& x, unsigned rows) {
  return x.nd <= 2 && x.cols() == 1 && x.rows() == rows;
}
/// Throws ShapeError, with the line `where`, for an input of shape `x` instead of {rows}.
[[noreturn]] void fail_input(const char* builder, const Dim& x, unsigned rows, Where where);

/// A state from a program, initial or to go on with: its name in messages, and requirements.
struct GivenState {
  const char* builder;
  const char* what;               ///< "the initial state"
  unsigned rows;                  ///< each cell and hidden state is {rows} or {rows,1}
  const ComputationGraph* graph;  ///< of its nodes; null: not known
  Where where;                    ///< the line that gave the state
};
/// The number of examples of the state. `cells` and `hidden` have one expression a layer, or are
/// null if there are none. Throws StaleExpression, GraphError or ShapeError, with the builder, the
/// layer and the line, for an expression that is unset, stale, of another graph or of another
/// shape, and for numbers of examples that differ and are not 1.
unsigned check_state(const GivenState& given, unsigned layers, const Expression* cells,
                     const Expression* hidden);
/// States that check_state accepts, columns as vectors: the operations of cells take vectors only.
std::vector<Expression> as_vectors(const std::vector<Expression>& states, Where where);
/// ShapeError unless x and `what`, which has `others` examples, have equal numbers of examples, or
/// one of them has 1.
void check_examples(const char* builder, unsigned x, const char* what, unsigned others,
                    Where where);
[[noreturn]] void fail_kind(const char* builder);
/// `other` as a builder of the class of `self`, which is to share its parameters. Throws
/// ValueError, with both names, for another class.
template <class Builder>
const Builder& check_kind(const Builder& self, const RNNBuilder& other) {
  const auto* same = dynamic_cast<const Builder*>(&other);
  if (same == nullptr || std::strcmp(same->name(), self.name()) != 0) {
    fail_kind(self.name());
  }
  return *same;
}
[[noreturn]] void fail_step(const char* builder, RNNPointer i, std::size_t steps);
/// IndexError unless -1 <= i < steps.
inline void check_step(const char* builder, RNNPointer i, std::size_t steps) {
  if (i < -1 || i >= static_cast<RNNPointer>(steps)) {
    fail_step(builder, i, steps);
  }
}

/// The parameters' nodes, `vars` shaped like `params`. StateError for an unset parameter.
void add_parameters(ComputationGraph& cg, bool update,
                    const std::vector<std::vector<Parameter>>& params,
                    std::vector<std::vector<Expression>>& vars);
/// The graph of the expressions. StateError before new_graph, StaleExpression if the graph of the
/// last new_graph is gone.
[[nodiscard]] ComputationGraph& graph_of(const char* builder,
                                         const std::vector<std::vector<Expression>>& vars);
/// Makes `to` the handles of `from`, of parameters or lookup tables. ValueError unless both have
/// the same numbers and shapes.
template <class Handle>
void share_parameters(const char* builder, const std::vector<std::vector<Handle>>& from,
                      std::vector<std::vector<Handle>>& to);

/// Extent of a matrix for `count` gates of `hidden` numbers each. SizeError if too large.
[[nodiscard]] unsigned gate_rows(const char* builder, unsigned count, unsigned hidden);
/// Extent of the input of a layer that reads two vectors, one below the other. SizeError if too
/// large.
[[nodiscard]] unsigned sum_of_sizes(const char* builder, unsigned input, unsigned hidden);
/// One layer of a standard LSTM: a matrix for the input, one for the state, and a bias of 0.
[[nodiscard]] std::vector<Parameter> make_standard_layer(ParameterCollection& model, unsigned rows,
                                                         unsigned in, unsigned hidden);

/// An affine transformation put together term by term, without memory of its own.
class Affine {
 public:
  explicit Affine(const Expression& bias) { list_[0] = bias; }
  void add(const Expression& w, const Expression& x) {
    list_[count_++] = w;
    list_[count_++] = x;
  }
  [[nodiscard]] Expression build(Where where) const;

 private:
  Expression list_[7];  // bias and at most three products
  std::size_t count_ = 1;
};

/// Draws masks for each layer of a builder with these parameters. One mask, at `rate`, is for the
/// layer's input, with a number for each column of the layer's first parameter. Further masks, one
/// at each of `state_rates`, are for the layer's state, with `hid` numbers. A mask drops with this
/// probability and scales the other numbers up. A call that fails leaves some of the masks; the
/// next call draws the same numbers.
void draw_masks(const detail::LocatedGraph& cg,
                const std::vector<std::vector<Expression>>& param_vars, unsigned hid,
                unsigned batch_size, float rate, std::span<const float> state_rates,
                std::vector<std::vector<Expression>>& masks);
/// Whether this rate of dropout, or any of these, holds for the step that is being made.
[[nodiscard]] inline bool drops(float rate) { return rate > 0.0F && !Evaluating::is_on(); }
[[nodiscard]] inline bool drops(std::initializer_list<float> rates) {
  return drops(std::max(rates));
}
/// Are the drawn masks, by layer and kind, still there? A revert removes masks drawn after its
/// checkpoint, and leaves the builder and its sequence.
[[nodiscard]] inline bool are_alive(const std::vector<std::vector<Expression>>& masks) {
  return !masks.empty() && !masks[0][0].is_stale();
}

}  // namespace dynet::builders
