// Trees whose layers add the children's states up.

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "builders/builder_support.h"
#include "builders/gate_products.h"

namespace dynet {

using builders::Affine;

// ---- child-sum

namespace {

/// For each gate a matrix for x, a matrix for the children, and a bias of 0.
std::vector<std::vector<Parameter>> make_gates(ParameterCollection& model, unsigned layers,
                                               unsigned gates, unsigned input_dim, unsigned hid) {
  std::vector<std::vector<Parameter>> params(layers);
  for (unsigned layer = 0; layer < layers; ++layer) {
    params[layer].reserve(std::size_t{3} * gates);
    for (unsigned gate = 0; gate < gates; ++gate) {
      for (Parameter& p :
           builders::make_standard_layer(model, hid, layer == 0 ? input_dim : hid, hid)) {
        params[layer].push_back(std::move(p));
      }
    }
  }
  return params;
}

/// bias + x2g x + h2g H for each of the `gates`; the last `kOfX` gates lack H. `all` is H, or
/// absent.
template <std::size_t kOfX = 0, std::size_t kGates>
std::array<Expression, kGates> add_gates(const std::vector<Expression>& vars,
                                         const std::size_t (&gates)[kGates], const Expression& x,
                                         const Expression& all, Where where) {
  std::array<Expression, 3 * kGates + 2> list;
  for (std::size_t k = 0; k < kGates; ++k) {
    list[k] = vars[3 * gates[k] + 2];
    list[kGates + k] = vars[3 * gates[k]];
    if (k + kOfX < kGates) {
      list[2 * kGates + 1 + k] = vars[3 * gates[k] + 1];
    }
  }
  list[2 * kGates] = x;
  list[3 * kGates + 1] = all;
  const std::size_t used = all.pg == nullptr ? 2 * kGates + 1 : list.size();
  return builders::gate_products<kGates>(std::span(list).first(used), where);
}

/// Adds h2g h to `start`, the known terms of a gate.
Expression plus_product(const Expression& start, const Expression& h2g, const Expression& h,
                        Where where) {
  Affine a(start);
  a.add(h2g, h);
  return a.build(where);
}
/// Place of h2g of a gate.
constexpr std::size_t of_h(std::size_t gate) { return 3 * gate + 1; }

enum LstmGate : std::size_t { kInput, kForget, kOutput, kCandidate };
enum GruGate : std::size_t { kUpdate, kReset, kNew };

}  // namespace

ChildSumTreeLSTMBuilder::ChildSumTreeLSTMBuilder(unsigned layer_count, unsigned input_size,
                                                 unsigned hidden_dim, ParameterCollection& model)
    : LayeredTreeBuilder(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection("child-sum-tree-lstm-builder");
  params = make_gates(local_model, layers, 4, input_dim, hid);
}

LayeredTreeBuilder::LayerState ChildSumTreeLSTMBuilder::add_layer(
    unsigned layer, const Expression& x, const std::vector<LayerState>& children) {
  const std::vector<Expression>& vars = param_vars[layer];
  forget_.clear();
  if (children.empty()) {
    const auto [i, o, g] =
        add_gates(vars, {kInput, kOutput, kCandidate}, x, Expression(), user_where);
    return close_cell(i, g, o, children);
  }
  const Expression all = sum_of_h(children);
  const auto [i, o, g, forget] =
      add_gates<1>(vars, {kInput, kOutput, kCandidate, kForget}, x, all, user_where);
  for (const LayerState& child : children) {
    forget_.push_back(plus_product(forget, vars[of_h(kForget)], child.h, user_where));
  }
  return close_cell(i, g, o, children);
}

// ---- gated recurrent unit

TreeGRUBuilder::TreeGRUBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                               ParameterCollection& model)
    : LayeredTreeBuilder(layer_count, input_size, hidden_dim) {
  local_model = model.add_subcollection("tree-gru-builder");
  params = make_gates(local_model, layers, 3, input_dim, hid);
}

LayeredTreeBuilder::LayerState TreeGRUBuilder::add_layer(unsigned layer, const Expression& x,
                                                         const std::vector<LayerState>& children) {
  const std::vector<Expression>& vars = param_vars[layer];
  if (children.empty()) {
    const auto [z, a] = add_gates(vars, {kUpdate, kNew}, x, Expression(), user_where);
    return {Expression(), coupled_lstm_c(z, a, {}, user_where)};
  }
  const Expression all = sum_of_h(children);
  const auto [z, candidate, reset] =
      add_gates<2>(vars, {kUpdate, kNew, kReset}, x, all, user_where);
  forget_.clear();
  for (const LayerState& child : children) {
    forget_.push_back(plus_product(reset, vars[of_h(kReset)], child.h, user_where));
  }
  const Expression kept = behind_gates(children, &LayerState::h, 0);
  const Expression a = plus_product(candidate, vars[of_h(kNew)], kept, user_where);
  // The new cell of a coupled LSTM with input gate z: the share 1 - z of the old state is kept.
  return {Expression(), coupled_lstm_c(z, a, all, user_where)};
}

}  // namespace dynet
