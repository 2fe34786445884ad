// Trees whose layers add the children's states up.

#include <array>
#include <cstddef>
#include <span>
#include <utility>

#include "dynet/treelstm.h"

#include "builders/builder_support.h"
#include "builders/gate_products.h"

namespace dynet {

using builders::Affine;

// ---- child-sum
// ------------------------------------------------------------------------------------

namespace {

/// Gates with a matrix for x, one for the children and a bias of 0 each.
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

/// bias + x2g x + h2g H for some gates of those; H may be absent.
template <std::size_t kGates>
std::array<Expression, kGates> add_gates(const std::vector<Expression>& vars,
                                         const std::size_t (&gates)[kGates], const Expression& x,
                                         const Expression* all, Where where) {
  std::array<Expression, 3 * kGates + 2> list;
  for (std::size_t k = 0; k < kGates; ++k) {
    list[k] = vars[3 * gates[k] + 2];
    list[kGates + k] = vars[3 * gates[k]];
    list[2 * kGates + 1 + k] = vars[3 * gates[k] + 1];
  }
  list[2 * kGates] = x;
  if (all != nullptr) {
    list[3 * kGates + 1] = *all;
  }
  const std::size_t used = all == nullptr ? 2 * kGates + 1 : list.size();
  return builders::gate_products<kGates>(std::span(list).first(used), where);
}

/// One gate for each child: bias + x2g x + h2g h_k. What does not depend on the child is computed
/// once.
class GateOfChildren {
 public:
  GateOfChildren(const std::vector<Expression>& vars, std::size_t gate, const Expression& x,
                 Where where)
      : h2g_(vars[3 * gate + 1]), where_(where) {
    Affine a(vars[3 * gate + 2]);
    a.add(vars[3 * gate], x);
    of_x_ = a.build(where);
  }
  [[nodiscard]] Expression of(const Expression& child) const {
    Affine a(of_x_);
    a.add(h2g_, child);
    return a.build(where_);
  }

 private:
  const Expression& h2g_;
  Expression of_x_;
  Where where_;
};

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
  const bool is_leaf = children.empty();
  const Expression all = is_leaf ? Expression() : sum_of_h(children);
  forget_.clear();
  if (!is_leaf) {
    const GateOfChildren forget(vars, kForget, x, user_where);
    for (const LayerState& child : children) {
      forget_.push_back(forget.of(child.h));
    }
  }
  const auto [i, o, g] =
      add_gates(vars, {kInput, kOutput, kCandidate}, x, is_leaf ? nullptr : &all, user_where);
  return close_cell(i, g, o, children);
}

// ---- gated recurrent unit
// -------------------------------------------------------------------------

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
    const auto [z, a] = add_gates(vars, {kUpdate, kNew}, x, nullptr, user_where);
    return {Expression(), coupled_lstm_c(z, a, {}, user_where)};
  }
  const Expression all = sum_of_h(children);
  const GateOfChildren reset(vars, kReset, x, user_where);
  terms_.clear();
  for (const LayerState& child : children) {
    const Expression r = logistic(reset.of(child.h), user_where);
    terms_.push_back(cmult(r, child.h, user_where));
  }
  const Expression kept = terms_.size() == 1 ? terms_[0] : sum(terms_, user_where);
  const auto gate = [&](GruGate of, const Expression& state) {
    Affine a(vars[3 * of + 2]);
    a.add(vars[3 * of], x);
    a.add(vars[3 * of + 1], state);
    return a.build(user_where);
  };
  const Expression z = gate(kUpdate, all);
  const Expression a = gate(kNew, kept);
  // The new cell of a coupled LSTM: an input gate z, and what is forgotten is 1 - z of the old.
  return {Expression(), coupled_lstm_c(z, a, all, user_where)};
}

}  // namespace dynet
