#include "network_parts.h"

#include <algorithm>
#include <utility>

namespace dynet::bench {

void World::begin(ComputationGraph& cg) {
  cg_ = &cg;
  graph_ = ++graphs_;
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

Parameter World::stored(unsigned place, unsigned k, const Dim& dim) {
  Weight& weight = weights_[place * kOfPlace + k];
  if (!weight.stored) {
    weight.stored = parameters.add_parameters(dim);
  }
  return *weight.stored;
}
Expression World::weight(unsigned place, unsigned k, const Dim& dim) {
  Weight& weight = weights_[place * kOfPlace + k];
  if (weight.graph != graph_) {
    weight.node = parameter(*cg_, stored(place, k, dim));
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
  if (style == Style::kBuilders) {
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
  Vectors args{x};
  if (before) {
    args.insert(args.end(), {before->h, before->c});
  }
  const Vectors state =
      call(place, [=, this](const Vectors& of) { return lstm_nodes(place, rows, of); }, args, {0});
  return {state[0], state[1]};
}

/// x, h, c -> h, c; without a state before, x -> h, c.
Vectors World::lstm_nodes(unsigned place, unsigned rows, const Vectors& args) {
  const Vectors in(args.begin(), args.begin() + std::min<std::ptrdiff_t>(2, std::ssize(args)));
  const Expression i = logistic(affine(place, rows, in));
  const Expression o = logistic(affine(place + 1, rows, in));
  const Expression u = tanh(affine(place + 2, rows, in));
  Expression c = cmult(i, u);
  if (args.size() == 3) {
    const Expression f = logistic(affine(place + 3, rows, in));
    c = cmult(f, args[2]) + c;
  }
  return {cmult(o, tanh(c)), c};
}

State World::tree_join(const State& left, const State& right) {
  const Vectors state = call(kTree + 3, [this](const Vectors& of) { return join_nodes(of); },
                             {left.h, right.h, left.c, right.c}, {});
  return {state[0], state[1]};
}

/// Both h, both c -> h, c.
Vectors World::join_nodes(const Vectors& args) {
  const unsigned place = kTree + 3;
  const Vectors in{args[0], args[1]};
  const Expression i = logistic(affine(place, size, in));
  const Expression f = logistic(affine(place + 1, size, in));
  const Expression g = logistic(affine(place + 2, size, in));
  const Expression o = logistic(affine(place + 3, size, in));
  const Expression u = tanh(affine(place + 4, size, in));
  const Expression c = cmult(i, u) + cmult(f, args[2]) + cmult(g, args[3]);
  return {cmult(o, tanh(c)), c};
}

/// The results of a step in operations, or of its cell, which runs the step in a graph of its own.
Vectors World::call(unsigned place, const Step& step, const Vectors& args,
                    const std::vector<unsigned>& inputs) {
  if (style == Style::kNodes) {
    return step(args);
  }
  auto found = cells_.find(place);
  if (found == cells_.end()) {
    const auto run = [this, step](ComputationGraph& cg, const Vectors& of) {
      ComputationGraph* const before = std::exchange(cg_, &cg);
      const unsigned graph = std::exchange(graph_, ++graphs_);
      Vectors results = step(of);
      cg_ = before;
      graph_ = graph;
      return results;
    };
    found = cells_.try_emplace(place, "step", run, inputs).first;
  }
  return found->second(args);
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
