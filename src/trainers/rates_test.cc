// Schedules: curves, and the rates of a trainer with a schedule.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "dynet/schedules.h"
#include "dynet/training.h"

#include "testing/tolerance.h"

namespace dynet {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Rates, OfAWarmUp) {
  const WarmupSchedule s(4, 0.8);
  EXPECT_EQ(s.rate(0), 0.2);
  EXPECT_EQ(s.rate(1), 0.4);
  EXPECT_EQ(s.rate(2), 0.8 * 3 / 4);
  EXPECT_EQ(s.rate(3), 0.8);
  EXPECT_EQ(s.rate(1000000), 0.8);
  EXPECT_EQ(WarmupSchedule(1, 0.8).rate(0), 0.8);
}

TEST(Rates, OfACosine) {
  const CosineSchedule s(1.0, 100, 0.2);
  EXPECT_EQ(s.rate(0), 1.0);
  EXPECT_NEAR(s.rate(25), 0.6 + 0.4 * std::sqrt(0.5), tolerance::kSameInDouble);
  EXPECT_NEAR(s.rate(50), 0.6, tolerance::kSameInDouble);
  EXPECT_NEAR(s.rate(75), 0.6 - 0.4 * std::sqrt(0.5), tolerance::kSameInDouble);
  EXPECT_EQ(s.rate(100), 0.2);
  EXPECT_EQ(s.rate(101), 0.2);
  EXPECT_EQ(CosineSchedule(1.0, 3).rate(3), 0.0);
}

TEST(Rates, OfAnInverseSquareRoot) {
  // The formula of the Transformer: dimension^-0.5 min(n^-0.5, n warmup^-1.5).
  const double dimension = 512.0;
  const double warmup = 4000.0;
  const InverseSquareRootSchedule s(1.0 / std::sqrt(dimension * warmup), 4000);
  for (const double n : {1.0, 2.0, 1000.0, 3999.0, 4000.0, 4001.0, 100000.0}) {
    const double want =
        std::min(1.0 / std::sqrt(n), n * std::pow(warmup, -1.5)) / std::sqrt(dimension);
    EXPECT_NEAR(s.rate(static_cast<std::uint64_t>(n) - 1), want, tolerance::kSameInDouble);
  }
  EXPECT_EQ(InverseSquareRootSchedule(0.5).rate(0), 0.5);
  EXPECT_EQ(InverseSquareRootSchedule(0.5).rate(3), 0.25);
}

TEST(Rates, OfCycles) {
  const CyclicalSchedule s(0.5, 1.5, 4);
  const std::vector<double> rates{0.5, 0.75, 1.0, 1.25, 1.5, 1.25, 1.0, 0.75, 0.5, 0.75};
  for (std::size_t t = 0; t < rates.size(); ++t) {
    EXPECT_EQ(s.rate(t), rates[t]) << t;
  }
  EXPECT_EQ(CyclicalSchedule(0.5, 1.5, 2, 0.5).rate(2), 0.5 + 0.25);
}

TEST(Rates, OfAWarmUpBeforeAnother) {
  const CosineSchedule cosine(1.0, 10);
  const WarmupSchedule s(5, cosine);
  EXPECT_EQ(s.rate(3), 0.8);
  for (std::uint64_t t = 0; t < 20; ++t) {
    EXPECT_EQ(s.rate(4 + t), cosine.rate(t)) << t;
  }
  EXPECT_EQ(WarmupSchedule(2, s).rate(0), 0.1);  // of 0.2, the first rate of a warm-up
}

TEST(Rates, OfAPlateau) {
  Schedule::Pointer s = std::make_shared<PlateauSchedule>(1.0, 0.5, 2, 0.1, 0.2);
  const auto report = [&](double metric) {
    s = s->after_report(metric);
    return s->rate(7);
  };
  EXPECT_EQ(report(10.0), 1.0);
  EXPECT_EQ(report(9.5), 1.0);   // not better by a tenth: bad, 1
  EXPECT_EQ(report(11.0), 1.0);  // 2
  EXPECT_EQ(report(9.0), 0.5);   // 3: 9 is not below 9
  EXPECT_EQ(report(8.9), 0.5);   // better
  EXPECT_EQ(report(8.8), 0.5);
  EXPECT_EQ(report(8.8), 0.5);
  EXPECT_EQ(report(8.8), 0.25);
  for (int i = 0; i < 3; ++i) {
    (void)report(kInfinity);
  }
  EXPECT_EQ(s->rate(0), 0.2);  // no lower
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(report(100.0), 0.2);
  }
  // A rate below the last rate of the schedule is not raised.
  s = std::make_shared<PlateauSchedule>(0.1, 0.5, 0, 0.0, 0.2);
  EXPECT_EQ(report(1.0), 0.1);
  EXPECT_EQ(report(2.0), 0.1);
}

TEST(Rates, OfAPlateauWhereMoreIsBetter) {
  Schedule::Pointer s = std::make_shared<PlateauSchedule>(1.0, 0.5, 0, 0.1, 0.0, true);
  EXPECT_EQ((s = s->after_report(-10.0))->rate(0), 1.0);
  EXPECT_EQ((s = s->after_report(-8.9))->rate(0), 1.0);  // above -9
  EXPECT_EQ((s = s->after_report(-8.1))->rate(0), 0.5);  // not above -8.01
}

TEST(Rates, BadNumbersAreRefused) {
  EXPECT_THROW((void)ConstantSchedule(kNan), errors::ValueError);
  EXPECT_THROW((void)WarmupSchedule(0, 0.1), errors::ValueError);
  EXPECT_THROW((void)WarmupSchedule(1, kInfinity), errors::ValueError);
  EXPECT_THROW((void)WarmupSchedule(1, Schedule::Pointer()), errors::ValueError);
  EXPECT_THROW((void)CosineSchedule(0.1, 0), errors::ValueError);
  EXPECT_THROW((void)CosineSchedule(0.1, 1, kNan), errors::ValueError);
  EXPECT_THROW((void)InverseSquareRootSchedule(0.1, 0), errors::ValueError);
  EXPECT_THROW((void)CyclicalSchedule(0.1, 0.2, 0.0), errors::ValueError);
  EXPECT_THROW((void)PlateauSchedule(0.1, 1.0), errors::ValueError);
  EXPECT_THROW((void)PlateauSchedule(0.1, 0.0), errors::ValueError);
  EXPECT_THROW((void)PlateauSchedule(0.1, 0.5, 1, kNan), errors::ValueError);
  EXPECT_THROW((void)PlateauSchedule(0.1).after_report(kNan), errors::ValueError);
  try {
    (void)CosineSchedule(0.1, 0);
  } catch (const errors::ValueError& e) {
    EXPECT_STREQ(e.what(), "CosineSchedule: the number of updates is 0; want 1 or more");
  }
}

/// Rates of the next updates.
std::vector<float> rates(Trainer& trainer, int n) {
  std::vector<float> all;
  for (int i = 0; i < n; ++i) {
    all.push_back(trainer.learning_rate);
    trainer.update();
  }
  return all;
}

TEST(Schedules, SetTheRateOfEachUpdate) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model, 0.5F);
  trainer.update();
  trainer.set_schedule(WarmupSchedule(4, 1.0));
  EXPECT_EQ(rates(trainer, 6), (std::vector<float>{0.25F, 0.5F, 0.75F, 1.0F, 1.0F, 1.0F}));
  trainer.set_schedule(CosineSchedule(1.0, 2));  // counts from here on
  EXPECT_EQ(trainer.learning_rate, 1.0F);
  float g = -1.0F;
  const Tensor gradient({1}, &g, nullptr, DeviceMempool::NONE);
  p.p->accumulate_grad(gradient);
  trainer.update();
  EXPECT_EQ(as_scalar(*p.values()), 1.0F);
  p.p->accumulate_grad(gradient);
  trainer.update();
  EXPECT_FLOAT_EQ(as_scalar(*p.values()), 1.5F);
  trainer.learning_rate = 3.0F;  // for one update
  trainer.restart();
  EXPECT_EQ(rates(trainer, 2), (std::vector<float>{3.0F, 0.0F}));
  trainer.set_schedule(Schedule::Pointer());
  trainer.learning_rate = 3.0F;
  EXPECT_EQ(rates(trainer, 2), (std::vector<float>{3.0F, 3.0F}));
}

TEST(Schedules, AnUpdateThatFailsIsNotCounted) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model);
  trainer.set_schedule(WarmupSchedule(4, 1.0));
  float g = std::numeric_limits<float>::quiet_NaN();
  p.p->accumulate_grad(Tensor({1}, &g, nullptr, DeviceMempool::NONE));
  EXPECT_THROW(trainer.update(), errors::NumericError);
  EXPECT_EQ(trainer.learning_rate, 0.25F);
}

TEST(Schedules, ReportsGoToTheOneThatTakesThem) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.5F);
  EXPECT_THROW(trainer.report_metric(1.0), errors::UsageError);
  trainer.set_schedule(CosineSchedule(1.0, 10));
  EXPECT_THROW(trainer.report_metric(1.0), errors::UsageError);
  trainer.set_schedule(WarmupSchedule(2, PlateauSchedule(1.0, 0.5, 0)));
  trainer.report_metric(1.0);
  EXPECT_EQ(rates(trainer, 3), (std::vector<float>{0.5F, 1.0F, 1.0F}));
  const SimpleSGDTrainer copy = trainer;  // shares nothing that changes
  trainer.report_metric(2.0);
  EXPECT_EQ(trainer.learning_rate, 0.5F);
  EXPECT_THROW(trainer.report_metric(kNan), errors::ValueError);
  EXPECT_EQ(rates(trainer, 2), (std::vector<float>{0.5F, 0.5F}));
  EXPECT_EQ(copy.learning_rate, 1.0F);
  EXPECT_EQ(copy.schedule()->rate(5), 1.0);
}

TEST(Schedules, TheirTextBringsThemBack) {
  const Schedule::Pointer plateau =
      std::make_shared<PlateauSchedule>(0.3, 0.7, 3, 0.01, 0.001, true);
  const std::vector<Schedule::Pointer> all{
      std::make_shared<ConstantSchedule>(1.0 / 3.0),
      std::make_shared<WarmupSchedule>(17, CosineSchedule(0.1, 100, 0.01)),
      std::make_shared<InverseSquareRootSchedule>(0.7, 40),
      std::make_shared<CyclicalSchedule>(0.1, 1.1, 7.5, 0.99),
      plateau,
      plateau->after_report(2.0)->after_report(1.0),
      std::make_shared<WarmupSchedule>(2, WarmupSchedule(3, plateau))};
  for (const Schedule::Pointer& s : all) {
    ParameterCollection model;
    SimpleSGDTrainer from(model);
    from.set_schedule(s);
    (void)rates(from, 5);
    std::stringstream text;
    from.save(text);
    SimpleSGDTrainer to(model);
    to.populate(text);
    ASSERT_NE(to.schedule(), nullptr);
    EXPECT_EQ(trainers::text_of(*to.schedule()), trainers::text_of(*s));
    EXPECT_EQ(rates(from, 120), rates(to, 120)) << trainers::text_of(*s);
  }
}

/// A schedule as programs write it.
class Halves final : public Schedule {
 public:
  explicit Halves(double rate) : rate_(rate) {}
  [[nodiscard]] double rate(std::uint64_t done) const override {
    return rate_ * std::pow(0.5, static_cast<double>(done));
  }
  [[nodiscard]] const char* name() const override { return "Halves"; }
  [[nodiscard]] std::vector<double> numbers() const override { return {rate_}; }

 private:
  double rate_;
};

TEST(Schedules, UsersCanWriteTheirOwn) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model);
  trainer.set_schedule(WarmupSchedule(2, Halves(1.0)));
  EXPECT_EQ(rates(trainer, 4), (std::vector<float>{0.5F, 1.0F, 0.5F, 0.25F}));
  std::stringstream text;
  trainer.save(text);
  const std::string saved = text.str();
  SimpleSGDTrainer other(model);
  for (const double rate : {0.0, 2.0}) {
    if (rate > 0.0) {
      other.set_schedule(WarmupSchedule(2, Halves(rate)));
    }
    std::istringstream in(saved);
    EXPECT_THROW(other.populate(in), errors::UsageError);
    EXPECT_EQ(other.updates, 0.0F);
  }
  other.set_schedule(WarmupSchedule(2, Halves(1.0)));
  std::istringstream in(saved);
  other.populate(in);
  EXPECT_EQ(rates(other, 2), rates(trainer, 2));
}

}  // namespace
}  // namespace dynet
