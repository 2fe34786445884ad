// The networks of the bench, in plain operations, with cells and with builders: merged they give
// the loss and the gradients that they give one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/init.h"

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

void compare(const bench::NetworkKind& kind, const Numbers& merged, const Numbers& one_by_one) {
  expect_alike(merged.loss, one_by_one.loss, kind.name);
  ASSERT_GT(merged.gradients.size(), 2U) << kind.name;
  ASSERT_EQ(merged.gradients.size(), one_by_one.gradients.size()) << kind.name;
  for (std::size_t p = 0; p < merged.gradients.size(); ++p) {
    expect_alike(merged.gradients[p], one_by_one.gradients[p], kind.name);
  }
}
void compare_with_one_by_one(const bench::NetworkKind& kind, bench::Style style) {
  bench::World world(8, style);
  const Numbers merged = numbers_of(kind, world, true);
  compare(kind, merged, numbers_of(kind, world, false));
}

TEST(PlainNetworks, MergedAreOneByOne) {
  for (const bench::NetworkKind& kind : bench::network_kinds()) {
    compare_with_one_by_one(kind, bench::Style::kNodes);
  }
}
TEST(PlainNetworks, WithBuildersMergedAreOneByOne) {
  for (const bench::NetworkKind& kind : bench::network_kinds()) {
    if (kind.has_builders) {
      compare_with_one_by_one(kind, bench::Style::kBuilders);
    }
  }
}
/// The cells make their weights in the order of the nodes.
TEST(PlainNetworks, WithCellsAreTheNodesOneByOne) {
  for (const bench::NetworkKind& kind : bench::network_kinds()) {
    if (kind.has_cells) {
      compare_with_one_by_one(kind, bench::Style::kCells);
      bench::World cells(8, bench::Style::kCells);
      bench::World nodes(8, bench::Style::kNodes);
      reset_rng(1);  // of the weights, which are made at first use
      const Numbers merged = numbers_of(kind, cells, true);
      reset_rng(1);
      compare(kind, merged, numbers_of(kind, nodes, false));
    }
  }
}

}  // namespace
}  // namespace dynet
