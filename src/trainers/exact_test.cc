// Exact sparse updates against dense ones, both in double.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

#include "params/gradient.h"
#include "support/far_device.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"
#include "trainers/missed.h"

namespace dynet {
namespace {

using MakeTrainer = std::function<std::unique_ptr<Trainer>(ParameterCollection&)>;

constexpr float kRate = 0.01F;

template <class T, class... Rest>
MakeTrainer make(Rest... rest) {
  return [=](ParameterCollection& m) { return std::make_unique<T>(m, kRate, rest...); };
}

struct Rule {
  const char* name;
  MakeTrainer make;
};
std::vector<Rule> rules() {
  return {{"Sgd", make<SimpleSGDTrainer>()},
          {"Momentum", make<MomentumSGDTrainer>()},
          {"Adam", make<AdamTrainer>()},
          {"Amsgrad", make<AmsgradTrainer>()},
          {"Adagrad", make<AdagradTrainer>()},
          {"RmsProp", make<RMSPropTrainer>()},
          {"AdamW", make<AdamWTrainer>(0.9F, 0.999F, 1e-8F, 0.2F)},
          {"Lion", make<LionTrainer>(0.9F, 0.99F, 0.2F)}};
}
std::vector<Rule> unusual_rules() {
  return {{"MomentumOfNothing", make<MomentumSGDTrainer>(0.0F)},
          {"MomentumOfThousands", make<MomentumSGDTrainer>(0.999F)},
          {"MomentumForEver", make<MomentumSGDTrainer>(1.0F)},
          {"AdamWithoutMean", make<AdamTrainer>(0.0F)},
          {"AdamFastSquares", make<AdamTrainer>(0.9F, 0.98F)},
          {"AdamFasterSquares", make<AdamTrainer>(0.9F, 0.9F)},
          {"AdamFastestSquares", make<AdamTrainer>(0.9F, 0.82F)},
          {"AdamThatGrows", make<AdamTrainer>(0.9F, 0.5F)},
          {"AdamSlowMean", make<AdamTrainer>(0.99F, 0.999F)},
          {"AdamLargeEpsilon", make<AdamTrainer>(0.9F, 0.999F, 0.1F)},
          {"AdamNoEpsilon", make<AdamTrainer>(0.9F, 0.999F, 1e-30F)},
          {"AmsgradSlowMean", make<AmsgradTrainer>(0.995F, 0.9F)},
          {"RmsPropOfTheLast", make<RMSPropTrainer>(1e-8F, 0.0F)},
          {"RmsPropForEver", make<RMSPropTrainer>(1e-8F, 1.0F)},
          {"AdamWOfStrongDecay", make<AdamWTrainer>(0.9F, 0.98F, 1e-8F, 20.0F)},
          {"LionForEver", make<LionTrainer>(0.5F, 1.0F, 0.0F)},
          {"LionOfTheLast", make<LionTrainer>(0.9F, 0.0F, 20.0F)},
          {"LionWithoutMean", make<LionTrainer>(0.0F, 0.9F, 1.0F)}};
}

/// Doubles that lie on a device.
std::vector<double> from_device(const Device& device, const void* numbers, std::int64_t count) {
  std::vector<double> x(static_cast<std::size_t>(count));
  device.memory->copy_out(numbers, x.data(), x.size() * sizeof(double));
  return x;
}

/// `count` numbers that `read(to)` writes in the memory of the table.
template <class F>
std::vector<double> read_by(const LookupParameter& table, std::int64_t count, F read) {
  const Device& device = table.p->state().device;
  const params::Buffer buffer(device, count, "test");
  read(buffer.data());
  return from_device(device, buffer.data(), count);
}

std::vector<double> effective_row(const LookupParameter& table, unsigned row) {
  return read_by(table, table.p->dim.elements(),
                 [&](void* to) { params::read_row(*table.p, row, to); });
}
/// All rows, one after the other, each read by itself.
std::vector<double> effective_rows(const LookupParameter& table) {
  return read_by(table, table.p->all_dim.elements(), [&](std::byte* to) {
    for (unsigned row = 0; row < table.p->rows(); ++row) {
      params::read_row(*table.p, row, to + row * table.p->state().row_bytes);
    }
  });
}

/// The stored numbers of a table, without the effects of a user's read.
std::vector<double> stored(const LookupParameter& table) {
  return from_device(table.p->state().device, params::values(*table.p),
                     table.p->all_dim.elements());
}

/// One of the two models: a dense parameter, and two tables of which one lies in a sub-collection.
struct Side {
  Side(const MakeTrainer& make_trainer, LookupUpdates how, float lambda) : model(lambda) {
    Device* device = testing::test_device("CPU:double");
    dense = model.add_parameters({3}, ParameterInitConst(0.5F), "", device);
    ParameterCollection sub = model.add_subcollection("s");
    tables.push_back(model.add_lookup_parameters(kRows, {3}, ParameterInitConst(0.5F), "", device));
    tables.push_back(sub.add_lookup_parameters(kRows, {2}, ParameterInitConst(-1), "", device));
    trainer = make_trainer(model);
    trainer->set_lookup_updates(how);
  }
  void add_gradient(const LookupParameter& table, unsigned row, const std::vector<double>& g) {
    const params::Buffer gradient(table.p->state().device, table.p->dim.elements(), "test");
    table.p->state().device.memory->copy_in(g.data(), gradient.data(), g.size() * sizeof(double));
    params::LookupGradientLock(*table.p).add_row(row, gradient.data());
  }

  static constexpr unsigned kRows = 40;
  ParameterCollection model;
  Parameter dense;
  std::vector<LookupParameter> tables;
  std::unique_ptr<Trainer> trainer;
};

/// One thing done to an exact and to a dense model.
class Both {
 public:
  Both(MakeTrainer make_trainer, unsigned seed, float lambda = 0.0F)
      : make_trainer_(std::move(make_trainer)),
        exact(make_trainer_, LookupUpdates::kExact, lambda),
        dense(make_trainer_, LookupUpdates::kDense, lambda),
        random_(seed) {}

  template <class F>
  void on_both(const F& f) {
    f(exact);
    f(dense);
  }
  void set_rate(float rate) {
    largest_rate_ = std::max(largest_rate_, static_cast<double>(rate));
    on_both([&](Side& s) { s.trainer->learning_rate = rate; });
  }
  /// Gradients for a few rows, low ones often and high ones hardly ever, of sizes from far below
  /// epsilon to far above the clipping threshold.
  void add_gradients() {
    for (std::size_t t = 0; t < exact.tables.size(); ++t) {
      const auto row = static_cast<unsigned>(std::pow(uniform(), 6.0) * Side::kRows);
      if (row >= Side::kRows - 3 || uniform() < 0.2) {
        continue;  // the last rows are never used
      }
      add_gradient(t, row, std::pow(10.0, static_cast<double>(row % 12) - 10.0));
    }
  }
  void add_gradient(std::size_t table, unsigned row, double size) {
    std::vector<double> g(static_cast<std::size_t>(exact.tables[table].p->dim.elements()));
    for (double& x : g) {
      x = size * (uniform() - 0.3);
    }
    on_both([&](Side& s) { s.add_gradient(s.tables[table], row, g); });
  }
  void update() {
    on_both([](Side& s) { s.trainer->update(); });
  }
  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      add_gradients();
      update();
    }
  }
  /// Reads as a graph does.
  void expect_equal(const std::string& when = "") const {
    for (std::size_t t = 0; t < exact.tables.size(); ++t) {
      const std::vector<double> got = effective_rows(exact.tables[t]);
      const std::vector<double> want = effective_rows(dense.tables[t]);
      for (std::size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i],
                    tolerance::kMissedUpdates * std::max(std::fabs(want[i]), largest_rate_))
            << when << ": table " << t << ", row " << i / (want.size() / Side::kRows);
      }
    }
  }
  /// Looks at the stored values.
  void expect_equal_shown(const std::string& when = "") const {
    for (std::size_t t = 0; t < exact.tables.size(); ++t) {
      const std::vector<Tensor>& got = *exact.tables[t].values();
      const std::vector<Tensor>& want = *dense.tables[t].values();
      const double factor = params::decay_factor(*exact.tables[t].p);
      for (unsigned row = 0; row < Side::kRows; ++row) {
        for (int i = 0; i < 2; ++i) {
          const double w = as_double_vector(want[row])[static_cast<std::size_t>(i)];
          ASSERT_NEAR(as_double_vector(got[row])[static_cast<std::size_t>(i)] * factor, w * factor,
                      tolerance::kMissedUpdates * std::max(std::fabs(w), largest_rate_))
              << when << ": table " << t << ", row " << row;
        }
      }
    }
  }
  double uniform() { return std::uniform_real_distribution<double>()(random_); }
  [[nodiscard]] std::unique_ptr<Trainer> another_trainer(Side& s) const {
    auto t = make_trainer_(s.model);
    t->set_lookup_updates(s.trainer->lookup_updates());
    return t;
  }

 private:
  MakeTrainer make_trainer_;

 public:
  Side exact, dense;

 private:
  std::mt19937 random_;
  double largest_rate_ = static_cast<double>(kRate);
};

class ExactTest : public ::testing::TestWithParam<Rule> {};
std::string name_of(const ::testing::TestParamInfo<Rule>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Rules, ExactTest, ::testing::ValuesIn(rules()), name_of);
class UnusualTest : public ExactTest {};
INSTANTIATE_TEST_SUITE_P(Rules, UnusualTest, ::testing::ValuesIn(unusual_rules()), name_of);

TEST_P(ExactTest, ThousandsOfSteps) {
  Both b(GetParam().make, 1);
  for (int i = 0; i < 50; ++i) {
    b.steps(100);
    b.expect_equal("step " + std::to_string(100 * i));
  }
  b.expect_equal_shown();
}

TEST_P(ExactTest, RatesThatChange) {
  Both b(GetParam().make, 2);
  for (int i = 0; i < 4000; ++i) {  // warm-up, then falling in waves, with jumps
    const float warm = std::min(1.0F, static_cast<float>(i + 1) / 500.0F);
    const float wave = 1.0F + 0.9F * std::sin(0.01F * static_cast<float>(i));
    b.set_rate(i % 700 == 650 ? 0.0F : (i / 900 % 2 == 0 ? 1.0F : 0.05F) * kRate * warm * wave);
    b.steps(1);
    if (i % 37 == 0) {
      b.expect_equal("step " + std::to_string(i));
    }
  }
}

TEST_P(ExactTest, DecayAndClipping) {
  Both b(GetParam().make, 3, 0.003F);
  b.on_both([](Side& s) { s.trainer->clip_threshold = 0.01F; });
  for (int i = 0; i < 3000; ++i) {  // 0.997^3000: multiplied in six times
    b.steps(1);
    if (i % 101 == 0) {
      b.expect_equal("step " + std::to_string(i));
    }
  }
  EXPECT_GT(b.exact.trainer->clips, 100.0F);
  EXPECT_EQ(b.exact.trainer->clips, b.dense.trainer->clips);
  b.expect_equal_shown();
}

TEST_P(UnusualTest, Agree) {
  Both b(GetParam().make, 4, 0.001F);
  for (int i = 0; i < 1500; ++i) {
    b.set_rate(kRate * (i / 300 % 2 == 0 ? 1.0F : 0.1F));
    b.steps(1);
    if (i % 50 == 0) {
      b.expect_equal("step " + std::to_string(i));
    }
  }
}

// More steps than the log holds: rows catch up in between, and go on right.
TEST_P(ExactTest, TheLogIsBounded) {
  Both b(GetParam().make, 5);
  b.add_gradient(0, 7, 0.01);
  b.update();
  const std::vector<double> before = stored(b.exact.tables[0]);
  for (int i = 0; i < 66000; ++i) {
    if (i % 9000 == 0 || i == 65530) {
      b.add_gradient(0, 3, 0.01);
    }
    b.update();
    if (i > 65500 && i < 65600) {
      b.expect_equal("step " + std::to_string(i));
    }
  }
  const std::string name = GetParam().name;
  const bool moves = name != "Sgd" && name != "Adagrad" && name != "RmsProp" && name != "Adadelta";
  EXPECT_EQ(stored(b.exact.tables[0])[21] != before[21], moves);
  b.add_gradient(0, 7, 0.01);
  b.update();
  b.expect_equal();
}

// Every way to look at a model or to change it, in random order.
TEST_P(ExactTest, NothingFoolsIt) {
  for (unsigned seed = 0; seed < testing::trials(25U, 4U); ++seed) {
    Both b(GetParam().make, seed, seed % 2 == 0 ? 0.0F : 0.01F);
    const std::vector<std::pair<const char*, std::function<void(Side&)>>> actions = {
        {"values", [](Side& s) { (void)s.tables[0].values(); }},
        {"get_storage", [](Side& s) { (void)s.tables[0].get_storage(); }},
        {"lists", [](Side& s) { (void)s.model.lookup_parameters_list(); }},
        {"norm",
         [](Side& s) {
           float norm = 0.0F;
           s.tables[0].p->squared_l2norm(&norm);
         }},
        {"scale", [](Side& s) { s.tables[0].scale(0.9F); }},
        {"zero", [](Side& s) { s.tables[1].zero(); }},
        {"initialize", [](Side& s) { s.tables[0].initialize(2, {1, 2, 3}); }},
        {"copy", [](Side& s) { s.tables[0].p->copy(*s.tables[0].p); }},
        {"handle", [](Side& s) { LookupParameter(s.tables[0]).scale(1.1F); }},
        {"freeze", [](Side& s) { s.tables[0].set_updated(!s.tables[0].is_updated()); }},
        {"rate", [](Side& s) { s.trainer->learning_rate *= 0.5F; }},
        {"restart", [](Side& s) { s.trainer->restart(kRate); }},
        {"count", [](Side& s) { s.trainer->updates = 10.0F; }},
        {"collection's decay", [](Side& s) { s.model.get_weight_decay().update_weight_decay(); }},
        {"rescale", [](Side& s) { s.trainer->rescale_and_reset_weight_decay(); }},
        {"reset gradients", [](Side& s) { s.model.reset_gradient(); }},
        {"whole table",
         [](Side& s) {
           params::GradientLock lock(*s.tables[0].p);
           s.tables[0].p->state().kernels.fill(lock.data(), 0.25, 3L * Side::kRows);
           lock.written();
         }},
        {"trainer's text",
         [](Side& s) {
           std::stringstream text;
           s.trainer->save(text);
           s.trainer->populate(text);
         }},
        {"another trainer",
         [&](Side& s) {
           s.trainer = b.another_trainer(s);
           s.trainer->update();
         }},
        {"two trainers",
         [&](Side& s) {
           const auto other = b.another_trainer(s);
           other->update();
           s.trainer->update();
           other->update();
         }},
    };
    for (int i = 0; i < 300; ++i) {
      b.steps(static_cast<int>(8.0 * b.uniform()));
      const auto& [name, action] =
          actions[static_cast<std::size_t>(b.uniform() * static_cast<double>(actions.size()))];
      b.on_both(action);
      ASSERT_NO_FATAL_FAILURE(b.expect_equal(name));
    }
    b.expect_equal_shown();
  }
}

TEST_P(ExactTest, MovingAverages) {
  Both b(GetParam().make, 6, 0.01F);
  b.on_both([](Side& s) { s.trainer->exponential_moving_average(0.9F, 3); });
  for (int i = 0; i < 30; ++i) {
    b.steps(7);
    b.on_both([&](Side& s) { s.trainer->swap_params_to_moving_average(true, i % 2 == 0); });
    b.expect_equal("averages");
    if (i % 3 != 0) {  // else the update swaps back
      b.on_both([](Side& s) { s.trainer->swap_params_to_weights(); });
      b.expect_equal("weights");
    }
  }
}

TEST_P(ExactTest, ModesMayChange) {
  Both b(GetParam().make, 7);
  std::vector<LookupUpdates> modes = {LookupUpdates::kExact, LookupUpdates::kSparse,
                                      LookupUpdates::kDense};
  for (int i = 0; i < 60; ++i) {
    const LookupUpdates mode = modes[static_cast<std::size_t>(i * 7 / 3 % 3)];
    b.exact.trainer->set_lookup_updates(mode);
    b.dense.trainer->set_lookup_updates(mode == LookupUpdates::kExact ? LookupUpdates::kDense
                                                                      : mode);
    b.steps(20);
    b.expect_equal(std::to_string(i));
  }
  Trainer& t = *b.exact.trainer;
  t.set_lookup_updates(LookupUpdates::kExact);
  EXPECT_FALSE(t.sparse_updates_enabled);
  t.sparse_updates_enabled = true;
  EXPECT_EQ(t.lookup_updates(), LookupUpdates::kSparse);
}

TEST_P(ExactTest, ATableOutlivesItsTrainer) {
  Both b(GetParam().make, 8);
  b.steps(300);
  b.on_both([](Side& s) { s.trainer.reset(); });
  b.expect_equal();
  b.expect_equal_shown();
}

TEST(Exact, ReadingStoresNothingAndMayRunInThreads) {
  Both b(make<AdamTrainer>(), 9);
  b.steps(500);
  const LookupParameter& table = b.exact.tables[0];
  const std::vector<double> before = stored(table);
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const params::RunScope running(params::usage_of(*table.p));
      for (int i = 0; i < 20; ++i) {
        for (unsigned row = 0; row < Side::kRows; ++row) {
          (void)effective_row(table, row);
        }
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  const std::vector<double> whole =
      read_by(table, table.p->all_dim.elements(), [&](void* to) { params::read(*table.p, to); });
  EXPECT_EQ(stored(table), before);
  (void)table.values();
  EXPECT_NE(stored(table), before);  // rows did lag
  EXPECT_EQ(stored(table), whole);
}

TEST(Exact, ValuesAreNotStoredUnderARunningGraph) {
  Both b(make<AdamTrainer>(), 10);
  b.steps(50);
  const LookupParameter& table = b.exact.tables[0];
  const std::vector<double> before = stored(table);
  {
    const params::RunScope running(params::usage_of(*table.p));
    EXPECT_THROW((void)table.values(), errors::GraphError);
    EXPECT_THROW((void)table.get_storage(), errors::GraphError);
    EXPECT_THROW(table.initialize(0, {1, 2, 3}), errors::GraphError);
  }
  EXPECT_EQ(stored(table), before);
  (void)table.values();
  const params::RunScope running(params::usage_of(*table.p));
  EXPECT_NO_THROW((void)table.values());  // nothing lags
}

TEST(Exact, RowsAreLeftAloneUntilTheyAreNeeded) {
  Both b(make<AdamTrainer>(), 11);
  b.add_gradient(0, 5, 1.0);
  b.update();
  const std::vector<double> before = stored(b.exact.tables[0]);
  for (int i = 0; i < 100; ++i) {
    b.add_gradient(0, 0, 1.0);
    b.update();
  }
  const std::vector<double> after = stored(b.exact.tables[0]);
  EXPECT_EQ(std::vector<double>(after.begin() + 3, after.end()),
            std::vector<double>(before.begin() + 3, before.end()));
  b.expect_equal();
}

TEST(Exact, FloatsFollowToo) {
  Device* device = testing::test_device("CPU");
  for (const Rule& rule : rules()) {
    Both b(rule.make, 12);
    ParameterCollection model;
    const LookupParameter table =
        model.add_lookup_parameters(Side::kRows, {3}, ParameterInitConst(0.5F), "", device);
    auto trainer = rule.make(model);
    trainer->set_lookup_updates(LookupUpdates::kExact);
    for (int i = 0; i < 2000; ++i) {
      const auto row = static_cast<unsigned>(std::pow(b.uniform(), 6.0) * Side::kRows);
      std::vector<float> g(3);
      for (float& x : g) {
        x = static_cast<float>(0.1 * (b.uniform() - 0.3));
      }
      table.p->accumulate_grad(row, Tensor({3}, g.data(), nullptr, DeviceMempool::NONE));
      b.dense.add_gradient(b.dense.tables[0], row, {g.begin(), g.end()});
      trainer->update();
      b.dense.trainer->update();
    }
    for (unsigned row = 0; row < Side::kRows; ++row) {
      const std::vector<double> got = as_double_vector((*table.values())[row]);
      const std::vector<double> want = effective_row(b.dense.tables[0], row);
      const double factor = params::decay_factor(*table.p);
      for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_NEAR(got[i] * factor, want[i],
                    tolerance::kTrainedInFloat * std::max(1.0, std::fabs(want[i])))
            << rule.name;
      }
    }
  }
}

TEST(Exact, IsRefusedWhereNoSumOfStepsSaysIt) {
  ParameterCollection model;
  EGTrainer eg(model);
  LambTrainer lamb(model);
  for (Trainer* const t : {static_cast<Trainer*>(&eg), static_cast<Trainer*>(&lamb)}) {
    t->set_lookup_updates(LookupUpdates::kDense);
    EXPECT_THROW(t->set_lookup_updates(LookupUpdates::kExact), errors::UsageError);
    EXPECT_EQ(t->lookup_updates(), LookupUpdates::kDense);
  }
  try {
    lamb.set_lookup_updates(LookupUpdates::kExact);
  } catch (const errors::UsageError& e) {
    EXPECT_STREQ(e.what(),
                 "LambTrainer: exact updates of lookup tables: how far a row moves depends on its "
                 "norm after each step before; want sparse or dense ones");
  }
}

// A mean of u does not exist if the weights add up to nothing: here the weights of two steps.
TEST(Exact, WeightsOfBothSigns) {
  Both b(make<AdamTrainer>(0.9F, 0.999F, 0.5F), 13);
  for (int i = 0; i < 300; ++i) {
    b.add_gradient(0, 0, 0.3);
    b.set_rate(kRate);
    b.update();
    b.update();
    b.set_rate(-kRate / 0.9F * std::sqrt(0.999F));
    b.update();
    ASSERT_NO_FATAL_FAILURE(b.expect_equal(std::to_string(i)));
  }
}

}  // namespace
}  // namespace dynet
