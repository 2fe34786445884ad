// Every trainer as a program uses it (C++17): a tagger of words is trained by each, stopped half
// way with model and trainer in files, and goes on in another process's place to the same numbers.
// Exponentiated gradient learns a distribution, its purpose.

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/schedules.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

#include "common.h"

using namespace std;
using namespace dynet;

const unsigned WORDS = 12;
const unsigned TAGS = 3;
const unsigned DIM = 8;

struct Tagger {
  ParameterCollection model;
  LookupParameter p_e;
  Parameter p_w, p_b;
  Tagger()
      : p_e(model.add_lookup_parameters(WORDS, {DIM})),
        p_w(model.add_parameters({TAGS, DIM})),
        p_b(model.add_parameters({TAGS}, ParameterInitConst(0.f))) {}
  float learn(Trainer& trainer) const {
    ComputationGraph cg;
    vector<Expression> losses;
    Expression w = parameter(cg, p_w), b = parameter(cg, p_b);
    for (unsigned word = 0; word < WORDS; ++word) {
      Expression scores = affine_transform({b, w, lookup(cg, p_e, word)});
      losses.push_back(pickneglogsoftmax(scores, word % TAGS));
    }
    Expression loss = average(losses);
    const float value = as_scalar(cg.forward(loss));
    cg.backward(loss);
    trainer.update();
    return value;
  }
  vector<float> numbers() const {
    vector<float> all = as_vector(p_e.get_storage().all_values);
    for (const Parameter& p : {p_w, p_b}) {
      const vector<float> more = as_vector(*p.values());
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }
};

template <class T, class... Settings>
void tag_with(const string& name, Settings... settings) {
  const int epochs = 300, stop = epochs / 2;
  reset_rng(1);
  Tagger whole;
  T trainer(whole.model, settings...);
  const float first = whole.learn(trainer);
  float last = 0;
  for (int i = 1; i < epochs; ++i) {
    last = whole.learn(trainer);
    if (i == stop) {
      TextFileSaver saver("trainers.model");
      saver.save(whole.model);
      ofstream state("trainers.state");
      trainer.save(state);
    }
  }
  check(last < 0.5f * first, name + " learns");
  Tagger resumed;
  T again(resumed.model, settings...);
  TextFileLoader("trainers.model").populate(resumed.model);
  ifstream state("trainers.state");
  again.populate(state);
  check(again.updates == static_cast<real>(stop + 1), name + " counts its updates");
  for (int i = stop + 1; i < epochs; ++i) resumed.learn(again);
  check(resumed.numbers() == whole.numbers(), name + " goes on where it was");
  trainer.status();
  cerr << name << ": loss " << first << " -> " << last << endl;
}

/// The probabilities that make three outcomes likely: the shares of the counts.
void distribution() {
  ParameterCollection model;
  Parameter p = model.add_parameters({3}, ParameterInitConst(1.f / 3));
  EGTrainer trainer(model, 0.1f, 0.f);
  const vector<float> counts{0.5f, 0.3f, 0.2f};
  for (int i = 0; i < 300; ++i) {
    ComputationGraph cg;
    Expression loss = -dot_product(input(cg, {3}, counts), log(parameter(cg, p)));
    cg.backward(loss);
    trainer.update();
  }
  const vector<float> found = as_vector(*p.values());
  float sum = 0;
  for (unsigned i = 0; i < 3; ++i) {
    check(fabs(found[i] - counts[i]) < 0.01f, "EGTrainer finds the distribution");
    sum += found[i];
  }
  check(fabs(sum - 1.f) < 1e-5f, "it sums up to 1");
}

/// Averages of the parameters, a rate that falls, a frozen parameter and clipping.
void settings() {
  Tagger tagger;
  AdamTrainer trainer(tagger.model, 0.05f);
  trainer.exponential_moving_average(0.9f);
  trainer.set_schedule(CosineSchedule(0.05, 100));
  trainer.clip_threshold = 1.f;
  trainer.sparse_updates_enabled = false;
  tagger.p_b.set_updated(false);
  const vector<float> frozen = as_vector(*tagger.p_b.values());
  for (int i = 0; i < 100; ++i) tagger.learn(trainer);
  check(trainer.learning_rate < 0.001f, "the rate falls");
  check(as_vector(*tagger.p_b.values()) == frozen, "frozen parameters stay");
  const vector<float> weights = tagger.numbers();
  trainer.swap_params_to_moving_average(true, true);
  check(tagger.numbers() != weights, "averages are other numbers");
  trainer.swap_params_to_weights();
  check(tagger.numbers() == weights, "weights come back");
}

int main(int argc, char** argv) {
  dynet::initialize(argc, argv);
  tag_with<SimpleSGDTrainer>("SimpleSGDTrainer", 1.f);
  tag_with<CyclicalSGDTrainer>("CyclicalSGDTrainer", 0.1f, 2.f, 20.f);
  tag_with<MomentumSGDTrainer>("MomentumSGDTrainer", 0.1f);
  tag_with<AdagradTrainer>("AdagradTrainer");
  tag_with<AdadeltaTrainer>("AdadeltaTrainer");
  tag_with<RMSPropTrainer>("RMSPropTrainer", 0.01f);
  tag_with<AdamTrainer>("AdamTrainer", 0.01f);
  tag_with<AmsgradTrainer>("AmsgradTrainer", 0.01f);
  tag_with<AdamWTrainer>("AdamWTrainer", 0.01f);
  tag_with<LionTrainer>("LionTrainer", 0.005f);
  tag_with<LambTrainer>("LambTrainer", 0.02f);
  distribution();
  settings();
  for (const char* file : {"trainers.model", "trainers.state"}) remove(file);
  return wrong;
}
