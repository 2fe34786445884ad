#include <utility>

#include "dynet/deep-lstm.h"
#include "dynet/fast-lstm.h"
#include "dynet/lstm.h"

#include "builders/builder_support.h"

namespace dynet {

using builders::Affine;
using builders::check_rate;

namespace {
enum { kX2i, kH2i, kC2i, kBi, kX2o, kH2o, kC2o, kBo, kX2c, kH2c, kBc };
}  // namespace

// ---- what they share
// ------------------------------------------------------------------------------

CoupledGatesBuilder::CoupledGatesBuilder(const char* collection, unsigned layer_count,
                                         unsigned input_size, unsigned above, unsigned hidden_dim,
                                         unsigned peephole_cols, ParameterCollection& model)
    : LSTMBuilderBase(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection(collection);
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Parameter> ps;
    for (const bool has_peephole : {true, true, false}) {  // gates i and o, then the candidate
      ps.push_back(local_model.add_parameters({hid, layer == 0 ? input_dim : above}));
      ps.push_back(local_model.add_parameters({hid, hid}));
      if (has_peephole) {
        ps.push_back(local_model.add_parameters({hid, peephole_cols}));
      }
      ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    }
    params.push_back(std::move(ps));
  }
}

LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_layer(unsigned layer, const Expression& x,
                                                             const LayerState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const auto seen = [&](const Expression& cell) {
    return cell_rate() > 0.0F ? cmult(cell, masks[layer][2], user_where) : cell;
  };
  const bool looks = has_peepholes(before == nullptr);
  Affine input(vars[kBi]);
  Affine candidate(vars[kBc]);
  Affine output(vars[kBo]);
  input.add(vars[kX2i], x);
  candidate.add(vars[kX2c], x);
  output.add(vars[kX2o], x);
  if (before != nullptr) {
    input.add(vars[kH2i], before->h);
    if (looks) {
      input.add(vars[kC2i], seen(before->c));
    }
    candidate.add(vars[kH2c], before->h);
    output.add(vars[kH2o], before->h);
  }
  const Expression i = input.build(user_where);
  const Expression g = candidate.build(user_where);
  const Expression cell =
      coupled_lstm_c(i, g, before == nullptr ? Expression() : before->c, user_where);
  if (looks) {
    output.add(vars[kC2o], seen(cell));
  }
  const Expression o = output.build(user_where);
  return {cell, coupled_lstm_h(o, cell, user_where)};
}

// ---- with peepholes
// -------------------------------------------------------------------------------

CoupledLSTMBuilder::CoupledLSTMBuilder(unsigned layer_count, unsigned input_size,
                                       unsigned hidden_dim, ParameterCollection& model)
    : CoupledGatesBuilder("lstm-builder", layer_count, input_size, hidden_dim, hidden_dim,
                          hidden_dim, model) {}

void CoupledLSTMBuilder::set_dropout(float d) { set_dropout(d, d, d); }

void CoupledLSTMBuilder::set_dropout(float d, float d_h, float d_c) {
  check_rate(name(), "d_c", d_c);
  LayeredRNNBuilder::set_dropout(d, d_h);
  dropout_rate_c = d_c;
}

// ---- without
// --------------------------------------------------------------------------------------

FastLSTMBuilder::FastLSTMBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                 ParameterCollection& model)
    : CoupledGatesBuilder("fast-lstm-builder", layer_count, input_size, hidden_dim, hidden_dim, 1,
                          model) {}

// ---- with all layers in the output
// ----------------------------------------------------------------

DeepLSTMBuilder::DeepLSTMBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                 ParameterCollection& model)
    : CoupledGatesBuilder("deep-lstm-builder", layer_count, input_size,
                          builders::sum_of_sizes("DeepLSTMBuilder", input_size, hidden_dim),
                          hidden_dim, hidden_dim, model) {}

Expression DeepLSTMBuilder::layer_input(unsigned layer, const Expression& below,
                                        const Expression& x) {
  return CoupledGatesBuilder::layer_input(
      layer, layer == 0 ? below : concatenate({below, x}, 0, user_where), x);
}

Expression DeepLSTMBuilder::output_of(const std::vector<Expression>& hidden_states) const {
  return concatenate(hidden_states, 0, user_where);
}

Expression DeepLSTMBuilder::back() const {
  return cur < 0 ? CoupledGatesBuilder::back() : get_output(cur);
}

}  // namespace dynet
