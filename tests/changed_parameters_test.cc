// Parameters that change while a graph that has computed with them lives: backward gives the
// gradient of the computed values, or an error that the values are gone; later computations read
// the new values.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "dynet/checkpoint.h"
#include "dynet/expr.h"
#include "dynet/inference.h"
#include "dynet/io.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "execute/verify.h"
#include "params/state.h"
#include "support/failing_new.h"
#include "support/second_device.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
namespace fs = std::filesystem;

struct Model {
  ParameterCollection all;
  Parameter w = all.add_parameters({2, 2}, ParameterInitFromVector({0.5F, 0.2F, -0.3F, 0.7F}), "w");
  Parameter v = all.add_parameters({2}, ParameterInitFromVector({0.8F, -0.4F}), "v");
  LookupParameter e = all.add_lookup_parameters(
      3, {2}, ParameterInitFromVector({0.1F, 0.9F, -0.5F, 0.3F, 0.6F, -0.2F}), "e");

  [[nodiscard]] Floats values() const {
    Floats out;
    for (const Tensor& t : {*w.values(), *v.values(), e.p->all_values}) {
      const Floats some = as_vector(t);
      out.insert(out.end(), some.begin(), some.end());
    }
    return out;
  }
  [[nodiscard]] Floats gradients() const {
    Floats out;
    for (const Tensor& t : {w.get_storage().g, v.get_storage().g, e.get_storage().all_grads}) {
      const Floats some = as_vector(t);
      out.insert(out.end(), some.begin(), some.end());
    }
    return out;
  }
};

/// Two losses that share a layer and read all parameters, the table as a whole.
struct TwoLosses {
  TwoLosses(ComputationGraph& cg, const Model& m) {
    const Expression x = input(cg, {2}, {1.0F, -2.0F});
    const Expression w = parameter(cg, m.w);
    const Expression h = tanh(w * x);
    const Expression deep = tanh(reshape(w, {2, 2}) * h);
    actor = dot_product(parameter(cg, m.v), deep);
    const Expression all = parameter(cg, m.e);
    critic = squared_norm(all * softmax(transpose(all) * deep)) +
             dot_product(parameter(cg, m.v), cmult(h, w * h)) * 0.5F;
  }
  Expression actor, critic;
};

void expect_near(const Floats& a, const Floats& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_NEAR(a[i], b[i], tolerance::kFewInFloat) << i;
  }
}

/// The gradient of the second loss at the values as they are.
Floats gradient_of_critic(Model& m) {
  m.all.reset_gradient();
  ComputationGraph cg;
  cg.backward(TwoLosses(cg, m).critic);
  const Floats out = m.gradients();
  m.all.reset_gradient();
  return out;
}

/// A way to change a model; it finds gradients of the first loss.
struct Change {
  std::string name;
  std::function<std::function<void()>(Model&)> prepare;  ///< before there is a graph
};
void PrintTo(const Change& change, std::ostream* out) { *out << change.name; }

template <class T, class... Args>
Change update_of(const std::string& name, Args... args) {
  return {name, [=](Model& m) {
            auto trainer = std::make_shared<T>(m.all, args...);
            return [trainer] { trainer->update(); };
          }};
}

std::string file_name() {
  return (fs::temp_directory_path() / ("changed_" + std::to_string(::getpid()))).string();
}

std::vector<Change> changes() {
  const auto plain = [](const std::string& name, const std::function<void(Model&)>& f) {
    return Change{name, [f](Model& m) { return [f, &m] { f(m); }; }};
  };
  const auto from_file = [](const std::string& name, const std::string& suffix) {
    return Change{name, [suffix](Model& m) {
                    const std::string file = file_name() + suffix;
                    Model other;
                    other.w.scale(2.0F);
                    other.v.scale(3.0F);
                    other.e.scale(0.5F);
                    make_saver(file)->save(other.all);
                    return [file, &m] {
                      make_loader(file)->populate(m.all);
                      fs::remove(file);
                    };
                  }};
  };
  const auto averaged = [](bool back) {
    return Change{back ? "to_weights" : "to_average", [back](Model& m) {
                    auto trainer = std::make_shared<SimpleSGDTrainer>(m.all, 0.3F);
                    trainer->exponential_moving_average(0.5F);
                    ComputationGraph cg;
                    const TwoLosses losses(cg, m);
                    for (int i = 0; i < 2; ++i) {
                      cg.forward(losses.critic);
                      cg.backward(losses.critic);
                      trainer->update();
                    }
                    if (back) {
                      trainer->swap_params_to_moving_average();
                    }
                    return [back, trainer] {
                      if (back) {
                        trainer->swap_params_to_weights();
                      } else {
                        trainer->swap_params_to_moving_average();
                      }
                    };
                  }};
  };
  return {
      update_of<SimpleSGDTrainer>("sgd", 0.1F),
      update_of<CyclicalSGDTrainer>("cyclical"),
      update_of<MomentumSGDTrainer>("momentum"),
      update_of<AdagradTrainer>("adagrad"),
      update_of<AdadeltaTrainer>("adadelta"),
      update_of<RMSPropTrainer>("rmsprop"),
      update_of<AdamTrainer>("adam"),
      update_of<AdamWTrainer>("adamw"),
      update_of<AmsgradTrainer>("amsgrad"),
      update_of<LionTrainer>("lion"),
      update_of<LambTrainer>("lamb"),
      {"decaying",
       [](Model& m) {
         m.all.set_weight_decay_lambda(0.1F);
         auto trainer = std::make_shared<SimpleSGDTrainer>(m.all, 0.1F);
         return [trainer] { trainer->update(); };
       }},
      {"subset",
       [](Model& m) {
         auto trainer = std::make_shared<SimpleSGDTrainer>(m.all, 0.1F);
         return [trainer] { trainer->update({0}, {}); };
       }},
      {"exact_rows",
       [](Model& m) {
         auto trainer = std::make_shared<AdamTrainer>(m.all, 0.1F);
         trainer->set_lookup_updates(LookupUpdates::kExact);
         return [trainer] { trainer->update(); };
       }},
      plain("set_value", [](Model& m) { m.w.set_value({1, 2, 3, 4}); }),
      plain("scale", [](Model& m) { m.w.scale(2.0F); }),
      plain("clip", [](Model& m) { m.w.clip_inplace(-0.1F, 0.1F); }),
      plain("zero", [](Model& m) { m.w.zero(); }),
      plain("zero_table", [](Model& m) { m.e.zero(); }),
      plain("scale_table", [](Model& m) { m.e.scale(3.0F); }),
      plain("row", [](Model& m) { m.e.initialize(1, {5.0F, 6.0F}); }),
      plain("copy",
            [](Model& m) {
              Model other;
              other.w.scale(2.0F);
              other.e.scale(2.0F);
              m.w.p->copy(*other.w.p);
              m.e.p->copy(*other.e.p);
            }),
      averaged(false),
      averaged(true),
      from_file("text", ".model"),
      from_file("safetensors", ".safetensors"),
      {"load_best",
       [](Model& m) {
         const std::string folder = file_name() + ".checkpoints";
         fs::remove_all(folder);
         auto trainer = std::make_shared<SimpleSGDTrainer>(m.all, 0.1F);
         auto checkpoints = std::make_shared<Checkpointer>(folder, m.all, *trainer);
         m.w.scale(3.0F);
         checkpoints->save("", 1.0);
         m.w.scale(1.0F / 3.0F);
         return [=] {
           checkpoints->load_best();
           static_cast<void>(trainer);
           fs::remove_all(folder);
         };
       }},
  };
}

class Changed : public ::testing::TestWithParam<Change> {};
INSTANTIATE_TEST_SUITE_P(Ways, Changed, ::testing::ValuesIn(changes()),
                         [](const auto& one) { return one.param.name; });

/// An actor, an update, its critic: the second gradient is the gradient at the values of both.
TEST_P(Changed, TheSecondLossHasTheGradientOfWhatWasComputed) {
  for (const bool is_batched : {false, true}) {
    for (const bool is_asked : {false, true}) {
      Model m;
      const std::function<void()> change = GetParam().prepare(m);
      const Floats wanted = gradient_of_critic(m);
      const Floats before = m.values();
      ComputationGraph cg(is_batched);
      const TwoLosses losses(cg, m);
      const float value = as_scalar(losses.critic.value());
      if (is_asked) {
        static_cast<void>(losses.actor.value());
      }
      cg.backward(losses.actor);
      change();
      EXPECT_TRUE(m.values() != before || m.e.current_weight_decay() != 1.0F ||
                  m.e.p->state().lags());
      m.all.reset_gradient();
      EXPECT_EQ(as_scalar(losses.critic.value()), value);
      cg.backward(losses.critic);
      expect_near(m.gradients(), wanted);
      EXPECT_EQ(execute::verify(cg.state().executor), "");
      cg.forward(losses.critic);
      m.all.reset_gradient();
      cg.backward(losses.critic);  // of the new values
      const Floats after = m.gradients();
      expect_near(after, gradient_of_critic(m));
    }
  }
}

/// Nothing waits for a second backward: nothing is kept, and it is refused.
TEST_P(Changed, WithOneLossAnotherBackwardIsRefused) {
  Model m;
  const std::function<void()> change = GetParam().prepare(m);
  ComputationGraph cg;
  const TwoLosses losses(cg, m);
  const Expression loss = losses.actor + losses.critic;
  cg.backward(loss);
  EXPECT_EQ(m.w.p->state().held.use_count(), 1);
  EXPECT_EQ(m.e.p->state().held.use_count(), 1);
  change();
  m.all.reset_gradient();
  const std::string text = testing::text_of_error<errors::GraphError>([&] { cg.backward(loss); });
  EXPECT_NE(text.find("was changed ("), std::string::npos) << text;
  EXPECT_NE(text.find("changed_parameters_test.cc"), std::string::npos) << text;
  EXPECT_EQ(m.gradients(), Floats(12, 0.0F));
  cg.forward(loss);
  cg.backward(loss);
}

TEST(ChangedParameters, TheErrorNamesTheParameterAndTheLines) {
  ParameterCollection m;
  const Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
  SimpleSGDTrainer trainer(m, 0.1F);
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  const Expression z = w * (w * input(cg, 1.0F));
  const std::string lines[] = {std::to_string(__LINE__ - 2), std::to_string(__LINE__ - 1)};
  cg.backward(z);
  trainer.update();
  const std::string text = testing::text_of_error<errors::GraphError>([&] { cg.backward(z); });
  EXPECT_EQ(text.find("backward: /w was changed (update) since the graph computed with it"), 0)
      << text;
  for (const std::string& line : lines) {
    EXPECT_NE(text.find("changed_parameters_test.cc:" + line), std::string::npos) << text;
  }
}

/// w * (w * x), with another loss in the graph: 2 w x of the values that it has.
TEST(ChangedParameters, AGraphThatWaitsKeepsEachValueItComputedWith) {
  ParameterCollection m;
  Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  const Expression x = input(cg, 1.0F);
  const auto gradient_of = [&](const Expression& loss) {
    m.reset_gradient();
    cg.backward(loss);
    return as_scalar(p.get_storage().g);
  };
  const Expression z = w * (w * x);
  const Expression other = square(w);
  EXPECT_EQ(gradient_of(z), 6.0F);
  p.set_value({2.0F});
  EXPECT_EQ(gradient_of(z), 6.0F);  // `other` is still to come
  EXPECT_EQ(as_scalar(z.value()), 9.0F);
  EXPECT_EQ(as_scalar(w.value()), 2.0F);  // a parameter's own value is the current one
  const Expression again = w * (w * x);
  EXPECT_EQ(as_scalar(again.value()), 4.0F);
  p.set_value({5.0F});
  EXPECT_EQ(gradient_of(z), 6.0F);
  EXPECT_EQ(gradient_of(again), 4.0F);
  EXPECT_EQ(gradient_of(w * again), 4.0F + 5.0F * 4.0F);  // 5 * (2 * 2), each use by itself
  EXPECT_EQ(gradient_of(other), 10.0F);                   // computed now
}

/// Sentence after sentence in one graph, with an update after each: each has its own gradient.
TEST(ChangedParameters, AGraphThatIsNeverClearedGoesOn) {
  for (const bool has_waiting : {false, true}) {
    ParameterCollection m;
    Parameter p = m.add_parameters({1}, ParameterInitConst(0.0F), "w");
    SimpleSGDTrainer trainer(m, 0.25F);
    ComputationGraph cg;
    const Expression w = parameter(cg, p);
    float now = 0.0F;
    for (int i = 0; i < 50; ++i) {
      const Expression loss = square(w - 1.0F);
      if (has_waiting) {
        static_cast<void>(square(w + 1.0F).value());
      }
      cg.backward(loss);
      ASSERT_FLOAT_EQ(as_scalar(p.get_storage().g), 2.0F * (now - 1.0F));
      trainer.update();
      now -= 0.25F * 2.0F * (now - 1.0F);
      ASSERT_FLOAT_EQ(as_scalar(*p.values()), now);
    }
    EXPECT_GT(now, 0.99F);
  }
}

/// A parameter on another device is a copy; a constant or frozen parameter is copied as others.
TEST(ChangedParameters, ConstantFrozenAndFarParameters) {
  for (int kind = 0; kind < 3; ++kind) {
    ParameterCollection m;
    Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
    Parameter q = m.add_parameters({1}, ParameterInitConst(7.0F), "q");
    p.set_updated(kind == 2);
    ComputationGraph cg;
    const Expression w = kind == 0
                             ? const_parameter(cg, p)
                             : (kind == 1 ? parameter(cg, p)
                                          : to_device(parameter(cg, p), &testing::second_device()));
    const Expression u =
        kind == 2 ? to_device(parameter(cg, q), &testing::second_device()) : parameter(cg, q);
    const Expression z = w * u;
    const Expression other = square(u);
    static_cast<void>(z.value());
    static_cast<void>(other.value());
    cg.backward(other);
    p.set_value({4.0F});
    q.set_value({1.0F});
    m.reset_gradient();
    cg.backward(z);
    EXPECT_FLOAT_EQ(as_scalar(q.get_storage().g), 3.0F) << kind;
    EXPECT_FLOAT_EQ(as_scalar(p.get_storage().g), kind == 2 ? 7.0F : 0.0F) << kind;
  }
}

/// Without memory for a copy the change is made, and backward says that the values are gone.
TEST(ChangedParameters, WithoutMemoryForACopyTheBackwardIsRefused) {
  ParameterCollection m;
  Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  const Expression z = w * (w * input(cg, 1.0F));
  static_cast<void>(z.value());
  testing::FailingNew::arm(0);
  testing::FailingNew::armed = true;
  p.scale(2.0F);
  testing::FailingNew::armed = false;
  EXPECT_EQ(as_scalar(*p.values()), 6.0F);
  testing::text_of_error<errors::GraphError>([&] { cg.backward(z); });
  cg.forward(z);
  cg.backward(z);
  EXPECT_EQ(as_scalar(p.get_storage().g), 12.0F);
}

/// Marks from before and after a change.
TEST(ChangedParameters, CheckpointsGoBackToWhatWasComputed) {
  for (const bool is_table : {false, true}) {
    Model m;
    m.all.set_weight_decay_lambda(is_table ? 0.5F : 0.0F);
    SimpleSGDTrainer trainer(m.all, 0.5F);
    const auto all = [&](ComputationGraph& cg) {
      return is_table ? parameter(cg, m.e) : parameter(cg, m.w);
    };
    const auto loss_of = [](const Expression& w) {
      return squared_norm(transpose(w) * tanh(w * transpose(w)));
    };
    const auto gradient = [&](ComputationGraph& cg, const Expression& loss) {
      m.all.reset_gradient();
      cg.backward(loss);
      const Floats out = m.gradients();
      m.all.reset_gradient();
      return out;
    };
    const auto alone = [&] {
      ComputationGraph cg;
      return gradient(cg, loss_of(all(cg)));
    };
    const Floats first = alone();
    ComputationGraph cg;
    const Expression w = all(cg);
    const Expression loss = loss_of(w);
    cg.checkpoint();
    const auto change = [&] {
      ComputationGraph other;
      other.backward(sum_elems(squared_norm(all(other))));
      trainer.update();
    };
    change();
    const Floats second = alone();
    EXPECT_NE(first, second);
    const Expression later = loss_of(w);
    expect_near(gradient(cg, later), second);
    change();
    expect_near(gradient(cg, loss), first);
    cg.revert();
    EXPECT_EQ(execute::verify(cg.state().executor), "");
    expect_near(gradient(cg, loss), first);
    expect_near(gradient(cg, loss_of(w)), alone());
    EXPECT_EQ(execute::verify(cg.state().executor), "");
  }
}

/// Gradients in nodes read parameters anew: over old values they would be of two times.
TEST(ChangedParameters, GradientsInNodesAreRefused) {
  ParameterCollection m;
  Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  const Expression x = input(cg, 1.0F);
  const Expression z = w * (w * x);
  const Expression dx = gradient(z, {x})[0];
  EXPECT_EQ(as_scalar(z.value()), 9.0F);
  EXPECT_EQ(as_scalar(dx.value()), 9.0F);
  p.set_value({2.0F});
  EXPECT_EQ(as_scalar(dx.value()), 9.0F);
  const std::string text =
      testing::text_of_error<errors::GraphError>([&] { static_cast<void>(gradient(z, {x})); });
  EXPECT_EQ(text.find("gradient: /w was changed (set_value)"), 0) << text;
  const Expression now = w * (w * x);
  EXPECT_EQ(as_scalar(gradient(now, {x})[0].value()), 4.0F);
}

/// A parameter within an inference scope is read anew after a change.
TEST(ChangedParameters, InferenceScopesReadTheNewValues) {
  ParameterCollection m;
  Parameter p = m.add_parameters({1}, ParameterInitConst(3.0F), "w");
  const InferenceScope scope;
  ComputationGraph cg;
  const Expression w = parameter(cg, p);
  EXPECT_EQ(as_scalar((w * 2.0F).value()), 6.0F);
  EXPECT_EQ(p.p->state().held.use_count(), 1);
  p.set_value({4.0F});
  EXPECT_EQ(as_scalar((w * 2.0F).value()), 8.0F);
}

}  // namespace
}  // namespace dynet
