// Updates of some parameters, and trainers that declare overrides as in 2.1.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/training.h"

#include "testing/errors.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

struct Model {
  ParameterCollection parameters;
  Parameter a = parameters.add_parameters({1}, ParameterInitConst(1));
  Parameter b = parameters.add_parameters({1}, ParameterInitConst(1));
  LookupParameter table = parameters.add_lookup_parameters(2, {1}, ParameterInitConst(1));
  LookupParameter other = parameters.add_lookup_parameters(2, {1}, ParameterInitConst(1));

  /// All gradients 2, of the tables in row 1.
  void give_gradients() {
    float two = 2.0F;
    const Tensor gradient({1}, &two, nullptr, DeviceMempool::NONE);
    a.p->accumulate_grad(gradient);
    b.p->accumulate_grad(gradient);
    table.p->accumulate_grad(1, gradient);
    other.p->accumulate_grad(1, gradient);
  }
  [[nodiscard]] Floats values() {
    return {as_vector(*a.values())[0], as_vector(*b.values())[0],
            as_vector(table.get_storage().all_values)[1],
            as_vector(other.get_storage().all_values)[1]};
  }
};

TEST(Subset, OnlyTheListedParametersMove) {
  Model m;
  SimpleSGDTrainer trainer(m.parameters, 0.25F);
  trainer.clipping_enabled = false;
  m.give_gradients();
  trainer.update({1}, {0});
  EXPECT_EQ(m.values(), (Floats{1, 0.5F, 0.5F, 1}));
  EXPECT_TRUE(m.a.is_updated());
  EXPECT_TRUE(m.other.is_updated());
  // Gradients of the listed parameters are used up; the others waited.
  trainer.update();
  EXPECT_EQ(m.values(), (Floats{0.5F, 0.5F, 0.5F, 0.5F}));
}

TEST(Subset, TheNormIsThatOfWhatIsUpdated) {
  Model m;
  SimpleSGDTrainer trainer(m.parameters, 1.0F);
  trainer.clip_threshold = 1.0F;
  m.give_gradients();
  trainer.update({0}, {});
  EXPECT_FLOAT_EQ(m.values()[0], 0.0F);  // the norm is 2, not 4
}

TEST(Subset, WhatIsFrozenStaysFrozen) {
  Model m;
  m.b.set_updated(false);
  SimpleSGDTrainer trainer(m.parameters, 0.25F);
  m.give_gradients();
  trainer.update({0, 1}, {0, 1});
  EXPECT_EQ(m.values()[1], 1.0F);
  EXPECT_FALSE(m.b.is_updated());
}

TEST(Subset, AnUnknownPlaceChangesNothing) {
  Model m;
  SimpleSGDTrainer trainer(m.parameters, 0.25F);
  m.give_gradients();
  EXPECT_EQ(testing::text_of_error<errors::IndexError>([&] { trainer.update({0}, {2}); }),
            "update: lookup parameters[2] of a collection that has 2");
  EXPECT_THROW(trainer.update({5}, {}), errors::IndexError);
  EXPECT_EQ(m.values(), (Floats{1, 1, 1, 1}));
  EXPECT_TRUE(m.a.is_updated() && m.table.is_updated());
}

TEST(Subset, AFailedUpdateLeavesNothingFrozen) {
  Model m;
  SimpleSGDTrainer trainer(m.parameters, 0.25F);
  trainer.learning_rate = 1.0F / 0.0F;
  EXPECT_THROW(trainer.update({0}, {}), errors::ValueError);
  EXPECT_TRUE(m.a.is_updated() && m.b.is_updated() && m.table.is_updated());
}

/// Moves against the sign of the gradient, written with the macro of 2.1.
struct SignTrainer : Trainer {
  explicit SignTrainer(ParameterCollection& m, real rate) : Trainer(m, rate) {}
  using Trainer::restart;
  void restart() override {}

 protected:
  DYNET_TRAINER_DEFINE_DEV_IMPL()
};

struct HostDevice {};
template <class MyDevice>
void SignTrainer::update_rule_dev(const MyDevice& /*dev*/, real gscale,
                                  const std::vector<Tensor*>& values) {
  for (unsigned i = 0; i < values[0]->d.size(); ++i) {
    values[0]->v[i] -= learning_rate * (gscale * values[1]->v[i] > 0.0F ? 1.0F : -1.0F);
  }
}
void SignTrainer::update_rule(real gscale, const std::vector<Tensor*>& values) {
  update_rule_dev(HostDevice(), gscale, values);
}
void SignTrainer::update_params(real gscale, std::size_t idx) {
  ParameterStorage& p = *model->parameters_list()[idx];
  update_rule(gscale, {&p.values, &p.g});
}
void SignTrainer::update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) {
  LookupParameterStorage& p = *model->lookup_parameters_list()[idx];
  update_rule(gscale, {&p.values[lidx], &p.grads[lidx]});
}
void SignTrainer::update_lookup_params(real gscale, std::size_t idx) {
  LookupParameterStorage& p = *model->lookup_parameters_list()[idx];
  update_rule(gscale, {&p.all_values, &p.all_grads});
}

TEST(TrainerMacro, DeclaresWhatATrainerOverrides) {
  if (!default_device->is_host_visible()) {
    GTEST_SKIP() << "the trainer of the test changes numbers by itself";
  }
  Model m;
  SignTrainer trainer(m.parameters, 0.25F);
  m.give_gradients();
  trainer.update();
  EXPECT_EQ(m.values(), (Floats{0.75F, 0.75F, 0.75F, 0.75F}));
}

}  // namespace
}  // namespace dynet
