// Updates that threads share: the same bits as on one, for every rule and setting.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "dynet/init.h"
#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "kernels/team.h"
#include "testing/on_threads.h"

namespace dynet {
namespace {

constexpr unsigned kRows = 400;

/// A setting that a program may choose for updates.
struct Setting {
  const char* name;
  LookupUpdates how = LookupUpdates::kSparse;
  float decay = 0.0F;
  float threshold = 1e9F;
  float limit = std::numeric_limits<float>::infinity();
  bool has_average = false;
  bool has_subset = false;
  bool has_frozen = false;
};
constexpr std::array kSettings = {
    Setting{.name = "plain"},
    Setting{.name = "clipped", .threshold = 0.5F},
    Setting{.name = "clipped by value, exact, decay",
            .how = LookupUpdates::kExact,
            .decay = 0.01F,
            .limit = 0.01F},
    Setting{.name = "dense, averages", .how = LookupUpdates::kDense, .has_average = true},
    Setting{.name = "averages, decay, subsets",
            .decay = 0.02F,
            .has_average = true,
            .has_subset = true},
    Setting{.name = "exact, frozen", .how = LookupUpdates::kExact, .has_frozen = true},
};

/// A large parameter, a small one, and a table; each longer than a part of a shared loop but one.
struct Model {
  explicit Model(float decay)
      : all(decay),
        large(all.add_parameters({300, 51}, ParameterInitUniform(0.1F, 1.0F))),
        small(all.add_parameters({7}, ParameterInitUniform(0.1F, 1.0F))),
        other(all.add_parameters({5000}, ParameterInitUniform(0.1F, 1.0F))),
        table(all.add_lookup_parameters(kRows, {37}, ParameterInitUniform(0.1F, 1.0F))) {}

  void draw_gradients(unsigned step) {
    std::mt19937 random(step);
    std::normal_distribution<float> normal(0.0F, 0.1F);
    for (Parameter* p : {&large, &small, &other}) {
      if (step % 3 == 2 && p == &other) {
        continue;  // a parameter without a gradient
      }
      give(
          p->dim(), [&](const Tensor& g) { p->p->accumulate_grad(g); },
          [&] { return normal(random); });
    }
    for (unsigned n = 0; n < 150; ++n) {
      const unsigned row = static_cast<unsigned>(random()) % kRows;
      give(
          {37}, [&](const Tensor& g) { table.p->accumulate_grad(row, g); },
          [&] { return normal(random); });
    }
  }
  template <class Take, class Draw>
  static void give(const Dim& dim, const Take& take, const Draw& draw) {
    std::vector<float> numbers(dim.size());
    std::generate(numbers.begin(), numbers.end(), draw);
    take(Tensor(dim, numbers.data(), nullptr, DeviceMempool::NONE));
  }
  [[nodiscard]] std::vector<float> values() {
    std::vector<float> numbers;
    for (Parameter* p : {&large, &small, &other}) {
      const std::vector<float> some = as_vector(*p->values());
      numbers.insert(numbers.end(), some.begin(), some.end());
    }
    const std::vector<float> rows = as_vector(table.get_storage().all_values);
    numbers.insert(numbers.end(), rows.begin(), rows.end());
    return numbers;
  }

  ParameterCollection all;
  Parameter large;
  Parameter small;
  Parameter other;
  LookupParameter table;
};

/// The values after some updates; empty if the trainer refuses the setting.
template <class T>
std::vector<float> train(const Setting& setting) {
  reset_rng(3);
  Model model(setting.decay);
  T trainer(model.all);
  try {
    trainer.set_lookup_updates(setting.how);
  } catch (const errors::UsageError&) {
    return {};
  }
  trainer.clip_threshold = setting.threshold;
  trainer.clip_value = setting.limit;
  if (setting.has_average) {
    trainer.exponential_moving_average(0.9F);
  }
  model.other.set_updated(!setting.has_frozen);
  for (unsigned step = 0; step < 4; ++step) {
    model.draw_gradients(step);
    if (setting.has_subset && step == 1) {
      trainer.update({0}, {});
      trainer.update({1, 2}, {0});
    } else {
      trainer.update();
    }
  }
  if (setting.has_average) {
    trainer.swap_params_to_moving_average();
  }
  return model.values();
}

TEST(SharedUpdate, HasTheBitsOfOneThread) {
  unsigned compared = 0;
  trainers::AllTrainers::for_each([&]<class T>(const T* /*type*/) {
    for (const Setting& setting : kSettings) {
      std::vector<float> want;
      for (const unsigned n : {1U, 2U, 3U, 7U}) {
        const testing::OnThreads on(n);
        const std::uint64_t loops = kernels::team_counts().loops;
        const std::vector<float> found = train<T>(setting);
        want = n == 1 ? found : want;
        ASSERT_EQ(found, want) << T::kAbout.name << ", " << setting.name << ", " << n;
        if (default_device->is_host_visible()) {  // the loops of another device are its own
          EXPECT_EQ(kernels::team_counts().loops > loops, n > 1 && !found.empty());
        }
      }
      compared += want.empty() ? 0 : 1;
    }
  });
  EXPECT_GT(compared, 50U);
}

/// Looks at each row when its step is asked for, and may fail at a row.
struct WatchingTrainer : SimpleSGDTrainer {
  using SimpleSGDTrainer::SimpleSGDTrainer;
  unsigned skipped = kRows;
  unsigned failing = kRows;

 protected:
  using SimpleSGDTrainer::update_lookup_params;
  void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) override {
    if (lidx == failing) {
      throw errors::StateError("at a row");
    }
    if (lidx != skipped) {
      SimpleSGDTrainer::update_lookup_params(gscale, idx, lidx);
    }
  }
};

/// A row that a program's own trainer skips is not updated, and rows before its failure are, on any
/// number of threads.
TEST(SharedUpdate, AsksATrainersOwnFunctionForEachRow) {
  for (const unsigned n : {1U, 2U}) {
    const testing::OnThreads on(n);
    ParameterCollection all;
    const LookupParameter table = all.add_lookup_parameters(kRows, {3}, ParameterInitConst(0.0F));
    WatchingTrainer trainer(all, 1.0F);
    trainer.clipping_enabled = false;
    std::vector<float> numbers = {1.0F, 2.0F, 3.0F};
    const Tensor gradient({3}, numbers.data(), nullptr, DeviceMempool::NONE);
    const auto step = [&] {
      for (unsigned row = 0; row < kRows; row += 2) {
        table.p->accumulate_grad(row, gradient);
      }
      trainer.update();
    };
    trainer.skipped = 100;
    step();
    trainer.failing = 300;
    EXPECT_THROW(step(), errors::StateError);
    const std::vector<float> values = as_vector(table.get_storage().all_values);
    for (unsigned row = 0; row < kRows; ++row) {
      const float steps = row % 2 == 1 || row == 100 ? 0.0F : (row < 300 ? 2.0F : 1.0F);
      ASSERT_EQ(values[3 * row + 1], -2.0F * steps) << "row " << row;
    }
  }
}

}  // namespace
}  // namespace dynet
