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
  return has_peepholes(before == nullptr) ? add_with_peepholes(layer, x, before)
                                          : add_without_peepholes(layer, x, before);
}

LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_without_peepholes(unsigned layer,
                                                                         const Expression& x,
                                                                         const LayerState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const bool is_first = before == nullptr;
  Expression list[] = {
      vars[coupled::kBi],  vars[coupled::kBc],  vars[coupled::kBo],  //
      vars[coupled::kX2i], vars[coupled::kX2c], vars[coupled::kX2o], x,
      vars[coupled::kH2i], vars[coupled::kH2c], vars[coupled::kH2o], is_first ? x : before->h};
  const auto [i, g, o] =
      builders::gate_products<3>(std::span(list).first(is_first ? 7 : 11), user_where);
  const auto [cell, hidden] =
      coupled_lstm_cell(i, g, o, is_first ? Expression() : before->c, user_where);
  return {cell, hidden};
}

/// The output gate looks at the new cell.
LayeredRNNBuilder::LayerState CoupledGatesBuilder::add_with_peepholes(unsigned layer,
                                                                      const Expression& x,
                                                                      const LayerState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const bool is_masked = cell_rate() > 0.0F;
  const auto seen = [&](const Expression& cell) {
    return is_masked ? cmult(cell, masks[layer][2], user_where) : cell;
  };
  const bool is_first = before == nullptr;
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
                       is_first ? none : before->h,  //
                       vars[coupled::kC2i],
                       none,
                       none,
                       is_first ? none : seen(before->c)};
  const auto [i, g, o] =
      builders::gate_products<3>(std::span(list).first(is_first ? 7 : 15), user_where);
  const Expression& c2o = vars[coupled::kC2o];
  if (!is_first && !is_masked) {
    const auto [cell, hidden] = api::outputs<2>(
        ext::add_node(builders::PeepholeCell{}, {c2o, user_where}, i, g, o, before->c));
    return {cell, hidden};
  }
  const Expression cell = coupled_lstm_c(i, g, is_first ? none : before->c, user_where);
  Affine output(o);
  output.add(c2o, seen(cell));
  return {cell, coupled_lstm_h(output.build(user_where), cell, user_where)};
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
