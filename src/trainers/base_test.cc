// What all trainers share, whatever their rule.
#include <gtest/gtest.h>

#include <memory>
#include <sstream>
#include <vector>

#include "dynet/training.h"

#include "params/gradient.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

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

TEST(Trainer, CyclesOfTheRate) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  CyclicalSGDTrainer trainer(model, 0.5F, 1.5F, 4.0F);
  float g = -1.0F;
  const Tensor gradient({1}, &g, nullptr, DeviceMempool::NONE);
  double moved = 0.0;
  std::stringstream half_way;
  // The rate of each update; that of the first is the minimum, as is that of the second.
  const std::vector<float> rates{0.5F,  0.5F, 0.75F, 1.0F, 1.25F, 1.5F,
                                 1.25F, 1.0F, 0.75F, 0.5F, 0.75F};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_FLOAT_EQ(trainer.learning_rate, rates[i]) << i;
    if (i == 6) {
      trainer.save(half_way);
    }
    p.p->accumulate_grad(gradient);
    trainer.update();
    moved += static_cast<double>(rates[i]);
  }
  EXPECT_NEAR(as_scalar(*p.values()), moved, tolerance::kSumsInFloat);
  CyclicalSGDTrainer again(model, 0.5F, 1.5F, 4.0F);
  again.populate(half_way);
  for (std::size_t i = 6; i < rates.size(); ++i) {
    EXPECT_FLOAT_EQ(again.learning_rate, rates[i]) << i;
    again.update();
  }
  CyclicalSGDTrainer falling(model, 0.5F, 1.5F, 2.0F, 0.5F);
  for (int i = 0; i < 3; ++i) {
    falling.update();
  }
  EXPECT_FLOAT_EQ(falling.learning_rate, 0.5F + 1.0F * 0.25F);
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
