#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/treelstm.h"

#include "builders/builder_support.h"

namespace dynet {

namespace {

// Places in `params` and `lparams`, which are not in the order in which they are made.
enum Matrix : std::size_t { kX2i, kBi, kX2f, kBf, kX2o, kBo, kX2c, kBc, kMatrices };
enum Table : std::size_t { kH2i, kH2f, kH2o, kH2c, kC2i, kC2f, kC2o, kTables };

}  // namespace

NaryTreeLSTMBuilder::NaryTreeLSTMBuilder(unsigned children, unsigned layer_count,
                                         unsigned input_size, unsigned hidden_dim,
                                         ParameterCollection& model)
    : LayeredTreeBuilder(layer_count, input_size, hidden_dim), N(children) {
  if (N == 0) {
    throw ValueError("NaryTreeLSTMBuilder: N is 0; want 1 or more places of children");
  }
  const unsigned pairs = to_extent(ext::Count(N) * N,
                                   "NaryTreeLSTMBuilder: a table has N*N "
                                   "matrices, N is " +
                                       std::to_string(N));
  local_model = model.add_subcollection("nary-tree-lstm-builder");
  const ParameterInitConst zero(0.0F);
  for (unsigned layer = 0; layer < layers; ++layer) {
    const unsigned in = layer == 0 ? input_dim : hid;
    std::vector<Parameter> ps(kMatrices);
    std::vector<LookupParameter> ls(kTables);
    const auto add_gate = [&](Matrix x2g, Table h2g, Table c2g, Matrix bias, unsigned rows) {
      ps[x2g] = local_model.add_parameters({hid, in});
      ls[h2g] = local_model.add_lookup_parameters(rows, {hid, hid});
      if (c2g != kTables) {
        ls[c2g] = local_model.add_lookup_parameters(rows, {hid, hid});
      }
      ps[bias] = local_model.add_parameters({hid}, zero);
    };
    add_gate(kX2i, kH2i, kC2i, kBi, N);
    add_gate(kX2f, kH2f, kC2f, kBf, pairs);
    add_gate(kX2o, kH2o, kC2o, kBo, N);
    add_gate(kX2c, kH2c, kTables, kBc, N);
    params.push_back(std::move(ps));
    lparams.push_back(std::move(ls));
  }
}

void NaryTreeLSTMBuilder::copy(const RNNBuilder& other) {
  std::vector<std::vector<LookupParameter>> tables = lparams;
  if (const auto* same = dynamic_cast<const NaryTreeLSTMBuilder*>(&other)) {
    builders::share_parameters(name(), same->lparams, tables);
  }
  LayeredTreeBuilder::copy(other);
  lparams = std::move(tables);
}

void NaryTreeLSTMBuilder::enter_graph(ComputationGraph& cg, bool update) {
  LayeredTreeBuilder::enter_graph(cg, update);
  lparam_vars.resize(layers);
  forget_bias_.clear();
  for (unsigned layer = 0; layer < layers; ++layer) {
    lparam_vars[layer].resize(kTables);
    for (std::size_t table = 0; table < kTables; ++table) {
      const LookupParameter& p = lparams[layer][table];
      const unsigned rows = p.get_storage().rows();
      std::vector<Expression>& vars = lparam_vars[layer][table];
      vars.clear();
      for (unsigned row = 0; row < rows; ++row) {
        vars.push_back(update ? lookup(cg, p, row) : const_lookup(cg, p, row));
      }
    }
    forget_bias_.push_back(param_vars[layer][kBf] + 1.0F);
  }
}

std::size_t NaryTreeLSTMBuilder::slot(std::size_t child) const {
  return std::min<std::size_t>(child, N - 1);
}

LayeredTreeBuilder::LayerState NaryTreeLSTMBuilder::add_layer(
    unsigned layer, const Expression& x, const std::vector<LayerState>& children) {
  const std::vector<Expression>& vars = param_vars[layer];
  const std::vector<std::vector<Expression>>& tables = lparam_vars[layer];
  // The bias and the products with all children, whose matrices are at row(place) of the tables.
  const auto add_products = [&](Table h2g, Table c2g, const auto& row) {
    for (std::size_t j = 0; j < children.size(); ++j) {
      const std::size_t at = row(slot(j));
      terms_.insert(terms_.end(), {tables[h2g][at], children[j].h});
      if (c2g != kTables) {
        terms_.insert(terms_.end(), {tables[c2g][at], children[j].c});
      }
    }
    return affine_transform(terms_, user_where);
  };
  const auto gate = [&](Matrix bias, Matrix x2g, Table h2g, Table c2g) {
    terms_.assign({vars[bias], vars[x2g], x});
    return add_products(h2g, c2g, [](std::size_t place) { return place; });
  };
  forget_.clear();
  if (!children.empty()) {
    // Added in a node of its own: products whose biases are other nodes' results run one by one.
    const Expression of_x = detail::Located(vars[kX2f], user_where) * x;
    for (std::size_t k = 0; k < children.size(); ++k) {
      terms_.assign(1, forget_bias_[layer]);
      const Expression of_children =
          add_products(kH2f, kC2f, [&](std::size_t place) { return place * N + slot(k); });
      forget_.push_back(detail::Located(of_x, user_where) + of_children);
    }
  }
  const Expression i = gate(kBi, kX2i, kH2i, kC2i);
  const Expression g = gate(kBc, kX2c, kH2c, kTables);
  return close_cell(i, g, gate(kBo, kX2o, kH2o, kC2o), children);
}

}  // namespace dynet
