#include "network_parts.h"

namespace dynet::bench {

void World::begin(ComputationGraph& cg) {
  cg_ = &cg;
  ++graph_;
  for (auto& [place, lstm] : lstms_) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
  }
  if (binary_trees_) {
    binary_trees_->new_graph(cg);
  }
  if (child_sums_) {
    child_sums_->new_graph(cg);
  }
}

Expression World::weight(unsigned place, unsigned k, const Dim& dim) {
  Weight& weight = weights_[place * kOfPlace + k];
  if (!weight.stored) {
    weight.stored = parameters.add_parameters(dim);
  }
  if (weight.graph != graph_) {
    weight.node = parameter(*cg_, *weight.stored);
    weight.graph = graph_;
  }
  return weight.node;
}

Expression World::look(Table table, const Dim& dim, unsigned row) {
  std::optional<LookupParameter>& stored = tables_[table];
  if (!stored) {
    stored = parameters.add_lookup_parameters(kRows, dim);
  }
  return lookup(*cg_, *stored, row);
}

Expression World::affine(unsigned place, unsigned rows, const Vectors& inputs) {
  Vectors terms{weight(place, 0, {rows})};
  terms.reserve(1 + 2 * inputs.size());
  for (unsigned k = 0; k < inputs.size(); ++k) {
    terms.push_back(weight(place, k + 1, {rows, inputs[k].dim()[0]}));
    terms.push_back(inputs[k]);
  }
  return affine_transform(terms);
}

State World::lstm_step(unsigned place, const Expression& x, const Maybe& before, unsigned rows) {
  if (has_builders) {
    auto found = lstms_.find(place);
    if (found == lstms_.end()) {
      found = lstms_.try_emplace(place, 1, x.dim()[0], rows, parameters).first;
      found->second.new_graph(*cg_);
      found->second.start_new_sequence();
    }
    State state;
    state.h = found->second.add_input(before ? before->step : -1, x);
    state.step = found->second.state();
    return state;
  }
  const Vectors in = before ? Vectors{x, before->h} : Vectors{x};
  const Expression i = logistic(affine(place, rows, in));
  const Expression o = logistic(affine(place + 1, rows, in));
  const Expression u = tanh(affine(place + 2, rows, in));
  Expression c = cmult(i, u);
  if (before) {
    const Expression f = logistic(affine(place + 3, rows, in));
    c = cmult(f, before->c) + c;
  }
  return {cmult(o, tanh(c)), c};
}

BinaryTreeLSTMBuilder& World::binary_trees() {
  if (!binary_trees_) {
    binary_trees_.emplace(size, size, parameters);
    binary_trees_->new_graph(*cg_);
  }
  return *binary_trees_;
}

ChildSumTreeLSTMBuilder& World::child_sums() {
  if (!child_sums_) {
    child_sums_.emplace(1U, size, size, parameters);
    child_sums_->new_graph(*cg_);
  }
  return *child_sums_;
}

}  // namespace dynet::bench
