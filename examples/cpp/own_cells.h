#pragma once

// Three recurrent cells that the library has no builder for, each in a few lines of plain
// operations. Within a dynet::Cell a step of them is one node, or two with the products of the
// inputs.

#include <vector>

#include "dynet/expr.h"
#include "dynet/model.h"

namespace own_cells {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using Expressions = std::vector<Expression>;

/// Parameters of a gate that reads x and h.
struct Gate {
  Gate(ParameterCollection& m, unsigned hidden, unsigned input)
      : b(m.add_parameters({hidden}, ParameterInitConst(0))),
        w(m.add_parameters({hidden, input})),
        u(m.add_parameters({hidden, hidden})) {}
  Expression sum(ComputationGraph& cg, const Expression& x, const Expression& h) const {
    return affine_transform({parameter(cg, b), parameter(cg, w), x, parameter(cg, u), h});
  }
  Parameter b, w, u;
};

/// A minimal gated unit (Zhou et al., 2016): x, h -> h.
struct MinimalGatedUnit {
  MinimalGatedUnit(ParameterCollection& m, unsigned hidden, unsigned input)
      : forget(m, hidden, input), candidate(m, hidden, input) {}
  Expressions operator()(ComputationGraph& cg, const Expressions& in) const {
    const Expression f = logistic(forget.sum(cg, in[0], in[1]));
    const Expression g = tanh(candidate.sum(cg, in[0], cmult(f, in[1])));
    return {in[1] + cmult(f, g - in[1])};
  }
  Gate forget, candidate;
};

/// An LSTM whose gates see the cell through vectors, and whose output is projected (Sak et al.,
/// 2014): x, r, c -> r, c. The state r has as many numbers as the projection.
struct ProjectedLstm {
  ProjectedLstm(ParameterCollection& m, unsigned cell, unsigned projection, unsigned input)
      : p(m.add_parameters({projection, cell})) {
    for (unsigned g = 0; g < 4; ++g) {
      b.push_back(m.add_parameters({cell}, ParameterInitConst(0)));
      w.push_back(m.add_parameters({cell, input}));
      u.push_back(m.add_parameters({cell, projection}));
      peephole.push_back(m.add_parameters({cell}));
    }
  }
  Expressions operator()(ComputationGraph& cg, const Expressions& in) const {
    const auto sum = [&](unsigned g) {
      return affine_transform(
          {parameter(cg, b[g]), parameter(cg, w[g]), in[0], parameter(cg, u[g]), in[1]});
    };
    const auto seen = [&](unsigned g, const Expression& c) {
      return cmult(parameter(cg, peephole[g]), c);
    };
    const Expression i = logistic(sum(0) + seen(0, in[2]));
    const Expression f = logistic(sum(1) + seen(1, in[2]));
    const Expression c = cmult(f, in[2]) + cmult(i, tanh(sum(2)));
    const Expression o = logistic(sum(3) + seen(3, c));
    return {parameter(cg, p) * cmult(o, tanh(c)), c};
  }
  Parameter p;
  std::vector<Parameter> b, w, u, peephole;
};

/// A gated recurrent unit over two children: left, right -> h.
struct BinaryTreeGru {
  BinaryTreeGru(ParameterCollection& m, unsigned hidden)
      : update(m, hidden, hidden),
        reset_left(m, hidden, hidden),
        reset_right(m, hidden, hidden),
        candidate(m, hidden, hidden) {}
  Expressions operator()(ComputationGraph& cg, const Expressions& in) const {
    const Expression z = logistic(update.sum(cg, in[0], in[1]));
    const Expression left = cmult(logistic(reset_left.sum(cg, in[0], in[1])), in[0]);
    const Expression right = cmult(logistic(reset_right.sum(cg, in[0], in[1])), in[1]);
    const Expression kept = 0.5F * (in[0] + in[1]);
    return {kept + cmult(z, tanh(candidate.sum(cg, left, right)) - kept)};
  }
  Gate update, reset_left, reset_right, candidate;
};

}  // namespace own_cells
