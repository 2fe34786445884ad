#pragma once

// A program whose gradients are nodes, for tests of gradients of gradients.

#include <cstddef>
#include <vector>

#include "dynet/expr.h"

#include "testing/program.h"

namespace dynet::testing {

using Numbers = std::vector<std::vector<double>>;

/// A program in a graph, with a loss that is no linear function of its results: sums of
/// c * (y + y * y), so that the gradient of a linear operation depends on its arguments, too.
class GradientProgram {
 public:
  GradientProgram(const Program& program, bool batching)
      : live_(program, double_device(), batching) {
    const DefaultDevice scope(double_device());
    for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
      live_.build(i);
      if (program.steps[static_cast<std::size_t>(i)].sample == nullptr) {
        leaves_.push_back(live_.expression({i, 0}));
      }
    }
    std::vector<Expression> terms;
    for (const Term& t : program.terms) {
      const Expression& y = live_.expression(t.ref);
      terms.push_back(weighted(y + square(y), t.coefficients));
    }
    loss_ = sum(terms);
  }
  [[nodiscard]] const Expression& loss() const { return loss_; }
  [[nodiscard]] const std::vector<Expression>& leaves() const { return leaves_; }
  ComputationGraph& graph() { return live_.graph(); }
  /// Sum of the elements of y times numbers between -1 and 1.
  Expression weighted(const Expression& y, const std::vector<float>& coefficients) {
    const Expression product = dot_product(y, input(graph(), y.dim(), coefficients));
    return y.dim().bd == 1 ? product : sum_batches(product);
  }
  /// The gradients of `of` by backward, a leaf each.
  Numbers backward(const Expression& of) {
    graph().backward(of, true);
    Numbers all;
    for (const Expression& x : leaves_) {
      all.push_back(numbers(x.gradient()));
    }
    return all;
  }
  /// A function of the gradients: the sum of all, weighted by numbers that do not depend on the
  /// program.
  Expression sum_of(const std::vector<Expression>& gradients) {
    const DefaultDevice scope(double_device());
    Draw draw(5);
    std::vector<Expression> terms;
    terms.reserve(gradients.size());
    for (const Expression& g : gradients) {
      terms.push_back(weighted(g, draw(g.dim().elements(), -1.0, 1.0)));
    }
    return sum(terms);
  }

 private:
  LiveProgram live_;
  std::vector<Expression> leaves_;
  Expression loss_;
};

}  // namespace dynet::testing
