// Trees whose layers add the children's states up.

#include <cstddef>
#include <utility>

#include "dynet/treelstm.h"

#include "builders/builder_support.h"

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

/// bias + x2g x + h2g H for gate number `gate` of those; H may be absent.
Expression add_gate(const std::vector<Expression>& vars, std::size_t gate, const Expression& x,
                    const Expression* all, Where where) {
  Affine a(vars[3 * gate + 2]);
  a.add(vars[3 * gate], x);
  if (all != nullptr) {
    a.add(vars[3 * gate + 1], *all);
  }
  return a.build(where);
}

/// One gate for each child: bias + x2g x + h2g h_k. The product with x is made once; it is added in
/// a node of its own, because products whose biases are other nodes' results run one by one.
class GateOfChildren {
 public:
  GateOfChildren(const std::vector<Expression>& vars, std::size_t gate, const Expression& x,
                 Where where)
      : bias_(vars[3 * gate + 2]),
        h2g_(vars[3 * gate + 1]),
        of_x_(detail::Located(vars[3 * gate], where) * x),
        where_(where) {}
  [[nodiscard]] Expression of(const Expression& child) const {
    Affine a(bias_);
    a.add(h2g_, child);
    return detail::Located(of_x_, where_) + a.build(where_);
  }

 private:
  const Expression& bias_;
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
  const auto gate = [&](std::size_t of) {
    return add_gate(vars, of, x, is_leaf ? nullptr : &all, user_where);
  };
  forget_.clear();
  if (!is_leaf) {
    const GateOfChildren forget(vars, kForget, x, user_where);
    for (const LayerState& child : children) {
      forget_.push_back(forget.of(child.h));
    }
  }
  const Expression i = gate(kInput);
  const Expression o = gate(kOutput);
  return close_cell(i, gate(kCandidate), o, children);
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
  Expression all;
  Expression kept;
  if (!children.empty()) {
    all = sum_of_h(children);
    const GateOfChildren reset(vars, kReset, x, user_where);
    terms_.clear();
    for (const LayerState& child : children) {
      const Expression r = logistic(reset.of(child.h), user_where);
      terms_.push_back(cmult(r, child.h, user_where));
    }
    kept = terms_.size() == 1 ? terms_[0] : sum(terms_, user_where);
  }
  const bool is_leaf = children.empty();
  const Expression z = add_gate(vars, kUpdate, x, is_leaf ? nullptr : &all, user_where);
  const Expression a = add_gate(vars, kNew, x, is_leaf ? nullptr : &kept, user_where);
  // The new cell of a coupled LSTM: an input gate z, and what is forgotten is 1 - z of the old.
  return {Expression(), coupled_lstm_c(z, a, all, user_where)};
}

}  // namespace dynet
