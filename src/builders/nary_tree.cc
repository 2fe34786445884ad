#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "dynet/except.h"
#include "dynet/treelstm.h"

#include "builders/builder_support.h"
#include "builders/gate_products.h"

namespace dynet {

namespace {

// Places in `params` and `lparams`, which differ from the order of making.
enum Matrix : std::size_t { kX2i, kBi, kX2f, kBf, kX2o, kBo, kX2c, kBc, kMatrices };
enum Table : std::size_t { kH2i, kH2f, kH2o, kH2c, kC2i, kC2f, kC2o, kTables };

}  // namespace

NaryTreeLSTMBuilder::NaryTreeLSTMBuilder(unsigned children, unsigned layer_count,
                                         unsigned input_size, unsigned hidden_dim,
                                         ParameterCollection& model)
    : LayeredTreeBuilder(layer_count, input_size, hidden_dim), N(children) {
  if (N == 0) {
    throw errors::ValueError("NaryTreeLSTMBuilder: N is 0; want 1 or more places of children");
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
  const detail::LocatedGraph at(cg, Where());
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
        vars.push_back(update ? lookup(at, p, row) : const_lookup(at, p, row));
      }
    }
    forget_bias_.push_back(detail::Located(param_vars[layer][kBf], Where()) + 1.0F);
  }
}

std::size_t NaryTreeLSTMBuilder::slot(std::size_t child) const {
  return std::min<std::size_t>(child, N - 1);
}

LayeredTreeBuilder::LayerState NaryTreeLSTMBuilder::add_layer(
    unsigned layer, const Expression& x, const std::vector<LayerState>& children) {
  const std::vector<Expression>& vars = param_vars[layer];
  const std::vector<std::vector<Expression>>& tables = lparam_vars[layer];
  const Expression none;
  forget_.clear();
  if (children.empty()) {
    terms_.assign({vars[kBi], vars[kBo], vars[kBc], vars[kX2i], vars[kX2o], vars[kX2c], x});
    const auto [i, o, g] = builders::gate_products<3>(terms_, user_where);
    return close_cell(i, g, o, children);
  }
  // The fourth gate is the part of all children's forget gates that comes from x.
  terms_.assign({vars[kBi], vars[kBo], vars[kBc], forget_bias_[layer],  //
                 vars[kX2i], vars[kX2o], vars[kX2c], vars[kX2f], x});
  for (std::size_t j = 0; j < children.size(); ++j) {
    const std::size_t at = slot(j);
    terms_.insert(terms_.end(), {tables[kH2i][at], tables[kH2o][at], tables[kH2c][at], none,
                                 children[j].h,  //
                                 tables[kC2i][at], tables[kC2o][at], none, none, children[j].c});
  }
  const auto [i, o, g, of_x] = builders::gate_products<4>(terms_, user_where);
  add_forget_gates(layer, of_x, children);
  return close_cell(i, g, o, children);
}

/// Fills `forget_`. One node has the gates of two children, because both are sums over the same
/// states.
void NaryTreeLSTMBuilder::add_forget_gates(unsigned layer, const Expression& of_x,
                                           const std::vector<LayerState>& children) {
  const std::vector<std::vector<Expression>>& tables = lparam_vars[layer];
  const auto matrix = [&](Table table, std::size_t j, std::size_t k) {
    return tables[table][slot(j) * N + slot(k)];
  };
  std::size_t k = 0;
  for (; k + 2 <= children.size(); k += 2) {
    terms_.assign(2, of_x);
    for (std::size_t j = 0; j < children.size(); ++j) {
      terms_.insert(terms_.end(), {matrix(kH2f, j, k), matrix(kH2f, j, k + 1), children[j].h,
                                   matrix(kC2f, j, k), matrix(kC2f, j, k + 1), children[j].c});
    }
    const auto gates = builders::gate_products<2>(terms_, user_where);
    forget_.insert(forget_.end(), gates.begin(), gates.end());
  }
  if (k < children.size()) {
    terms_.assign(1, of_x);
    for (std::size_t j = 0; j < children.size(); ++j) {
      terms_.insert(terms_.end(), {matrix(kH2f, j, k), children[j].h,  //
                                   matrix(kC2f, j, k), children[j].c});
    }
    forget_.push_back(affine_transform(terms_, user_where));
  }
}

}  // namespace dynet
