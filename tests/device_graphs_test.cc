// Random graphs over several devices: every step and every parameter on one device, with copies of
// operands from other devices, against the same program on one device.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "execute/executor.h"
#include "support/generator.h"
#include "support/samples.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

// -----------------------------------------------------------------------------

/// Counts the calls that copy.
struct CountCopies final : execute::Hook {
  void before_call(const graph::Graph& graph, const Call& call) override {
    ++(graph[call.members[0]].signature->from == nullptr ? calls : copies);
  }
  long calls = 0;
  long copies = 0;
};

/// Steps and parameters of random programs, each on one of the devices, against the same program
/// on the first device alone.
void check_random_graphs(const std::vector<Device*>& devices, double bound) {
  constexpr int kGraphs = 200;
  const std::vector<Combination> combinations = combinations_of(all_samples());
  int checked = 0;
  CountCopies count;
  for (std::uint64_t seed = 1; checked < kGraphs && !::testing::Test::HasFailure(); ++seed) {
    const Program program = random_program(seed, combinations, {});
    const Result expected = run(program, {devices[0], true});
    if (expected.largest_gradient() > 1e3) {  // rounding would decide
      continue;
    }
    ++checked;
    SCOPED_TRACE("seed " + std::to_string(seed));
    for (const bool batching : {true, false}) {
      RunOptions several{devices[0], batching};
      several.devices = devices;
      several.hook = &count;
      EXPECT_EQ(compare(program, run(program, several), expected, bound), "");
    }
  }
  EXPECT_GT(count.copies * 10, count.calls);
}

/// The far devices; if the tests run on GPU:0, the first two GPUs.
std::vector<Device*> two_away() {
  const bool is_gpu = default_device->name == "GPU:0";
  return {device(is_gpu ? "GPU:0" : "FAR:0"), device(is_gpu ? "GPU:1" : "FAR:1")};
}

TEST(RandomGraphsOverDevices, TwoFarOnesAndTheCpu) {
  const std::vector<Device*> away = two_away();
  check_random_graphs({device("CPU"), away[0], away[1]}, tolerance::kFloatAgainstDouble);
}

TEST(RandomGraphsOverDevices, InDouble) {
  check_random_graphs({device("FAR:0:double"), device("CPU:double")}, tolerance::kMergedInDouble);
}

}  // namespace
}  // namespace dynet::testing
