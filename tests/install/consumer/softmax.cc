// Softmax builders as programs for DyNet 2.1 use them (C++17): a language model that predicts the
// next word by the plain, the class-factored, the hierarchical, the adaptive and a sampled softmax,
// trained a little, read back from a file, and asked for words.

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>

#include "dynet/adaptive-softmax.h"
#include "dynet/cfsm-builder.h"
#include "dynet/dict.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/hsm-builder.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/sampled-softmax.h"
#include "dynet/training.h"

#include "common.h"

using namespace std;
using namespace dynet;

const unsigned INPUT_DIM = 8;
const unsigned HIDDEN_DIM = 12;

struct RNNLanguageModel {
  LookupParameter p_c;
  VanillaLSTMBuilder builder;
  SoftmaxBuilder& cfsm;
  RNNLanguageModel(ParameterCollection& model, unsigned vocab, SoftmaxBuilder& softmax)
      : builder(1, INPUT_DIM, HIDDEN_DIM, model), cfsm(softmax) {
    p_c = model.add_lookup_parameters(vocab, {INPUT_DIM});
  }
  // return Expression of total loss
  Expression BuildLMGraph(const vector<int>& sent, ComputationGraph& cg) {
    builder.new_graph(cg);
    builder.start_new_sequence();
    cfsm.new_graph(cg);
    vector<Expression> errs;
    for (unsigned t = 0; t + 1 < sent.size(); ++t) {
      Expression h_t = builder.add_input(lookup(cg, p_c, sent[t]));
      errs.push_back(cfsm.neg_log_softmax(h_t, sent[t + 1]));
    }
    return sum(errs);
  }
  // all steps as one batch
  Expression BuildBatched(const vector<int>& sent, ComputationGraph& cg) {
    builder.new_graph(cg);
    builder.start_new_sequence();
    cfsm.new_graph(cg);
    vector<Expression> states;
    vector<unsigned> next;
    for (unsigned t = 0; t + 1 < sent.size(); ++t) {
      states.push_back(builder.add_input(lookup(cg, p_c, sent[t])));
      next.push_back(sent[t + 1]);
    }
    if (auto* sampled = dynamic_cast<SampledSoftmaxBuilder*>(&cfsm)) {
      return sum_batches(sampled->sampled_loss(concatenate_to_batch(states), next));
    }
    return sum_batches(cfsm.neg_log_softmax(concatenate_to_batch(states), next));
  }
  vector<unsigned> RandomSample(int start, unsigned length) {
    ComputationGraph cg;
    builder.new_graph(cg);
    builder.start_new_sequence();
    cfsm.new_graph(cg);
    vector<unsigned> words{static_cast<unsigned>(start)};
    while (words.size() < length) {
      Expression h_t = builder.add_input(lookup(cg, p_c, words.back()));
      words.push_back(cfsm.sample(h_t));
    }
    return words;
  }
};

unique_ptr<SoftmaxBuilder> make(const string& kind, Dict& d, ParameterCollection& model) {
  if (kind == "class-factored") {
    return unique_ptr<SoftmaxBuilder>(
        new ClassFactoredSoftmaxBuilder(HIDDEN_DIM, "clusters.txt", d, model));
  }
  if (kind == "hierarchical") {
    return unique_ptr<SoftmaxBuilder>(
        new HierarchicalSoftmaxBuilder(HIDDEN_DIM, "paths.txt", d, model));
  }
  if (kind == "adaptive") {
    return unique_ptr<SoftmaxBuilder>(
        new AdaptiveSoftmaxBuilder(HIDDEN_DIM, d.size(), {3, 6}, model, 2.f));
  }
  if (kind == "sampled") {
    NoiseDistribution noise(vector<double>(d.size(), 1.0));
    return unique_ptr<SoftmaxBuilder>(
        new SampledSoftmaxBuilder(HIDDEN_DIM, noise, 20, SampledLoss::kSampledSoftmax, model));
  }
  return unique_ptr<SoftmaxBuilder>(new StandardSoftmaxBuilder(HIDDEN_DIM, d.size(), model));
}

void language_model(const string& kind) {
  Dict d;
  vector<vector<int>> corpus;
  for (const string line :
       {"<s> the cat sees a dog </s>", "<s> a dog sees the cat </s>", "<s> the dog runs </s>"}) {
    corpus.push_back(read_sentence(line, d));
  }
  d.freeze();
  ParameterCollection model;
  unique_ptr<SoftmaxBuilder> softmax = make(kind, d, model);
  RNNLanguageModel lm(model, d.size(), *softmax);
  AdamTrainer trainer(model, 0.02f);
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 80; ++epoch) {
    last = 0;
    for (const auto& sent : corpus) {
      ComputationGraph cg;
      Expression loss_expr = epoch % 2 == 0 ? lm.BuildLMGraph(sent, cg) : lm.BuildBatched(sent, cg);
      last += as_scalar(cg.forward(loss_expr));
      cg.backward(loss_expr);
      trainer.update();
    }
    if (epoch == 0) first = last;
  }
  check(last < 0.4f * first, kind + " learns");
  ParameterCollection other;
  unique_ptr<SoftmaxBuilder> softmax2 = make(kind, d, other);
  RNNLanguageModel read(other, d.size(), *softmax2);
  through_a_file("softmax.model", model, other);
  float again = 0;
  for (const auto& sent : corpus) {
    ComputationGraph cg;
    again += as_scalar(cg.forward(read.BuildLMGraph(sent, cg)));
  }
  check(again < 0.4f * first, kind + " comes back from a file");
  const vector<unsigned> words = read.RandomSample(d.convert("<s>"), 6);
  for (unsigned w : words) check(w < d.size(), kind + " draws words");
  cout << kind << ": loss " << first << " -> " << last << ", from the file " << again << ":";
  for (unsigned w : words) cout << ' ' << d.convert(static_cast<int>(w));
  cout << endl;
}

int main() {
  DynetParams params;
  params.random_seed = 1;
  initialize(params);
  ofstream("clusters.txt") << "0 the 9\n0 a 4\n1 cat\n1 dog\n2 sees\n2 runs\n3 <s>\n4 </s>\n";
  ofstream("paths.txt") << "0 0\tthe 9\n0 0\ta 4\n0 1 0\tcat\n0 1 1\tdog\n1 0\tsees\n1 0\truns\n"
                        << "1 1\t<s>\n1 1\t</s>\n";
  for (const char* kind : {"standard", "class-factored", "hierarchical", "adaptive", "sampled"})
    language_model(kind);
  ofstream("clusters.txt") << "0 the\n0\n";
  Dict d;
  ParameterCollection model;
  try {
    ClassFactoredSoftmaxBuilder damaged(HIDDEN_DIM, "clusters.txt", d, model);
    check(false, "a damaged file is an error");
  } catch (const invalid_argument& e) {
    check(string(e.what()).find("clusters.txt:2:") != string::npos, e.what());
  }
  for (const char* file : {"clusters.txt", "paths.txt", "softmax.model"}) remove(file);
  return wrong;
}
