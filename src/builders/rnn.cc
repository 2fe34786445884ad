#include "dynet/rnn.h"

#include <span>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/ext/add_node.h"

#include "builders/builder_support.h"
#include "builders/cells.h"

namespace dynet {

using builders::check_rate;
using builders::check_step;

// ---- state machine

void RNNStateMachine::check(RNNOp op) const {
  const bool allowed = op == RNNOp::new_graph ||
                       (op == RNNOp::start_new_sequence && state_ != CREATED) ||
                       (op == RNNOp::add_input && state_ == READING_INPUT);
  if (allowed) {
    return;
  }
  const char* const ops[] = {"new_graph", "start_new_sequence", "add_input"};
  const char* const states[] = {"CREATED (want new_graph first)",
                                "GRAPH_READY (want start_new_sequence first)", "READING_INPUT"};
  throw errors::StateError(std::string("RNNBuilder: ") + ops[op] + " in state " + states[state_]);
}

void RNNStateMachine::transition(RNNOp op) {
  check(op);
  state_ = op == RNNOp::new_graph ? GRAPH_READY : READING_INPUT;
}

// ---- the interface

RNNBuilder::~RNNBuilder() = default;

void RNNBuilder::new_graph(ComputationGraph& cg, bool update) {
  sm_.check(RNNOp::new_graph);
  sm_.reset();  // until all expressions are there
  detail::with_typed_allocation([&] { new_graph_impl(cg, update); });
  sm_.transition(RNNOp::new_graph);
}

void RNNBuilder::start_new_sequence(const std::vector<Expression>& h_0, Where where) {
  sm_.check(RNNOp::start_new_sequence);
  user_where = where;
  detail::with_typed_allocation([&] { start_new_sequence_impl(h_0); });
  cur = -1;
  steps_.clear();
  sm_.transition(RNNOp::start_new_sequence);
}

template <class Impl>
Expression RNNBuilder::append(RNNPointer prev, Where where, Impl impl) {
  sm_.check(RNNOp::add_input);
  check_step("RNNBuilder", prev, steps_.size());
  user_where = where;
  const RNNPointer before = cur;
  const std::size_t index = steps_.size();
  return detail::with_typed_allocation([&]() -> Expression {
    steps_.push_back({prev, Expression()});
    cur = static_cast<RNNPointer>(index);
    try {
      const Expression output = impl();
      steps_[index].output = output;
      return output;
    } catch (...) {
      steps_.pop_back();
      cur = before;
      throw;
    }
  });
}

Expression RNNBuilder::set_h(const RNNPointer& prev, const std::vector<Expression>& h_new,
                             Where where) {
  const RNNPointer p = prev;  // may be `cur` itself
  return append(p, where, [&] { return set_h_impl(p, h_new); });
}

Expression RNNBuilder::set_s(const RNNPointer& prev, const std::vector<Expression>& s_new,
                             Where where) {
  const RNNPointer p = prev;
  return append(p, where, [&] { return set_s_impl(p, s_new); });
}

Expression RNNBuilder::add_input(const Expression& x, Where where) {
  return add_input(cur, x, where);
}

Expression RNNBuilder::add_input(const RNNPointer& prev, const Expression& x, Where where) {
  const RNNPointer p = prev;
  return append(p, where, [&] { return add_input_impl(p, x); });
}

std::vector<Expression> RNNBuilder::transduce(const std::vector<Expression>& xs, Where where) {
  return transduce(cur, xs, where);
}

std::vector<Expression> RNNBuilder::transduce(const RNNPointer& prev,
                                              const std::vector<Expression>& xs, Where where) {
  std::vector<Expression> outputs;
  if (xs.empty()) {
    return outputs;
  }
  sm_.check(RNNOp::add_input);
  detail::with_typed_allocation([&] { outputs.reserve(xs.size()); });
  user_where = where;
  begin_steps(xs[0]);
  detail::RepeatableDraws draws(xs[0].pg);
  const RNNPointer before = cur;
  const std::size_t count = steps_.size();
  try {
    for (const Expression& x : xs) {
      outputs.push_back(add_input(outputs.empty() ? prev : cur, x, where));
    }
  } catch (...) {
    if (forget_impl(count)) {
      steps_.resize(count);
    }
    cur = before;
    throw;
  }
  draws.keep();
  return outputs;
}

void RNNBuilder::rewind_one_step() {
  if (cur == -1) {
    throw errors::StateError("RNNBuilder: rewind_one_step before the first input");
  }
  cur = steps_[static_cast<std::size_t>(cur)].before;
}

void RNNBuilder::forget_after(const RNNPointer& p) {
  const RNNPointer last = p;  // may be `cur` itself
  check_step("RNNBuilder", last, steps_.size());
  const std::size_t count = static_cast<std::size_t>(last) + 1;  // 0 for step -1
  if (forget_impl(count)) {
    steps_.resize(count);
    cur = last;
  }
}

bool RNNBuilder::forget_impl(std::size_t /*count*/) { return false; }
void RNNBuilder::begin_steps(const Expression& /*x*/) {}

const RNNBuilder::Step& RNNBuilder::step(const char* call, RNNPointer p) const {
  if (p == -1) {
    throw errors::IndexError(std::string("RNNBuilder: ") + call +
                             " of the initial state; want a step");
  }
  check_step("RNNBuilder", p, steps_.size());
  return steps_[static_cast<std::size_t>(p)];
}

RNNPointer RNNBuilder::get_head(const RNNPointer& p) const { return step("get_head", p).before; }
Expression RNNBuilder::get_output(const RNNPointer& p) const {
  return step("get_output", p).output;
}

void RNNBuilder::set_dropout(float d) {
  check_rate("RNNBuilder", "d", d);
  dropout_rate = d;
}

void RNNBuilder::disable_dropout() { dropout_rate = 0.0F; }

// ---- simple recurrent network

namespace {
namespace simple {
enum { kX2h, kH2h, kHb, kL2h };
}
}  // namespace

SimpleRNNBuilder::SimpleRNNBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                   ParameterCollection& model, bool support_lags)
    : LayeredRNNBuilder(layer_count, input_size, hidden_dim), lagging(support_lags) {
  local_model = model.add_subcollection("simple-rnn-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Parameter> ps;
    ps.push_back(local_model.add_parameters({hid, layer == 0 ? input_dim : hid}));
    ps.push_back(local_model.add_parameters({hid, hid}));
    ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    if (lagging) {
      ps.push_back(local_model.add_parameters({hid, hid}));
    }
    params.push_back(std::move(ps));
  }
}

LayeredRNNBuilder::LayerState SimpleRNNBuilder::add_layer(unsigned layer, const Expression& x,
                                                          const LayerState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const bool is_first = before == nullptr;
  const bool has_aux = aux_ != nullptr;
  if (is_first) {
    builders::Affine a(vars[simple::kHb]);
    a.add(vars[simple::kX2h], x);
    if (has_aux) {
      a.add(vars[simple::kL2h], *aux_);
    }
    return {Expression(), tanh(a.build(user_where), user_where)};
  }
  const Expression none;
  const Expression list[] = {vars[simple::kHb],
                             vars[simple::kH2h],
                             before->h,  //
                             vars[simple::kX2h],
                             x,
                             has_aux ? vars[simple::kL2h] : none,
                             has_aux ? *aux_ : none};
  return {none,
          ext::add_node(builders::TanhCell{},
                        std::span<const Expression>(list).first(has_aux ? 7 : 5), user_where)};
}

Expression SimpleRNNBuilder::add_auxiliary_input(const Expression& x, const Expression& aux,
                                                 Where where) {
  if (!lagging) {
    throw errors::StateError(
        "SimpleRNNBuilder: add_auxiliary_input needs a builder made with support_lags");
  }
  if (param_vars.empty()) {
    throw errors::StateError("SimpleRNNBuilder: add_auxiliary_input before new_graph");
  }
  static_cast<void>(
      builders::dim_of(aux, where, [] { return std::string("SimpleRNNBuilder: aux"); }));
  const RNNPointer current = cur;
  const RNNPointer last = static_cast<RNNPointer>(h.size()) - 1;
  const Expression top = append(last, where, [&] {
    aux_ = &aux;
    try {
      const Expression output = add_input_impl(last, x);
      aux_ = nullptr;
      return output;
    } catch (...) {
      aux_ = nullptr;
      throw;
    }
  });
  cur = current;
  return top;
}

}  // namespace dynet
