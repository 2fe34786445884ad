// Everything that a trainer's next updates depend on is saved: training goes on to the bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "dynet/schedules.h"
#include "dynet/trainers/all.h"
#include "dynet/training.h"

#include "params/access.h"
#include "params/gradient.h"
#include "params/stored.h"
#include "testing/errors.h"

namespace dynet {
namespace {

/// A dense parameter and a table, with gradients drawn in an order of their own.
template <class T>
struct Session {
  explicit Session(LookupUpdates how) : model(0.01F) {
    const ParameterInitUniform values(0.1F, 1.0F);
    p = model.add_parameters({4, 3}, values);
    frozen = model.add_parameters({3}, values);
    frozen.set_updated(false);
    l = model.add_lookup_parameters(6, {5}, values);
    trainer = std::make_unique<T>(model);
    trainer->set_lookup_updates(how);
  }
  /// The effect of reading a file of the other model: effective values.
  void set_values(Session& other) {
    const params::SaveScope scope(other.model);  // rows that lag catch up, as for a file
    p.set_value(as_vector(*other.p.values()));
    frozen.set_value(as_vector(*other.frozen.values()));
    detail::StorageState& s = other.l.p->state();
    const params::Buffer all(s.device, s.elements, "test");
    params::read(*other.l.p, all.data());
    std::vector<float> numbers(static_cast<std::size_t>(s.elements));
    s.device.memory->copy_out(all.data(), numbers.data(), numbers.size() * sizeof(float));
    for (unsigned row = 0; row < 6; ++row) {
      l.initialize(row, {numbers.begin() + 5L * row, numbers.begin() + 5L * (row + 1)});
    }
  }
  void step(unsigned number) {
    std::mt19937 random(number);
    std::normal_distribution<float> normal;
    std::vector<float> g(12);
    const auto draw = [&](Dim d) {
      std::generate(g.begin(), g.end(), [&] { return normal(random); });
      return Tensor(d, g.data(), nullptr, DeviceMempool::NONE);
    };
    p.p->accumulate_grad(draw({4, 3}));
    l.p->accumulate_grad(number % 5, draw({5}));
    l.p->accumulate_grad(number / 2 % 5, draw({5}));
    trainer->update();
    if (number % 4 == 3 && trainer->schedule() != nullptr) {
      trainer->report_metric(static_cast<double>(normal(random)));
    }
  }
  std::vector<std::vector<float>> values() {
    std::vector<std::vector<float>> all{as_vector(*p.values()), as_vector(*frozen.values())};
    for (const Tensor& row : *l.values()) {
      all.push_back(as_vector(row));
    }
    return all;
  }
  std::string text() {
    std::ostringstream os;
    trainer->save(os);
    return os.str();
  }

  ParameterCollection model;
  Parameter p, frozen;
  LookupParameter l;
  std::unique_ptr<T> trainer;
};

enum class Extras { kNone, kCumulative, kExponential, kSwapped };

template <class T>
void goes_on(LookupUpdates how, Extras extras) {
  const auto ready = [&](Session<T>& s) {
    if (extras == Extras::kNone) {
      return;
    }
    s.trainer->set_schedule(WarmupSchedule(3, PlateauSchedule(0.02, 0.5, 0)));
    s.trainer->clip_value = 0.75F;
    s.trainer->eta_decay = 0.25F;
    if (extras == Extras::kCumulative) {
      s.trainer->cumulative_moving_average(2);
    } else {
      s.trainer->exponential_moving_average(0.9F);
    }
  };
  Session<T> one(how);
  ready(one);
  for (unsigned i = 0; i < 13; ++i) {
    one.step(i);
  }
  if (extras == Extras::kNone) {
    one.trainer->update_epoch();
  }
  std::stringstream text;
  Session<T> two(how);
  if (extras == Extras::kSwapped) {  // the weights are saved
    two.set_values(one);
    one.trainer->swap_params_to_moving_average();
    one.trainer->save(text);
    one.trainer->swap_params_to_weights();
  } else {
    one.trainer->save(text);
    two.set_values(one);
  }
  two.trainer->populate(text);
  for (unsigned i = 13; i < 40; ++i) {
    one.step(i);
    two.step(i);
    if (i == 20 && extras != Extras::kNone) {
      one.trainer->update_epoch();
      two.trainer->update_epoch();
    }
    ASSERT_EQ(one.trainer->learning_rate, two.trainer->learning_rate) << T::kAbout.name;
  }
  EXPECT_EQ(one.values(), two.values()) << T::kAbout.name;
  EXPECT_EQ(one.text(), two.text()) << T::kAbout.name;
  if (extras != Extras::kNone) {
    one.trainer->swap_params_to_moving_average();
    two.trainer->swap_params_to_moving_average();
    EXPECT_EQ(one.values(), two.values()) << T::kAbout.name;
  }
}

template <class T>
bool can(LookupUpdates how) {
  return how != LookupUpdates::kExact ||
         (!std::is_same_v<T, EGTrainer> && !std::is_same_v<T, LambTrainer>);
}

TEST(State, TrainingGoesOnToTheBit) {
  trainers::AllTrainers::for_each([]<class T>(const T* /*type*/) {
    for (const auto how : {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
      for (const auto extras :
           {Extras::kNone, Extras::kCumulative, Extras::kExponential, Extras::kSwapped}) {
        if (can<T>(how)) {
          goes_on<T>(how, extras);
        }
      }
    }
  });
}

// Any trainer's text in any other trainer: an error that names both and changes nothing.
TEST(State, TextOfAnotherTrainerIsRefused) {
  trainers::AllTrainers::for_each([]<class A>(const A* /*type*/) {
    Session<A> from(LookupUpdates::kSparse);
    from.step(1);
    const std::string text = from.text();
    trainers::AllTrainers::for_each([&]<class B>(const B* /*type*/) {
      if constexpr (!std::is_same_v<A, B>) {
        Session<B> to(LookupUpdates::kSparse);
        to.step(2);
        const std::string before = to.text();
        std::istringstream in(text);
        EXPECT_EQ(testing::text_of_error<errors::UsageError>([&] { to.trainer->populate(in); }),
                  std::string("Trainer::populate: Type does not match expected type: '#") +
                      A::kAbout.name + "#'; want '#" + B::kAbout.name + "#'");
        EXPECT_EQ(to.text(), before);
      }
    });
  });
}

/// A program's trainer that says nothing about its state.
struct Nameless : Trainer {
  explicit Nameless(ParameterCollection& m) : Trainer(m, 0.5F) {}
  void restart() override {}

 protected:
  void update_rule(real /*gscale*/, const std::vector<Tensor*>& /*values*/) override {}
  void update_params(real /*gscale*/, std::size_t /*idx*/) override {}
  void update_lookup_params(real, std::size_t, std::size_t) override {}
  void update_lookup_params(real, std::size_t) override {}
};

// DyNet 2.1 writes no name for gradient descent. Text behind the state is the program's.
TEST(State, TextWithoutAName) {
  ParameterCollection model;
  const std::string text =
      "#Trainer# 0 0\n"
      "+2.50000000e-01 +1 +5.00000000e+00 +4.00000000e+00 +0.00000000e+00 None +0 +0 0 0\n"
      "[MA:FALSE]\n";
  SimpleSGDTrainer sgd(model);
  CyclicalSGDTrainer cyclical(model);
  Nameless nameless(model);
  for (const std::string& rest : std::vector<std::string>{
           "", "\n", "#Trainer# 1 0\n", "#Parameter# /w {2}\n", "best: 7\n", "# my notes\n"}) {
    for (Trainer* trainer : std::initializer_list<Trainer*>{&sgd, &cyclical, &nameless}) {
      std::istringstream in(text + rest);
      trainer->learning_rate = 0.0F;
      trainer->populate(in);
      EXPECT_EQ(trainer->learning_rate, 0.25F);
      std::string left;
      std::getline(in >> std::ws, left, '\0');
      EXPECT_EQ(left, rest == "\n" ? "" : rest);
    }
  }
  std::istringstream in(text);
  AdamTrainer adam(model);
  EXPECT_THROW(adam.populate(in), errors::IoError);
  std::istringstream strict(text);  // as programs set streams that must not fail
  strict.exceptions(std::ios::failbit | std::ios::badbit);
  EXPECT_NO_THROW(sgd.populate(strict));
  std::istringstream named(text + "#SimpleSGDTrainer# 0 0\n");
  EXPECT_THROW(nameless.populate(named), errors::UsageError);
}

/// A stream that cannot go back, such as a pipe.
struct OneWay : std::streambuf {
  explicit OneWay(std::string all) : text(std::move(all)) {
    setg(text.data(), text.data(), text.data() + text.size());
  }
  std::string text;
};

TEST(State, InAStreamThatCannotGoBack) {
  ParameterCollection model;
  SimpleSGDTrainer from(model, 0.5F);
  std::ostringstream text;
  from.save(text);
  const std::string of_21 = text.str().substr(0, text.str().find("#Simple"));
  SimpleSGDTrainer to(model);
  for (const std::string& good : {text.str(), text.str() + "more\n", of_21}) {
    OneWay buffer(good);
    std::istream in(&buffer);
    to.learning_rate = 0.0F;
    to.populate(in);
    EXPECT_EQ(to.learning_rate, 0.5F);
  }
  OneWay buffer(of_21 + "more\n");
  std::istream in(&buffer);
  EXPECT_THROW(to.populate(in), errors::IoError);
}

// Several states in one stream.
TEST(State, OneAfterTheOther) {
  ParameterCollection model;
  SimpleSGDTrainer one(model, 0.5F);
  CyclicalSGDTrainer two(model, 0.25F);
  AdamTrainer three(model, 0.125F);
  std::stringstream text;
  one.save(text);
  two.save(text);
  three.save(text);
  SimpleSGDTrainer a(model);
  CyclicalSGDTrainer b(model);
  AdamTrainer c(model);
  a.populate(text);
  b.populate(text);
  c.populate(text);
  EXPECT_EQ(a.learning_rate, 0.5F);
  EXPECT_EQ(b.learning_rate, 0.25F);
  EXPECT_EQ(c.learning_rate, 0.125F);
}

/// A model of few numbers, trained `steps` times.
template <class T>
struct Small {
  Small(unsigned steps, bool has_extras) : trainer(model) {
    if (has_extras) {
      trainer.set_schedule(WarmupSchedule(3, PlateauSchedule(0.02, 0.5, 0)));
      trainer.clip_value = 0.75F;
      trainer.eta_decay = 0.25F;
      trainer.exponential_moving_average(0.9F);
    }
    for (unsigned i = 0; i < steps; ++i) {
      std::vector<float> g{1.0F, -0.3F};
      p.p->accumulate_grad(Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
      l.p->accumulate_grad(i % 2, Tensor({1}, g.data(), nullptr, DeviceMempool::NONE));
      trainer.update();
    }
  }
  std::string text() {
    std::ostringstream os;
    trainer.save(os);
    return os.str();
  }
  std::string error_of(const std::string& text) {
    std::istringstream in(text);
    return testing::text_of_error<errors::IoError>([&] { trainer.populate(in); });
  }

  ParameterCollection model;
  Parameter p = model.add_parameters({2}, ParameterInitConst(0.5F));
  LookupParameter l = model.add_lookup_parameters(2, {1}, ParameterInitConst(0.5F));
  T trainer;
};

// At two places a cut text is whole: as 2.1 writes it without the name of gradient descent, and
// without the last line end of exponentiated gradients.
TEST(State, EveryTruncationIsAnError) {
  for (const bool has_extras : {false, true}) {
    trainers::AllTrainers::for_each([&]<class T>(const T* /*type*/) {
      Small<T> from(3, has_extras);
      const std::string text = from.text();
      const bool has_state = !std::is_base_of_v<SimpleSGDTrainer, T>;
      const std::size_t whole = has_state ? (std::is_same_v<T, EGTrainer> ? text.size() - 1 : 0)
                                          : text.find(std::string("#") + T::kAbout.name);
      ASSERT_NE(whole, std::string::npos);
      Small<T> to(2, false);
      const std::string before = to.text();
      for (std::size_t n = 0; n < text.size(); ++n) {
        if (n == whole && n > 0) {
          continue;
        }
        const std::string error = to.error_of(text.substr(0, n));
        ASSERT_EQ(error.find("Trainer::populate: line "), 0U) << T::kAbout.name << n << error;
        ASSERT_NE(error.find("the text ends"), std::string::npos) << error;
        ASSERT_EQ(to.text(), before) << T::kAbout.name << n;
        ASSERT_EQ(to.trainer.schedule(), nullptr);
      }
      std::istringstream in(whole == 0 ? text : text.substr(0, whole));
      to.trainer.populate(in);
      EXPECT_EQ(to.text(), text);
    });
  }
}

TEST(State, ErrorsSayWhere) {
  ParameterCollection model;
  LambTrainer lamb(model);
  std::ostringstream saved;
  lamb.save(saved);
  const std::string text = saved.str();
  const auto error = [&](const std::string& damaged) {
    std::istringstream in(damaged);
    return testing::text_of_error<errors::IoError>([&] { lamb.populate(in); });
  };
  const std::string byte = std::to_string(text.rfind(' ') + 1);
  EXPECT_EQ(error(text.substr(0, text.size() - 2)),
            "Trainer::populate: line 5, byte " + byte +
                ": the text ends in '+9.99999978e-0'; want weight_decay, and white space after it");
  std::string wrong = text;
  wrong.replace(wrong.rfind("78e"), 3, "78f");
  EXPECT_EQ(error(wrong),
            "Trainer::populate: line 5, byte " + byte + ": '+9.99999978f-03'; want weight_decay");
  EXPECT_EQ(error("#Trainer#\n"),
            "Trainer::populate: line 2, byte 10: the text ends; want a number of parameters");
  wrong = text;
  wrong.replace(wrong.find("None"), 4, "Nine");
  EXPECT_EQ(error(wrong).find("Trainer::populate: line 2, byte "), 0U) << error(wrong);
  const std::string none = "+0.00000000e+00 ";  // updates, and the beta
  wrong = text;
  wrong.replace(wrong.find(none + none), none.size(), "+1.00000000e+30 ");
  EXPECT_NE(error(wrong).find("updates is 1e+30; want less than 2^64"), std::string::npos)
      << error(wrong);
  OneWay buffer(text.substr(0, text.size() - 1));
  std::istream in(&buffer);
  EXPECT_EQ(testing::text_of_error<errors::IoError>([&] { lamb.populate(in); }),
            "Trainer::populate: the text ends in '+9.99999978e-03'; want weight_decay, and white "
            "space after it");
}

// Without new settings the text is the text of 2.1.
TEST(State, TextOfExponentiatedGradients) {
  ParameterCollection model;
  model.add_parameters({2}, ParameterInitConst(0.5F));
  EGTrainer trainer(model);
  trainer.enableCyclicalLR(0.25F, 0.5F, 4.0F, 1.0F);
  for (int i = 0; i < 3; ++i) {
    trainer.update();
  }
  std::ostringstream text;
  trainer.save(text);
  EXPECT_EQ(text.str(),
            "#Trainer# 1 0\n"
            "+3.75000000e-01 +1 +5.00000000e+00 +3.00000000e+00 +0.00000000e+00 None +0 +0 0 0\n"
            "[MA:FALSE]\n#EGTrainer# 1 0\n#Parameter# 2 +0.00000000e+00 +0.00000000e+00\n"
            "+0.00000000e+00 +0.00000000e+00 +8.99999976e-01 +2.50000000e-01 +5.00000000e-01 "
            "+4.00000000e+00 +1.00000000e+00 3 +1\n");
}

TEST(State, AdditionsToTheTextOf21) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.5F);
  trainer.clip_value = 0.25F;
  trainer.eta_decay = 1.0F;
  trainer.updates = 10.0F;
  trainer.update();
  trainer.set_schedule(WarmupSchedule(2, CosineSchedule(0.5, 8)));
  std::ostringstream text;
  trainer.save(text);
  EXPECT_EQ(text.str(),
            "#Trainer# 0 0\n"
            "+2.50000000e-01 +1 +5.00000000e+00 +1.10000000e+01 +0.00000000e+00 None +0 +0 0 0\n"
            "[CLIP:VALUE] +2.50000000e-01\n"
            "[EPOCHS] +5.00000000e-01 +1.00000000e+00 +0.00000000e+00\n"
            "[SCHEDULE] 11 WarmupSchedule 1 2 1 CosineSchedule 3 0.5 8 0 0\n[MA:FALSE]\n"
            "#SimpleSGDTrainer# 0 0\n");
  // Every truncation is an error that changes nothing, except for the one that leaves a text of
  // 2.1.
  SimpleSGDTrainer reader(model, 0.125F);
  const std::size_t end_of_21 = text.str().find("[MA:FALSE]\n") + 11;
  for (std::size_t n = 0; n < text.str().size(); ++n) {
    if (n == end_of_21) {
      continue;
    }
    std::istringstream in(text.str().substr(0, n));
    ASSERT_THROW(reader.populate(in), errors::IoError) << n;
    ASSERT_EQ(reader.learning_rate, 0.125F);
    ASSERT_EQ(reader.schedule(), nullptr);
  }
  // So is a number that is wrong.
  for (const auto& [right, wrong] : std::vector<std::pair<std::string, std::string>>{
           {"WarmupSchedule 1 2", "WarmupSchedule 1 0"},
           {"WarmupSchedule 1 2", "WarmupSchedule 1 2.5"},
           {"WarmupSchedule 1 2", "WarmupSchedule 99999999 2"},
           {"CosineSchedule 3 0.5", "CosineSchedule 3 nan"},
           {"CosineSchedule 3", "CosineSchedule 2"},
           {"CosineSchedule", "SineSchedule"},
           {"[CLIP:VALUE] +2", "[CLIP:VALUE] -2"},
           {"[EPOCHS]", "[EPOCH]"}}) {
    std::string damaged = text.str();
    damaged.replace(damaged.find(right), right.size(), wrong);
    std::istringstream in(damaged);
    ASSERT_THROW(reader.populate(in), std::runtime_error) << wrong;
    ASSERT_EQ(reader.learning_rate, 0.125F);
    ASSERT_EQ(reader.schedule(), nullptr);
  }
  std::istringstream in(text.str());
  reader.populate(in);
  std::ostringstream again;
  reader.save(again);
  EXPECT_EQ(again.str(), text.str());
}

TEST(State, WhatTheTextDoesNotMentionStays) {
  ParameterCollection model;
  SimpleSGDTrainer plain(model, 0.5F);
  std::stringstream text;
  plain.save(text);
  SimpleSGDTrainer trainer(model, 0.125F);
  trainer.clip_value = 2.0F;
  trainer.set_schedule(CosineSchedule(1.0, 10));
  trainer.populate(text);
  EXPECT_EQ(trainer.learning_rate, 0.5F);
  EXPECT_EQ(trainer.clip_value, 2.0F);
  ASSERT_NE(trainer.schedule(), nullptr);
}

TEST(State, CountsBeyondFloats) {
  ParameterCollection model;
  SimpleSGDTrainer trainer(model, 0.5F);
  trainer.updates = 16777214.0F;
  trainer.set_schedule(WarmupSchedule(8, 1.0));
  for (int i = 0; i < 5; ++i) {
    trainer.update();
  }
  EXPECT_EQ(trainer.learning_rate, 0.75F);
  std::stringstream text;
  trainer.save(text);
  SimpleSGDTrainer other(model);
  other.populate(text);
  other.update();
  EXPECT_EQ(other.learning_rate, 0.875F);
}

// Averages that 2.1 left out because they stood in the place of the parameters start anew.
TEST(State, AveragesThatAreNotThere) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(3));
  SimpleSGDTrainer trainer(model);
  std::istringstream text(
      "#Trainer# 1 0\n"
      "+1.00000000e-01 +1 +5.00000000e+00 +4.00000000e+00 +0.00000000e+00 Cumulative +1 +1 1 4\n"
      "[MA:FALSE]\n");
  trainer.populate(text);
  EXPECT_THROW(trainer.swap_params_to_moving_average(), errors::UsageError);
  trainer.update();
  trainer.swap_params_to_moving_average();
  EXPECT_EQ(as_scalar(*p.values()), 3.0F);
}

}  // namespace
}  // namespace dynet
