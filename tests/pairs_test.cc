// Eight pairs of different operations that an earlier toolkit merged, which gave wrong numbers
// without an error. Each pair is a graph of both, merged and one by one, and each operation twice
// as the control that the test can merge at all.

#include <gtest/gtest.h>

#include <functional>

#include "dynet/expr.h"

#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Build = std::function<Expression(ComputationGraph&, const std::vector<Expression>&)>;

struct Pair {
  const char* name;
  std::vector<Dim> inputs;  ///< of either operation
  Build first, second;
};

std::vector<Pair> pairs() {
  using Args = std::vector<Expression>;
  const auto unary = [](auto f) {
    return [f](ComputationGraph&, const Args& x) { return f(x[0]); };
  };
  const auto binary = [](auto f) {
    return [f](ComputationGraph&, const Args& x) { return f(x[0], x[1]); };
  };
  return {
      {"EluAndRectify",
       {{4, 3}},
       unary([](const Expression& x) { return elu(x); }),
       unary([](const Expression& x) { return rectify(x); })},
      {"EluOfTwoAlphas",
       {{4, 3}},
       unary([](const Expression& x) { return elu(x, 1.0F); }),
       unary([](const Expression& x) { return elu(x, 2.0F); })},
      {"SiluOfTwoBetas",
       {{4, 3}},
       unary([](const Expression& x) { return silu(x, 1.0F); }),
       unary([](const Expression& x) { return silu(x, 3.0F); })},
      {"SoftmaxAlongTwoAxes",
       {{3, 3}},
       unary([](const Expression& x) { return softmax(x, 0U); }),
       unary([](const Expression& x) { return softmax(x, 1U); })},
      {"TransposeByTwoPermutations",
       {{2, 2, 2}},
       unary([](const Expression& x) { return transpose(x, {1, 0, 2}); }),
       unary([](const Expression& x) { return transpose(x, {2, 1, 0}); })},
      {"ConcatenateAlongTwoAxes",
       {{2, 2}, {2, 2}},
       binary([](const Expression& x, const Expression& y) { return concatenate({x, y}, 0U); }),
       binary([](const Expression& x, const Expression& y) { return concatenate({x, y}, 1U); })},
      {"PickRangeAlongTwoAxes",
       {{3, 3}},
       unary([](const Expression& x) { return pick_range(x, 0U, 2U, 0U); }),
       unary([](const Expression& x) { return pick_range(x, 0U, 2U, 1U); })},
      {"VanillaLstmCAndH",
       {{3}, {12}},
       binary(
           [](const Expression& c, const Expression& gates) { return vanilla_lstm_c(c, gates); }),
       binary(
           [](const Expression& c, const Expression& gates) { return vanilla_lstm_h(c, gates); })},
  };
}

/// Values and gradients of everything in a graph that holds both operations `times` times.
std::vector<std::vector<double>> numbers_of(const std::vector<Build>& builds, const Pair& pair,
                                            Device* device, bool batching) {
  const DefaultDevice scope(device);
  ComputationGraph cg(batching);
  Draw draw(5);
  std::vector<Expression> nodes;
  std::vector<Expression> terms;
  for (const Build& build : builds) {
    std::vector<Expression> args;
    args.reserve(pair.inputs.size());
    for (const Dim& d : pair.inputs) {
      args.push_back(input(cg, d, draw(d.elements(), -2.0, 2.0)));
    }
    const Expression y = build(cg, args);
    nodes.insert(nodes.end(), args.begin(), args.end());
    nodes.push_back(y);
    terms.push_back(dot_product(y, input(cg, y.dim(), draw(y.dim().elements(), -1.0, 1.0))));
  }
  const Expression loss = sum(terms);
  cg.forward(loss);
  cg.backward(loss, true);
  std::vector<std::vector<double>> all;
  for (const Expression& e : nodes) {
    all.push_back(numbers(e.value()));
    all.push_back(numbers(e.gradient()));
  }
  return all;
}

class Pairs : public ::testing::TestWithParam<Pair> {};

void expect_equal(const std::vector<std::vector<double>>& a,
                  const std::vector<std::vector<double>>& b, double bound) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(compare(a[i], b[i], bound), "");
  }
}

TEST_P(Pairs, GiveTheSameNumbersMergedAndOneByOne) {
  const Pair& p = GetParam();
  const std::vector<Build> builds{p.first, p.second, p.first, p.second};
  expect_equal(numbers_of(builds, p, double_device(), true),
               numbers_of(builds, p, double_device(), false), tolerance::kMergedInDouble);
  expect_equal(numbers_of(builds, p, float_device(), true),
               numbers_of(builds, p, float_device(), false), tolerance::kFewInFloat);
}

/// The two operations never run in one call, and each does run together with itself.
TEST_P(Pairs, MergeOnlyWithThemselves) {
  const Pair& p = GetParam();
  ComputationGraph cg(true);
  Observed observed;
  observe(cg, &observed);
  Draw draw(6);
  std::vector<Expression> nodes;
  for (const Build& build : {p.first, p.second, p.first, p.second}) {
    std::vector<Expression> args;
    args.reserve(p.inputs.size());
    for (const Dim& d : p.inputs) {
      args.push_back(input(cg, d, draw(d.elements(), -2.0, 2.0)));
    }
    nodes.push_back(build(cg, args));
  }
  std::vector<Expression> sums;
  sums.reserve(nodes.size());
  for (const Expression& e : nodes) {
    sums.push_back(sum_elems(e));
  }
  cg.forward(sum(sums));
  EXPECT_TRUE(observed.together(nodes[0], nodes[2]));
  EXPECT_TRUE(observed.together(nodes[1], nodes[3]));
  EXPECT_FALSE(observed.together(nodes[0], nodes[1]));
  EXPECT_FALSE(observed.together(nodes[0], nodes[3]));
  EXPECT_NE(key_of(nodes[0]), key_of(nodes[1]));
  EXPECT_EQ(key_of(nodes[0]), key_of(nodes[2]));
}

INSTANTIATE_TEST_SUITE_P(Eight, Pairs, ::testing::ValuesIn(pairs()),
                         [](const auto& p) { return std::string(p.param.name); });

}  // namespace
}  // namespace dynet::testing
