#pragma once

// Builders: recurrent and tree networks out of parameters and the operations of expr.h.
//
// In: a collection to make parameters in; then, for each graph, input expressions. Out: expressions
// of the new states. A builder computes nothing: for each layer and step it adds affine
// transformations and cells (dynet/ops/recurrent.h), and remembers which expressions are the state
// of which step. Nothing here is more than a program could write itself with expr.h.
//
// Softmaxes over many words (dynet/cfsm-builder.h) are built in the same way, for one vector at a
// time.
//
// Start reading at dynet/rnn.h (the interface, its state machine, and LayeredRNNBuilder, which all
// recurrent builders of the library are), then layered_rnn.cc and a builder such as gru.cc. This
// header holds what their sources share. Surprising: the order in which parameters are made is part
// of saved models, and steps live in vectors that are never freed (detail::StepMemory), so that a
// sequence like an earlier one allocates nothing.

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/repeatable.h"
#include "dynet/rnn.h"

namespace dynet::builders {

/// StaleExpression that begins with `user` and has the line `where`: `e` is unset, or its node is
/// gone.
[[noreturn]] void fail_stale(const Expression& e, const std::string& user, Where where);
/// The shape of an expression that a program gave. Where it is unset or its node is gone,
/// fail_stale with what `user()` says.
template <class User>
[[nodiscard]] const Dim& dim_of(const Expression& e, Where where, User user) {
  try {
    return e.dim();  // which looks at it anyway: nothing is asked twice where all is well
  } catch (const errors::StaleExpression&) {
    fail_stale(e, user(), where);
  }
}

/// ValueError unless 0 <= share <= 1; `what` says which share it is.
void check_share(const char* builder, const std::string& what, float share);
/// ValueError unless epsilon >= 0; `name` says which one it is.
void check_epsilon(const char* builder, const char* name, float epsilon);
/// ValueError unless the dropout rate `name` is between 0 and 1.
void check_rate(const char* builder, const char* name, float rate);
/// ValueError unless `given` is `wanted`.
void check_count(const char* builder, const char* what, std::size_t given, std::size_t wanted);
/// Whether `x` has `rows` numbers in one column: {rows} or {rows,1}, with a batch or without.
[[nodiscard]] inline bool is_column(const Dim& x, unsigned rows) {
  return x.nd <= 2 && x.cols() == 1 && x.rows() == rows;
}
/// ShapeError, which has the line `where`: the input of shape `x` should have been {rows}.
[[noreturn]] void fail_input(const char* builder, const Dim& x, unsigned rows, Where where);

/// A state that a program gives, or went on with: as messages say it, and what it has to be.
struct GivenState {
  const char* builder;
  const char* what;               ///< "the initial state"
  unsigned rows;                  ///< each cell and hidden state is {rows}
  bool columns_too;               ///< hidden states may be {rows,1}, which the operations read
  const ComputationGraph* graph;  ///< of its nodes; null: that is not known
  Where where;                    ///< where it was given
};
/// The number of examples of the state. `cells` and `hidden` have one expression a layer, or are
/// null where there are none. StaleExpression, GraphError or ShapeError, which name the builder,
/// the layer and the line, for one that is unset, stale, of another graph or of another shape, and
/// for numbers of examples that differ and are not 1.
unsigned check_state(const GivenState& given, unsigned layers, const Expression* cells,
                     const Expression* hidden);
/// ShapeError unless x and what it meets have equal numbers of examples, or one of them has 1.
void check_examples(const char* builder, unsigned x, const char* what, unsigned others,
                    Where where);
[[noreturn]] void fail_kind(const char* builder);
/// `other` as a builder of the class of `self`, whose parameters it is to share. ValueError for
/// another class, and another name.
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

/// The parameters' nodes, `vars` shaped like `params`. StateError for a parameter that is unset.
void add_parameters(ComputationGraph& cg, bool update,
                    const std::vector<std::vector<Parameter>>& params,
                    std::vector<std::vector<Expression>>& vars);
/// The graph that they are in. StateError before new_graph, StaleExpression where the graph of the
/// last new_graph is gone.
[[nodiscard]] ComputationGraph& graph_of(const char* builder,
                                         const std::vector<std::vector<Expression>>& vars);
/// Makes `to` the handles of `from`, of parameters or lookup tables. ValueError unless both have
/// the same numbers and shapes.
template <class Handle>
void share_parameters(const char* builder, const std::vector<std::vector<Handle>>& from,
                      std::vector<std::vector<Handle>>& to);

/// Extent of a matrix for `count` gates of `hidden` numbers each. SizeError where it does not fit.
[[nodiscard]] unsigned gate_rows(const char* builder, unsigned count, unsigned hidden);
/// Extent of what a layer reads of two sizes, one below the other. SizeError where it does not fit.
[[nodiscard]] unsigned sum_of_sizes(const char* builder, unsigned input, unsigned hidden);
/// One layer of a standard LSTM: a matrix for what it reads, one for its state, and a bias of 0.
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

/// Draws masks for each layer of a builder with these parameters: one of what the layer reads,
/// which has a number for each column of its first parameter, at `rate`; and of its state, which
/// has `hid` numbers, one at each of `state_rates`. A mask drops with that probability and scales
/// up what stays. A call that fails leaves some of the masks; made again it draws what it would
/// have drawn.
void draw_masks(const detail::LocatedGraph& cg,
                const std::vector<std::vector<Expression>>& param_vars, unsigned hid,
                unsigned batch_size, float rate, std::span<const float> state_rates,
                std::vector<std::vector<Expression>>& masks);
/// Whether masks that were drawn are still there, by layer and kind. A revert takes back those that
/// were drawn after its checkpoint, and leaves the builder and its sequence.
[[nodiscard]] inline bool are_alive(const std::vector<std::vector<Expression>>& masks) {
  return !masks.empty() && !masks[0][0].is_stale();
}

}  // namespace dynet::builders
