// Names of training.h: the base of the trainers, the trainers with their arguments, and names for
// programs that derive from them.

#include <sstream>

#include "dynet/training.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::vector;

namespace {

/// The values of a parameter and a table after three updates. The gradients are small, so that the
/// smallest numbers of the rules show.
template <class T, class... Arguments>
vector<float> trained(Arguments... arguments) {
  ParameterCollection m;
  const Parameter p = m.add_parameters({3}, ParameterInitFromVector({0.5F, 0.25F, 0.25F}));
  const LookupParameter lp = m.add_lookup_parameters(2, {2}, ParameterInitConst(0.5F));
  T trainer(m, arguments...);
  for (int i = 0; i < 3; ++i) {
    p.get_storage().accumulate_grad(*p.values());
    p.get_storage().scale_gradient(1e-6F);
    lp.get_storage().accumulate_grad(1, lp.get_storage().values[1]);
    lp.get_storage().scale_gradient(1e-6F);
    trainer.update();
  }
  vector<float> all = as_vector(*p.values());
  const vector<float> rows = as_vector(lp.get_storage().all_values);
  all.insert(all.end(), rows.begin(), rows.end());
  all.push_back(trainer.learning_rate);
  return all;
}

/// A rule of the program's own.
struct OwnTrainer : public Trainer {
  explicit OwnTrainer(ParameterCollection& m, real learning_rate = 0.1F)
      : Trainer(m, learning_rate) {}
  void restart() override {}
  using Trainer::restart;
  void see() {
    DYNET_HAS(real, ema_beta);
    DYNET_HAS(MovingAverage, ma_mode);
    DYNET_HAS(bool, ma_params_swapped);
    DYNET_HAS(bool, ma_params_saved);
    DYNET_HAS(unsigned, ma_update_freq);
    DYNET_HAS(unsigned, ma_updates);
    DYNET_HAS(unsigned, ma_aux_allocated);
    DYNET_HAS(unsigned, ma_aux_allocated_lookup);
    DYNET_HAS(vector<ShadowParameters>, ma_p);
    DYNET_HAS(vector<ShadowParameters>, ma_saved_p);
    DYNET_HAS(vector<ShadowLookupParameters>, ma_lp);
    DYNET_HAS(vector<ShadowLookupParameters>, ma_saved_lp);
    DYNET_HAS(unsigned, alloc_impl());
    DYNET_HAS(unsigned, alloc_lookup_impl());
  }

 protected:
  DYNET_TRAINER_DEFINE_DEV_IMPL()
};

template <class MyDevice>
void OwnTrainer::update_rule_dev(const MyDevice& /*dev*/, real gscale,
                                 const vector<Tensor*>& values) {
  const vector<float> w = as_vector(*values[0]);
  const vector<float> g = as_vector(*values[1]);
  for (unsigned i = 0; i < w.size(); ++i) {
    TensorTools::set_element(
        *values[0], static_cast<int>(i),
        w[i] - learning_rate * gscale * g[i] / model->get_weight_decay().current_weight_decay());
  }
}
void OwnTrainer::update_rule(real gscale, const vector<Tensor*>& values) {
  update_rule_dev(*values[0]->device, gscale, values);
}
void OwnTrainer::update_params(real gscale, size_t idx) {
  ParameterStorage& p = *model->parameters_list()[idx];
  update_rule(gscale, {&p.values, &p.g});
}
void OwnTrainer::update_lookup_params(real gscale, size_t idx, size_t lidx) {
  LookupParameterStorage& p = *model->lookup_parameters_list()[idx];
  update_rule(gscale, {&p.values[lidx], &p.grads[lidx]});
}
void OwnTrainer::update_lookup_params(real gscale, size_t idx) {
  LookupParameterStorage& p = *model->lookup_parameters_list()[idx];
  update_rule(gscale, {&p.all_values, &p.all_grads});
}

TEST(Names, TrainerMembers) {
  ParameterCollection m;
  const Parameter p = m.add_parameters({3});
  OwnTrainer own(m, 0.5F);
  Trainer& t = own;
  DYNET_EQ(0.5F, t.learning_rate);
  DYNET_EQ(true, t.clipping_enabled);
  DYNET_EQ(5.0F, t.clip_threshold);
  DYNET_EQ(0.0F, t.clips);
  DYNET_EQ(0.0F, t.updates);
  DYNET_EQ(0.0F, t.clips_since_status);
  DYNET_EQ(0.0F, t.updates_since_status);
  DYNET_EQ(true, t.sparse_updates_enabled);
  DYNET_EQ(0U, t.aux_allocated);
  DYNET_EQ(0U, t.aux_allocated_lookup);
  DYNET_HAS(ParameterCollection*, t.model);
  DYNET_HAS(real, t.eta);
  DYNET_HAS(real, t.eta0);
  DYNET_HAS(real, t.eta_decay);
  DYNET_HAS(real, t.epoch);
  DYNET_EQ(MovingAverage::None, t.moving_average());
  p.get_storage().accumulate_grad(*p.values());
  DYNET_HAS(float, t.clip_gradients());
  DYNET_HAS(void, t.update());
  DYNET_HAS(void, t.update(0.5F));
  DYNET_HAS(void, t.update(vector<unsigned>{0}, vector<unsigned>()));
  DYNET_EQ(3.0F, t.updates);
  DYNET_HAS(void, t.update_epoch());
  DYNET_HAS(void, t.update_epoch(1.0F));
  DYNET_HAS(void, t.restart());
  DYNET_HAS(void, t.restart(0.25F));
  DYNET_EQ(0.25F, t.learning_rate);
  std::stringstream text;
  DYNET_HAS(void, t.save(text));
  DYNET_HAS(void, t.populate(text));
  text.clear();
  text.seekg(0);
  DYNET_HAS(void, t.populate(text, 0.125F));
  DYNET_EQ(0.125F, t.learning_rate);
  DYNET_HAS(void, t.rescale_and_reset_weight_decay());
  DYNET_HAS(void, t.status());
  DYNET_THROWS(std::runtime_error, t.exponential_moving_average(0.5F));
  own.see();
  const auto expected = trained<SimpleSGDTrainer>(0.5F);
  DYNET_EQ(expected, trained<OwnTrainer>(0.5F));
}

TEST(Names, MovingAverages) {
  ParameterCollection m;
  m.add_parameters({3});
  SimpleSGDTrainer exponential(m);
  DYNET_HAS(void, exponential.exponential_moving_average(0.5F));
  DYNET_EQ(MovingAverage::Exponential, exponential.moving_average());
  DYNET_HAS(void, exponential.exponential_moving_average(0.5F, 2));
  SimpleSGDTrainer trainer(m);
  DYNET_HAS(void, trainer.cumulative_moving_average(1U));
  DYNET_HAS(void, trainer.cumulative_moving_average());
  DYNET_EQ(MovingAverage::Cumulative, trainer.moving_average());
  DYNET_THROWS(std::runtime_error, trainer.swap_params_to_moving_average());
  trainer.update();
  DYNET_HAS(void, trainer.swap_params_to_moving_average());
  DYNET_HAS(void, trainer.swap_params_to_weights());
  DYNET_HAS(void, trainer.swap_params_to_moving_average(false, true));
  DYNET_THROWS(std::runtime_error, trainer.swap_params_to_weights());
  std::stringstream words("None Cumulative Exponential Other");
  MovingAverage average = MovingAverage::Exponential;
  DYNET_HAS(std::istream&, words >> average);
  DYNET_EQ(MovingAverage::None, average);
  DYNET_CAN(words >> average >> average);
  DYNET_THROWS(std::runtime_error, words >> average);
  std::ostringstream out;
  DYNET_HAS(std::ostream&, out << MovingAverage::Cumulative);
  DYNET_EQ("Cumulative", out.str());
}

TEST(Names, TrainerDefaults) {
  DYNET_EQ(trained<SimpleSGDTrainer>(0.1F), trained<SimpleSGDTrainer>());
  DYNET_EQ((trained<CyclicalSGDTrainer>(0.01F, 0.1F, 2000.0F, 1.0F, 0.0F)),
           trained<CyclicalSGDTrainer>());
  DYNET_EQ((trained<MomentumSGDTrainer>(0.01F, 0.9F)), trained<MomentumSGDTrainer>());
  DYNET_EQ((trained<AdagradTrainer>(0.1F, 1e-20F)), trained<AdagradTrainer>());
  DYNET_EQ((trained<AdadeltaTrainer>(1e-6F, 0.95F)), trained<AdadeltaTrainer>());
  DYNET_EQ((trained<RMSPropTrainer>(0.1F, 1e-20F, 0.95F)), trained<RMSPropTrainer>());
  DYNET_EQ((trained<AdamTrainer>(0.001F, 0.9F, 0.999F, 1e-8F)), trained<AdamTrainer>());
  DYNET_EQ((trained<AmsgradTrainer>(0.001F, 0.9F, 0.999F, 1e-8F)), trained<AmsgradTrainer>());
  DYNET_EQ((trained<EGTrainer>(0.1F, 0.9F, 0.0F)), trained<EGTrainer>());
}

// The last argument and the name before 2.0.
template <class T, class... Arguments>
void expect_decay(Arguments... arguments) {
  ParameterCollection m;
  T t(m, arguments...);
  DYNET_EQ(0.25F, t.eta_decay);
  t.learning_rate = 1.0F;
  t.eta0 = 1.0F;
  t.update_epoch(4);
  DYNET_EQ(0.5F, t.learning_rate);
}
TEST(Names, TrainersAsBefore2_0) {
  expect_decay<SimpleSGDTrainer>(0.1F, 0.25F);
  expect_decay<MomentumSGDTrainer>(0.01F, 0.9F, 0.25F);
  expect_decay<AdagradTrainer>(0.1F, 1e-20F, 0.25F);
  expect_decay<AdadeltaTrainer>(1e-6F, 0.95F, 0.25F);
  expect_decay<RmsPropTrainer>(0.1F, 1e-20F, 0.95F, 0.25F);
  expect_decay<AdamTrainer>(0.001F, 0.9F, 0.999F, 1e-8F, 0.25F);
}

using Shadows = vector<ShadowParameters>;
using RowShadows = vector<ShadowLookupParameters>;

// Programs that derive from the trainers see these.
#define DYNET_STATE(shadows, rows) \
  DYNET_HAS(Shadows, shadows);     \
  DYNET_HAS(RowShadows, rows)

struct Momentum : MomentumSGDTrainer {
  using MomentumSGDTrainer::MomentumSGDTrainer;
  void see() { DYNET_EQ(0.9F, momentum); }
};
struct Adagrad : AdagradTrainer {
  using AdagradTrainer::AdagradTrainer;
  void see() {
    DYNET_EQ(1e-20F, epsilon);
    DYNET_STATE(vp, vlp);
  }
};
struct Adadelta : AdadeltaTrainer {
  using AdadeltaTrainer::AdadeltaTrainer;
  void see() {
    DYNET_EQ(1e-6F, epsilon);
    DYNET_EQ(0.95F, rho);
    DYNET_STATE(hg, hlg);
    DYNET_STATE(hd, hld);
  }
};
struct RMSProp : RMSPropTrainer {
  using RMSPropTrainer::RMSPropTrainer;
  void see() {
    DYNET_EQ(1e-20F, epsilon);
    DYNET_EQ(0.95F, rho);
    DYNET_STATE(hmsg, hlmsg);
  }
};
template <class T>
struct AdamLike : T {
  using T::beta_1, T::beta_2, T::epsilon, T::m, T::v, T::lm, T::lv;
  using T::T;
  void see() {
    DYNET_EQ(0.9F, beta_1);
    DYNET_EQ(0.999F, beta_2);
    DYNET_EQ(1e-8F, epsilon);
    DYNET_STATE(m, lm);
    DYNET_STATE(v, lv);
  }
};
struct Amsgrad : AdamLike<AmsgradTrainer> {
  using AdamLike::AdamLike;
  void see_largest() { DYNET_STATE(vhat, lvhat); }
};
struct Cyclical : CyclicalSGDTrainer {
  using CyclicalSGDTrainer::CyclicalSGDTrainer;
  void see() {
    DYNET_EQ(0.01F, e_min);
    DYNET_EQ(0.1F, e_max);
    DYNET_EQ(2000.0F, step_size);
    DYNET_EQ(1.0F, gamma);
    DYNET_EQ(0U, it);
  }
};
struct ExponentiatedGradient : EGTrainer {
  using EGTrainer::EGTrainer;
  void see() {
    DYNET_EQ(0.9F, momentum);
    DYNET_EQ(false, isCyclical);
    DYNET_HAS(void, enableCyclicalLR());
    DYNET_EQ(0.01F, e_min);
    DYNET_EQ(0.1F, e_max);
    DYNET_EQ(2000.0F, step_size);
    DYNET_EQ(0.0F, gamma);
    DYNET_EQ(0U, it);
    DYNET_HAS(void, enableCyclicalLR(0.1F, 0.2F, 10.0F, 0.5F));
    DYNET_EQ(true, isCyclical);
    DYNET_STATE(hp, hlp);
  }
};

TEST(Names, TrainerStates) {
  ParameterCollection m;
  Momentum(m).see();
  const MomentumSGDTrainer momentum(m);
  DYNET_STATE(momentum.vp, momentum.vlp);
  Adagrad(m).see();
  Adadelta(m).see();
  RMSProp(m).see();
  AdamLike<AdamTrainer>(m).see();
  Amsgrad amsgrad(m);
  amsgrad.see();
  amsgrad.see_largest();
  Cyclical(m).see();
  ExponentiatedGradient(m).see();
}

/// Both forms of restart() and of populate() can be called on every trainer.
template <class T>
void begin_again() {
  ParameterCollection m;
  T trainer(m);
  std::stringstream text;
  trainer.save(text);
  DYNET_CAN(trainer.restart());
  DYNET_CAN(trainer.restart(0.5F));
  DYNET_CAN(trainer.populate(text));
  text.clear();
  text.seekg(0);
  DYNET_CAN(trainer.populate(text, 0.25F));
}

TEST(Names, TrainersBeginAgain) {
  begin_again<SimpleSGDTrainer>();
  begin_again<CyclicalSGDTrainer>();
  begin_again<MomentumSGDTrainer>();
  begin_again<AdagradTrainer>();
  begin_again<AdadeltaTrainer>();
  begin_again<RMSPropTrainer>();
  begin_again<AdamTrainer>();
  begin_again<AmsgradTrainer>();
  begin_again<EGTrainer>();
}

}  // namespace
