// Steps of recurrent networks in one node: the suite that tests operations, the equal compositions
// of operations, and recurrences of steps, in which the products with inputs are computed apart.

#include "builders/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/ext/add_node.h"
#include "dynet/ext/testing.h"
#include "dynet/inference.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "support/observe.h"
#include "testing/tolerance.h"

namespace dynet::builders {
namespace {

template <class Cell>
std::string failures(const testing::Expectations& expected) {
  std::string all;
  for (const std::string& failure : testing::check<Cell>(expected)) {
    all += failure + "\n";
  }
  return all;
}

TEST(CellOperations, KeepTheContractOfAnOperation) {
  EXPECT_EQ(failures<VanillaCell>({.weights = {1, 4}}), "");
  EXPECT_EQ(failures<GruCell>({.weights = {3, 4, 6, 7, 8, 9}}), "");
  EXPECT_EQ(failures<CoupledCell>({.weights = {3, 4, 5, 8, 9, 10}}), "");
  EXPECT_EQ(failures<PeepholeCell>({.weights = {3, 4, 5, 7, 8, 10, 11, 12}}), "");
  EXPECT_EQ(failures<TanhCell>({.weights = {1, 3, 5}}), "");
}

/// The arguments of cells: biases, matrices {4,4} of the state and its vectors, matrices {4,3} and
/// x.
struct Cells : ::testing::Test {
  ParameterCollection model;
  ComputationGraph cg;
  const Dim b{4};
  const Dim u{4, 4};
  const Dim w{4, 3};
  const Dim x{3};

  Expression argument(const Dim& dim) { return parameter(cg, model.add_parameters(dim)); }
  std::vector<Expression> arguments(std::initializer_list<Dim> dims) {
    std::vector<Expression> all;
    for (const Dim& dim : dims) {
      all.push_back(argument(dim));
    }
    return all;
  }
  template <class Cell>
  Expression node(const std::vector<Expression>& xs) {
    return ext::add_node(Cell{}, std::span<const Expression>(xs), Where::here());
  }
  static Expression hidden_of(const Expression& cell) {
    return Expression(cell.pg, cell.i + 1, cell.graph_id);
  }
};

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted, double bound) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], bound) << i;
  }
}
void expect_equal(const Expression& a, const Expression& b) {
  expect_near(as_vector(a.value()), as_vector(b.value()), tolerance::kSumsInFloat);
}

/// gradient() computes in nodes the gradients of backward.
void expect_gradients(ComputationGraph& cg, const Expression& y,
                      const std::vector<Expression>& xs) {
  const Expression loss = sum_elems(cube(y));
  const std::vector<Expression> nodes = gradient(loss, xs);
  cg.backward(loss, true);
  for (std::size_t i = 0; i < xs.size(); ++i) {
    SCOPED_TRACE(i);
    expect_near(as_vector(nodes[i].value()), as_vector(xs[i].gradient()),
                tolerance::kManyTermsInFloat);
  }
}

TEST_F(Cells, OfAGruIsItsFormula) {
  const std::vector<Expression> a = arguments({b, b, b, u, u, b, u, w, w, w, x});
  const Expression y = node<GruCell>(a);
  const Expression z = logistic(affine_transform({a[0], a[3], a[5], a[7], a[10]}));
  const Expression r = logistic(affine_transform({a[1], a[4], a[5], a[8], a[10]}));
  const Expression candidate = tanh(affine_transform({a[2], a[6], cmult(r, a[5]), a[9], a[10]}));
  expect_equal(y, cmult(1.0F - z, a[5]) + cmult(z, candidate));
  expect_gradients(cg, y, a);
}

/// `step` adds the node; one or both of its outputs are used, as one may be unused.
void expect_gradients_of_both(ComputationGraph& cg, const std::function<Expression()>& step,
                              const std::vector<Expression>& xs) {
  for (const bool of_cell : {true, false}) {
    for (const bool of_hidden : {true, false}) {
      const Expression cell = step();
      std::vector<Expression> used;
      if (of_cell) {
        used.push_back(cell);
      }
      if (of_hidden || !of_cell) {
        used.emplace_back(cell.pg, cell.i + 1, cell.graph_id);
      }
      expect_gradients(cg, concatenate(used), xs);
    }
  }
}

TEST_F(Cells, OfALstmIsItsFormula) {
  const std::vector<Expression> a = arguments({{16}, {16, 4}, b, b, {16, 3}, x});
  const Expression cell = node<VanillaCell>(a);
  const Expression sum = affine_transform({a[0], a[1], a[2], a[4], a[5]});
  const auto [wanted_cell, wanted_hidden] = lstm_cell(sum, a[3], 1.0F);
  expect_equal(cell, wanted_cell);
  expect_equal(hidden_of(cell), wanted_hidden);
  expect_gradients_of_both(cg, [&] { return node<VanillaCell>(a); }, a);
}

TEST_F(Cells, WithCoupledGatesIsItsFormula) {
  const std::vector<Expression> a = arguments({b, b, b, u, u, u, b, b, w, w, w, x});
  const Expression cell = node<CoupledCell>(a);
  const auto gate = [&](std::size_t g) {
    return affine_transform({a[g], a[3 + g], a[6], a[8 + g], a[11]});
  };
  const Expression i = logistic(gate(0));
  expect_equal(cell, cmult(i, tanh(gate(1))) + cmult(1.0F - i, a[7]));
  expect_equal(hidden_of(cell), cmult(logistic(gate(2)), tanh(cell)));
  expect_gradients_of_both(cg, [&] { return node<CoupledCell>(a); }, a);
}

TEST_F(Cells, WithPeepholesIsItsFormula) {
  const std::vector<Expression> a = arguments({b, b, b, u, u, u, b, u, u, b, w, w, w, x});
  const Expression cell = node<PeepholeCell>(a);
  const Expression i = logistic(affine_transform({a[0], a[3], a[6], a[8], a[9], a[10], a[13]}));
  const Expression g = tanh(affine_transform({a[1], a[4], a[6], a[11], a[13]}));
  expect_equal(cell, cmult(i, g) + cmult(1.0F - i, a[9]));
  const Expression o = logistic(affine_transform({a[2], a[5], a[6], a[7], cell, a[12], a[13]}));
  expect_equal(hidden_of(cell), cmult(o, tanh(cell)));
  expect_gradients_of_both(cg, [&] { return node<PeepholeCell>(a); }, a);
}

TEST_F(Cells, OfASimpleNetworkIsItsFormula) {
  const std::vector<Expression> a = arguments({b, u, b, w, x, {4, 2}, {2, 1}});
  const Expression y = node<TanhCell>(a);
  expect_equal(y, tanh(affine_transform({a[0], a[1], a[2], a[3], a[4], a[5], a[6]})));
  expect_gradients(cg, y, a);
  const Expression without = node<TanhCell>({a[0], a[1], a[2]});
  expect_equal(without, tanh(affine_transform({a[0], a[1], a[2]})));
  expect_gradients(cg, without, {a[0], a[1], a[2]});
}

const Dim kBias{4};
const Dim kOfState{4, 4};
const Dim kOfInput{4, 3};

/// The arguments of a step: trained vectors and matrices, and the list with the state h, or h and
/// c, and x.
template <class Cell>
struct Step;
template <>
struct Step<VanillaCell> {
  static std::vector<Dim> dims() { return {{16}, {16, 4}, {16, 3}}; }
  static std::vector<Expression> list(const std::vector<Expression>& p, const Expression& h,
                                      const Expression& c, const Expression& x) {
    return {p[0], p[1], h, c, p[2], x};
  }
};
template <>
struct Step<TanhCell> {
  static std::vector<Dim> dims() { return {kBias, kOfState, kOfInput}; }
  static std::vector<Expression> list(const std::vector<Expression>& p, const Expression& h,
                                      const Expression& /*c*/, const Expression& x) {
    return {p[0], p[1], h, p[2], x};
  }
};
template <>
struct Step<GruCell> {
  static std::vector<Dim> dims() {
    return {kBias, kBias, kBias, kOfState, kOfState, kOfState, kOfInput, kOfInput, kOfInput};
  }
  static std::vector<Expression> list(const std::vector<Expression>& p, const Expression& h,
                                      const Expression& /*c*/, const Expression& x) {
    return {p[0], p[1], p[2], p[3], p[4], h, p[5], p[6], p[7], p[8], x};
  }
};
template <>
struct Step<CoupledCell> {
  static std::vector<Dim> dims() {
    return {kBias, kBias, kBias, kOfState, kOfState, kOfState, kOfInput, kOfInput, kOfInput};
  }
  static std::vector<Expression> list(const std::vector<Expression>& p, const Expression& h,
                                      const Expression& c, const Expression& x) {
    return {p[0], p[1], p[2], p[3], p[4], p[5], h, c, p[6], p[7], p[8], x};
  }
};
template <>
struct Step<PeepholeCell> {
  static std::vector<Dim> dims() {
    return {kBias,    kBias,    kBias,    kOfState, kOfState, kOfState,
            kOfState, kOfState, kOfInput, kOfInput, kOfInput};
  }
  static std::vector<Expression> list(const std::vector<Expression>& p, const Expression& h,
                                      const Expression& c, const Expression& x) {
    return {p[0], p[1], p[2], p[3], p[4], p[5], h, p[6], p[7], c, p[8], p[9], p[10], x};
  }
};

constexpr unsigned kLengths[] = {6, 3, 5, 6};  // of the sequences

/// Sequences of some lengths. The first ones begin with trained states, two of them with the same
/// state.
template <class Cell>
class Recurrences : public ::testing::Test {
 protected:
  Recurrences() {
    for (const Dim& dim : Step<Cell>::dims()) {
      weights_.push_back(model_.add_parameters(dim));
    }
    for (std::size_t k = 0; k < 4; ++k) {
      states_.push_back(model_.add_parameters({4}));
    }
  }

  /// The terms of the loss from each sequence: its last state, and a part at each second step.
  /// `asks` for some states meanwhile.
  std::vector<Expression> losses(ComputationGraph& cg, bool asks = false) {
    std::vector<Expression> p;
    p.reserve(weights_.size());
    for (const Parameter& weight : weights_) {
      p.push_back(parameter(cg, weight));
    }
    constexpr bool kHasCell = ext::kRecord<Cell>.outputs == 2;
    std::vector<Expression> all;
    for (std::size_t s = 0; s < std::size(kLengths); ++s) {
      const std::size_t first = s / 2 * 2;  // among the states
      Expression h = s < 3 ? parameter(cg, states_[first]) : zeros(cg, {4});
      Expression c = s < 3 ? parameter(cg, states_[first + 1]) : zeros(cg, {4});
      std::vector<Expression> parts;
      for (unsigned t = 0; t < kLengths[s]; ++t) {
        const Expression x = lookup(cg, words_, (5 * static_cast<unsigned>(s) + t) % 20);
        const Expression y = ext::add_node(
            Cell{}, std::span<const Expression>(Step<Cell>::list(p, h, c, x)), Where::here());
        c = kHasCell ? y : c;
        h = kHasCell ? Expression(y.pg, y.i + 1, y.graph_id) : y;
        if (t % 2 == 0) {
          parts.push_back(squared_norm(h));
        }
        if (asks && t % 4 == 2) {
          static_cast<void>(h.value());
        }
      }
      parts.push_back(sum_elems(c) + sum_elems(h));
      all.push_back(sum(parts));
    }
    return all;
  }
  Expression loss(ComputationGraph& cg, bool asks = false) { return sum(losses(cg, asks)); }
  std::vector<std::vector<float>> gradients_of(ComputationGraph& cg, const Expression& loss) {
    model_.reset_gradient();
    cg.backward(loss);
    std::vector<std::vector<float>> all{as_vector(loss.value()),
                                        as_vector(words_.get_storage().all_grads)};
    for (const auto& p : model_.parameters_list()) {
      all.push_back(as_vector(p->g));
    }
    return all;
  }
  std::vector<std::vector<float>> run(bool batching, bool asks = false) {
    ComputationGraph cg(batching);
    return gradients_of(cg, loss(cg, asks));
  }
  static void expect_all_near(const std::vector<std::vector<float>>& found,
                              const std::vector<std::vector<float>>& wanted) {
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      SCOPED_TRACE(i);
      expect_near(found[i], wanted[i], tolerance::kManyTermsInFloat);
    }
  }

  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(20, {3});
  std::vector<Parameter> weights_;
  std::vector<Parameter> states_;
};
using AllCells = ::testing::Types<VanillaCell, TanhCell, GruCell, CoupledCell, PeepholeCell>;
TYPED_TEST_SUITE(Recurrences, AllCells);

/// The products with the inputs of all steps after the first ones are one call, and the numbers
/// equal the numbers of one node after the other.
TYPED_TEST(Recurrences, InputsOfAllStepsAreOneCall) {
  this->expect_all_near(this->run(true), this->run(false));
  ComputationGraph cg(true);
  const Expression loss = this->loss(cg);
  testing::Observed observed;
  testing::observe(cg, &observed);
  cg.forward(loss);
  std::size_t widest = 0;
  for (const testing::Observed::Call& call : observed.calls()) {
    const bool is_cell = call.shared != 0 && call.members.size() > 4;
    widest = is_cell ? std::max(widest, call.members.size()) : widest;
  }
  testing::observe(cg, nullptr);
  EXPECT_EQ(widest, 6U + 3U + 5U + 6U - 4U);
}

/// Backward writes over the numbers that forward saved: it must not need them again, nor find them
/// in a pass of calls of one node each.
TYPED_TEST(Recurrences, GiveTheSameGradientsAgain) {
  for (const bool batching : {false, true}) {
    ComputationGraph cg(batching);
    const Expression loss = this->loss(cg);
    const auto first = this->gradients_of(cg, loss);
    EXPECT_EQ(this->gradients_of(cg, loss), first);
    cg.forward(loss);
    EXPECT_EQ(this->gradients_of(cg, loss), first);
  }
}

/// Steps that are asked for are computed before the next ones are built.
TYPED_TEST(Recurrences, GiveTheSameWhereTheyAreAskedMeanwhile) {
  this->expect_all_near(this->run(true, true), this->run(false));
}

/// Some members of calls are not reached by backward.
TYPED_TEST(Recurrences, GiveTheGradientsOfSomeSequences) {
  const auto of_two = [&](bool batching) {
    ComputationGraph cg(batching);
    const std::vector<Expression> losses = this->losses(cg);
    cg.forward(sum(losses));
    return this->gradients_of(cg, losses[0] + losses[3]);
  };
  this->expect_all_near(of_two(true), of_two(false));
}

/// There the sums of a step wait in memory that is used again.
TYPED_TEST(Recurrences, HaveTheSameValueInAnInferenceScope) {
  ComputationGraph cg(true);
  const float wanted = as_scalar(this->loss(cg).value());
  const InferenceScope scope;
  ComputationGraph other(true);
  EXPECT_NEAR(as_scalar(this->loss(other).value()), wanted, tolerance::kManyTermsInFloat);
}

/// A hidden state may be a column, as the builders of LSTMs take it.
TEST_F(Cells, ReadAColumnAsTheHiddenState) {
  const Dim column{4, 1};
  const std::vector<Expression> vanilla = arguments({{16}, {16, 4}, column, b, {16, 3}, x});
  expect_gradients(cg, hidden_of(node<VanillaCell>(vanilla)), vanilla);
  const std::vector<Expression> coupled = arguments({b, b, b, u, u, u, column, b, w, w, w, x});
  expect_gradients(cg, hidden_of(node<CoupledCell>(coupled)), coupled);
  const std::vector<Expression> with_peepholes =
      arguments({b, b, b, u, u, u, column, u, u, b, w, w, w, x});
  expect_gradients(cg, hidden_of(node<PeepholeCell>(with_peepholes)), with_peepholes);
  const std::vector<Expression> simple = arguments({b, u, column, w, x});
  expect_gradients(cg, node<TanhCell>(simple), simple);
}

TEST_F(Cells, RefuseWhatDoesNotFit) {
  const auto refuses = [&](auto cell, std::initializer_list<Dim> dims) {
    EXPECT_THROW(node<decltype(cell)>(arguments(dims)), errors::ShapeError);
  };
  refuses(TanhCell{}, {b});
  refuses(TanhCell{}, {b, u});
  refuses(TanhCell{}, {b, u, b, w});
  refuses(TanhCell{}, {b, w, b, w, x});
  refuses(TanhCell{}, {b, u, x, w, x});
  refuses(TanhCell{}, {b, u, b, w, b});
  refuses(TanhCell{}, {b, u, b, {3, 3}, x});
  refuses(TanhCell{}, {b, u, b, w, {3, 2}});
  refuses(TanhCell{}, {u, u, b, w, x});
  refuses(VanillaCell{}, {{15}, {15, 3}, x, x, {15, 3}, x});
  refuses(VanillaCell{}, {{16}, u, b, b, {16, 3}, x});
  refuses(GruCell{}, {b, b, b, u, u, b, u, w, w, x});
  refuses(GruCell{}, {b, b, b, u, u, u, b, w, w, w, x});
  refuses(GruCell{}, {b, b, b, u, u, {4, 1}, u, w, w, w, x});
  refuses(CoupledCell{}, {b, b, b, u, u, u, b, x, w, w, w, x});
  refuses(CoupledCell{}, {b, b, b, u, u, u, b, {4, 1}, w, w, w, x});
  refuses(PeepholeCell{}, {b, b, b, u, u, u, b, b, w, w, w, x});
}

}  // namespace
}  // namespace dynet::builders
