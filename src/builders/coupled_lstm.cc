#include <span>
#include <utility>

#include "dynet/deep-lstm.h"
#include "dynet/ext/add_node.h"
#include "dynet/fast-lstm.h"
#include "dynet/lstm.h"

#include "api/functions.h"
#include "builders/builder_support.h"
#include "builders/cells.h"
#include "builders/gate_products.h"

namespace dynet {

using builders::Affine;
using builders::check_rate;

namespace {
namespace coupled {
enum { kX2i, kH2i, kC2i, kBi, kX2o, kH2o, kC2o, kBo, kX2c, kH2c, kBc };
}
}  // namespace

// ---- shared by all

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
  if (before == nullptr) {
    return add_first(layer, x);
  }
  if (!has_peepholes(false)) {
    const Expression list[] = {
        vars[coupled::kBi],  vars[coupled::kBc],  vars[coupled::kBo],                         //
        vars[coupled::kH2i], vars[coupled::kH2c], vars[coupled::kH2o], before->h, before->c,  //
        vars[coupled::kX2i], vars[coupled::kX2c], vars[coupled::kX2o], x};
    return state_of(
        ext::add_node(builders::CoupledCell{}, std::span<const Expression>(list), user_where));
  }
  if (builders::drops(cell_rate())) {
    return add_masked(layer, x, *before);
  }
  const Expression list[] = {
      vars[coupled::kBi],  vars[coupled::kBc],  vars[coupled::kBo],  //
      vars[coupled::kH2i], vars[coupled::kH2c], vars[coupled::kH2o], before->h,
      vars[coupled::kC2o], vars[coupled::kC2i],
      before->c,  //
      vars[coupled::kX2i], vars[coupled::kX2c], vars[coupled::kX2o], x};
  return state_of(
      ext::add_node(builders::PeepholeCell{}, std::span<const Expression>(list), user_where));
}

LayeredRNNBuilder::LayerState CoupledGatesBuilder::state_of(const Expression& cell) {
  const auto [created, hidden] = api::outputs<2>(cell);
  return {created, hidden};
}

/// There is no old cell: nothing to forget, and nothing for the input gate to look at.
LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_first(unsigned layer, const Expression& x) {
  const std::vector<Expression>& vars = param_vars[layer];
  Expression list[] = {vars[coupled::kBi],  vars[coupled::kBc],  vars[coupled::kBo],  //
                       vars[coupled::kX2i], vars[coupled::kX2c], vars[coupled::kX2o], x};
  const auto [i, g, o] = builders::gate_products<3>(list, user_where);
  if (has_peepholes(true)) {
    return add_output(layer, coupled_lstm_c(i, g, Expression(), user_where), o);
  }
  const auto [cell, hidden] = coupled_lstm_cell(i, g, o, Expression(), user_where);
  return {cell, hidden};
}

/// The gates look at cells behind a dropout mask.
LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_masked(unsigned layer, const Expression& x,
                                                              const LayerState& before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const Expression none;
  Expression list[] = {vars[coupled::kBi],
                       vars[coupled::kBc],
                       vars[coupled::kBo],  //
                       vars[coupled::kX2i],
                       vars[coupled::kX2c],
                       vars[coupled::kX2o],
                       x,
                       vars[coupled::kH2i],
                       vars[coupled::kH2c],
                       vars[coupled::kH2o],
                       before.h,  //
                       vars[coupled::kC2i],
                       none,
                       none,
                       seen(layer, before.c)};
  const auto [i, g, o] = builders::gate_products<3>(list, user_where);
  return add_output(layer, coupled_lstm_c(i, g, before.c, user_where), o);
}

/// A cell as its gates read it: behind the mask, if there is one.
Expression CoupledGatesBuilder::seen(unsigned layer, const Expression& cell) const {
  return builders::drops(cell_rate()) ? cmult(cell, masks[layer][2], user_where) : cell;
}

/// Adds the output gate's look at the new cell; `o` is the rest of the gate, which does not wait
/// for the cell.
LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_output(unsigned layer,
                                                              const Expression& cell,
                                                              const Expression& o) const {
  Affine output(o);
  output.add(param_vars[layer][coupled::kC2o], seen(layer, cell));
  return {cell, coupled_lstm_h(output.build(user_where), cell, user_where)};
}

// ---- with peepholes

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

FastLSTMBuilder::FastLSTMBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                                 ParameterCollection& model)
    : CoupledGatesBuilder("fast-lstm-builder", layer_count, input_size, hidden_dim, hidden_dim, 1,
                          model) {}

// ---- with all layers in the output

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
