// Cells in calls of many kinds: which arguments want gradients, and more arguments than a mask has
// bits. The results are the results of the same function without a cell.

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

#include "dynet/cell.h"
#include "dynet/expr.h"
#include "dynet/model.h"

#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Nodes = std::vector<Expression>;
using Numbers = std::vector<std::vector<double>>;

constexpr unsigned kH = 3;

void expect_equal(const Numbers& a, const Numbers& b, std::size_t number) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].size(), b[i].size());
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      ASSERT_NEAR(a[i][k], b[i][k], tolerance::kSameInDouble)
          << "call " << number << ", list " << i;
    }
  }
}

/// Value and gradients of a function of vectors; arguments with a bit in `trained` are parameters'
/// values, the others numbers.
class Calls {
 public:
  explicit Calls(unsigned arguments) : arguments_(arguments) {
    for (unsigned a = 0; a < arguments; ++a) {
      vectors_.push_back(model_.add_parameters({kH}));
    }
  }
  template <class Function, class IsTrained>
  Numbers run(const Function& function, IsTrained is_trained) {
    model_.reset_gradient();
    ComputationGraph cg(true);
    Nodes in;
    for (unsigned a = 0; a < arguments_; ++a) {
      const float x = 0.1F * static_cast<float>(a + 1);
      in.push_back(is_trained(a) ? tanh(parameter(cg, vectors_[a]))
                                 : input(cg, {kH}, std::vector<float>{x, -x, x * x}));
    }
    const Nodes out = function(cg, in);
    const Expression loss = sum_elems(cmult(out[0], out[0]));
    Numbers all;
    all.push_back(testing::numbers(cg.forward(loss)));
    cg.backward(loss);
    for (const Parameter& p : vectors_) {
      all.push_back(testing::numbers(p.get_storage().g));
    }
    return all;
  }

 private:
  unsigned arguments_;
  ParameterCollection model_;
  std::vector<Parameter> vectors_;
};

/// Calls of a cell and of its function have the same numbers.
template <class Function, class IsTrained>
void compare(Calls& calls, Cell& cell, const Function& function, IsTrained is_trained,
             std::size_t number) {
  const auto call = [&](ComputationGraph& /*cg*/, const Nodes& in) { return cell(in); };
  expect_equal(calls.run(call, is_trained), calls.run(function, is_trained), number);
}

/// 256 kinds of call of one program, which keeps the cases of 64.
TEST(CellCases, OfAllSubsetsOfArgumentsWithGradients) {
  const testing::DefaultDevice in_double(testing::double_device());
  constexpr unsigned kArguments = 8;
  Calls calls(kArguments);
  const auto function = [](ComputationGraph& /*cg*/, const Nodes& in) {
    Expression y = in[0];
    for (std::size_t a = 1; a < in.size(); ++a) {
      y = cmult(logistic(y), in[a]) + tanh(in[a - 1]);
    }
    return Nodes{y};
  };
  Cell cell("chain", function);
  for (unsigned trained = 1; trained < 1U << kArguments; ++trained) {
    compare(
        calls, cell, function, [trained](unsigned a) { return ((trained >> a) & 1) != 0; },
        trained);
  }
}

TEST(CellCases, OfMoreArgumentsThanAMaskHasBits) {
  const testing::DefaultDevice in_double(testing::double_device());
  constexpr unsigned kArguments = 70;
  Calls calls(kArguments);
  const auto function = [](ComputationGraph& /*cg*/, const Nodes& in) {
    Expression y = in[0];
    for (std::size_t a = 1; a < in.size(); ++a) {
      y = tanh(y + cmult(in[a], in[a]));
    }
    return Nodes{y};
  };
  Cell cell("many", function);
  for (const unsigned untrained : {1U, 66U, 69U}) {  // another case each, which no mask can tell
    compare(calls, cell, function, [untrained](unsigned a) { return a != untrained; }, untrained);
  }
}

/// The second result is also read within the cell.
TEST(CellCases, TheGradientOfAResultCountsItsUsesOutside) {
  const testing::DefaultDevice in_double(testing::double_device());
  ParameterCollection model;
  const Parameter p = model.add_parameters({kH}, ParameterInitConst(0.5F));
  const auto function = [](ComputationGraph& /*cg*/, const Nodes& in) {
    const Expression c = in[0] * 0.5F;
    return Nodes{cmult(c, c), c};
  };
  const auto gradients = [&](bool is_recorded) {
    model.reset_gradient();
    ComputationGraph cg;
    Cell cell("square", function, {}, is_recorded);
    const Nodes out = cell({parameter(cg, p)});
    cg.backward(sum_elems(out[0]) + 2.0F * sum_elems(out[1]));
    return std::vector{testing::numbers(out[1].gradient())[0],
                       testing::numbers(p.get_storage().g)[0]};
  };
  EXPECT_EQ(gradients(true), (std::vector<double>{2.0, 1.25}));
  EXPECT_EQ(gradients(false), (std::vector<double>{2.5, 1.25}));
}

}  // namespace
}  // namespace dynet
