#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <sstream>
#include <vector>

#include "dynet/training.h"

#include "testing/tolerance.h"
#include "trainers/table_averages.h"

namespace dynet {
namespace {

using trainers::AverageLog;
using trainers::AverageStep;

class AverageTest : public ::testing::Test {
 protected:
  void step(float gradient) {
    p.p->accumulate_grad(Tensor({1}, &gradient, nullptr, DeviceMempool::NONE));
    trainer.update();
  }
  float value() const { return as_vector(*p.values())[0]; }
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  LookupParameter l = model.add_lookup_parameters(1, {1}, ParameterInitConst(3));
  SimpleSGDTrainer trainer{model, 1.0F};
};

TEST_F(AverageTest, CumulativeIsTheMean) {
  trainer.cumulative_moving_average();
  for (int i = 0; i < 4; ++i) {
    step(-1.0F);
  }  // 1, 2, 3, 4
  trainer.swap_params_to_moving_average();
  EXPECT_FLOAT_EQ(value(), 2.5F);
  EXPECT_FLOAT_EQ(as_vector((*l.values())[0])[0], 3.0F);
  trainer.swap_params_to_moving_average();  // already there
  EXPECT_FLOAT_EQ(value(), 2.5F);
  trainer.swap_params_to_weights();
  EXPECT_FLOAT_EQ(value(), 4.0F);
  trainer.swap_params_to_weights();
  EXPECT_FLOAT_EQ(value(), 4.0F);
  EXPECT_EQ(trainer.moving_average(), MovingAverage::Cumulative);
}

TEST_F(AverageTest, ExponentialWithBiasCorrection) {
  for (const float bad : {-0.5F, 1.0F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THROW(trainer.exponential_moving_average(bad), errors::ValueError);
    EXPECT_EQ(trainer.moving_average(), MovingAverage::None);
  }
  trainer.exponential_moving_average(0.5F);
  step(-1.0F);
  step(-1.0F);  // values 1, 2: average 0.25 + 1 = 1.25, corrected by 1 - 0.25
  trainer.swap_params_to_moving_average(true, false);
  EXPECT_FLOAT_EQ(value(), 1.25F);
  trainer.swap_params_to_weights();
  trainer.swap_params_to_moving_average(true, true);
  EXPECT_FLOAT_EQ(value(), 1.25F / 0.75F);
}

TEST_F(AverageTest, EveryFewUpdates) {
  trainer.cumulative_moving_average(2);
  for (int i = 0; i < 4; ++i) {
    step(-1.0F);
  }  // takes part: 1 and 3
  trainer.swap_params_to_moving_average();
  EXPECT_FLOAT_EQ(value(), 2.0F);
}

TEST_F(AverageTest, UpdatesStartFromTheWeights) {
  trainer.cumulative_moving_average();
  step(-1.0F);
  step(-1.0F);
  trainer.swap_params_to_moving_average();
  step(-1.0F);
  EXPECT_FLOAT_EQ(value(), 3.0F);
}

TEST_F(AverageTest, SwappingThereAndBackChangesNoBit) {
  ParameterCollection decaying(0.1F);
  const LookupParameter table = decaying.add_lookup_parameters(3, {5});
  SimpleSGDTrainer t(decaying);
  t.cumulative_moving_average();
  for (int i = 0; i < 3; ++i) {
    t.update();
  }
  const std::vector<float> before = as_vector(table.get_storage().all_values);
  t.swap_params_to_moving_average();
  EXPECT_NE(as_vector(table.get_storage().all_values), before);
  t.swap_params_to_weights();
  EXPECT_EQ(as_vector(table.get_storage().all_values), before);
}

TEST_F(AverageTest, AParameterThatIsNewWhileSwapped) {
  trainer.cumulative_moving_average();
  step(-1.0F);
  step(-1.0F);
  trainer.swap_params_to_moving_average();
  const Parameter late = model.add_parameters({1}, ParameterInitConst(7));
  step(-1.0F);
  EXPECT_FLOAT_EQ(value(), 3.0F);
  EXPECT_EQ(as_vector(*late.values())[0], 7.0F);
}

TEST_F(AverageTest, Misuse) {
  EXPECT_THROW(trainer.swap_params_to_moving_average(), std::runtime_error);
  EXPECT_THROW(trainer.cumulative_moving_average(0), std::runtime_error);
  trainer.cumulative_moving_average();
  EXPECT_THROW(trainer.swap_params_to_moving_average(), std::runtime_error);
  step(-1.0F);
  EXPECT_THROW(trainer.cumulative_moving_average(), std::runtime_error);
  trainer.swap_params_to_moving_average(false);
  EXPECT_THROW(trainer.swap_params_to_weights(), std::runtime_error);
  EXPECT_THROW(step(-1.0F), std::runtime_error);
}

TEST_F(AverageTest, SavedAndRead) {
  trainer.cumulative_moving_average();
  step(-1.0F);
  step(-1.0F);
  std::stringstream text;
  trainer.save(text);
  EXPECT_EQ(
      text.str(),
      "#Trainer# 1 1\n"
      "+1.00000000e+00 +1 +5.00000000e+00 +2.00000000e+00 +0.00000000e+00 Cumulative +0 +0 1 2\n"
      "[MA:TRUE]\n#MA# 1 1\n#Parameter# 1 +1.50000000e+00\n#LookupParameter# 1 +3.00000000e+00\n"
      "#SimpleSGDTrainer# 1 1\n");
  SimpleSGDTrainer other(model, 0.5F);
  other.populate(text);
  EXPECT_EQ(other.learning_rate, 1.0F);
  other.swap_params_to_moving_average();
  EXPECT_FLOAT_EQ(value(), 1.5F);
}

TEST_F(AverageTest, Words) {
  std::stringstream s;
  s << MovingAverage::Exponential;
  MovingAverage mode = MovingAverage::None;
  s >> mode;
  EXPECT_EQ(mode, MovingAverage::Exponential);
  std::istringstream bad("other");
  EXPECT_THROW(bad >> mode, std::runtime_error);
}

/// Shares of the old average as programs have them, and some that none has.
double next_keep(std::mt19937& random, int kind, std::uint32_t n) {
  const double uniform = std::uniform_real_distribution<double>()(random);
  switch (kind) {
    case 0:
      return static_cast<double>(n) / (n + 1.0);
    case 1:
      return 0.999;
    case 2:
      return 0.0;
    case 3:
      return uniform;
    default:
      return uniform < 0.1 ? 0.0 : (uniform < 0.2 ? 1e-9 : 1.0 - 1e-3 * uniform);
  }
}

TEST(AverageLog, IsOneStepAfterAnother) {
  constexpr std::uint32_t kSteps = 3000;
  for (int kind = 0; kind < 5; ++kind) {
    std::mt19937 random(1);
    AverageLog log(kSteps);
    std::vector<AverageStep> steps;
    for (std::uint32_t n = 0; n < kSteps; ++n) {
      const double keep = next_keep(random, kind, n);
      steps.push_back({keep, (1.0 - keep) * (n % 5 == 0 ? 0.5 : 1.0)});
      log.push(steps.back());
    }
    EXPECT_TRUE(log.is_full());
    for (std::uint32_t since = 0; since <= kSteps; since += since + 40 > kSteps ? 1 : 37) {
      AverageStep want;
      for (std::uint32_t n = since; n < kSteps; ++n) {
        want = steps[n].after(want);
      }
      const AverageStep got = log.since(since);
      ASSERT_NEAR(got.keep, want.keep, tolerance::kMissedUpdates * want.keep + 1e-23) << since;
      ASSERT_NEAR(got.take, want.take, tolerance::kMissedUpdates * want.take) << since;
    }
    log.clear();
    EXPECT_EQ(log.steps(), 0U);
    EXPECT_EQ(log.since(0).keep, 1.0);
  }
}

// Every truncation and every other type is an error that changes nothing.
TEST(TrainerText, DamagedTextChangesNothing) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(1));
  model.add_lookup_parameters(2, {1}, ParameterInitConst(1));
  AdamTrainer trainer(model);
  trainer.cumulative_moving_average();
  std::vector<float> g{1, 2};
  for (int i = 0; i < 3; ++i) {
    p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
    trainer.update();
  }
  std::ostringstream whole;
  trainer.save(whole);
  const std::string text = whole.str();
  AdamTrainer reader(model, 0.125F);
  std::ostringstream fresh;
  reader.save(fresh);
  for (std::size_t n = 0; n < text.size(); ++n) {
    std::istringstream in(text.substr(0, n));
    ASSERT_THROW(reader.populate(in), errors::IoError) << n;
  }
  for (const char* wrong : {"AmsgradTrainer", "AdamTrainer2"}) {
    std::string other = text;
    other.replace(other.find("AdamTrainer"), 11, wrong);
    std::istringstream in(other);
    ASSERT_THROW(reader.populate(in), errors::UsageError);
  }
  std::ostringstream after;
  reader.save(after);
  EXPECT_EQ(after.str(), fresh.str());
  std::istringstream in(text);
  reader.populate(in, 0.5F);
  EXPECT_EQ(reader.learning_rate, 0.5F);
  EXPECT_EQ(reader.updates, 3.0F);
  // A model with fewer parameters cannot take it.
  ParameterCollection small;
  AdamTrainer none(small);
  std::istringstream again(text);
  EXPECT_THROW(none.populate(again), errors::UsageError);
}

}  // namespace
}  // namespace dynet
