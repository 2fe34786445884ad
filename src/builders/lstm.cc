#include "dynet/lstm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"
#include "builders/builder_support.h"
#include "builders/cells.h"
#include "params/access.h"
#include "util/number_text.h"

namespace dynet {

using builders::Affine;

// ---- shared by the standard LSTMs

namespace {
enum { kInputs, kRecurrent, kBias };
enum { kGainH, kBiasH, kGainX, kBiasX, kGainC, kBiasC };
}  // namespace

void StandardLSTMBuilder::add_normalisation(ParameterCollection& model) {
  if (!ln_lstm) {
    return;
  }
  std::vector<Parameter> ln;
  for (const unsigned size : {4 * hid, 4 * hid, hid}) {  // gain and bias of each norm
    for (const float value : {1.0F, 0.0F}) {
      // In `model`, not local_model, because model files of DyNet 2.1 have them there.
      ln.push_back(model.add_parameters({size}, ParameterInitConst(value)));
      detail::ModelAccess::note_beside(local_model, ln.back());
    }
  }
  ln_params.push_back(std::move(ln));
}

void StandardLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  LSTMBuilderBase::new_graph_impl(cg, update);
  builders::add_parameters(cg, update, ln_params, ln_param_vars);
}

void StandardLSTMBuilder::set_ln_epsilon(float epsilon) {
  if (!(epsilon > 0.0F)) {
    throw errors::ValueError(std::string(name()) + ": set_ln_epsilon: " + util::text_of(epsilon) +
                             "; want a number above 0");
  }
  ln_epsilon_ = epsilon;
}

LayeredRNNBuilder::LayerState StandardLSTMBuilder::add_layer(unsigned layer, const Expression& x,
                                                             const LayerState* before) {
  if (ln_lstm) {
    return add_normalised(layer, x, before);
  }
  const std::vector<Expression>& vars = weights(layer);
  if (before == nullptr) {
    Affine a(vars[kBias]);
    a.add(vars[kInputs], x);
    const auto [cell, hidden] =
        lstm_cell(a.build(user_where), Expression(), forget_bias, user_where);
    return {cell, hidden};
  }
  const Expression list[] = {vars[kBias],   vars[kRecurrent],
                             before->h,     before->c,  //
                             vars[kInputs], x};
  const auto [cell, hidden] = api::outputs<2>(ext::add_node(
      builders::VanillaCell{forget_bias}, std::span<const Expression>(list), user_where));
  return {cell, hidden};
}

LayeredRNNBuilder::LayerState StandardLSTMBuilder::add_normalised(unsigned layer,
                                                                  const Expression& x,
                                                                  const LayerState* before) {
  const std::vector<Expression>& vars = weights(layer);
  const std::vector<Expression>& ln = ln_param_vars[layer];
  const auto product = [&](unsigned w, const Expression& of) {
    return detail::Located(vars[w], user_where) * of;
  };
  const auto norm = [&](const Expression& of, unsigned gain, unsigned bias) {
    return layer_norm(of, ln[gain], ln[bias], ln_epsilon_, user_where);
  };
  const Expression own = norm(product(kInputs, x), kGainX, kBiasX);
  const Expression a =
      before == nullptr
          ? sum({vars[kBias], own}, user_where)
          : sum({vars[kBias], own, norm(product(kRecurrent, before->h), kGainH, kBiasH)},
                user_where);
  const Expression gates = lstm_gates(a, forget_bias, user_where);
  const Expression c_before = before == nullptr ? zeros({*x.pg, user_where}, {hid}) : before->c;
  const Expression cell = vanilla_lstm_c(c_before, gates, user_where);
  return {cell, vanilla_lstm_h(norm(cell, kGainC, kBiasC), gates, user_where)};
}

void StandardLSTMBuilder::copy(const RNNBuilder& other) {
  const StandardLSTMBuilder& same = builders::check_kind(*this, other);
  if (same.ln_lstm != ln_lstm) {
    throw errors::ValueError(std::string(name()) + ": cannot copy a builder " +
                             (ln_lstm ? "without layer normalisation; this one has it"
                                      : "with layer normalisation; this one has none"));
  }
  std::vector<std::vector<Parameter>> ln = ln_params;
  builders::share_parameters(name(), same.ln_params, ln);
  LSTMBuilderBase::copy(other);
  ln_params = std::move(ln);
}

// ---- vanilla

VanillaLSTMBuilder::VanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_dim, ParameterCollection& model,
                                       bool use_ln_lstm, float bias)
    : StandardLSTMBuilder(layer_count, input_size, hidden_dim, use_ln_lstm, bias) {
  const unsigned all_gates = builders::gate_rows("VanillaLSTMBuilder", 4, hid);
  local_model = model.add_subcollection("vanilla-lstm-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.push_back(
        builders::make_standard_layer(local_model, all_gates, layer == 0 ? input_dim : hid, hid));
    add_normalisation(model);
  }
}

// ---- sparse

namespace {

enum { kInputsMask = 3, kRecurrentMask };

/// An element of a matrix that may be held at 0.
struct Weight {
  float size;            ///< absolute value; 0 if already held
  std::size_t position;  ///< in all matrices, one after the other
};

/// Appends the absolute values of the elements whose mask is not 0.
void append_weights(const Parameter& matrix, const Parameter& mask, std::vector<Weight>& to) {
  const std::vector<float> values = as_vector(matrix.get_storage().values);
  const std::vector<float> kept = as_vector(mask.get_storage().values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    to.push_back({std::abs(values[i] * kept[i]), to.size()});
  }
}

}  // namespace

SparseLSTMBuilder::SparseLSTMBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                     ParameterCollection& model, bool use_ln_lstm, float bias)
    : StandardLSTMBuilder(layer_count, input_size, hidden_dim, use_ln_lstm, bias) {
  const unsigned all_gates = builders::gate_rows("SparseLSTMBuilder", 4, hid);
  local_model = model.add_subcollection("vanilla-lstm-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned in = layer == 0 ? input_dim : hid;
    std::vector<Parameter> ps(5);  // in another order than the order of making
    ps[kInputs] = local_model.add_parameters({all_gates, in});
    ps[kRecurrent] = local_model.add_parameters({all_gates, hid});
    ps[kInputsMask] = local_model.add_parameters({all_gates, in}, ParameterInitConst(1.0F));
    ps[kRecurrentMask] = local_model.add_parameters({all_gates, hid}, ParameterInitConst(1.0F));
    ps[kBias] = local_model.add_parameters({all_gates}, ParameterInitConst(0.0F));
    ps[kInputsMask].set_updated(false);
    ps[kRecurrentMask].set_updated(false);
    params.push_back(std::move(ps));
    add_normalisation(model);
  }
}

void SparseLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  StandardLSTMBuilder::new_graph_impl(cg, update);
  for (std::vector<Expression>& vars : param_vars) {
    vars = {cmult(vars[kInputs], vars[kInputsMask], Where()),
            cmult(vars[kRecurrent], vars[kRecurrentMask], Where()), vars[kBias]};
  }
}

void SparseLSTMBuilder::set_sparsity(float percent) {
  builders::check_share(name(), "set_sparsity: the share", percent);
  std::vector<Weight> all;
  for (const std::vector<Parameter>& ps : params) {
    append_weights(ps[kInputs], ps[kInputsMask], all);
    append_weights(ps[kRecurrent], ps[kRecurrentMask], all);
  }
  const auto held =
      static_cast<std::ptrdiff_t>(static_cast<double>(percent) * static_cast<double>(all.size()));
  const auto is_smaller = [](const Weight& a, const Weight& b) {
    return a.size != b.size ? a.size < b.size : a.position < b.position;
  };
  std::nth_element(all.begin(), all.begin() + held, all.end(), is_smaller);
  std::vector<float> kept(all.size(), 1.0F);
  std::for_each(all.begin(), all.begin() + held, [&](const Weight& w) { kept[w.position] = 0.0F; });
  auto next = kept.cbegin();
  for (std::vector<Parameter>& ps : params) {
    for (const auto mask : {kInputsMask, kRecurrentMask}) {
      const auto end = next + static_cast<std::ptrdiff_t>(ps[mask].dim().size());
      ps[mask].set_value(std::vector<float>(next, end));
      next = end;
    }
  }
}

// ---- compact

CompactVanillaLSTMBuilder::CompactVanillaLSTMBuilder(unsigned layer_count, unsigned input_size,
                                                     unsigned hidden_dim,
                                                     ParameterCollection& model)
    : StandardLSTMBuilder(layer_count, input_size, hidden_dim, false, 1.0F) {
  const unsigned all_gates = builders::gate_rows("CompactVanillaLSTMBuilder", 4, hid);
  local_model = model.add_subcollection("compact-vanilla-lstm-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    params.push_back(
        builders::make_standard_layer(local_model, all_gates, layer == 0 ? input_dim : hid, hid));
  }
}

void CompactVanillaLSTMBuilder::set_weightnoise(float std) {
  if (!(std >= 0.0F)) {
    throw errors::ValueError("CompactVanillaLSTMBuilder: set_weightnoise: the deviation is " +
                             std::to_string(std) + "; want 0 or more");
  }
  weightnoise_std = std;
}

void CompactVanillaLSTMBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (weightnoise_std == 0.0F || Evaluating::is_on()) {
    StandardLSTMBuilder::start_new_sequence_impl(h_0);
    noisy_.clear();
    undrawn_noise_ = weightnoise_std;
    return;
  }
  detail::RepeatableDraws draws(layers == 0 ? nullptr : &builders::graph_of(name(), param_vars));
  draw_noise(weightnoise_std);
  StandardLSTMBuilder::start_new_sequence_impl(h_0);
  draws.keep();
  use_drawn_noise();
}

/// A sequence that began within an Evaluating scope may go on outside.
void CompactVanillaLSTMBuilder::begin_steps(const Expression& x) {
  StandardLSTMBuilder::begin_steps(x);
  if (undrawn_noise_ != 0.0F && layers != 0 && !Evaluating::is_on()) {
    detail::RepeatableDraws draws(&builders::graph_of(name(), param_vars));
    draw_noise(undrawn_noise_);
    draws.keep();
    use_drawn_noise();
  }
}

/// Draws noisy weights for use_drawn_noise(). `noisy_` has the weights in use, and room for the
/// next.
void CompactVanillaLSTMBuilder::draw_noise(float std) {
  if (noisy_.empty()) {
    std::vector<std::vector<Expression>> both(param_vars);
    both.resize(std::size_t{2} * layers);
    noisy_ = std::move(both);
  }
  for (unsigned layer = 0; layer < layers; ++layer) {
    const std::vector<Expression>& vars = param_vars[layer];
    noisy_[layers + layer] = {noise(vars[kInputs], std, Where()),
                              noise(vars[kRecurrent], std, Where()), vars[kBias]};
  }
}

void CompactVanillaLSTMBuilder::use_drawn_noise() {
  std::swap_ranges(noisy_.begin(), noisy_.begin() + layers, noisy_.begin() + layers);
  undrawn_noise_ = 0.0F;
}

const std::vector<Expression>& CompactVanillaLSTMBuilder::weights(unsigned layer) const {
  return noisy_.empty() || Evaluating::is_on() ? param_vars[layer] : noisy_[layer];
}

}  // namespace dynet
