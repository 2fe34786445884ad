#include "dynet/gru.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "recurrent_oracle.h"

namespace dynet {
namespace {

using builder_tests::Layers;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::set_values;
using builder_tests::step;

/// One layer, an input of one number: each step draws anew whether to drop or to double it.
TEST(GruDropout, IsDrawnAtEachStepForInputsAndOutput) {
  ParameterCollection model;
  GRUBuilder gru(1, 1, 3, model);
  set_values(model);
  EXPECT_THROW(gru.set_dropout(1.5F), std::invalid_argument);
  gru.set_dropout(0.5F);
  ComputationGraph cg;
  gru.new_graph(cg);
  gru.start_new_sequence();
  const Expression x = input(cg, {1}, {0.75F});
  const Numbers dropped = step(gru, {0.0}, {})[0].h;
  const Numbers doubled = step(gru, {1.5}, {})[0].h;
  std::size_t inputs_kept = 0;
  std::size_t outputs_kept = 0;
  constexpr std::size_t kDraws = 200;
  for (std::size_t k = 0; k < kDraws; ++k) {
    const Numbers out = numbers_of(gru.add_input(-1, x));
    const Numbers state = numbers_of(gru.back());
    const bool is_kept = std::abs(state[0] - doubled[0]) < std::abs(state[0] - dropped[0]);
    inputs_kept += is_kept ? 1 : 0;
    builder_tests::expect_near(state, is_kept ? doubled : dropped);
    EXPECT_EQ(numbers_of(gru.get_h(gru.state())[0]), state);
    EXPECT_EQ(numbers_of(gru.get_output(gru.state())), out);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(out[i] == 0.0 || out[i] == 2.0 * state[i]) << out[i] << ' ' << state[i];
      outputs_kept += out[i] != 0.0 ? 1 : 0;
    }
  }
  const auto mean = [](std::size_t kept, std::size_t draws) {
    return static_cast<double>(kept) / static_cast<double>(draws);
  };
  EXPECT_NEAR(mean(inputs_kept, kDraws), 0.5, tolerance::of_mean(0.5, kDraws));
  EXPECT_NEAR(mean(outputs_kept, 3 * kDraws), 0.5, tolerance::of_mean(0.5, 3 * kDraws));
  gru.disable_dropout();
  builder_tests::expect_near(numbers_of(gru.add_input(-1, x)), step(gru, {0.75}, {})[0].h);
}

}  // namespace
}  // namespace dynet
