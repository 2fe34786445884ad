#include "network_parts.h"

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
  if (style != Style::kCells || !before) {
    return lstm_nodes(place, rows, x, before);
  }
  return call(
      place,
      [=, this](const Vectors& in) { return lstm_nodes(place, rows, in[0], State{in[1], in[2]}); },
      {x, before->h, before->c}, {0});
}

State World::lstm_nodes(unsigned place, unsigned rows, const Expression& x, const Maybe& before) {
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

State World::tree_join(const State& left, const State& right) {
  if (style != Style::kCells) {
    return join_nodes(left, right);
  }
  return call(kTree + 3,
              [this](const Vectors& in) { return join_nodes({in[0], in[2]}, {in[1], in[3]}); },
              {left.h, right.h, left.c, right.c}, {});
}

State World::join_nodes(const State& left, const State& right) {
  State s;
  const Vectors in{left.h, right.h};
  const Expression i = logistic(affine(kTree + 3, size, in));
  const Expression f = logistic(affine(kTree + 4, size, in));
  const Expression g = logistic(affine(kTree + 5, size, in));
  const Expression o = logistic(affine(kTree + 6, size, in));
  const Expression u = tanh(affine(kTree + 7, size, in));
  s.c = cmult(i, u) + cmult(f, left.c) + cmult(g, right.c);
  s.h = cmult(o, tanh(s.c));
  return s;
}

/// The results of the cell of a step, which runs the step in a graph of its own.
State World::call(unsigned place, const Step& step, const Vectors& args,
                  const std::vector<unsigned>& inputs) {
  auto found = cells_.find(place);
  if (found == cells_.end()) {
    const auto run = [this, step](ComputationGraph& cg, const Vectors& in) {
      ComputationGraph* const before = std::exchange(cg_, &cg);
      const unsigned graph = std::exchange(graph_, ++graphs_);
      const State s = step(in);
      cg_ = before;
      graph_ = graph;
      return Vectors{s.h, s.c};
    };
    found = cells_.try_emplace(place, "step", run, inputs).first;
  }
  const Vectors results = found->second(args);
  return {results[0], results[1]};
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
