#include "dynet/gru.h"

#include <array>
#include <span>
#include <utility>
#include <vector>

#include "dynet/ext/add_node.h"

#include "builders/cells.h"
#include "builders/gate_products.h"

namespace dynet {

namespace {
enum { kX2z, kH2z, kBz, kX2r, kH2r, kBr, kX2h, kH2h, kBh, kBhh };
}  // namespace

GRUBuilder::GRUBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                       ParameterCollection& model, bool resets_after)
    : LayeredRNNBuilder(layer_count, input_size, hidden_dim), reset_after(resets_after) {
  local_model = model.add_subcollection("gru-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Parameter> ps;
    for (int gate = 0; gate < 3; ++gate) {  // z, r, candidate
      ps.push_back(local_model.add_parameters({hid, layer == 0 ? input_dim : hid}));
      ps.push_back(local_model.add_parameters({hid, hid}));
      ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    }
    if (reset_after) {
      ps.push_back(local_model.add_parameters({hid}, ParameterInitConst(0.0F)));
    }
    params.push_back(std::move(ps));
  }
}

void GRUBuilder::set_dropout(float d) { LayeredRNNBuilder::set_dropout(d, 0.0F); }

Expression GRUBuilder::layer_input(unsigned /*layer*/, const Expression& below,
                                   const Expression& /*x*/) {
  return dropout_rate > 0.0F ? dropout(below, dropout_rate, user_where) : below;
}

Expression GRUBuilder::returned(const Expression& output) const {
  return dropout_rate > 0.0F ? dropout(output, dropout_rate, user_where) : output;
}

LayeredRNNBuilder::LayerState GRUBuilder::add_layer(unsigned layer, const Expression& x,
                                                    const LayerState* before) {
  const std::vector<Expression>& vars = param_vars[layer];
  const Expression none;
  if (reset_after) {
    return {none, add_reset_after(layer, x, before)};
  }
  if (before == nullptr) {
    Expression list[] = {vars[kBz], vars[kBh], vars[kX2z], vars[kX2h], x};
    const auto [z, candidate] = builders::gate_products<2>(list, user_where);
    // The new cell of a coupled LSTM with input gate z: the share 1 - z of the old state is kept.
    return {none, coupled_lstm_c(z, candidate, none, user_where)};
  }
  const Expression& old = before->h;
  const Expression list[] = {vars[kBz],  vars[kBr],  vars[kBh],               //
                             vars[kH2z], vars[kH2r], old,        vars[kH2h],  //
                             vars[kX2z], vars[kX2r], vars[kX2h], x};
  return {none, ext::add_node(builders::GruCell{}, std::span<const Expression>(list), user_where)};
}

/// The last gate is the product that the reset gate multiplies. Without a state it is the bias.
Expression GRUBuilder::add_reset_after(unsigned layer, const Expression& x,
                                       const LayerState* before) const {
  const std::vector<Expression>& vars = param_vars[layer];
  const Expression none;
  std::array<Expression, 4> gates;
  if (before == nullptr) {
    Expression list[] = {vars[kBz],  vars[kBr],  vars[kBh],  //
                         vars[kX2z], vars[kX2r], vars[kX2h], x};
    const auto [z, r, candidate] = builders::gate_products<3>(list, user_where);
    gates = {z, r, candidate, vars[kBhh]};
  } else {
    Expression list[] = {vars[kBz],  vars[kBr],  vars[kBh],  vars[kBhh],     //
                         vars[kX2z], vars[kX2r], vars[kX2h], none,       x,  //
                         vars[kH2z], vars[kH2r], none,       vars[kH2h], before->h};
    gates = builders::gate_products<4>(list, user_where);
  }
  const auto& [z, r, candidate, product] = gates;
  const Expression kept = gated_sum(r, product, none, none, user_where);
  return coupled_lstm_c(z, sum({candidate, kept}, user_where), before == nullptr ? none : before->h,
                        user_where);
}

}  // namespace dynet
