// The memory of a node, all in all: a chain of scalars, with forward and backward, may not take
// more than the page on memory says (docs/memory.md).

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "dynet/expr.h"
#include "dynet/lstm.h"

#include "api/graph_state.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

/// Bytes of memory that the process really has.
double resident_bytes() {
  std::ifstream in("/proc/self/statm");
  double total = 0.0;
  double resident = 0.0;
  in >> total >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct Cost {
  double built = 0.0;
  double forward = 0.0;
  double backward = 0.0;
};

/// Bytes of a chain of `n` nodes, in a process of its own without warm memory.
Cost cost_of(unsigned n, bool batching) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1}, ParameterInitConst(0.5F));
    ComputationGraph cg(batching);
    Expression h = parameter(cg, w);
    const double before = resident_bytes();
    for (unsigned i = 0; i < n; ++i) {
      h = tanh(h);
    }
    Cost cost;
    cost.built = resident_bytes() - before;
    h.value();
    cost.forward = resident_bytes() - before;
    cg.backward(h);
    cost.backward = resident_bytes() - before;
    ::_exit(::write(ends[1], &cost, sizeof cost) == sizeof cost ? 0 : 1);
  }
  Cost cost;
  EXPECT_EQ(::read(ends[0], &cost, sizeof cost), static_cast<ssize_t>(sizeof cost));
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  ::close(ends[0]);
  ::close(ends[1]);
  return cost;
}

/// Loss and gradients of a program with whatever backward reads beside values: indices by value and
/// behind pointers, numbers, random masks, several outputs, aliases, parts of sums.
std::vector<float> numbers_of(bool batching, const execute::Executor::Limits& limits) {
  reset_rng(7);
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(5, {4});
  const Parameter w = model.add_parameters({4, 4});
  const Parameter b = model.add_parameters({4});
  VanillaLSTMBuilder lstm(1, 4, 4, model);
  lstm.set_dropout(0.3F);
  const std::vector<unsigned> rows{3, 1, 4};
  unsigned label = 2;
  ComputationGraph cg(batching);
  cg.state().executor.set_limits(limits);
  cg.set_random_stream(1);
  std::vector<Expression> losses;
  for (unsigned sentence = 0; sentence < 3; ++sentence) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
    for (unsigned i = 0; i < 5; ++i) {
      const Expression x = lookup(cg, table, (i + sentence) % 5);
      const Expression h = lstm.add_input(dropout(x, 0.2F));
      const Expression y =
          affine_transform({parameter(cg, b), parameter(cg, w), reshape(h, {4, 1})});
      losses.push_back(pickneglogsoftmax(y * 0.5F, &label));
    }
    losses.push_back(sum_batches(sum_elems(square(lookup(cg, table, rows)))));
  }
  const Expression loss = sum(losses);
  std::vector<float> numbers{as_scalar(loss.value())};
  label = 1;  // forward has read it
  cg.backward(loss);
  for (const Parameter& p : {w, b, lstm.params[0][0], lstm.params[0][1], lstm.params[0][2]}) {
    const std::vector<float> g = as_vector(Parameter(p).get_storage().g);
    numbers.insert(numbers.end(), g.begin(), g.end());
  }
  const std::vector<float> g = as_vector(table.get_storage().all_grads);
  numbers.insert(numbers.end(), g.begin(), g.end());
  return numbers;
}

class BytesPerNode : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, BytesPerNode, ::testing::Bool());

/// Planned piece by piece, with calls made again for backward: the same numbers.
TEST_P(BytesPerNode, LimitsChangeNoNumbers) {
  const std::vector<float> expected = numbers_of(GetParam(), {});
  const execute::Executor::Limits all[] = {{1, 0}, {7, 0}, {7, 3}, {1000, 0}, {50, 1000}};
  for (const auto& limits : all) {
    const std::vector<float> got = numbers_of(GetParam(), limits);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], GetParam() ? tolerance::kSumsInFloat : 0.0)
          << limits.planned_nodes << ' ' << limits.kept_calls << ' ' << i;
    }
  }
}

/// Bytes added by a node; buffers that do not grow with the graph take some 70 MB beside the nodes.
TEST_P(BytesPerNode, ChainOfScalars) {
#ifdef DYNET_SANITIZED
  GTEST_SKIP() << "sanitizers have memory of their own for each byte";
#endif
  constexpr unsigned kFew = 1'000'000;
  constexpr unsigned kMany = 2'000'000;
  const Cost few = cost_of(kFew, GetParam());
  const Cost many = cost_of(kMany, GetParam());
  const auto per_node = [&](double Cost::* bytes) {
    return (many.*bytes - few.*bytes) / (kMany - kFew);
  };
  std::printf("bytes per node: built %.0f, computed %.0f, with gradients %.0f; beside it %.0f MB\n",
              per_node(&Cost::built), per_node(&Cost::forward), per_node(&Cost::backward),
              (few.backward - kFew * per_node(&Cost::backward)) / 1e6);
  EXPECT_LT(per_node(&Cost::built), 90.0);
  EXPECT_LT(per_node(&Cost::backward), 200.0);
}

}  // namespace
}  // namespace dynet
