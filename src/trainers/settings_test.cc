// The allowed numbers of a trainer: others change nothing, from any source.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "testing/errors.h"

namespace dynet {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

using Make = std::function<std::unique_ptr<Trainer>(ParameterCollection&)>;
template <class T, class... Settings>
Make make(Settings... settings) {
  return [=](ParameterCollection& m) { return std::make_unique<T>(m, settings...); };
}

struct CyclicalGradients : EGTrainer {
  CyclicalGradients(ParameterCollection& m, float steps) : EGTrainer(m) {
    enableCyclicalLR(0.1F, 0.2F, steps);
  }
};

const char* const kShare = "; want 0 or more and less than 1";
const char* const kWhole = "; want 0 or more and at most 1";
const char* const kEpsilon = "; want a finite number of at least 0";
const char* const kLength = "; want a finite number above 0";

struct Bad {
  Make bad, good;
  std::string setting, value, wanted;
};
std::vector<Bad> bad_settings() {
  const Make adam = make<AdamTrainer>();
  const Make adamw = make<AdamWTrainer>();
  const Make amsgrad = make<AmsgradTrainer>();
  const Make lamb = make<LambTrainer>();
  const Make lion = make<LionTrainer>();
  const Make rms = make<RMSPropTrainer>();
  const Make delta = make<AdadeltaTrainer>();
  const Make momentum = make<MomentumSGDTrainer>();
  const Make eg = make<EGTrainer>();
  return {
      {make<AdamTrainer>(0.1F, 1.5F), adam, "AdamTrainer: beta_1", "1.5", kShare},
      {make<AdamTrainer>(0.1F, 1.0F), adam, "AdamTrainer: beta_1", "1", kShare},
      {make<AdamTrainer>(0.1F, 0.9F, -2.0F), adam, "AdamTrainer: beta_2", "-2", kShare},
      {make<AdamTrainer>(0.1F, 0.9F, 0.9F, -1.0F), adam, "AdamTrainer: epsilon", "-1", kEpsilon},
      {make<AdamWTrainer>(0.1F, kNan), adamw, "AdamWTrainer: beta_1", "nan", kShare},
      {make<AdamWTrainer>(0.1F, 0.9F, 1.0F), adamw, "AdamWTrainer: beta_2", "1", kShare},
      {make<AmsgradTrainer>(0.1F, -0.1F), amsgrad, "AmsgradTrainer: beta_1", "-0.1", kShare},
      {make<AmsgradTrainer>(0.1F, 0.9F, 1.1F), amsgrad, "AmsgradTrainer: beta_2", "1.1", kShare},
      {make<LambTrainer>(0.1F, 1.0F), lamb, "LambTrainer: beta_1", "1", kShare},
      {make<LambTrainer>(0.1F, 0.9F, 1.0F), lamb, "LambTrainer: beta_2", "1", kShare},
      {make<LambTrainer>(0.1F, 0.9F, 0.9F, kInfinity), lamb, "LambTrainer: epsilon", "inf",
       kEpsilon},
      {make<LambTrainer>(0.1F, 0.9F, 0.9F, 0.0F, -0.5F), lamb, "LambTrainer: weight_decay", "-0.5",
       kEpsilon},
      {make<LionTrainer>(0.1F, 3.0F), lion, "LionTrainer: beta_1", "3", kShare},
      {make<LionTrainer>(0.1F, 0.9F, 1.5F), lion, "LionTrainer: beta_2", "1.5", kWhole},
      {make<RMSPropTrainer>(0.1F, -1.0F), rms, "RMSPropTrainer: epsilon", "-1", kEpsilon},
      {make<RMSPropTrainer>(0.1F, 1e-8F, 2.0F), rms, "RMSPropTrainer: rho", "2", kWhole},
      {make<AdadeltaTrainer>(-1.0F), delta, "AdadeltaTrainer: epsilon", "-1", kEpsilon},
      {make<AdadeltaTrainer>(1e-6F, 1.0F), delta, "AdadeltaTrainer: rho", "1", kShare},
      {make<AdagradTrainer>(0.1F, -5.0F), make<AdagradTrainer>(), "AdagradTrainer: epsilon", "-5",
       kEpsilon},
      {make<MomentumSGDTrainer>(0.1F, 7.0F), momentum, "MomentumSGDTrainer: momentum", "7", kWhole},
      {make<MomentumSGDTrainer>(0.1F, -0.5F), momentum, "MomentumSGDTrainer: momentum", "-0.5",
       kWhole},
      {make<EGTrainer>(0.1F, 1.5F), eg, "EGTrainer: momentum", "1.5", kWhole},
      {make<CyclicalGradients>(0.0F), eg, "EGTrainer: step_size", "0", kLength},
      {make<CyclicalSGDTrainer>(0.1F, 0.2F, 0.0F), nullptr, "CyclicalSGDTrainer: step_size", "0",
       kLength},
      {make<CyclicalSGDTrainer>(0.1F, kNan), nullptr, "CyclicalSGDTrainer: learning_rate_max",
       "nan", "; want a finite number"},
  };
}

struct Model {
  ParameterCollection all;
  Parameter p = all.add_parameters({2}, ParameterInitConst(0.5F));
  LookupParameter l = all.add_lookup_parameters(2, {1}, ParameterInitConst(0.5F));

  void add_gradients() const {
    std::vector<float> g{1.0F, -0.3F};
    p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
    l.p->accumulate_grad(1, Tensor({1}, g.data(), nullptr, DeviceMempool::NONE));
  }
  [[nodiscard]] std::vector<std::vector<float>> values() const {
    return {as_vector(*p.values()), as_vector((*l.values())[0]), as_vector((*l.values())[1])};
  }
};

std::string text_of(Trainer& t) {
  std::ostringstream os;
  t.save(os);
  return os.str();
}

TEST(Settings, UpdatesRefuseWhatRuinsTheModel) {
  for (const Bad& b : bad_settings()) {
    const Model model;
    ParameterCollection all = model.all;
    const auto trainer = b.bad(all);
    model.add_gradients();
    const auto before = model.values();
    const float norm = all.gradient_l2_norm();
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(testing::text_of_error<errors::ValueError>([&] { trainer->update(); }),
                b.setting + " is " + b.value + b.wanted);
      EXPECT_EQ(model.values(), before) << b.setting;
      EXPECT_EQ(all.gradient_l2_norm(), norm) << b.setting;
      EXPECT_EQ(trainer->updates, 0.0F) << b.setting;
    }
  }
}

TEST(Settings, SoDoReadersOfStates) {
  for (const Bad& b : bad_settings()) {
    if (b.good == nullptr) {  // the text has no settings
      continue;
    }
    const Model model;
    ParameterCollection all = model.all;
    const std::string text = text_of(*b.bad(all));
    const auto trainer = b.good(all);
    model.add_gradients();
    trainer->update();
    const std::string before = text_of(*trainer);
    std::istringstream in(text);
    const std::string error =
        testing::text_of_error<errors::IoError>([&] { trainer->populate(in); });
    const std::string what = b.setting.substr(b.setting.find(": "));
    EXPECT_NE(error.find(what + " is " + b.value + b.wanted), std::string::npos) << error;
    EXPECT_EQ(text_of(*trainer), before) << b.setting;
  }
}

TEST(Settings, LimitsThemselvesAreTaken) {
  for (const Make& good :
       {make<AdamTrainer>(0.1F, 0.0F, 0.0F, 0.1F), make<AmsgradTrainer>(0.1F, 0.0F, 0.0F),
        make<LambTrainer>(0.1F, 0.0F, 0.0F), make<LionTrainer>(0.1F, 0.0F, 0.0F),
        make<LionTrainer>(0.1F, 0.0F, 1.0F), make<RMSPropTrainer>(0.1F, 0.0F, 0.0F),
        make<RMSPropTrainer>(0.1F, 0.1F, 1.0F), make<AdadeltaTrainer>(0.1F, 0.0F),
        make<AdagradTrainer>(0.1F, 0.0F), make<MomentumSGDTrainer>(0.1F, 0.0F),
        make<MomentumSGDTrainer>(0.1F, 1.0F), make<EGTrainer>(0.1F, 0.0F)}) {
    const Model model;
    ParameterCollection all = model.all;
    const auto trainer = good(all);
    for (int i = 0; i < 3; ++i) {
      model.add_gradients();
      EXPECT_NO_THROW(trainer->update());
    }
    for (const float x : as_vector(*model.p.values())) {
      EXPECT_TRUE(x > -10.0F && x < 10.0F) << x;
    }
    std::istringstream in(text_of(*trainer));
    EXPECT_NO_THROW(trainer->populate(in));
  }
}

/// Settings may be changed later, by whoever derives.
struct Changing : AdamTrainer {
  using AdamTrainer::AdamTrainer;
  void set_beta_2(float b) { beta_2 = b; }
  void set_average(float b) { ema_beta = b; }
};

TEST(Settings, SetLater) {
  const Model model;
  ParameterCollection all = model.all;
  Changing trainer(all);
  trainer.exponential_moving_average(0.5F);
  trainer.update();
  trainer.set_beta_2(1.0F);
  EXPECT_THROW(trainer.update(), errors::ValueError);
  EXPECT_THROW(trainer.update({0}, {}), errors::ValueError);
  trainer.set_beta_2(0.9F);
  trainer.set_average(1.5F);
  EXPECT_EQ(testing::text_of_error<errors::ValueError>([&] { trainer.update(); }),
            std::string("moving average: beta is 1.5") + kShare);
  const std::string text = text_of(trainer);
  trainer.set_average(0.5F);
  const std::string before = text_of(trainer);
  std::istringstream in(text);
  EXPECT_NE(testing::text_of_error<errors::IoError>([&] {
              trainer.populate(in);
            }).find(std::string("ema_beta is 1.5") + kShare),
            std::string::npos);
  EXPECT_EQ(text_of(trainer), before);
  trainer.update();
  EXPECT_EQ(trainer.updates, 2.0F);
}

}  // namespace
}  // namespace dynet
