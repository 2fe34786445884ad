#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <utility>

#include "dynet/ext/kernels.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

#include "params/gradient.h"
#include "params/host.h"
#include "support/far_device.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

enum class Rule {
  kSgd,
  kMomentum,
  kAdam,
  kAmsgrad,
  kAdagrad,
  kRmsProp,
  kAdadelta,
  kAdamW,
  kLion,
  kLamb,
  kEg
};
constexpr Rule kAllRules[] = {Rule::kSgd,     Rule::kMomentum, Rule::kAdam,     Rule::kAmsgrad,
                              Rule::kAdagrad, Rule::kRmsProp,  Rule::kAdadelta, Rule::kAdamW,
                              Rule::kLion,    Rule::kLamb,     Rule::kEg};
constexpr float kOwnDecay = 0.3F;  // of AdamW, Lion and LAMB
struct Case {
  Rule rule;
  const char* device;
  LookupUpdates updates;

  bool is_sparse() const { return updates == LookupUpdates::kSparse; }
};
std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  static const char* const rules[] = {"Sgd",     "Momentum", "Adam",     "Amsgrad",
                                      "Adagrad", "RmsProp",  "Adadelta", "AdamW",
                                      "Lion",    "Lamb",     "Eg"};
  static const char* const updates[] = {"Sparse", "Dense", "Exact"};
  return std::string(rules[static_cast<int>(info.param.rule)]) +
         (std::string(info.param.device) == "CPU" ? "Float" : "Double") +
         updates[static_cast<int>(info.param.updates)];
}
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Rule rule : kAllRules) {
    for (const char* device : {"CPU", "CPU:double"}) {
      for (const LookupUpdates updates :
           {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
        const bool refuses = rule == Rule::kLamb || rule == Rule::kEg;
        if (!refuses || updates != LookupUpdates::kExact) {
          cases.push_back({rule, device, updates});
        }
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
    case Rule::kAdagrad:
      return std::make_unique<AdagradTrainer>(model, rate);
    case Rule::kRmsProp:
      return std::make_unique<RMSPropTrainer>(model, rate);
    case Rule::kAdadelta:
      return std::make_unique<AdadeltaTrainer>(model);
    case Rule::kAdamW:
      return std::make_unique<AdamWTrainer>(model, rate, 0.9F, 0.999F, 1e-8F, kOwnDecay);
    case Rule::kLion:
      return std::make_unique<LionTrainer>(model, rate, 0.9F, 0.99F, kOwnDecay);
    case Rule::kLamb:
      return std::make_unique<LambTrainer>(model, rate, 0.9F, 0.999F, 1e-6F, kOwnDecay);
    case Rule::kEg:
      return std::make_unique<EGTrainer>(model, rate);
  }
  return nullptr;
}

/// A plain re-implementation in double of one parameter, or of one row of a table.
struct Plain {
  std::vector<double> w, g, m, v, largest;
  explicit Plain(std::vector<double> values)
      : w(std::move(values)), g(w.size()), m(w.size()), v(w.size()), largest(w.size()) {}
  static double norm(const std::vector<double>& x) {
    double sum = 0.0;
    for (const double e : x) {
      sum += e * e;
    }
    return std::sqrt(sum);
  }
  void lamb(double rate, double gscale, int t) {
    const double b1 = static_cast<double>(0.9F);
    const double b2 = static_cast<double>(0.999F);
    std::vector<double> u(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = b1 * m[i] + (1 - b1) * gscale * g[i];
      v[i] = b2 * v[i] + (1 - b2) * gscale * g[i] * gscale * g[i];
      u[i] = m[i] / (1 - std::pow(b1, t)) /
                 (std::sqrt(v[i] / (1 - std::pow(b2, t))) + static_cast<double>(1e-6F)) +
             static_cast<double>(kOwnDecay) * w[i];
    }
    const double trust = norm(w) > 0.0 && norm(u) > 0.0 ? norm(w) / norm(u) : 1.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      w[i] -= rate * trust * u[i];
    }
  }
  void exponentiated_gradient(double rate, double gscale) {
    double sum = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      m[i] = static_cast<double>(0.9F) * m[i] - rate * gscale * g[i];
      w[i] *= std::exp(m[i]);
      sum += w[i];
    }
    for (double& x : w) {
      x /= sum;
    }
  }
  void lion(double rate, double gscale) {
    const double b1 = static_cast<double>(0.9F);
    const double b2 = static_cast<double>(0.99F);
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double c = b1 * m[i] + (1 - b1) * gscale * g[i];
      w[i] -= c == 0.0 ? 0.0 : std::copysign(rate, c);
      m[i] = b2 * m[i] + (1 - b2) * gscale * g[i];
    }
  }
  void step(Rule rule, double rate, double gscale, int t) {
    if (rule == Rule::kLamb || rule == Rule::kEg || rule == Rule::kLion) {
      rule == Rule::kLamb ? lamb(rate, gscale, t)
      : rule == Rule::kEg ? exponentiated_gradient(rate, gscale)
                          : lion(rate, gscale);
      return;
    }
    for (std::size_t i = 0; i < w.size(); ++i) {
      const double d = gscale * g[i];
      if (rule == Rule::kSgd) {
        w[i] -= rate * d;
        continue;
      }
      if (rule == Rule::kAdadelta) {
        const double rho = static_cast<double>(0.95F);
        const double eps = static_cast<double>(1e-6F);
        v[i] = rho * v[i] + (1.0 - rho) * d * d;
        const double change = -d * std::sqrt(m[i] + eps) / std::sqrt(v[i] + eps);
        m[i] = rho * m[i] + (1.0 - rho) * change * change;
        w[i] += change;
        continue;
      }
      if (rule == Rule::kAdagrad || rule == Rule::kRmsProp) {
        const double rho = rule == Rule::kRmsProp ? static_cast<double>(0.95F) : 1.0;
        v[i] = rho * v[i] + (rule == Rule::kRmsProp ? 1.0 - rho : 1.0) * d * d;
        w[i] -= rate * d / std::sqrt(v[i] + static_cast<double>(1e-20F));
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
      const double under = rule == Rule::kAmsgrad ? largest[i] : v[i];
      w[i] -= rate * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t)) * m[i] /
              (std::sqrt(under) + static_cast<double>(1e-8F));
    }
  }
};

/// A model of two parameters and a table, beside its re-implementation.
class Beside {
 public:
  explicit Beside(const Case& c, float lambda = 0.0F)
      : case_(c), device_(testing::test_device(c.device)), model(lambda) {
    const ParameterInitUniform values(c.rule == Rule::kEg ? 0.1F : -0.8F, 0.9F);
    a = model.add_parameters({3, 5}, values, "", device_);
    idle = model.add_parameters({2}, values, "", device_);
    table = model.add_lookup_parameters(kRows, {4}, values, "", device_);
    plain_.emplace_back(as_double_vector(*a.values()));
    plain_.emplace_back(as_double_vector(*idle.values()));
    for (const Tensor& row : *table.values()) {
      plain_.emplace_back(as_double_vector(row));
    }
    trainer = make_trainer(c.rule, model, kRate);
    trainer->set_lookup_updates(c.updates);
  }
  /// Everything that an update may change, as stored.
  std::string all() {
    std::stringstream text;
    trainer->save(text);
    const auto add_numbers = [&](const Tensor& t) {
      for (const double x : as_double_vector(t)) {
        text << ' ' << x;
      }
    };
    add_numbers(*a.values());
    add_numbers(*idle.values());
    for (const Tensor& row : *table.values()) {
      add_numbers(row);
    }
    return text.str();
  }
  void add_bad(bool to_table, float bad) {
    const params::Buffer numbers(*device_, 15, "gradient");
    device_->kernels->fill(numbers.data(), static_cast<double>(bad), 15);
    if (to_table) {
      params::LookupGradientLock(*table.p).add_row(3, numbers.data());
      return;
    }
    params::GradientLock lock(*a.p);
    device_->kernels->add_scaled(1.0, numbers.data(), lock.data(), 15, lock.fresh());
    lock.written();
  }
  /// Takes back the notes of add_gradients() since the last update.
  void forget_gradients() {
    for (Plain& p : plain_) {
      p.g.assign(p.g.size(), 0.0);
    }
    touched_.assign(kRows, false);
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
    const bool decays = case_.rule == Rule::kAdamW || case_.rule == Rule::kLion;
    for (std::size_t i = 0; i < plain_.size(); ++i) {
      for (double& w : plain_[i].w) {  // untouched rows too: a table is decayed as a whole
        w *= decays ? 1.0 - static_cast<double>(kRate) * static_cast<double>(kOwnDecay) : 1.0;
      }
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
    const auto n = static_cast<std::int64_t>(g.size());
    const params::Buffer there(*device_, n, "gradient");
    params::copy_in(*device_, g.data(), there.data(), n);
    if (row != nullptr) {
      params::LookupGradientLock(static_cast<LookupParameterStorage&>(s))
          .add_row(*row, there.data());
      return;
    }
    params::GradientLock lock(s);
    device_->kernels->add_scaled(1.0, there.data(), lock.data(), n, lock.fresh());
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
  double tolerance() const {
    return std::string(GetParam().device) == "CPU" ? tolerance::kTrainedInFloat
                                                   : tolerance::kMergedInDouble;
  }
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
  b.expect_equal(tolerance::kTrainedInFloat);
  EXPECT_EQ(b.trainer->clips, 50.0F);
  EXPECT_EQ(b.trainer->clips_since_status, 50.0F);
  b.trainer->clipping_enabled = false;
  b.add_gradients(10.0);
  b.update();
  b.expect_equal(tolerance::kTrainedInFloat);
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

TEST_P(RuleTest, AGradientThatIsNotFiniteChangesNothing) {
  Beside b(GetParam());
  for (int i = 0; i < 12; ++i) {
    b.add_gradients(0.25);
    b.update();
    const bool clips = i % 2 == 0;
    b.trainer->clipping_enabled = clips;
    const std::string before = b.all();
    b.add_gradients(0.25);
    b.add_bad(i % 4 < 2, i % 3 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                    : std::numeric_limits<float>::infinity());
    EXPECT_THROW(b.trainer->update(), errors::NumericError);
    b.forget_gradients();
    EXPECT_EQ(b.all(), before);
    EXPECT_EQ(b.model.gradient_l2_norm(), 0.0F);
    EXPECT_EQ(b.trainer->updates, static_cast<float>(i + 1));
  }
  EXPECT_EQ(b.trainer->clips, 0.0F);
  b.add_gradients(0.25);
  b.update();
  b.expect_equal(tolerance());
}

// Without clipping a norm beyond the floats is no reason to stop.
TEST_P(RuleTest, LargeGradientsAreFiniteWithoutClipping) {
  Beside b(GetParam());
  b.trainer->clipping_enabled = false;
  b.add_bad(false, 3e38F);
  EXPECT_NO_THROW(b.trainer->update());
  b.trainer->clipping_enabled = true;
  b.add_bad(false, 3e38F);
  EXPECT_THROW(b.trainer->update(), errors::NumericError);
}

TEST_P(RuleTest, ABadSettingIsNamedAndChangesNothing) {
  Beside b(GetParam());
  b.add_gradients(0.25);
  b.update();
  b.add_gradients(0.25);
  const float norm = b.model.gradient_l2_norm();
  const std::string before = b.all();
  const auto refused = [&](float& setting, float bad, const std::string& wanted) {
    const float good = std::exchange(setting, bad);
    try {
      b.trainer->update();
      ADD_FAILURE() << wanted;
    } catch (const errors::ValueError& e) {
      EXPECT_NE(std::string(e.what()).find(wanted), std::string::npos) << e.what();
    }
    setting = good;
    EXPECT_EQ(b.all(), before);
    EXPECT_EQ(b.model.gradient_l2_norm(), norm);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  refused(b.trainer->learning_rate, kNan, "learning_rate is nan");
  refused(b.trainer->learning_rate, -kInfinity, "learning_rate is -inf");
  refused(b.trainer->clip_threshold, kNan, "clip_threshold is nan");
  refused(b.trainer->clip_threshold, -1.0F, "clip_threshold is -1");
  EXPECT_THROW(b.trainer->update(kNan), errors::ValueError);
  EXPECT_THROW(b.trainer->restart(kNan), errors::ValueError);
  if (GetParam().rule != Rule::kAdadelta) {  // which has no rate
    EXPECT_THROW((void)make_trainer(GetParam().rule, b.model, kInfinity), errors::ValueError);
  }
  EXPECT_EQ(b.all(), before);
  b.trainer->clip_threshold = kInfinity;  // no limit
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

}  // namespace
}  // namespace dynet
