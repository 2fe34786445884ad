#include "dynet/lstm.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "builders/builder_support.h"

namespace dynet {

using builders::Affine;
using builders::check_count;
using builders::check_rate;
using builders::check_step;

// ---- what the LSTMs share
// -------------------------------------------------------------------------

void LSTMBuilderBase::new_graph_impl(ComputationGraph& cg, bool update) {
  builders::add_parameters(cg, update, params, param_vars);
}

void LSTMBuilderBase::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty()) {
    check_count(name(), "the initial state (cells, then hidden states)", h_0.size(),
                std::size_t{2} * layers);
  }
  memory_h_.clear(h);
  memory_c_.clear(c);
  has_initial_state = !h_0.empty();
  const auto middle = h_0.begin() + static_cast<std::ptrdiff_t>(h_0.size() / 2);
  c0.assign(h_0.begin(), middle);
  h0.assign(middle, h_0.end());
  dropout_masks_valid = false;
}

ComputationGraph& LSTMBuilderBase::graph() const {
  if (param_vars.empty() || param_vars[0].empty()) {
    throw StateError(std::string(name()) + ": used before new_graph");
  }
  static_cast<void>(param_vars[0][0].dim());  // throws if the graph is gone
  return *param_vars[0][0].pg;
}

void LSTMBuilderBase::set_dropout_masks(unsigned batch_size) {
  ComputationGraph& cg = graph();
  masks.resize(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    masks[layer].clear();
    masks[layer].push_back(
        builders::add_mask(cg, layer == 0 ? input_dim : hid, batch_size, dropout_rate));
    masks[layer].push_back(builders::add_mask(cg, hid, batch_size, dropout_rate_h));
    if (cell_rate() >= 0.0F) {
      masks[layer].push_back(builders::add_mask(cg, hid, batch_size, cell_rate()));
    }
  }
  dropout_masks_valid = true;
}

const std::vector<Expression>& LSTMBuilderBase::hidden(RNNPointer i) const {
  check_step(name(), i, h.size());
  return i < 0 ? h0 : h[static_cast<std::size_t>(i)];
}

const std::vector<Expression>& LSTMBuilderBase::cells(RNNPointer i) const {
  check_step(name(), i, c.size());
  return i < 0 ? c0 : c[static_cast<std::size_t>(i)];
}

void LSTMBuilderBase::push(std::vector<Expression>&& new_h, std::vector<Expression>&& new_c) {
  memory_h_.push(h, std::move(new_h));
  memory_c_.push(c, std::move(new_c));
}

Expression LSTMBuilderBase::add_input_impl(int prev, const Expression& x) {
  if (!dropout_masks_valid &&
      (dropout_rate > 0.0F || dropout_rate_h > 0.0F || cell_rate() > 0.0F)) {
    set_dropout_masks(x.dim().bd);
  }
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = memory_c_.take(layers);
  Expression in = x;
  for (unsigned layer = 0; layer < layers; ++layer) {
    if (dropout_rate > 0.0F) {
      in = cmult(in, masks[layer][0], user_where);
    }
    CellState before;
    if (has_state(prev)) {
      before = {cells(prev)[layer], hidden(prev)[layer]};
    }
    const CellState now = add_layer(layer, in, has_state(prev) ? &before : nullptr);
    new_c[layer] = now.c;
    in = new_h[layer] = now.h;
  }
  push(std::move(new_h), std::move(new_c));
  return in;
}

Expression LSTMBuilderBase::old_or_zeros(const std::vector<Expression>& of, unsigned layer) const {
  return of.empty() ? zeros(graph(), {hid}) : of[layer];
}

Expression LSTMBuilderBase::set_h_impl(int prev, const std::vector<Expression>& h_new) {
  check_count(name(), "the new hidden state", h_new.size(), layers);
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = memory_c_.take(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    new_h[layer] = h_new[layer];
    new_c[layer] = old_or_zeros(cells(prev), layer);
  }
  push(std::move(new_h), std::move(new_c));
  return back();
}

Expression LSTMBuilderBase::set_s_impl(int prev, const std::vector<Expression>& s_new) {
  if (s_new.size() != layers) {
    check_count(name(), "the new state (cells, or cells and hidden states)", s_new.size(),
                std::size_t{2} * layers);
  }
  const bool only_cells = s_new.size() == layers;
  std::vector<Expression> new_h = memory_h_.take(layers);
  std::vector<Expression> new_c = memory_c_.take(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    new_c[layer] = s_new[layer];
    new_h[layer] = only_cells ? old_or_zeros(hidden(prev), layer) : s_new[layers + layer];
  }
  push(std::move(new_h), std::move(new_c));
  return back();
}

Expression LSTMBuilderBase::back() const {
  const std::vector<Expression>& now = hidden(cur);
  if (now.empty()) {
    throw StateError(std::string(name()) +
                     ": back before the first input, without an initial state");
  }
  return now.back();
}

std::vector<Expression> LSTMBuilderBase::final_h() const { return h.empty() ? h0 : h.back(); }
std::vector<Expression> LSTMBuilderBase::get_h(RNNPointer i) const { return hidden(i); }

std::vector<Expression> LSTMBuilderBase::final_s() const {
  return get_s(static_cast<RNNPointer>(h.size()) - 1);
}

std::vector<Expression> LSTMBuilderBase::get_s(RNNPointer i) const {
  std::vector<Expression> s = cells(i);
  s.insert(s.end(), hidden(i).begin(), hidden(i).end());
  return s;
}

void LSTMBuilderBase::copy(const RNNBuilder& other) {
  const auto* same = dynamic_cast<const LSTMBuilderBase*>(&other);
  if (same == nullptr || std::string(same->name()) != name()) {
    throw ValueError(std::string(name()) + ": can copy only a " + name());
  }
  builders::share_parameters(name(), same->params, params);
}

// ---- coupled gates
// --------------------------------------------------------------------------------

namespace {
enum { kX2i, kH2i, kC2i, kBi, kX2o, kH2o, kC2o, kBo, kX2c, kH2c, kBc };
}  // namespace

CoupledLSTMBuilder::CoupledLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_dim, ParameterCollection& model)
    : LSTMBuilderBase(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection("lstm-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned in = layer == 0 ? input_dim : hid;
    std::vector<Parameter> ps;
    for (const bool has_peephole : {true, true, false}) {  // gates i and o, then the candidate
      ps.push_back(local_model.add_parameters({hid, in}));
      ps.push_back(local_model.add_parameters({hid, hid}));
      if (has_peephole) {
        ps.push_back(local_model.add_parameters({hid, hid}));
      }
      ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    }
    params.push_back(std::move(ps));
  }
}

LSTMBuilderBase::CellState CoupledLSTMBuilder::add_layer(unsigned layer, const Expression& x,
                                                         const CellState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const auto masked_cell = [&](const Expression& cell) {
    return dropout_rate_c > 0.0F ? cmult(cell, masks[layer][2], user_where) : cell;
  };
  Affine input(vars[kBi]);
  Affine candidate(vars[kBc]);
  Affine output(vars[kBo]);
  input.add(vars[kX2i], x);
  candidate.add(vars[kX2c], x);
  output.add(vars[kX2o], x);
  if (before != nullptr) {
    const Expression h_before =
        dropout_rate_h > 0.0F ? cmult(before->h, masks[layer][1], user_where) : before->h;
    input.add(vars[kH2i], h_before);
    input.add(vars[kC2i], masked_cell(before->c));
    candidate.add(vars[kH2c], h_before);
    output.add(vars[kH2o], h_before);
  }
  const Expression i = input.build(user_where);
  const Expression g = candidate.build(user_where);
  const Expression cell =
      coupled_lstm_c(i, g, before == nullptr ? Expression() : before->c, user_where);
  output.add(vars[kC2o], masked_cell(cell));
  const Expression o = output.build(user_where);
  return {cell, coupled_lstm_h(o, cell, user_where)};
}

void CoupledLSTMBuilder::set_dropout(float d) { set_dropout(d, d, d); }

void CoupledLSTMBuilder::set_dropout(float d, float d_h, float d_c) {
  check_rate(name(), "d", d);
  check_rate(name(), "d_h", d_h);
  check_rate(name(), "d_c", d_c);
  dropout_rate = d;
  dropout_rate_h = d_h;
  dropout_rate_c = d_c;
}

void CoupledLSTMBuilder::disable_dropout() { set_dropout(0.0F); }

// ---- standard
// -------------------------------------------------------------------------------------

namespace {
enum { kInputs, kRecurrent, kBias };
enum { kGainH, kBiasH, kGainX, kBiasX, kGainC, kBiasC };
}  // namespace

VanillaLSTMBuilder::VanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_dim, ParameterCollection& model,
                                       bool use_ln_lstm, float bias)
    : LSTMBuilderBase(layer_count, input_size, hidden_dim),
      ln_lstm(use_ln_lstm),
      forget_bias(bias) {
  const unsigned all_gates = builders::gate_rows("VanillaLSTMBuilder", 4, hid);
  local_model = model.add_subcollection("vanilla-lstm-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned in = layer == 0 ? input_dim : hid;
    std::vector<Parameter> ps;
    ps.push_back(local_model.add_parameters({all_gates, in}));
    ps.push_back(local_model.add_parameters({all_gates, hid}));
    ps.push_back(local_model.add_parameters({all_gates}, ParameterInitConst(0.0F)));
    params.push_back(std::move(ps));
    if (!ln_lstm) {
      continue;
    }
    std::vector<Parameter> ln;
    for (const unsigned size : {all_gates, all_gates, hid}) {  // gain and bias of each norm
      // In `model`, not local_model: model files of DyNet 2.1 have them there.
      ln.push_back(model.add_parameters({size}, ParameterInitConst(1.0F)));
      ln.push_back(model.add_parameters({size}, ParameterInitConst(0.0F)));
    }
    ln_params.push_back(std::move(ln));
  }
}

void VanillaLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  LSTMBuilderBase::new_graph_impl(cg, update);
  builders::add_parameters(cg, update, ln_params, ln_param_vars);
}

LSTMBuilderBase::CellState VanillaLSTMBuilder::add_layer(unsigned layer, const Expression& x,
                                                         const CellState* before) {
  CellState state;
  if (before != nullptr) {
    state = *before;
    if (dropout_rate_h > 0.0F) {
      state.h = cmult(state.h, masks[layer][1], user_where);
    }
  }
  const CellState* const previous = before == nullptr ? nullptr : &state;
  if (ln_lstm) {
    return add_normalised(layer, x, previous);
  }
  const std::vector<Expression>& vars = param_vars[layer];
  Affine a(vars[kBias]);
  a.add(vars[kInputs], x);
  if (previous != nullptr) {
    a.add(vars[kRecurrent], previous->h);
  }
  const Expression gates = a.build(user_where);
  const auto [cell, hidden] =
      lstm_cell(gates, previous == nullptr ? Expression() : previous->c, forget_bias, user_where);
  return {cell, hidden};
}

namespace {

/// gain * (x - mean) / deviation + bias, over the {size} elements of x.
Expression normalise(const Expression& x, unsigned size, const Expression& gain,
                     const Expression& bias, Where where) {
  const auto at = [&](const Expression& e) { return detail::Located(e, where); };
  const float share = 1.0F / static_cast<float>(size);
  const Expression mean = at(sum_elems(x, where)) * share;
  const Expression centred = at(x) - mean;
  const Expression variance = at(sum_elems(square(centred, where), where)) * share;
  // 1e-16 under the root: the 1e-8 that DyNet adds to the deviation, with a gradient at zero.
  const Expression deviation = sqrt(at(variance) + 1e-16F, where);
  const Expression scaled = cmult(gain, cdiv(centred, deviation, where), where);
  return at(scaled) + bias;
}

}  // namespace

LSTMBuilderBase::CellState VanillaLSTMBuilder::add_normalised(unsigned layer, const Expression& x,
                                                              const CellState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const std::vector<Expression>& ln = ln_param_vars[layer];
  const auto product = [&](unsigned w, const Expression& of) {
    return detail::Located(vars[w], user_where) * of;
  };
  const auto norm = [&](const Expression& of, unsigned size, unsigned gain, unsigned bias) {
    return normalise(of, size, ln[gain], ln[bias], user_where);
  };
  const Expression own = norm(product(kInputs, x), 4 * hid, kGainX, kBiasX);
  const Expression a =
      before == nullptr
          ? sum({vars[kBias], own}, user_where)
          : sum({vars[kBias], own, norm(product(kRecurrent, before->h), 4 * hid, kGainH, kBiasH)},
                user_where);
  const Expression gates = lstm_gates(a, forget_bias, user_where);
  const Expression c_before = before == nullptr ? zeros(*x.pg, {hid}) : before->c;
  const Expression cell = vanilla_lstm_c(c_before, gates, user_where);
  return {cell, vanilla_lstm_h(norm(cell, hid, kGainC, kBiasC), gates, user_where)};
}

void VanillaLSTMBuilder::copy(const RNNBuilder& other) {
  const auto* same = dynamic_cast<const VanillaLSTMBuilder*>(&other);
  if (same == nullptr) {
    throw ValueError("VanillaLSTMBuilder: can copy only a VanillaLSTMBuilder");
  }
  std::vector<std::vector<Parameter>> ln = ln_params;
  builders::share_parameters(name(), same->ln_params, ln);
  LSTMBuilderBase::copy(other);
  ln_params = std::move(ln);
}

void VanillaLSTMBuilder::set_dropout(float d) { set_dropout(d, d); }

void VanillaLSTMBuilder::set_dropout(float d, float d_r) {
  check_rate(name(), "d", d);
  check_rate(name(), "d_r", d_r);
  dropout_rate = d;
  dropout_rate_h = d_r;
}

void VanillaLSTMBuilder::disable_dropout() { set_dropout(0.0F); }

}  // namespace dynet
