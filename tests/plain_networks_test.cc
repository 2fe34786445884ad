// The networks of the bench, in plain operations and with builders: merged they give the loss and
// the gradients that they give one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dynet/expr.h"

#include "network_parts.h"
#include "networks.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

struct Numbers {
  std::vector<float> loss;
  std::vector<std::vector<float>> gradients;  ///< of each weight, then of each table
};

Numbers numbers_of(const bench::NetworkKind& kind, bench::World& world, bool batching) {
  world.rewind();
  world.parameters.reset_gradient();
  ComputationGraph cg(batching);
  world.begin(cg);
  const Expression loss = bench::add_examples(kind, world, 5);
  Numbers numbers{as_vector(loss.value()), {}};
  cg.backward(loss);
  for (const auto& p : world.parameters.parameters_list()) {
    numbers.gradients.push_back(as_vector(p->g));
  }
  for (const auto& p : world.parameters.lookup_parameters_list()) {
    numbers.gradients.push_back(as_vector(p->all_grads));
  }
  return numbers;
}

/// Beside the largest number of either: small ones are differences of large ones.
void expect_alike(const std::vector<float>& x, const std::vector<float>& y, const char* where) {
  ASSERT_EQ(x.size(), y.size()) << where;
  double largest = 0;
  double apart = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    largest = std::max<double>(largest, std::abs(y[i]));
    apart = std::max<double>(apart, std::abs(x[i] - y[i]));
  }
  EXPECT_NEAR(apart / std::max(largest, 1.0), 0, tolerance::kFloatAgainstDouble) << where;
}

void compare_with_one_by_one(bool has_builders) {
  for (const bench::NetworkKind& kind : bench::network_kinds()) {
    if (has_builders && !kind.has_builders) {
      continue;
    }
    bench::World world(8, has_builders);
    const Numbers merged = numbers_of(kind, world, true);
    const Numbers one_by_one = numbers_of(kind, world, false);
    expect_alike(merged.loss, one_by_one.loss, kind.name);
    ASSERT_GT(merged.gradients.size(), 2U) << kind.name;
    ASSERT_EQ(merged.gradients.size(), one_by_one.gradients.size()) << kind.name;
    for (std::size_t p = 0; p < merged.gradients.size(); ++p) {
      expect_alike(merged.gradients[p], one_by_one.gradients[p], kind.name);
    }
  }
}

TEST(PlainNetworks, MergedAreOneByOne) { compare_with_one_by_one(false); }
TEST(PlainNetworks, WithBuildersMergedAreOneByOne) { compare_with_one_by_one(true); }

}  // namespace
}  // namespace dynet
