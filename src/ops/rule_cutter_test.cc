// Cutting calls into runs: broadcasting against a plain loop over indices, aliased gradients, and
// the number of runs.

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "dynet/except.h"
#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/loss.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/reduce.h"

#include "ops/by_hand.h"
#include "testing/tolerance.h"

namespace dynet::ops::testing {
namespace {

/// The flat position, in an operand, of the element at position `i` of the result.
std::size_t source(const Dim& from, const Dim& to, std::size_t i) {
  std::size_t at = 0;
  std::size_t step = 1;
  for (unsigned k = 0; k < to.nd; ++k) {
    const std::size_t index = i % to[k];
    i /= to[k];
    at += from[k] == 1 ? 0 : index * step;
    step *= from[k];
  }
  return at;
}

using Engine = std::mt19937;
unsigned below(Engine& rng, unsigned n) { return static_cast<unsigned>(rng() % n); }

Dim random_part(Engine& rng, const Dim& whole) {
  Dim d = whole;
  for (unsigned k = 0; k < d.nd; ++k) {
    if (below(rng, 2) == 0) {
      d.d[k] = 1;
    }
  }
  while (d.nd > 1 && d.d[d.nd - 1] == 1 && below(rng, 2) == 0) {
    --d.nd;
  }
  return d;
}

struct Broadcast {
  Sample sample;
  Layout layout;
};

Broadcast random_broadcast(Engine& rng) {
  Dim whole;
  whole.nd = 1 + below(rng, 4);
  for (unsigned k = 0; k < whole.nd; ++k) {
    whole.d[k] = 1 + below(rng, 3);
  }
  const ext::Example<CMult> example{{}, {random_part(rng, whole), random_part(rng, whole)}};
  const unsigned batch = 1 + below(rng, 4);
  return {sample_of(example), {batch, below(rng, 3), below(rng, 2) == 0, below(rng, 2) == 0}};
}

TEST(RuleDriver, BroadcastsAsAPlainLoop) {
  Engine rng(1);
  for (int trial = 0; trial < 1000; ++trial) {
    const Broadcast b = random_broadcast(rng);
    ByHand call(b.sample, b.layout, below(rng, 1000));
    call.forward();
    call.backward();
    const Dim result = call.out_dims()[0].single_batch();
    const auto size = static_cast<std::size_t>(result.example_elements());
    std::array<std::vector<double>, 2> expected;
    for (std::size_t a = 0; a < 2; ++a) {
      expected[a].assign(call.in(a).size(), b.layout.adds ? ByHand::kBefore : 0.0);
    }
    for (std::size_t e = 0; e < b.layout.batch; ++e) {
      for (std::size_t i = 0; i < size; ++i) {
        std::array<std::size_t, 2> at{};
        for (std::size_t a = 0; a < 2; ++a) {
          const Dim& d = b.sample.inputs[a];
          const bool is_repeated = (b.layout.repeated >> a & 1) != 0;
          at[a] = source(d, result, i) +
                  (is_repeated ? 0 : e * static_cast<std::size_t>(d.example_elements()));
        }
        const double x = call.in(0)[at[0]];
        const double y = call.in(1)[at[1]];
        const double dz = call.d_out(0)[e * size + i];
        ASSERT_EQ(call.out(0)[e * size + i], x * y) << b.sample.text() << b.layout.text();
        expected[0][at[0]] += dz * y;
        expected[1][at[1]] += dz * x;
      }
    }
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t i = 0; i < expected[a].size(); ++i) {
        ASSERT_NEAR(call.d_in(a)[i], expected[a][i], tolerance::kSameInDouble)
            << b.sample.text() << b.layout.text();
      }
    }
  }
}

/// x * x: both gradients lie in the same memory, zeroed by the executor.
TEST(RuleDriver, GradientsMayShareMemory) {
  std::vector<double> x{1, 2, 3}, y(3), dy{1, 10, 100}, dx(3, 0.0);
  const ext::Block bx{x.data(), 1, true}, by{y.data(), 1, true}, bdy{dy.data(), 1, true};
  const ext::Block bdx{dx.data(), 1, false};
  const auto operand = [](const ext::Block& b) { return ext::Operand{{3}, 1, &b, 1, nullptr}; };
  const std::array in{operand(bx), operand(bx)};
  const std::array out{operand(by)}, d_out{operand(bdy)};
  const std::array d_in{operand(bdx), operand(bdx)};
  ext::Call call(kernels::double_kernels());
  call.examples = 1;
  call.in = in;
  call.out = out;
  call.d_out = d_out;
  call.d_in = d_in;
  const CMult op;
  ext::kRecord<CMult>.forward(&op, call);
  ext::kRecord<CMult>.backward(&op, call);
  EXPECT_EQ(dx, (std::vector<double>{2, 40, 600}));
}

// A rule with loops that count their calls.
std::int64_t runs = 0;
std::int64_t elements = 0;
void count_run(const void* /*op*/, const ext::Stream* /*in*/, const ext::Stream* /*out*/,
               std::int64_t n) {
  ++runs;
  elements += n;
}

/// Runs and elements of a forward call of `record`, with its loops replaced by the counting one.
std::pair<std::int64_t, std::int64_t> count(const Sample& sample, const Layout& layout) {
  runs = 0;
  elements = 0;
  ext::RuleLoops& loops = *sample.record->rule->loops;
  const ext::RuleLoops kept = loops;
  loops.forward_double = count_run;
  ByHand(sample, layout, 1).forward();
  loops = kept;
  return {runs, elements};
}

TEST(RuleDriver, RunsAreAsLongAsTheyCanBe) {
  using Counts = std::pair<std::int64_t, std::int64_t>;
  const auto runs_of = [](const auto& example, const Layout& layout) {
    return count(sample_of(example), layout);
  };
  // A batch is one run, or one a block.
  EXPECT_EQ(runs_of(ext::Example<Tanh>{{}, {{4, 3}}}, {.batch = 5}), Counts(1, 60));
  EXPECT_EQ(runs_of(ext::Example<Tanh>{{}, {{4, 3}}}, {.batch = 5, .is_cut = true}), Counts(2, 60));
  EXPECT_EQ(runs_of(ext::Example<Add>{{}, {{4, 3}, {4, 3}}}, {.batch = 5, .is_cut = true}),
            Counts(3, 60));
  // A column repeated over columns: one run a column; over the batch: one an example.
  EXPECT_EQ(runs_of(ext::Example<Add>{{}, {{4, 3}, {4}}}, {}), Counts(3, 12));
  EXPECT_EQ(runs_of(ext::Example<Add>{{}, {{4, 3}, {4, 3}}}, {.batch = 5, .repeated = 2}),
            Counts(5, 60));
  // A scalar for all elements: one run.
  EXPECT_EQ(runs_of(ext::Example<Add>{{}, {{4, 3}, {1}}}, {}), Counts(1, 12));
  EXPECT_EQ(runs_of(ext::Example<Add>{{}, {{1}, {1}}}, {.batch = 5, .repeated = 2}), Counts(1, 5));
  // A cell: one run an example; with parts of one element as well.
  EXPECT_EQ(runs_of(ext::Example<LstmCell>{{}, {{12}, {3}}}, {.batch = 5}), Counts(5, 15));
  EXPECT_EQ(runs_of(ext::Example<LstmCell>{{}, {{4}, {1}}}, {.batch = 5}), Counts(5, 5));
  EXPECT_EQ(runs_of(ext::Example<CoupledLstmC>{{}, {{3}, {3}, {3}}}, {.batch = 1}), Counts(1, 3));
  // A sum: one run an example.
  EXPECT_EQ(runs_of(ext::Example<DotProduct>{{}, {{4, 3}, {4, 3}}}, {.batch = 5}), Counts(5, 60));
}

/// Both examples of a batch, which is cut into runs, and each of them in a call of its own, which
/// is one run: the parts of its operands lie side by side.
void compare_with_single_calls(const Sample& sample, bool adds, std::uint64_t without_in,
                               std::uint64_t without_out) {
  const auto copy = [](Held& from, std::size_t e, Held& to) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      to[i] = from[e * to.size() + i];
    }
  };
  const auto expect_equal = [&](Held& of_batch, std::size_t e, Held& single) {
    for (std::size_t i = 0; i < single.size(); ++i) {
      EXPECT_EQ(of_batch[e * single.size() + i], single[i]) << sample.text() << e << ' ' << i;
    }
  };
  ByHand batch(sample, {.batch = 2, .adds = adds}, 5);
  batch.forward();
  batch.backward(without_in, without_out);
  for (std::size_t e = 0; e < 2; ++e) {
    ByHand single(sample, {.adds = adds}, 6);
    for (std::size_t i = 0; i < single.arity(); ++i) {
      copy(batch.in(i), e, single.in(i));
    }
    for (std::size_t k = 0; k < single.outputs(); ++k) {
      copy(batch.d_out(k), e, single.d_out(k));
    }
    single.forward();
    single.backward(without_in, without_out);
    for (std::size_t k = 0; k < single.outputs(); ++k) {
      expect_equal(batch.out(k), e, single.out(k));
    }
    for (std::size_t i = 0; i < single.arity(); ++i) {
      if ((without_in >> i & 1) == 0) {
        expect_equal(batch.d_in(i), e, single.d_in(i));
      }
    }
  }
}

TEST(RuleDriver, ACellOfOneExampleHasTheNumbersThatItHasInABatch) {
  const std::array samples{sample_of(ext::Example<LstmCell>{{0.5F}, {{12}, {3}}}),
                           sample_of(ext::Example<LstmCell>{{}, {{4}, {1}}}),
                           sample_of(ext::Example<CoupledLstmC>{{}, {{3}, {3}, {3}}})};
  for (const Sample& sample : samples) {
    compare_with_single_calls(sample, false, 0, 0);
    compare_with_single_calls(sample, true, 0, 0);
    compare_with_single_calls(sample, false, 1, 0);  // no gradient of the parts
    compare_with_single_calls(sample, false, 2, 0);
  }
  compare_with_single_calls(samples[0], false, 0, 1);
  compare_with_single_calls(samples[0], true, 0, 2);
}

/// An operation of a user: a sum with broadcasting, in float.
struct Penalty {
  static constexpr ext::Info kInfo{.name = "penalty", .args = {"x", "y"}};
  static constexpr bool kSummed = true;
  Dim shape(const ext::Shapes& /*in*/) const { return {1}; }
  auto value(auto x, auto y) const { return x * x * y; }
  auto slopes(auto x, auto y, auto /*z*/) const { return rule::each(2.0 * x * y, x * x); }
  static std::vector<ext::Example<Penalty>> examples() { return {{{}, {{4, 3}, {1, 3}}}}; }
};

TEST(RuleDriver, SumsBroadcastToo) {
  const Sample s = sample_of(Penalty::examples()[0]);
  ByHand call(s, {.batch = 2}, 3);
  call.forward();
  call.backward();
  for (std::size_t e = 0; e < 2; ++e) {
    double sum = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      double dy = 0;
      for (std::size_t r = 0; r < 4; ++r) {
        const double x = call.in(0)[e * 12 + c * 4 + r];
        sum += x * x * call.in(1)[e * 3 + c];
        dy += x * x * call.d_out(0)[e];
      }
      EXPECT_NEAR(call.d_in(1)[e * 3 + c], dy, tolerance::kSameInDouble);
    }
    EXPECT_NEAR(call.out(0)[e], sum, tolerance::kSameInDouble);
  }
}

TEST(RuleDriver, EmptyShapesAreEmptySums) {
  const Sample sum = sample_of(ext::Example<SumElems>{{}, {{0, 3}}});
  ByHand call(sum, {.batch = 2}, 3);
  call.forward();
  EXPECT_EQ(call.out(0)[0], 0.0);
  EXPECT_EQ(call.out(0)[1], 0.0);
  const Sample tanh = sample_of(ext::Example<Tanh>{{}, {{0}}});
  ByHand(tanh, {.batch = 2}, 3).forward();
}

/// A rule called without check_positions, which an operation might forget: nothing is read.
TEST(RuleDriver, RowsWithMorePositionsThanFloatHasAreRefused) {
  constexpr unsigned kLong = (1U << 24) + 1;
  float number = 0.0F;
  const ext::Block block{&number, 1, true};
  const std::array in{ext::Operand{{kLong}, 1, &block, 1, nullptr}};
  const std::array out{ext::Operand{{1}, 1, &block, 1, nullptr}};
  ext::Call call(kernels::cpu_kernels());
  call.examples = 1;
  call.in = in;
  call.out = call.saved = call.d_out = out;
  call.d_in = in;
  const MaxDim largest{0};
  EXPECT_THROW(
      call.kernels.run_rows_call(ext::kRowRule<MaxDim>, ext::Direction::kForward, &largest, call),
      errors::ShapeError);
  EXPECT_THROW(
      call.kernels.run_rows_call(ext::kRowRule<MaxDim>, ext::Direction::kBackward, &largest, call),
      errors::ShapeError);
}
static_assert(ext::kRowRule<PickNegLogSoftmax>.uses_positions);
static_assert(ext::kRowRule<Argmax>.uses_positions);
static_assert(!ext::kRowRule<Softmax>.uses_positions);
static_assert(!ext::kRowRule<SumDim>.uses_positions);

}  // namespace
}  // namespace dynet::ops::testing
