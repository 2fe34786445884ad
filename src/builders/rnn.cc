#include "dynet/rnn.h"

#include <string>
#include <utility>

#include "dynet/except.h"

#include "builders/builder_support.h"

namespace dynet {

using builders::check_count;
using builders::check_rate;
using builders::check_step;

// ---- state machine
// --------------------------------------------------------------------------------

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
  throw StateError(std::string("RNNBuilder: ") + ops[op] + " in state " + states[state_]);
}

void RNNStateMachine::transition(RNNOp op) {
  check(op);
  state_ = op == RNNOp::new_graph ? GRAPH_READY : READING_INPUT;
}

// ---- steps
// ----------------------------------------------------------------------------------------

namespace detail {

void StepMemory::clear(std::vector<std::vector<Expression>>& steps) {
  spare_.reserve(spare_.size() + steps.size());
  while (!steps.empty()) {
    spare_.push_back(std::move(steps.back()));
    steps.pop_back();
  }
}

std::vector<Expression> StepMemory::take(std::size_t size) {
  std::vector<Expression> step;
  if (!spare_.empty()) {
    step = std::move(spare_.back());
    spare_.pop_back();
  }
  step.assign(size, Expression());
  return step;
}

void StepMemory::push(std::vector<std::vector<Expression>>& steps, std::vector<Expression>&& step) {
  steps.push_back(std::move(step));
}

}  // namespace detail

// ---- the interface
// --------------------------------------------------------------------------------

RNNBuilder::~RNNBuilder() = default;

void RNNBuilder::new_graph(ComputationGraph& cg, bool update) {
  sm_.check(RNNOp::new_graph);
  new_graph_impl(cg, update);
  sm_.transition(RNNOp::new_graph);
}

void RNNBuilder::start_new_sequence(const std::vector<Expression>& h_0) {
  sm_.check(RNNOp::start_new_sequence);
  start_new_sequence_impl(h_0);
  cur = -1;
  head_.clear();
  sm_.transition(RNNOp::start_new_sequence);
}

template <class Impl>
Expression RNNBuilder::append(RNNPointer prev, Where where, Impl impl) {
  sm_.check(RNNOp::add_input);
  check_step("RNNBuilder", prev, head_.size());
  user_where = where;
  const RNNPointer before = cur;
  head_.push_back(prev);
  cur = static_cast<RNNPointer>(head_.size()) - 1;
  try {
    return impl();
  } catch (...) {
    head_.pop_back();
    cur = before;
    throw;
  }
}

void RNNBuilder::note_step(RNNPointer prev) { head_.push_back(prev); }

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
  outputs.reserve(xs.size());
  for (const Expression& x : xs) {
    outputs.push_back(add_input(outputs.empty() ? prev : cur, x, where));
  }
  return outputs;
}

void RNNBuilder::rewind_one_step() {
  if (cur == -1) {
    throw StateError("RNNBuilder: rewind_one_step before the first input");
  }
  cur = head_[static_cast<std::size_t>(cur)];
}

RNNPointer RNNBuilder::get_head(const RNNPointer& p) const {
  if (p == -1) {
    throw IndexError("RNNBuilder: get_head of the initial state, which follows none");
  }
  check_step("RNNBuilder", p, head_.size());
  return head_[static_cast<std::size_t>(p)];
}

void RNNBuilder::set_dropout(float d) {
  check_rate("RNNBuilder", "d", d);
  dropout_rate = d;
}

void RNNBuilder::disable_dropout() { dropout_rate = 0.0F; }

// ---- simple recurrent network
// ---------------------------------------------------------------------

namespace {
constexpr const char* kSimple = "SimpleRNNBuilder";
enum { kX2h, kH2h, kHb, kL2h };
}  // namespace

SimpleRNNBuilder::SimpleRNNBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                   ParameterCollection& model, bool support_lags)
    : layers(layer_count), input_dim(input_size), hid(hidden_dim), lagging(support_lags) {
  local_model = model.add_subcollection("simple-rnn-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned in = layer == 0 ? input_dim : hid;
    std::vector<Parameter> ps;
    ps.push_back(local_model.add_parameters({hid, in}));
    ps.push_back(local_model.add_parameters({hid, hid}));
    ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    if (lagging) {
      ps.push_back(local_model.add_parameters({hid, hid}));
    }
    params.push_back(std::move(ps));
  }
}

void SimpleRNNBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  builders::add_parameters(cg, update, params, param_vars);
}

void SimpleRNNBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) {
    check_count(kSimple, "the initial state", h_0.size(), layers);
  }
  memory_.clear(h);
  h0 = h_0;
  dropout_masks_valid = false;
}

void SimpleRNNBuilder::set_dropout_masks(unsigned batch_size) {
  if (param_vars.empty()) {
    throw StateError("SimpleRNNBuilder: set_dropout_masks before new_graph");
  }
  masks.resize(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    static_cast<void>(param_vars[layer][kX2h].dim());  // throws if the graph is gone
    ComputationGraph& cg = *param_vars[layer][kX2h].pg;
    masks[layer].clear();
    masks[layer].push_back(
        builders::add_mask(cg, layer == 0 ? input_dim : hid, batch_size, dropout_rate));
    masks[layer].push_back(builders::add_mask(cg, hid, batch_size, dropout_rate_h));
  }
  dropout_masks_valid = true;
}

const std::vector<Expression>& SimpleRNNBuilder::hidden(RNNPointer i) const {
  check_step(kSimple, i, h.size());
  return i < 0 ? h0 : h[static_cast<std::size_t>(i)];
}

Expression SimpleRNNBuilder::add_step(int prev, const Expression& x, const Expression* aux) {
  if (!dropout_masks_valid && (dropout_rate > 0.0F || dropout_rate_h > 0.0F)) {
    set_dropout_masks(x.dim().bd);
  }
  std::vector<Expression> step = memory_.take(layers);
  const std::vector<Expression>& before = hidden(prev);
  Expression in = x;
  for (unsigned layer = 0; layer < layers; ++layer) {
    const std::vector<Expression>& vars = param_vars[layer];
    if (dropout_rate > 0.0F) {
      in = cmult(in, masks[layer][0], user_where);
    }
    builders::Affine a(vars[kHb]);
    a.add(vars[kX2h], in);
    if (aux != nullptr) {
      a.add(vars[kL2h], *aux);
    }
    if (!before.empty()) {
      const bool drops = dropout_rate_h > 0.0F;
      a.add(vars[kH2h], drops ? cmult(before[layer], masks[layer][1], user_where) : before[layer]);
    }
    in = step[layer] = tanh(a.build(user_where), user_where);
  }
  memory_.push(h, std::move(step));
  return in;
}

Expression SimpleRNNBuilder::add_input_impl(int prev, const Expression& x) {
  return add_step(prev, x, nullptr);
}

Expression SimpleRNNBuilder::add_auxiliary_input(const Expression& x, const Expression& aux,
                                                 Where where) {
  if (!lagging) {
    throw StateError(
        "SimpleRNNBuilder: add_auxiliary_input needs a builder made with support_lags");
  }
  if (param_vars.empty()) {
    throw StateError("SimpleRNNBuilder: add_auxiliary_input before new_graph");
  }
  user_where = where;
  const RNNPointer last = static_cast<RNNPointer>(h.size()) - 1;
  const Expression top = add_step(last, x, &aux);
  note_step(last);
  return top;
}

Expression SimpleRNNBuilder::set_h_impl(int /*prev*/, const std::vector<Expression>& h_new) {
  check_count(kSimple, "the new state", h_new.size(), layers);
  std::vector<Expression> step = memory_.take(layers);
  std::copy(h_new.begin(), h_new.end(), step.begin());
  memory_.push(h, std::move(step));
  return back();
}

Expression SimpleRNNBuilder::set_s_impl(int prev, const std::vector<Expression>& s_new) {
  return set_h_impl(prev, s_new);
}

Expression SimpleRNNBuilder::back() const {
  const std::vector<Expression>& now = hidden(cur);
  if (now.empty()) {
    throw StateError("SimpleRNNBuilder: back before the first input, without an initial state");
  }
  return now.back();
}

std::vector<Expression> SimpleRNNBuilder::final_h() const { return h.empty() ? h0 : h.back(); }
std::vector<Expression> SimpleRNNBuilder::get_h(RNNPointer i) const { return hidden(i); }

void SimpleRNNBuilder::copy(const RNNBuilder& other) {
  const auto* same = dynamic_cast<const SimpleRNNBuilder*>(&other);
  if (same == nullptr) {
    throw ValueError("SimpleRNNBuilder: can copy only a SimpleRNNBuilder");
  }
  builders::share_parameters(kSimple, same->params, params);
}

void SimpleRNNBuilder::set_dropout(float d) { set_dropout(d, d); }

void SimpleRNNBuilder::set_dropout(float d, float d_h) {
  check_rate(kSimple, "d", d);
  check_rate(kSimple, "d_h", d_h);
  dropout_rate = d;
  dropout_rate_h = d_h;
}

void SimpleRNNBuilder::disable_dropout() { set_dropout(0.0F, 0.0F); }

}  // namespace dynet
