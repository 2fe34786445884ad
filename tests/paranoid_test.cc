// DYNET_PARANOID compares the results of nodes in a group with the results of each node alone: an
// operation that mixes its examples is caught, and the library's operations pass.

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/param-init.h"

#include "kernels/team.h"
#include "support/generator.h"
#include "support/samples.h"
#include "testing/cases.h"
#include "testing/on_threads.h"

namespace dynet::testing {
namespace {

/// Before the first graph is made, which asks for it.
[[maybe_unused]] const int kParanoid = setenv("DYNET_PARANOID", "1", 1);

/// The first example of an operand of a call.
struct FirstExample {
  explicit FirstExample(const ext::Operand& x) : block(x.blocks[0]), operand(x) {
    block.examples = operand.examples = 1;
    operand.blocks = &block;
    operand.block_count = 1;
  }
  ext::Block block;
  ext::Operand operand;
};

/// Wrong on purpose: adds the first example of the call to all others, and says that it keeps
/// examples apart.
struct Mixing {
  static constexpr ext::Info kInfo{.name = "mixing", .args = {"x"}, .formula = "y = x + x[0]"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& c) const {
    const ext::Move all = ext::whole_move(c.out[0].size());
    c.kernels.move(all, c.in[0], c.out[0]);
    c.kernels.move(all, FirstExample(c.in[0]).operand, c.out[0], ext::Write::kAdd);
  }
  void backward(ext::Call& c) const {
    c.kernels.move(ext::whole_move(c.out[0].size(), 2.0), c.d_out[0], c.d_in[0]);
  }
  static std::vector<ext::Example<Mixing>> examples() { return {{{}, {{3}}}}; }
};

std::string error_of(bool batching, float second) {
  ComputationGraph cg(batching);
  const Expression a = input(cg, {3}, std::vector<float>{1, 2, 3});
  const Expression b = input(cg, {3}, std::vector<float>{1, 2, second});
  const Expression y = ext::add_node(Mixing{}, a);
  const Expression z = ext::add_node(Mixing{}, b);
  try {
    static_cast<void>(sum_elems(y + z).value());
  } catch (const errors::GraphError& e) {
    return e.what();
  }
  return "";
}

TEST(Paranoid, AnOperationThatMixesItsExamplesIsCaught) {
  if (!default_device->is_host_visible()) {
    GTEST_SKIP() << "the host does not see the values of this device";
  }
  const std::string error = error_of(true, 5.0F);
  EXPECT_NE(error.find("mixing: computed with 1 other nodes, in group "), std::string::npos)
      << error;
  EXPECT_NE(error.find("element 2 is 8.000000 and alone 10.000000"), std::string::npos) << error;
  EXPECT_NE(error.find("mixing(v1) {3}"), std::string::npos) << error;
  EXPECT_EQ(error_of(false, 5.0F), "");  // nothing is merged
  EXPECT_EQ(error_of(true, 3.0F), "");   // the same numbers
}

/// The graph is as it was: the value can be asked for again, and is refused again.
TEST(Paranoid, TheGraphStaysUsable) {
  if (!default_device->is_host_visible()) {
    GTEST_SKIP() << "the host does not see the values of this device";
  }
  ComputationGraph cg(true);
  const Expression a = input(cg, {3}, std::vector<float>{1, 2, 3});
  const Expression b = input(cg, {3}, std::vector<float>{4, 5, 6});
  const Expression y = sum_elems(ext::add_node(Mixing{}, a) + ext::add_node(Mixing{}, b));
  EXPECT_THROW(static_cast<void>(y.value()), errors::GraphError);
  EXPECT_THROW(static_cast<void>(y.value()), errors::GraphError);
  EXPECT_EQ(as_scalar(sum_elems(a + b).value()), 21.0F);
}

/// Right forward; backward gives each example the gradient of the first one.
struct MixingGradients {
  static constexpr ext::Info kInfo{.name = "mixing_gradients", .args = {"x"}, .formula = "y = x"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call& c) const {
    c.kernels.move(ext::whole_move(c.out[0].size()), c.in[0], c.out[0]);
  }
  void backward(ext::Call& c) const {
    c.kernels.move(ext::whole_move(c.out[0].size()), FirstExample(c.d_out[0]).operand, c.d_in[0]);
  }
  static std::vector<ext::Example<MixingGradients>> examples() { return {{{}, {{3}}}}; }
};

TEST(Paranoid, AnOperationThatMixesItsGradientsIsCaught) {
  if (!default_device->is_host_visible()) {
    GTEST_SKIP() << "the host does not see the gradients of this device";
  }
  for (const bool batching : {true, false}) {
    ParameterCollection model;
    const Parameter p = model.add_parameters({3}, ParameterInitConst(1.0F));
    ComputationGraph cg(batching);
    const Expression a = input(cg, {3}, std::vector<float>{1, 2, 3}) + parameter(cg, p);
    const Expression b = input(cg, {3}, std::vector<float>{4, 5, 6}) + parameter(cg, p);
    const Expression y = sum_elems(ext::add_node(MixingGradients{}, a)) * 2.0F +
                         sum_elems(ext::add_node(MixingGradients{}, b)) * 3.0F;
    std::string error;
    try {
      cg.backward(y);
    } catch (const errors::GraphError& e) {
      error = e.what();
    }
    EXPECT_EQ(error.empty(), !batching) << error;
    if (batching) {
      EXPECT_NE(error.find("where each call has one member"), std::string::npos) << error;
      EXPECT_NE(error.find("mixing_gradients(v"), std::string::npos) << error;
      EXPECT_EQ(as_vector(p.get_storage().g), std::vector<float>(3, 0.0F));  // nothing was added
    }
  }
}

TEST(Paranoid, EveryOperationPasses) {
  for (const Sample* s : operation_samples()) {
    for (const Case& c : cases_of(*s)) {
      for (Device* device : {float_device(), double_device()}) {
        SCOPED_TRACE(s->text() + ", " + c.name + ", " + device->name);
        EXPECT_NO_THROW(run(c.program, {device, true}));
      }
    }
  }
}

/// On several threads too: the members that are computed alone have their loops cut likewise.
TEST(Paranoid, RandomGraphsPass) {
  const std::vector<Combination> combinations = combinations_of(all_samples());
  const Counts counts;
  for (const unsigned threads : {1U, 3U}) {
    const OnThreads on(threads);
    const std::uint64_t loops = kernels::team_counts().loops;
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      SCOPED_TRACE(seed);
      const Program program = random_program(seed, combinations, counts);
      EXPECT_NO_THROW(run(program, {float_device(), true}));
      EXPECT_NO_THROW(run(program, {double_device(), true}));
    }
    EXPECT_EQ(kernels::team_counts().loops > loops, threads > 1);
  }
}

}  // namespace
}  // namespace dynet::testing
