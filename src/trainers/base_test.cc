// The behaviour common to all trainers, whatever their rule.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/ext/additions.h"
#include "dynet/trainers/all.h"
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

/// The values with which a graph computes.
float effective(const ParameterStorageBase& s) {
  std::vector<float> x(static_cast<std::size_t>(s.state().elements));
  const params::Buffer buffer(s.state().device, s.state().elements, "test");
  params::read(s, buffer.data());
  s.state().device.memory->copy_out(buffer.data(), x.data(), x.size() * sizeof(float));
  return x[0];
}

TEST(Trainer, FrozenParametersAreNotDecayedByTheTrainerEither) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1}, ParameterInitConst(1));
  LookupParameter l = model.add_lookup_parameters(1, {1}, ParameterInitConst(1));
  const Parameter other = model.add_parameters({1}, ParameterInitConst(1));
  p.set_updated(false);
  l.set_updated(false);
  AdamWTrainer trainer(model, 0.1F, 0.9F, 0.999F, 1e-8F, 1.0F);
  trainer.update();
  EXPECT_EQ(effective(*p.p), 1.0F);
  EXPECT_EQ(effective(*l.p), 1.0F);
  EXPECT_FLOAT_EQ(effective(*other.p), 0.9F);
  p.set_updated(true);
  l.set_updated(true);
  trainer.update();
  EXPECT_FLOAT_EQ(effective(*p.p), 0.9F);
  EXPECT_FLOAT_EQ(effective(*l.p), 0.9F);
}

/// Trains for some updates without a gradient and for one with it, on parameters of the collection
/// `place`, by trainers of the whole model or of a sub-collection of the rate 0.25.
void decay(std::size_t place, double rate, bool trains_all, LookupUpdates how) {
  ParameterCollection model(0.1F);
  ParameterCollection own = model.add_subcollection("own", 0.25F);
  ParameterCollection inherits = model.add_subcollection("inherits");
  const std::vector<ParameterCollection*> places{&model, &own, &inherits};
  const Parameter p = places[place]->add_parameters({1}, ParameterInitConst(1));
  const LookupParameter l = places[place]->add_lookup_parameters(2, {1}, ParameterInitConst(1));
  const auto expect = [&](double want) {
    EXPECT_NEAR(effective(*p.p), want, tolerance::kFewInFloat) << place;
    EXPECT_NEAR(effective(*l.p), want, tolerance::kFewInFloat) << place;
  };
  ParameterCollection& trained = trains_all ? model : own;
  MomentumSGDTrainer trainer(trained);
  trainer.set_lookup_updates(how);
  for (int i = 0; i < 12; ++i) {  // 0.75^12: the table's factor is multiplied in
    trainer.update();
  }
  if (&trained == &own && place != 1) {
    expect(1.0);
    return;
  }
  const double left = std::pow(1.0 - rate, 12.0);
  expect(left);
  // A gradient moves the effective value by the rate, whatever the factor is.
  float g = 1.0F;
  p.p->accumulate_grad(Tensor({1}, &g, nullptr, DeviceMempool::NONE));
  l.p->accumulate_grad(0, Tensor({1}, &g, nullptr, DeviceMempool::NONE));
  SimpleSGDTrainer step(trained, 0.5F);
  step.update();
  expect((left - 0.5) * (1.0 - rate));
}

// A parameter, dense or table, is decayed at the rate of its own collection, for every trainer and
// from every collection above.
TEST(Trainer, DecayInSubCollectionsHasOneMeaning) {
  const std::vector<double> rates{0.1, 0.25, 0.1};
  for (const LookupUpdates how :
       {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
    for (std::size_t place = 0; place < rates.size(); ++place) {
      decay(place, rates[place], true, how);
      decay(place, rates[place], false, how);
    }
  }
}

TEST(Trainer, ClipsByValueAndThenByNorm) {
  ParameterCollection model;
  Parameter p = model.add_parameters({3}, ParameterInitConst(0));
  LookupParameter l = model.add_lookup_parameters(2, {2}, ParameterInitConst(0));
  SimpleSGDTrainer trainer(model, 1.0F);
  std::vector<float> g{0.5F, -8.0F, 3.0F};
  const auto add = [&] {
    p.p->accumulate_grad(Tensor({3}, g.data(), nullptr, DeviceMempool::NONE));
    l.p->accumulate_grad(1, Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
  };
  trainer.clip_value = 2.0F;
  add();
  trainer.update();
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{-0.5F, 2.0F, -2.0F}));
  EXPECT_EQ(as_vector((*l.values())[1]), (std::vector<float>{-0.5F, 2.0F}));
  EXPECT_EQ(as_vector((*l.values())[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(trainer.clips, 0.0F);
  // By norm, after the limit of values: sqrt(0.5 + 3 * 4), here divided by the same number.
  trainer.clip_threshold = 1.0F;
  p.set_value({0, 0, 0});
  add();
  trainer.update();
  const float norm = std::sqrt(12.5F);
  EXPECT_NEAR(as_vector(*p.values())[1], 2.0F / norm, tolerance::kFewInFloat);
  EXPECT_EQ(trainer.clips, 1.0F);
  // Without a norm, of gradients that a scale makes larger.
  trainer.clipping_enabled = false;
  p.set_value({0, 0, 0});
  add();
  trainer.update(-2.0F);
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{1.0F, -2.0F, 2.0F}));
}

TEST(Trainer, ClippingByValueHidesNothing) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2}, ParameterInitConst(1));
  AdamTrainer trainer(model);
  trainer.clip_value = 1.0F;
  for (const bool by_norm : {true, false}) {
    trainer.clipping_enabled = by_norm;
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      std::vector<float> g{0.5F, bad};
      p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
      EXPECT_THROW(trainer.update(), errors::NumericError);
      EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{1, 1}));
    }
    // A norm beyond the floats is none after clipping by value.
    std::vector<float> g{3e38F, 3e38F};
    p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
    EXPECT_NO_THROW(trainer.update());
    p.set_value({1, 1});
  }
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN()}) {
    trainer.clip_value = bad;
    EXPECT_THROW(trainer.update(), errors::ValueError);
  }
  EXPECT_EQ(trainer.updates, 2.0F);
}

TEST(Trainer, ADecayThatLeavesNothingIsRefused) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(1));
  for (const float decay : {10.0F, -0.1F}) {
    LionTrainer trainer(model, 0.1F, 0.9F, 0.99F, decay);
    EXPECT_THROW(trainer.update(), errors::ValueError) << decay;
    EXPECT_EQ(effective(*p.p), 1.0F);
  }
}

TEST(Trainer, ExponentiatedGradientsWantPositiveParameters) {
  ParameterCollection model;
  const Parameter good = model.add_parameters({2}, ParameterInitConst(1));
  EGTrainer trainer(model);
  trainer.update();
  EXPECT_EQ(as_vector(*good.values()), (std::vector<float>{0.5F, 0.5F}));
  Parameter p = model.add_parameters({2}, ParameterInitFromVector({1.0F, -1.0F}), "edge");
  const auto refused = [&](const std::string& wanted) {
    try {
      trainer.update();
      ADD_FAILURE() << wanted;
    } catch (const errors::ValueError& e) {
      EXPECT_NE(std::string(e.what()).find(wanted), std::string::npos) << e.what();
    }
    EXPECT_EQ(trainer.updates, 1.0F);
  };
  refused("element 1 of /edge is -1; want numbers of at least 0");
  p.set_value({0, 0});
  refused("/edge, is 0 everywhere");
  p.set_value({0, 1});
  LookupParameter l = model.add_lookup_parameters(2, {2}, ParameterInitConst(0));
  refused("row 0, is 0 everywhere");
  l.set_updated(false);
  trainer.update();
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{0, 1}));
}

TEST(Trainer, ExponentiatedGradientsInCycles) {
  ParameterCollection model;
  EGTrainer trainer(model, 0.3F);
  trainer.enableCyclicalLR(0.5F, 1.5F, 4.0F, 1.0F);
  std::vector<float> rates;
  for (int i = 0; i < 6; ++i) {
    rates.push_back(trainer.learning_rate);
    trainer.update();
  }
  EXPECT_EQ(rates, (std::vector<float>{0.3F, 0.5F, 0.75F, 1.0F, 1.25F, 1.5F}));
  trainer.enableCyclicalLR(0.5F, 1.5F, 4.0F);  // gamma is 0
  for (int i = 0; i < 6; ++i) {
    trainer.update();
    EXPECT_EQ(trainer.learning_rate, 0.5F);
  }
}

TEST(Trainer, OneFactorWhereverATableIsSeenFrom) {
  ParameterCollection model(0.1F);
  ParameterCollection sub = model.add_subcollection("s");
  const LookupParameter l = sub.add_lookup_parameters(1, {1}, ParameterInitConst(1));
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
  const Parameter p = model->add_parameters({2}, ParameterInitConst(1));
  const LookupParameter l = model->add_lookup_parameters(2, {2}, ParameterInitConst(1));
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

/// Trainers keep the state of parameters by place in the collection.
TEST(Trainer, WhatWasUpdatedIsTakenOutNoMore) {
  const auto check = [](auto make) {
    ParameterCollection model;
    model.add_parameters({2});
    const auto trainer = make(model);
    ext::Additions early(model);
    model.add_parameters({4});
    early.undo();
    ext::Additions late(model);
    model.add_lookup_parameters(2, {4});
    trainer->update();
    EXPECT_THROW(late.undo(), errors::UsageError);
    model.add_parameters({300});
    model.add_lookup_parameters(500, {3});
    trainer->update();
    trainer->restart();
    EXPECT_EQ(trainer->aux_allocated, 2U);
    EXPECT_EQ(trainer->aux_allocated_lookup, 2U);
  };
  check([](ParameterCollection& m) { return std::make_unique<AdamTrainer>(m); });
  check([](ParameterCollection& m) { return std::make_unique<SimpleSGDTrainer>(m); });
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
  const Parameter p = model.add_parameters({1}, ParameterInitConst(0));
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
  const Parameter p = model.add_parameters({1});
  SimpleSGDTrainer trainer(model);
  const params::RunScope running(params::usage_of(*p.p));
  EXPECT_THROW(trainer.update(), errors::GraphError);
  EXPECT_EQ(trainer.updates, 0.0F);
}

TEST(Trainer, RestartForgetsTheMoments) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(1));
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
  const Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  CyclicalSGDTrainer trainer(model, 0.5F, 1.5F, 4.0F);
  float g = -1.0F;
  const Tensor gradient({1}, &g, nullptr, DeviceMempool::NONE);
  double moved = 0.0;
  std::stringstream half_way;
  // The rate of each update; the first two have the minimum.
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
  const Parameter p = model.add_parameters({1}, ParameterInitConst(0));
  const LookupParameter l = model.add_lookup_parameters(2, {1}, ParameterInitConst(0));
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

/// A trainer that divides the steps of a table by the pending factor of its stored values.
struct DividingTrainer : HalvingTrainer {
  using HalvingTrainer::HalvingTrainer;

 protected:
  void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) override {
    const LookupParameter table(model->lookup_parameters_list()[idx]);
    HalvingTrainer::update_lookup_params(gscale / table.current_weight_decay(), idx, lidx);
  }
};

TEST(Trainer, AUsersStepsOfATableThatDecays) {
  const auto train = [](auto make) {
    ParameterCollection model(0.1F);
    const LookupParameter l = model.add_lookup_parameters(1, {1}, ParameterInitConst(1));
    const auto trainer = make(model);
    float g = -1.0F;
    for (int i = 0; i < 8; ++i) {
      l.p->accumulate_grad(0, Tensor({1}, &g, nullptr, DeviceMempool::NONE));
      trainer->update();
    }
    EXPECT_LT(l.current_weight_decay(), 0.5F) << "else this tests nothing";
    EXPECT_EQ(model.get_weight_decay().current_weight_decay(), 1.0F);
    return as_vector(l.get_storage().all_values)[0] * l.current_weight_decay();
  };
  const auto by = [&]<class T>(std::type_identity<T>, real rate) {
    return train([rate](ParameterCollection& model) { return std::make_unique<T>(model, rate); });
  };
  const float wanted = by(std::type_identity<SimpleSGDTrainer>(), 0.5F);
  EXPECT_FLOAT_EQ(by(std::type_identity<DividingTrainer>(), 1.0F), wanted);
  EXPECT_NE(by(std::type_identity<HalvingTrainer>(), 1.0F), wanted);
}

/// Steps each parameter twice.
struct TwiceTrainer : SimpleSGDTrainer {
  using SimpleSGDTrainer::SimpleSGDTrainer;

 protected:
  void update_params(real gscale, std::size_t idx) override {
    SimpleSGDTrainer::update_params(gscale, idx);
    SimpleSGDTrainer::update_params(gscale, idx);
  }
};

TEST(Trainer, AUsersTwoStepsOfAParameter) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({40}, ParameterInitConst(1));
  TwiceTrainer trainer(model, 0.5F);
  std::vector<float> g(40, 0.25F);
  p.p->accumulate_grad(Tensor({40}, g.data(), nullptr, DeviceMempool::NONE));
  trainer.update();
  EXPECT_EQ(as_vector(*p.values()), std::vector<float>(40, 0.75F));
}

/// Fails at one parameter, once.
struct StoppingTrainer : MomentumSGDTrainer {
  using MomentumSGDTrainer::MomentumSGDTrainer;
  bool fails = true;

 protected:
  void update_params(real gscale, std::size_t idx) override {
    if (fails && idx == 2) {
      fails = false;
      throw errors::StateError("once");
    }
    MomentumSGDTrainer::update_params(gscale, idx);
  }
};

/// Parameters before the failure have their update, once, and the next update has nothing left of
/// the one that failed. Some devices step parameters together, at the end.
TEST(Trainer, AnUpdateThatFailsEndsItsParameters) {
  ParameterCollection model;
  std::vector<Parameter> all;
  all.reserve(4);
  for (int i = 0; i < 4; ++i) {
    all.push_back(model.add_parameters({2}, ParameterInitConst(1)));
  }
  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1));
  StoppingTrainer trainer(model, 0.5F, 0.0F);
  trainer.clipping_enabled = false;
  float g[] = {2.0F, 2.0F};
  const auto add = [&] {
    for (const Parameter& p : all) {
      p.p->accumulate_grad(Tensor({2}, g, nullptr, DeviceMempool::NONE));
    }
    table.p->accumulate_grad(1, Tensor({2}, g, nullptr, DeviceMempool::NONE));
  };
  const auto values = [&] {
    std::vector<float> found;
    found.reserve(all.size());
    for (const Parameter& p : all) {
      found.push_back(as_vector(*p.values())[1]);
    }
    found.push_back(as_vector(table.get_storage().all_values)[2]);
    return found;
  };
  add();
  EXPECT_THROW(trainer.update(), errors::StateError);
  EXPECT_EQ(values(), (std::vector<float>{0, 0, 1, 1, 1}));
  model.reset_gradient();
  add();
  trainer.update();
  EXPECT_EQ(values(), (std::vector<float>{-1, -1, 0, 0, 0}));
}

/// Fails at one row, once; and has rows updated by a program's own call.
struct FailingTrainer : MomentumSGDTrainer {
  using MomentumSGDTrainer::momentum;
  using MomentumSGDTrainer::MomentumSGDTrainer;
  void update_row(std::size_t row) { MomentumSGDTrainer::update_lookup_params(1.0F, 0, row); }
  bool fails = true;
  int open = 0;

 protected:
  using MomentumSGDTrainer::update_lookup_params;
  void update_lookup_params(real gscale, std::size_t idx, std::size_t lidx) override {
    if (fails && lidx == 2) {
      fails = false;
      throw errors::StateError("once");
    }
    MomentumSGDTrainer::update_lookup_params(gscale, idx, lidx);
  }
  void begin_rows(real gscale, std::size_t idx) override {
    ++open;
    MomentumSGDTrainer::begin_rows(gscale, idx);
  }
  void end_rows() override {
    --open;
    MomentumSGDTrainer::end_rows();
  }
};

/// Facts common to the rows of an update end with it, also after an error.
TEST(Trainer, AnUpdateThatFailsEndsItsRows) {
  ParameterCollection model;
  const LookupParameter l = model.add_lookup_parameters(8, {1}, ParameterInitConst(0));
  FailingTrainer trainer(model, 0.5F, 0.5F);
  float g = 2.0F;
  const auto add = [&](unsigned row) {
    l.p->accumulate_grad(row, Tensor({1}, &g, nullptr, DeviceMempool::NONE));
  };
  for (const unsigned row : {0U, 2U, 3U, 4U, 5U}) {
    add(row);
  }
  EXPECT_THROW(trainer.update(), errors::StateError);
  EXPECT_EQ(trainer.open, 0);
  trainer.momentum = 0.0F;
  model.reset_gradient();
  add(0);
  trainer.update_row(0);  // with the rule of now, not of the update that failed
  EXPECT_EQ(as_vector(l.get_storage().all_values)[0], -2.0F);
  EXPECT_EQ(trainer.open, -1) << "end_rows is told after a row by itself, too";
}

}  // namespace
}  // namespace dynet
