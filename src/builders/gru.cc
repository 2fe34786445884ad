#include "dynet/gru.h"

#include <span>
#include <utility>

#include "dynet/ext/add_node.h"

#include "builders/cells.h"
#include "builders/gate_products.h"

namespace dynet {

namespace {
enum { kX2z, kH2z, kBz, kX2r, kH2r, kBr, kX2h, kH2h, kBh };
}  // namespace

GRUBuilder::GRUBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                       ParameterCollection& model)
    : LayeredRNNBuilder(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection("gru-builder");
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Parameter> ps;
    for (int gate = 0; gate < 3; ++gate) {  // z, r, candidate
      ps.push_back(local_model.add_parameters({hid, layer == 0 ? input_dim : hid}));
      ps.push_back(local_model.add_parameters({hid, hid}));
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
  if (before == nullptr) {
    Expression list[] = {vars[kBz], vars[kBh], vars[kX2z], vars[kX2h], x};
    const auto [z, candidate] = builders::gate_products<2>(list, user_where);
    // The new cell of a coupled LSTM with input gate z: the share 1 - z of the old state is kept.
    // forgotten.
    return {none, coupled_lstm_c(z, candidate, none, user_where)};
  }
  const Expression& old = before->h;
  const Expression list[] = {vars[kBz],  vars[kBr],  vars[kBh],               //
                             vars[kH2z], vars[kH2r], old,        vars[kH2h],  //
                             vars[kX2z], vars[kX2r], vars[kX2h], x};
  return {none, ext::add_node(builders::GruCell{}, std::span<const Expression>(list), user_where)};
}

}  // namespace dynet
