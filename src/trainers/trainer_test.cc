#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "dynet/ext/kernels.h"
#include "dynet/training.h"

#include "params/gradient.h"

namespace dynet {
namespace {

enum class Rule { kSgd, kMomentum, kAdam, kAmsgrad };
struct Case {
  Rule rule;
  const char* device;
  LookupUpdates updates;

  bool is_sparse() const { return updates == LookupUpdates::kSparse; }
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  static const char* const rules[] = {"Sgd", "Momentum", "Adam", "Amsgrad"};
  static const char* const updates[] = {"Sparse", "Dense", "Exact"};
  return std::string(rules[static_cast<int>(info.param.rule)]) +
         (std::string(info.param.device) == "CPU" ? "Float" : "Double") +
         updates[static_cast<int>(info.param.updates)];
}
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Rule rule : {Rule::kSgd, Rule::kMomentum, Rule::kAdam, Rule::kAmsgrad}) {
    for (const char* device : {"CPU", "CPU:double"}) {
      for (const LookupUpdates updates :
           {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
        cases.push_back({rule, device, updates});
      }
    }
  }
  return cases;
}
std::unique_ptr<Trainer> make_trainer(Rule rule, ParameterCollection& model, float rate) {
  switch (rule) {
    case Rule::kSgd:
      return std::make_unique<SimpleSGDTrainer>(model, rate);
    case Rule::kMomentum:
      return std::make_unique<MomentumSGDTrainer>(model, rate);
    case Rule::kAdam:
      return std::make_unique<AdamTrainer>(model, rate);
    case Rule::kAmsgrad:
      return std::make_unique<AmsgradTrainer>(model, rate);
  }
  return nullptr;
}

/// A plain re-implementation in double of one parameter, or of one row of a table.
struct Plain {
  std::vector<double> w, g, m, v, largest;
  explicit Plain(std::vector<double> values)
      : w(std::move(values)), g(w.size()), m(w.size()), v(w.size()), largest(w.size()) {}
  void step(Rule rule, double rate, double gscale, int t) {
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = gscale * g[i];
      if (rule == Rule::kSgd) {
        w[i] -= rate * d;
        continue;
      }
      const double b1 = static_cast<double>(0.9F);
      if (rule == Rule::kMomentum) {
        m[i] = b1 * m[i] - rate * d;
        w[i] += m[i];
        continue;
      }
      const double b2 = static_cast<double>(0.999F);
      m[i] = b1 * m[i] + (1 - b1) * d;
      v[i] = b2 * v[i] + (1 - b2) * d * d;
      largest[i] = std::max(largest[i], v[i]);
      const double under = rule == Rule::kAdam ? v[i] : largest[i];
      w[i] -= rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) * m[i] /
              (std::sqrt(under) + static_cast<double>(1e-8F));
    }
  }
};

/// A model of two parameters and a table, beside its re-implementation.
class Beside {
 public:
  explicit Beside(const Case& c, float lambda = 0.0F)
      : case_(c), device_(get_device_manager()->get_global_device(c.device)), model(lambda) {
    a = model.add_parameters({3, 5}, device_);
    idle = model.add_parameters({2}, device_);
    table = model.add_lookup_parameters(kRows, {4}, ParameterInitGlorot(true), "", device_);
    plain_.emplace_back(as_double_vector(*a.values()));
    plain_.emplace_back(as_double_vector(*idle.values()));
    for (const Tensor& row : *table.values()) {
      plain_.emplace_back(as_double_vector(row));
    }
    trainer = make_trainer(c.rule, model, kRate);
    trainer->set_lookup_updates(c.updates);
  }
  /// Adds random gradients to `a` and to some rows.
  void add_gradients(double size) {
    add(*a.p, nullptr, plain_[0], size);
    for (int i = 0; i < 3; ++i) {
      const unsigned row = static_cast<unsigned>(random_() % kRows);
      touched_[row] = true;
      add(*table.p, &row, plain_[2 + row], size);
    }
  }
  void update(double lambda = 0.0) {
    double norm = 0.0;
    for (const Plain& p : plain_) {
      for (const double d : p.g) {
        norm += d * d;
      }
    }
    norm = std::sqrt(norm);
    const auto threshold = static_cast<double>(trainer->clip_threshold);
    const double gscale = trainer->clipping_enabled && norm > threshold ? threshold / norm : 1.0;
    ++steps_;
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      if (i < 2 || !case_.is_sparse() || touched_[i - 2]) {
        plain_[i].step(case_.rule, static_cast<double>(kRate), gscale, steps_);
      }
      for (double& w : plain_[i].w) {
        w *= 1.0 - lambda;
      }
      plain_[i].g.assign(plain_[i].g.size(), 0.0);
    }
    touched_.assign(kRows, false);
    trainer->update();
  }
  void expect_equal(double tolerance) {
    compare(as_double_vector(*a.values()), plain_[0].w, 1.0, tolerance);
    compare(as_double_vector(*idle.values()), plain_[1].w, 1.0, tolerance);
    for (unsigned r = 0; r < kRows; ++r) {
      compare(as_double_vector((*table.values())[r]), plain_[2 + r].w,
              params::decay_factor(*table.p), tolerance);
    }
  }

 private:
  static void compare(const std::vector<double>& stored, const std::vector<double>& want,
                      double factor, double tolerance) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(stored[i] * factor, want[i], tolerance * std::max(1.0, std::fabs(want[i])));
    }
  }
  void add(ParameterStorageBase& s, const unsigned* row, Plain& plain, double size) {
    std::normal_distribution<double> normal(0.0, size);
    std::vector<float> g(plain.w.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      g[i] = static_cast<float>(normal(random_));
      plain.g[i] += static_cast<double>(g[i]);
    }
    const std::vector<double> doubles(g.begin(), g.end());
    const void* data = device_->is_double() ? static_cast<const void*>(doubles.data()) : g.data();
    if (row != nullptr) {
      params::LookupGradientLock(static_cast<LookupParameterStorage&>(s)).add_row(*row, data);
      return;
    }
    params::GradientLock lock(s);
    device_->kernels->add_scaled(1.0, data, lock.data(), static_cast<std::int64_t>(g.size()),
                                 lock.fresh());
    lock.written();
  }

  static constexpr unsigned kRows = 7;
  static constexpr float kRate = 0.01F;
  Case case_;
  Device* device_;
  std::mt19937 random_{1};
  std::vector<Plain> plain_;
  std::vector<bool> touched_ = std::vector<bool>(kRows, false);
  int steps_ = 0;

 public:
  ParameterCollection model;
  Parameter a, idle;
  LookupParameter table;
  std::unique_ptr<Trainer> trainer;
};

class RuleTest : public ::testing::TestWithParam<Case> {
 protected:
  double tolerance() const { return std::string(GetParam().device) == "CPU" ? 1e-4 : 1e-10; }
};
INSTANTIATE_TEST_SUITE_P(Rules, RuleTest, ::testing::ValuesIn(all_cases()), name_of);

TEST_P(RuleTest, HundredsOfStepsAgreeWithThePlainRule) {
  Beside b(GetParam());
  for (int i = 0; i < 400; ++i) {
    b.add_gradients(0.25);
    if (i % 7 == 0) {
      b.add_gradients(0.25);
    }  // two backward passes before one update
    b.update();
    ASSERT_EQ(b.model.gradient_l2_norm(), 0.0F);
  }
  b.expect_equal(tolerance());
  EXPECT_EQ(b.trainer->updates, 400.0F);
  EXPECT_EQ(b.trainer->clips, 0.0F);
}

TEST_P(RuleTest, ClippingScalesTheWholeGradient) {
  Beside b(GetParam());
  for (int i = 0; i < 100; ++i) {
    b.add_gradients(i % 2 == 0 ? 10.0 : 0.1);
    b.update();
  }
  // The norm is float: the scale agrees to seven digits.
  b.expect_equal(1e-4);
  EXPECT_EQ(b.trainer->clips, 50.0F);
  EXPECT_EQ(b.trainer->clips_since_status, 50.0F);
  b.trainer->clipping_enabled = false;
  b.add_gradients(10.0);
  b.update();
  b.expect_equal(1e-4);
  EXPECT_EQ(b.trainer->clips, 50.0F);
}

TEST_P(RuleTest, DecayShrinksEffectiveValues) {
  Beside b(GetParam(), 0.02F);
  bool rescaled = false;
  double before = 1.0;
  for (int i = 0; i < 200; ++i) {  // 0.98^200: the table's factor is multiplied in twice
    b.add_gradients(0.25);
    b.update(static_cast<double>(0.02F));
    const double factor = params::decay_factor(*b.table.p);
    rescaled = rescaled || factor > before;
    before = factor;
  }
  EXPECT_TRUE(rescaled);
  b.expect_equal(tolerance());
  EXPECT_LT(b.table.current_weight_decay(), 1.0F);
  EXPECT_EQ(b.a.current_weight_decay(), 1.0F);
  b.trainer->rescale_and_reset_weight_decay();
  EXPECT_EQ(b.table.current_weight_decay(), 1.0F);
  b.expect_equal(tolerance());
}

TEST_P(RuleTest, StorageThatAUserHoldsGivesTheSame) {
  Beside b(GetParam());
  ParameterStorage& a = b.a.get_storage();
  LookupParameterStorage& table = b.table.get_storage();
  for (int i = 0; i < 50; ++i) {
    b.add_gradients(0.25);
    b.update();
    ASSERT_EQ(as_vector(a.g), std::vector<float>(15));
    ASSERT_EQ(as_vector(table.all_grads), std::vector<float>(28));
  }
  b.expect_equal(tolerance());
}

TEST_P(RuleTest, WholeTableGradientsUpdateAllRows) {
  Case dense = GetParam();
  dense.updates = LookupUpdates::kDense;
  Beside b(dense);
  b.trainer->set_lookup_updates(GetParam().updates);
  for (int i = 0; i < 20; ++i) {
    b.add_gradients(0.25);
    {
      params::GradientLock lock(*b.table.p);
      lock.written();
    }  // as after a use of the whole table
    b.update();
  }
  b.expect_equal(tolerance());
}

TEST_P(RuleTest, ANormThatIsNotANumberChangesNothing) {
  Beside b(GetParam());
  b.add_gradients(0.25);
  b.update();
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> before = as_vector(*b.a.values());
    std::vector<float> numbers(15, bad);
    b.a.p->accumulate_grad(Tensor({3, 5}, numbers.data(), nullptr, DeviceMempool::NONE));
    EXPECT_THROW(b.trainer->update(), NumericError);
    EXPECT_EQ(as_vector(*b.a.values()), before);
    EXPECT_EQ(b.model.gradient_l2_norm(), 0.0F);
    EXPECT_EQ(b.trainer->updates, 1.0F);
  }
  b.add_gradients(0.25);
  b.update();
  b.expect_equal(tolerance());
}

TEST_P(RuleTest, StateComesBackFromText) {
  Beside b(GetParam());
  Beside c(GetParam());
  c.a.set_value(as_vector(*b.a.values()));
  c.idle.set_value(as_vector(*b.idle.values()));
  c.table.p->copy(*b.table.p);
  b.trainer->clip_threshold = 3.0F;
  for (int i = 0; i < 10; ++i) {
    b.add_gradients(0.25);
    c.add_gradients(0.25);
    b.update();
  }
  std::stringstream text;
  const auto flags = text.flags();
  b.trainer->save(text);
  EXPECT_EQ(text.flags(), flags);
  c.trainer->populate(text);
  EXPECT_EQ(c.trainer->clip_threshold, 3.0F);
  EXPECT_EQ(c.trainer->updates, 10.0F);
  // Both go on alike.
  c.model.reset_gradient();
  c.a.set_value(as_vector(*b.a.values()));
  c.idle.set_value(as_vector(*b.idle.values()));
  c.table.p->copy(*b.table.p);
  std::stringstream again;
  b.trainer->save(again);
  std::stringstream other;
  c.trainer->save(other);
  EXPECT_EQ(again.str(), other.str());
  for (int i = 0; i < 5; ++i) {
    b.add_gradients(0.25);
    c.add_gradients(0.25);
    b.trainer->update();
    c.trainer->update();
  }
  if (std::string(GetParam().device) == "CPU") {
    EXPECT_EQ(as_vector(*b.a.values()), as_vector(*c.a.values()));
    EXPECT_EQ(as_vector(b.table.get_storage().all_values),
              as_vector(c.table.get_storage().all_values));
  }
}

TEST(Trainer, FrozenParametersStayAsTheyAre) {
  ParameterCollection model(0.5F);
  Parameter p = model.add_parameters({1}, ParameterInitConst(1));
  LookupParameter l = model.add_lookup_parameters(1, {1}, ParameterInitConst(1));
  p.set_updated(false);
  l.set_updated(false);
  AdamTrainer trainer(model);
  float one = 1.0F;
  p.p->accumulate_grad(Tensor({1}, &one, nullptr, DeviceMempool::NONE));
  trainer.update();
  EXPECT_EQ(as_vector(*p.values()), std::vector<float>{1});
  EXPECT_EQ(p.current_weight_decay(), 1.0F);
  EXPECT_EQ(l.current_weight_decay(), 1.0F);
}

TEST(Trainer, OneFactorWhereverATableIsSeenFrom) {
  ParameterCollection model(0.1F);
  ParameterCollection sub = model.add_subcollection("s");
  LookupParameter l = sub.add_lookup_parameters(1, {1}, ParameterInitConst(1));
  SimpleSGDTrainer over_sub(sub);
  over_sub.update();
  SimpleSGDTrainer over_all(model);
  over_all.update();
  EXPECT_FLOAT_EQ(l.current_weight_decay(), 0.81F);
}

TEST(Trainer, PicksUpNewParametersAndKeepsTheCollection) {
  auto model = std::make_unique<ParameterCollection>();
  AdamTrainer trainer(*model);
  trainer.update();
  Parameter p = model->add_parameters({2}, ParameterInitConst(1));
  LookupParameter l = model->add_lookup_parameters(2, {2}, ParameterInitConst(1));
  model.reset();
  std::vector<float> g{1, -1};
  p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
  l.p->accumulate_grad(1, Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
  trainer.update();
  EXPECT_EQ(trainer.aux_allocated, 1U);
  EXPECT_EQ(trainer.aux_allocated_lookup, 1U);
  EXPECT_LT(as_vector(*p.values())[0], 1.0F);
  EXPECT_GT(as_vector((*l.values())[1])[1], 1.0F);
  EXPECT_EQ(as_vector((*l.values())[0])[1], 1.0F);
}

TEST(Trainer, OldNamesOfTheRate) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.5F);
  EXPECT_EQ(trainer.eta, 0.5F);
  EXPECT_EQ(trainer.eta0, 0.5F);
  trainer.eta = 0.25F;
  EXPECT_EQ(trainer.learning_rate, 0.25F);
  trainer.update_epoch();
  EXPECT_EQ(trainer.learning_rate, 0.25F);
  trainer.eta_decay = 1.0F;
  trainer.update_epoch();
  EXPECT_FLOAT_EQ(trainer.learning_rate, 0.5F / 3.0F);
  trainer.restart(0.1F);
  EXPECT_EQ(trainer.learning_rate, 0.1F);
}

TEST(Trainer, UpdateWithAScale) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model, 1.0F);
  float g = 4.0F;
  const Tensor gradient({1}, &g, nullptr, DeviceMempool::NONE);
  p.p->accumulate_grad(gradient);
  trainer.update(0.25F);
  EXPECT_EQ(as_vector(*p.values())[0], -1.0F);
  p.p->accumulate_grad(gradient);
  trainer.update(2.5F);  // 10, clipped to 5
  EXPECT_EQ(as_vector(*p.values())[0], -6.0F);
  EXPECT_EQ(trainer.clips, 1.0F);
}

TEST(Trainer, StatusGoesToStderrAndNothingElseDoes) {
  ::testing::internal::CaptureStderr();
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.5F);
  trainer.update();
  trainer.update_epoch();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  trainer.status();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "[lr=0.5 clips=0 updates=1] ");
  EXPECT_EQ(trainer.updates_since_status, 0.0F);
  EXPECT_EQ(trainer.updates, 1.0F);
}

TEST(Trainer, ARunningGraphIsReported) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1});
  SimpleSGDTrainer trainer(model);
  const params::RunScope running(params::usage_of(*p.p));
  EXPECT_THROW(trainer.update(), GraphError);
  EXPECT_EQ(trainer.updates, 0.0F);
}

TEST(Trainer, RestartForgetsTheMoments) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(1));
  AdamTrainer trainer(model);
  float g = 1.0F;
  p.p->accumulate_grad(Tensor({1}, &g, nullptr, DeviceMempool::NONE));
  trainer.update();
  trainer.restart();
  const float before = as_vector(*p.values())[0];
  trainer.update();  // no gradient and no momentum: nothing moves
  EXPECT_EQ(as_vector(*p.values())[0], before);
  EXPECT_EQ(trainer.updates, 2.0F);
}

/// A trainer as programs write it.
struct HalvingTrainer : Trainer {
  using Trainer::Trainer;
  void restart() override {}

 protected:
  void update_rule(real gscale, const std::vector<Tensor*>& values) override {
    for (int i = 0; i < static_cast<int>(values[0]->d.size()); ++i) {
      TensorTools::set_element(*values[0], i,
                               TensorTools::access_element(*values[0], i) -
                                   0.5F * gscale * TensorTools::access_element(*values[1], i));
    }
  }
  void update_params(real gscale, std::size_t idx) override {
    auto& p = model->parameters_list()[idx];
    update_rule(gscale, {&p->values, &p->g});
  }
  void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) override {
    auto& p = model->lookup_parameters_list()[idx];
    update_rule(gscale, {&p->values[lidx], &p->grads[lidx]});
  }
  void update_lookup_params(real gscale, std::size_t idx) override {
    auto& p = model->lookup_parameters_list()[idx];
    update_rule(gscale, {&p->all_values, &p->all_grads});
  }
};

TEST(Trainer, UsersCanWriteTheirOwn) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  LookupParameter l = model.add_lookup_parameters(2, {1}, ParameterInitConst(0));
  HalvingTrainer trainer(model, 1.0F);
  float g = 2.0F;
  const Tensor gradient({1}, &g, nullptr, DeviceMempool::NONE);
  for (int i = 0; i < 3; ++i) {
    p.p->accumulate_grad(gradient);
    l.p->accumulate_grad(1, gradient);
    trainer.update();
  }
  EXPECT_EQ(as_vector(*p.values())[0], -3.0F);
  EXPECT_EQ(as_vector(l.get_storage().all_values), (std::vector<float>{0, -3}));
}

}  // namespace
}  // namespace dynet
