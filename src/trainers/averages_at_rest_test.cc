// Moving averages of tables against means that are kept here, number by number, in double. Most
// rows rest, and an update leaves their averages alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dynet/except.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

#include "params/access.h"
#include "params/gradient.h"
#include "params/stored.h"
#include "support/far_device.h"
#include "testing/sanitized.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Doubles = std::vector<double>;

constexpr float kRate = 0.05F;
constexpr float kLambda = 0.01F;

struct Kind {
  const char* name;
  double beta;  ///< below 0: cumulative
  unsigned freq = 1;
};
constexpr std::array kKinds = {Kind{"Cumulative", -1.0},
                               Kind{"Exponential", 0.9},
                               Kind{"Slow", 0.999},
                               Kind{"TheLast", 0.0},
                               Kind{"CumulativeEveryThird", -1.0, 3},
                               Kind{"ExponentialEveryThird", 0.5, 3},
                               Kind{"EveryTwoHundredth", 0.5, 200}};

void ask_for_average(Trainer& trainer, const Kind& kind) {
  if (kind.beta < 0.0) {
    trainer.cumulative_moving_average(kind.freq);
  } else {
    trainer.exponential_moving_average(static_cast<float>(kind.beta), kind.freq);
  }
}

/// The table's rows as graphs read them, without catching up.
Doubles rows_of(const LookupParameter& table) {
  const Device& device = table.p->state().device;
  const params::Buffer numbers(device, table.p->all_dim.elements(), "test");
  for (unsigned row = 0; row < table.p->rows(); ++row) {
    params::read_row(*table.p, row, numbers.data() + row * table.p->state().row_bytes);
  }
  Doubles x(static_cast<std::size_t>(table.p->all_dim.elements()));
  device.memory->copy_out(numbers.data(), x.data(), x.size() * sizeof(double));
  return x;
}

/// The averages of a few tables, over all numbers.
class Means {
 public:
  explicit Means(const Kind& kind) : kind_(kind) {}
  void step(const std::vector<Doubles>& values) {
    if (updates_++ % kind_.freq != 0) {
      return;
    }
    const double n = taken_++;
    const double keep =
        kind_.beta < 0.0 ? n / (n + 1.0) : static_cast<double>(static_cast<float>(kind_.beta));
    means_.resize(values.size());
    for (std::size_t t = 0; t < values.size(); ++t) {
      means_[t].resize(values[t].size(), 0.0);
      for (std::size_t i = 0; i < values[t].size(); ++i) {
        means_[t][i] = (keep == 0.0 ? 0.0 : keep * means_[t][i]) + (1.0 - keep) * values[t][i];
      }
    }
  }
  [[nodiscard]] const std::vector<Doubles>& now() const { return means_; }

 private:
  Kind kind_;
  unsigned updates_ = 0;
  unsigned taken_ = 0;
  std::vector<Doubles> means_;
};

using MakeTrainer = std::function<std::unique_ptr<Trainer>(ParameterCollection&)>;
struct Rule {
  const char* name;
  LookupUpdates how;
  MakeTrainer make;
};
template <class T>
Rule rule(const char* name, LookupUpdates how) {
  return {name, how, [](ParameterCollection& m) { return std::make_unique<T>(m, kRate); }};
}
std::vector<Rule> rules() {
  return {rule<SimpleSGDTrainer>("Sgd", LookupUpdates::kSparse),
          rule<AdamWTrainer>("AdamW", LookupUpdates::kSparse),
          rule<MomentumSGDTrainer>("MomentumExact", LookupUpdates::kExact),
          rule<AdamTrainer>("AdamExact", LookupUpdates::kExact),
          rule<AmsgradTrainer>("AmsgradExact", LookupUpdates::kExact),
          rule<RMSPropTrainer>("RmsPropExact", LookupUpdates::kExact),
          rule<LionTrainer>("LionExact", LookupUpdates::kExact),
          {"AdamOfManyBlocksExact", LookupUpdates::kExact,
           [](ParameterCollection& m) {
             return std::make_unique<AdamTrainer>(m, kRate, 0.9F, 0.9F, 0.1F);
           }},
          rule<AdamTrainer>("AdamDense", LookupUpdates::kDense)};
}

/// Two tables under one trainer, and the wanted averages.
class Watched {
 public:
  Watched(const Rule& how, const Kind& kind, float lambda, unsigned seed = 1)
      : rule(how), model(lambda), means(kind), random_(seed), lambda_(lambda) {
    Device* const device = testing::test_device("CPU:double");
    dense = model.add_parameters({3}, ParameterInitConst(0.5F), "", device);
    tables.push_back(model.add_lookup_parameters(kRows, {3}, ParameterInitConst(2), "", device));
    tables.push_back(model.add_subcollection("s").add_lookup_parameters(
        kRows, {2}, ParameterInitConst(-1), "", device));
    trainer = how.make(model);
    trainer->set_lookup_updates(how.how);
    ask_for_average(*trainer, kind);
  }

  void add_gradient(std::size_t table, unsigned row, double size) {
    StorageState& s = tables[table].p->state();
    Doubles g(static_cast<std::size_t>(s.row_elements()));
    for (double& x : g) {
      x = size * (uniform() - 0.3);
    }
    const params::Buffer there(s.device, s.row_elements(), "test");
    s.device.memory->copy_in(g.data(), there.data(), g.size() * sizeof(double));
    params::LookupGradientLock(*tables[table].p).add_row(row, there.data());
  }
  /// Low rows often, high ones hardly ever, the last never.
  void add_gradients() {
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const auto row = static_cast<unsigned>(std::pow(uniform(), 3.0) * kRows);
      if (row < kRows - 3 && uniform() < 0.7) {
        add_gradient(t, row, 1.0);
      }
    }
  }
  /// An update, and its part of the means: of the values before their decay.
  void update() {
    trainer->update();
    note_update();
  }
  void note_update() {
    std::vector<Doubles> values;
    for (const LookupParameter& table : tables) {
      values.push_back(rows_of(table));
      const double shrunk = table.is_updated() ? 1.0 - static_cast<double>(lambda_) : 1.0;
      for (double& x : values.back()) {
        x /= shrunk;
      }
    }
    means.step(values);
  }
  void steps(int n) {
    for (int i = 0; i < n; ++i) {
      add_gradients();
      update();
    }
  }
  /// Swaps them in and out.
  void expect_means(const std::string& when) {
    trainer->swap_params_to_moving_average();
    expect_rows(when);
    trainer->swap_params_to_weights();
  }
  void expect_rows(const std::string& when) const {
    for (std::size_t t = 0; t < tables.size(); ++t) {
      const Doubles got = rows_of(tables[t]);
      const Doubles& want = means.now()[t];
      for (std::size_t i = 0; i < want.size(); ++i) {
        if (std::isfinite(want[i])) {
          ASSERT_NEAR(got[i], want[i],
                      tolerance::kMissedUpdates * std::max(std::fabs(want[i]), double{kRate}))
              << when << ": table " << t << ", row " << i / (want.size() / kRows);
        } else {
          ASSERT_EQ(std::isnan(got[i]), std::isnan(want[i])) << when << ", number " << i;
          ASSERT_TRUE(std::isnan(want[i]) || got[i] == want[i]) << when << ", number " << i;
        }
      }
    }
  }
  double uniform() { return std::uniform_real_distribution<double>()(random_); }

  using StorageState = detail::StorageState;
  static constexpr unsigned kRows = 40;
  Rule rule;
  ParameterCollection model;
  Parameter dense;
  std::vector<LookupParameter> tables;
  std::unique_ptr<Trainer> trainer;
  Means means;

 private:
  std::mt19937 random_;
  float lambda_;
};

class AtRest : public ::testing::TestWithParam<std::tuple<Rule, Kind>> {
 protected:
  [[nodiscard]] static const Rule& rule_of() { return std::get<0>(GetParam()); }
  [[nodiscard]] static const Kind& kind_of() { return std::get<1>(GetParam()); }
};
using RuleAndKind = std::tuple<Rule, Kind>;
std::string name_of_both(const ::testing::TestParamInfo<RuleAndKind>& both) {
  return std::string(std::get<0>(both.param).name) + std::get<1>(both.param).name;
}
INSTANTIATE_TEST_SUITE_P(All, AtRest,
                         ::testing::Combine(::testing::ValuesIn(rules()),
                                            ::testing::ValuesIn(kKinds)),
                         name_of_both);

TEST_P(AtRest, ThenRead) {
  Watched w(rule_of(), kind_of(), 0.0F);
  w.steps(30);
  w.expect_means("at first");
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 37 * i; ++j) {
      w.update();
    }
    w.expect_means("at rest");
  }
}

TEST_P(AtRest, ThenUpdated) {
  Watched w(rule_of(), kind_of(), kLambda);
  for (int i = 0; i < 15; ++i) {
    w.add_gradient(0, 7, 1.0);
    w.update();
    for (int j = 0; j < i * i; ++j) {
      w.add_gradient(1, 3, 1.0);
      w.update();
    }
  }
  w.expect_means("after all");
}

TEST_P(AtRest, RatesThatChangeAndFactorsThatAreMultipliedIn) {
  Watched w(rule_of(), kind_of(), kLambda);
  for (int i = 0; i < 500; ++i) {  // 0.99^500: multiplied in three times
    w.trainer->learning_rate = kRate * (i % 100 < 50 ? 1.0F : 0.1F);
    w.steps(1);
  }
  w.expect_means("after all");
}

// Every way to change a model between updates or to look at it, in random order; in the end nobody
// has looked at the averages since long.
struct Action {
  const char* name;
  std::function<void(Watched&)> run;
};

void write_row(LookupParameter& table, unsigned row, float value) {
  Tensor& t = (*table.values())[row];
  TensorTools::set_elements(t, std::vector<float>(t.d.size(), value));
}
void fill_whole_gradient(Watched& w) {
  detail::StorageState& s = w.tables[0].p->state();
  params::GradientLock lock(*w.tables[0].p);
  s.kernels.fill(lock.data(), 0.25, s.elements);
  lock.written();
}

std::vector<Action> changes() {
  return {
      {"scale", [](Watched& w) { w.tables[0].scale(0.9F); }},
      {"zero", [](Watched& w) { w.tables[1].zero(); }},
      {"initialize", [](Watched& w) { w.tables[0].initialize(2, {1, 2, 3}); }},
      {"copy",
       [](Watched& w) {
         ParameterCollection other;
         const LookupParameter from = other.add_lookup_parameters(
             Watched::kRows, {3}, ParameterInitConst(4), "", w.tables[0].p->device);
         w.tables[0].p->copy(*from.p);
       }},
      {"values from a file",
       [](Watched& w) {
         const Doubles x(Watched::kRows * std::size_t{2}, 1.5);
         params::load(*w.tables[1].p, x.data(), nullptr);
       }},
      {"values()", [](Watched& w) { write_row(w.tables[0], 39, 3.0F); }},
      {"norm",
       [](Watched& w) {
         float norm = 0.0F;
         w.tables[0].p->squared_l2norm(&norm);
       }},
      {"settle_values", [](Watched& w) { w.tables[0].p->settle_values(); }},
      {"freeze", [](Watched& w) { w.tables[0].set_updated(!w.tables[0].is_updated()); }},
      {"collection's decay", [](Watched& w) { w.model.get_weight_decay().update_weight_decay(); }},
      {"rescale", [](Watched& w) { w.trainer->rescale_and_reset_weight_decay(); }},
      {"whole table", fill_whole_gradient},
  };
}
std::vector<Action> uses_of_trainers() {
  return {
      {"rate", [](Watched& w) { w.trainer->learning_rate *= 0.9F; }},
      {"restart", [](Watched& w) { w.trainer->restart(kRate); }},
      {"dense", [](Watched& w) { w.trainer->set_lookup_updates(LookupUpdates::kDense); }},
      {"sparse", [](Watched& w) { w.trainer->set_lookup_updates(LookupUpdates::kSparse); }},
      {"exact", [](Watched& w) { w.trainer->set_lookup_updates(LookupUpdates::kExact); }},
      {"subset",
       [](Watched& w) {
         w.add_gradient(0, 1, 1.0);
         w.trainer->update({0}, {1});
         // The other table neither moved nor decayed.
         const bool was_updated = w.tables[0].is_updated();
         w.tables[0].set_updated(false);
         w.note_update();
         w.tables[0].set_updated(was_updated);
       }},
      {"refused",
       [](Watched& w) {
         w.add_gradient(0, 5, std::numeric_limits<double>::quiet_NaN());
         if (w.tables[0].is_updated()) {
           EXPECT_THROW(w.trainer->update(), errors::NumericError);
         }
         w.model.reset_gradient();
       }},
      {"averages in and out", [](Watched& w) { w.expect_means("in and out"); }},
      {"averages in",
       [](Watched& w) {
         w.trainer->swap_params_to_moving_average();
         w.expect_rows("in");
         w.update();  // it puts the values back
       }},
      {"trainer's text",
       [](Watched& w) {
         std::stringstream text;
         w.trainer->save(text);
         w.trainer = w.rule.make(w.model);
         w.trainer->set_lookup_updates(w.rule.how);
         w.trainer->populate(text);
       }},
      {"another trainer",
       [](Watched& w) {
         const auto other = w.rule.make(w.model);
         w.add_gradients();
         other->set_lookup_updates(w.trainer->lookup_updates());
         other->update();
         w.steps(3);
         w.add_gradients();
         other->update();
       }},
      {"two with averages",
       [](Watched& w) {
         const auto other = w.rule.make(w.model);
         other->cumulative_moving_average();
         for (int i = 0; i < 3; ++i) {
           w.add_gradients();
           other->update();
           w.steps(2);
         }
       }},
  };
}

TEST_P(AtRest, NothingFoolsIt) {
  std::vector<Action> actions = changes();
  for (Action& action : uses_of_trainers()) {
    actions.push_back(std::move(action));
  }
  for (unsigned seed = 0; seed < testing::trials(10U, 2U); ++seed) {
    Watched w(rule_of(), kind_of(), seed % 2 == 0 ? 0.0F : kLambda, seed);
    w.steps(5);
    for (int i = 0; i < 60; ++i) {
      w.steps(static_cast<int>(6.0 * w.uniform()));
      const Action& action =
          actions[static_cast<std::size_t>(w.uniform() * static_cast<double>(actions.size()))];
      action.run(w);
      ASSERT_FALSE(HasFailure()) << action.name;
      if (w.uniform() < 0.2) {
        ASSERT_NO_FATAL_FAILURE(w.expect_means(action.name));
      }
    }
    ASSERT_NO_FATAL_FAILURE(w.expect_means("the end"));
  }
}

// One change at a time, between updates that nobody looks at: none can hide another.
TEST_P(AtRest, EachChangeByItself) {
  std::vector<Action> actions = changes();
  for (Action& action : uses_of_trainers()) {
    actions.push_back(std::move(action));
  }
  for (const Action& action : actions) {
    Watched w(rule_of(), kind_of(), kLambda);
    w.steps(20);
    action.run(w);
    w.steps(20);
    ASSERT_NO_FATAL_FAILURE(w.expect_means(action.name));
  }
}

// A reference may be written through at any time, also updates after it was asked for.
TEST_P(AtRest, AReferenceThatIsKept) {
  Watched w(rule_of(), kind_of(), 0.0F);
  w.steps(10);
  LookupParameterStorage& kept = w.tables[0].get_storage();
  for (int i = 0; i < 10; ++i) {
    TensorTools::set_elements(kept.values[38], {1.0F, -1.0F, static_cast<float>(i)});
    w.steps(4);
  }
  w.expect_means("after all");
}

TEST_P(AtRest, RowsThatAreNotFinite) {
  Watched w(rule_of(), kind_of(), 0.0F);
  const float inf = std::numeric_limits<float>::infinity();
  w.steps(5);
  w.tables[0].initialize(10, {inf, -inf, 1.0F});
  w.tables[0].initialize(11, {std::numeric_limits<float>::quiet_NaN(), 1.0F, 2.0F});
  for (int i = 0; i < 300; ++i) {
    w.add_gradient(1, 3, 1.0);
    w.update();
  }
  w.expect_means("after all");
}

class AtRestFor : public AtRest {};
INSTANTIATE_TEST_SUITE_P(All, AtRestFor,
                         ::testing::Combine(::testing::Values(rules()[0], rules()[3]),
                                            ::testing::ValuesIn(kKinds)),
                         name_of_both);

struct Column {
  Column(const Rule& rule, unsigned rows, LookupUpdates how)
      : table(model.add_lookup_parameters(rows, {1}, ParameterInitConst(2), "",
                                          testing::test_device("CPU:double"))),
        trainer(rule.make(model)) {
    trainer->set_lookup_updates(how);
  }
  void add_one(unsigned row) {
    const detail::StorageState& s = table.p->state();
    const params::Buffer one(s.device, 1, "test");
    s.kernels.fill(one.data(), 1.0, 1);
    params::LookupGradientLock(*table.p).add_row(row, one.data());
  }
  ParameterCollection model;
  LookupParameter table;
  std::unique_ptr<Trainer> trainer;
};

/// A table of many rows, whose log is long, and the three used rows alone in a densely updated
/// table.
TEST_P(AtRestFor, TensOfThousandsOfUpdates) {
  constexpr unsigned kRows = 70000;
  constexpr std::array<unsigned, 3> kUsed = {0, 35000, 69999};
  Column all(rule_of(), kRows, rule_of().how);
  Column used(rule_of(), kUsed.size(), LookupUpdates::kDense);
  ask_for_average(*all.trainer, kind_of());
  Means means(kind_of());
  for (int i = 0; i < 70000; ++i) {
    for (unsigned k = 0; k < kUsed.size(); ++k) {  // often, seldom, once
      if (i % 1000 == 0 && (k == 0 || (k == 1 && i == 60000) || i == 0)) {
        all.add_one(kUsed[k]);
        used.add_one(k);
      }
    }
    all.trainer->update();
    used.trainer->update();
    means.step({rows_of(used.table)});
  }
  all.trainer->swap_params_to_moving_average();
  const Doubles got = rows_of(all.table);
  for (std::size_t k = 0; k < kUsed.size(); ++k) {
    const double want = means.now()[0][k];
    EXPECT_NEAR(got[kUsed[k]], want,
                tolerance::kMissedUpdates * std::max(std::fabs(want), double{kRate}))
        << k;
  }
  EXPECT_EQ(got[1], got[69998]);
}

/// An update does not touch the averages of rows that it does not change, on every device (a call
/// costs more on a device with memory of its own, so the rows are long).
TEST(AtRestOf, ALargeTable) {
  constexpr unsigned kRows = 40;
  constexpr unsigned kSize = 40000;
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(kRows, {kSize}, ParameterInitConst(2),
                                                            "", testing::test_device("CPU:double"));
  detail::StorageState& s = table.p->state();
  const params::Buffer ones(s.device, kSize, "test");
  s.kernels.fill(ones.data(), 1.0, kSize);

  struct Open : SimpleSGDTrainer {
    using SimpleSGDTrainer::SimpleSGDTrainer;
    [[nodiscard]] Doubles stored(const Device& device) const {
      Doubles x(std::size_t{kRows} * kSize);
      device.memory->copy_out(ma_lp[0].all_h.v, x.data(), x.size() * sizeof(double));
      return x;
    }
  };
  Open trainer(model, 0.001F);
  trainer.clipping_enabled = false;
  trainer.cumulative_moving_average();
  double value = 2.0;
  double mean = 0.0;
  for (int i = 0; i < 10; ++i) {
    params::LookupGradientLock(*table.p).add_row(5, ones.data());
    trainer.update();
    value -= static_cast<double>(0.001F);
    mean += (value - mean) / (i + 1.0);
  }
  const Doubles before = trainer.stored(s.device);
  EXPECT_EQ(before[0], 0.0);          // it rested
  EXPECT_NE(before[5 * kSize], 0.0);  // it lags by the last step alone
  EXPECT_NE(before[5 * kSize], mean);
  trainer.swap_params_to_moving_average();
  const Doubles after = rows_of(table);
  EXPECT_NEAR(after[0], 2.0, tolerance::kMissedUpdates);
  EXPECT_NEAR(after[6 * kSize - 1], mean, tolerance::kMissedUpdates);
  EXPECT_NEAR(after[6 * kSize], 2.0, tolerance::kMissedUpdates);
}

/// Copies of a trainer share averages, as they share all state.
TEST(AtRestOf, CopiesOfATrainer) {
  const Kind kind{"", 0.9};
  Watched w(rules()[0], kind, 0.0F);
  w.steps(10);
  SimpleSGDTrainer copy(dynamic_cast<const SimpleSGDTrainer&>(*w.trainer));
  for (int i = 0; i < 5; ++i) {
    w.add_gradients();
    copy.update();
    w.note_update();
    w.steps(3);
  }
  w.expect_means("of both");
}

/// A trainer that is gone leaves rows that have yet to move, and no averages.
TEST(AtRestOf, AModelThatOutlivesItsTrainer) {
  for (const Rule& how : rules()) {
    const Kind kind{"", 0.9};
    Watched w(how, kind, 0.0F);
    w.steps(10);
    w.trainer = how.make(w.model);
    EXPECT_TRUE(w.tables[0].p->state().averages.expired());
    w.tables[0].set_updated(false);
    w.trainer->set_lookup_updates(how.how);
    ask_for_average(*w.trainer, kind);
    w.means = Means(kind);
    w.steps(10);
    ASSERT_NO_FATAL_FAILURE(w.expect_means(how.name));
  }
}

}  // namespace
}  // namespace dynet
