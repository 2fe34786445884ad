// Every operation, every example, every batch pattern: gradients against central differences in
// double, with operands in one block and in two, stored and added.

#include <gtest/gtest.h>

#include "by_hand.h"

namespace dynet::ops::testing {
namespace {

constexpr double kStep = 1e-5;

/// The layouts an example is run in. Operations of whole batches repeat nothing.
std::vector<Layout> layouts(const Sample& s) {
  std::vector<Layout> all{{.batch = 1}, {.batch = 1, .adds = true}};
  std::vector<std::uint64_t> masks{0};
  if (!s.record->has_whole && s.inputs.size() > 1) {
    const std::size_t n = std::min<std::size_t>(s.inputs.size(), 5);
    for (std::uint64_t m = 1; m + 1 < (std::uint64_t{1} << n); ++m) {
      masks.push_back(m);
    }
  }
  // With indices a lone argument may be one example of which each index takes a part.
  if (!s.record->has_whole && s.record->payload == ext::Payload::kIndices) {
    masks.push_back(1);
  }
  if (s.record->has_whole) {
    for (const bool cuts : {false, true}) {
      all.push_back({.batch = 3, .nodes = 2, .is_cut = cuts});
      all.push_back({.batch = 3, .nodes = 2, .is_cut = cuts, .adds = true});
    }
  }
  for (const std::uint64_t m : masks) {
    all.push_back({.batch = 3, .repeated = m});
    all.push_back({.batch = 3, .repeated = m, .adds = true});
    all.push_back({.batch = 3, .repeated = m, .is_cut = true});
    all.push_back({.batch = 3, .repeated = m, .is_cut = true, .adds = true});
  }
  return all;
}

void check_gradients(const Sample& s, const Layout& layout, std::uint64_t without_out) {
  ByHand call(s, layout, 7);
  call.loss(without_out);
  call.backward(0, without_out);
  std::vector<std::vector<double>> gradients(call.arity());
  for (std::size_t a = 0; a < call.arity(); ++a) {
    for (std::size_t i = 0; i < call.in(a).size(); ++i) {
      gradients[a].push_back(call.d_in(a)[i]);
    }
  }
  for (std::size_t a = 0; a < call.arity(); ++a) {
    for (std::size_t i = 0; i < call.in(a).size(); ++i) {
      double& x = call.in(a)[i];
      const double at = x;
      x = at + kStep;
      const double above = call.loss(without_out);
      x = at - kStep;
      const double below = call.loss(without_out);
      x = at;
      double expected = (above - below) / (2 * kStep);
      if (layout.adds) {
        expected += ByHand::kBefore;
      }
      ASSERT_NEAR(gradients[a][i], expected, 1e-6 * std::max(1.0, std::fabs(expected)))
          << s.text() << layout.text() << " argument " << a << " element " << i;
    }
  }
}

TEST(EveryOp, GradientsAreTheSlopesOfTheValues) {
  std::size_t checked = 0;
  for (const Sample& s : all_samples()) {
    for (const Layout& layout : layouts(s)) {
      check_gradients(s, layout, 0);
      if (HasFatalFailure()) {
        return;
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 500U);
}

TEST(EveryOp, AnOutputNobodyUsedCountsAsZero) {
  std::size_t checked = 0;
  for (const Sample& s : all_samples()) {
    if (s.record->outputs == 1) {
      continue;
    }
    for (std::uint64_t k = 0; k < s.record->outputs; ++k) {
      check_gradients(s, {.batch = 3}, std::uint64_t{1} << k);
      ++checked;
    }
  }
  EXPECT_GT(checked, 10U);
}

TEST(EveryOp, AGradientNobodyWantsIsLeftAlone) {
  for (const Sample& s : all_samples()) {
    if (s.inputs.size() < 2) {
      continue;
    }  // backward is called where a gradient is wanted
    for (std::size_t a = 0; a < s.inputs.size(); ++a) {
      const Layout layout{.batch = 3, .is_cut = true};
      ByHand all(s, layout, 5);
      ByHand some(s, layout, 5);
      all.forward();
      all.backward();
      some.forward();
      some.backward(std::uint64_t{1} << a);
      if (s.inputs.size() == 1) {
        continue;
      }
      for (std::size_t b = 0; b < s.inputs.size(); ++b) {
        for (std::size_t i = 0; i < all.d_in(b).size(); ++i) {
          if (b != a) {
            ASSERT_EQ(all.d_in(b)[i], some.d_in(b)[i]) << s.text();
          } else {
            ASSERT_TRUE(std::isnan(some.d_in(b)[i]) || some.d_in(b)[i] == 0.0) << s.text();
          }
        }
      }
    }
  }
}

/// An example of a batch has the value it has alone.
TEST(EveryOp, ABatchIsItsExamples) {
  for (const Sample& s : all_samples()) {
    if (s.record->has_whole || s.record->random || s.inputs.empty()) {
      continue;
    }
    ByHand batch(s, {.batch = 3, .is_cut = true}, 11);
    batch.forward();
    for (std::size_t e = 0; e < 3; ++e) {
      if (s.record->payload != ext::Payload::kNone && e > 0) {
        continue;
      }  // payload of example 0
      ByHand alone(s, {.batch = 1}, 12);
      for (std::size_t a = 0; a < alone.arity(); ++a) {
        const std::size_t n = alone.in(a).size();
        for (std::size_t i = 0; i < n; ++i) {
          alone.in(a)[i] = batch.in(a)[e * n + i];
        }
      }
      alone.forward();
      for (std::size_t k = 0; k < alone.outputs(); ++k) {
        const std::size_t n = alone.out(k).size();
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_NEAR(alone.out(k)[i], batch.out(k)[e * n + i], 1e-12) << s.text();
        }
      }
    }
  }
}

TEST(EveryOp, EveryValueIsWritten) {
  for (const Sample& s : all_samples()) {
    ByHand call(s, {.batch = 3}, 13);
    call.forward();
    for (std::size_t k = 0; k < call.outputs(); ++k) {
      for (std::size_t i = 0; i < call.out(k).size(); ++i) {
        ASSERT_FALSE(std::isnan(call.out(k)[i])) << s.text();
      }
    }
  }
}

}  // namespace
}  // namespace dynet::ops::testing
