// Recurrent builders as programs for DyNet 2.1 use them (C++17): a language model over any builder,
// an encoder and decoder, a stack that is pushed and popped, a tagger of both directions, and a
// builder of the program's own. Each is trained a little; models go through a file.

#include <cstdio>
#include <iostream>

#include "dynet/birnn.h"
#include "dynet/deep-lstm.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/rnn.h"
#include "dynet/training.h"

#include "common.h"

using namespace std;
using namespace dynet;

unsigned LAYERS = 2;
unsigned INPUT_DIM = 8;
unsigned HIDDEN_DIM = 12;
unsigned VOCAB_SIZE = 6;

template <class Builder>
struct RNNLanguageModel {
  LookupParameter p_c;
  Parameter p_R;
  Parameter p_bias;
  Builder builder;
  explicit RNNLanguageModel(ParameterCollection& model)
      : builder(LAYERS, INPUT_DIM, HIDDEN_DIM, model) {
    p_c = model.add_lookup_parameters(VOCAB_SIZE, {INPUT_DIM});
    unsigned out = HIDDEN_DIM;
    if (is_same<Builder, DeepLSTMBuilder>::value) out *= LAYERS;
    p_R = model.add_parameters({VOCAB_SIZE, out});
    p_bias = model.add_parameters({VOCAB_SIZE});
  }
  // return Expression of total loss
  Expression BuildLMGraph(const vector<int>& sent, ComputationGraph& cg) {
    const unsigned slen = sent.size() - 1;
    builder.new_graph(cg);
    builder.start_new_sequence();
    Expression i_R = parameter(cg, p_R);
    Expression i_bias = parameter(cg, p_bias);
    vector<Expression> errs;
    for (unsigned t = 0; t < slen; ++t) {
      Expression i_x_t = lookup(cg, p_c, sent[t]);
      Expression i_y_t = builder.add_input(i_x_t);
      Expression i_r_t = i_bias + i_R * i_y_t;
      errs.push_back(pickneglogsoftmax(i_r_t, sent[t + 1]));
    }
    return sum(errs);
  }
};

template <class Builder>
void language_model(const string& name) {
  const vector<vector<int>> corpus{{0, 1, 2, 3, 4, 5}, {5, 3, 1, 0}, {2, 2, 4, 4, 0}};
  ParameterCollection model;
  RNNLanguageModel<Builder> lm(model);
  AdamTrainer trainer(model, 0.02f);
  lm.builder.set_dropout(0.1f);
  lm.builder.disable_dropout();
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 60; ++epoch) {
    last = 0;
    for (const auto& sent : corpus) {
      ComputationGraph cg;
      Expression loss_expr = lm.BuildLMGraph(sent, cg);
      last += as_scalar(cg.forward(loss_expr));
      cg.backward(loss_expr);
      trainer.update();
    }
    if (epoch == 0) first = last;
  }
  check(last < 0.3f * first, name + " learns");
  ParameterCollection other;
  RNNLanguageModel<Builder> read(other);
  through_a_file("recurrent.model", model, other);
  float again = 0;
  for (const auto& sent : corpus) {
    ComputationGraph cg;
    again += as_scalar(cg.forward(read.BuildLMGraph(sent, cg)));
  }
  check(again < 0.3f * first, name + " comes back from a file");
  cout << name << ": loss " << first << " -> " << last << ", from the file " << again << endl;
}

/// The decoder starts from the last state of the encoder.
template <class Builder>
void encoder_decoder() {
  ParameterCollection model;
  Builder enc(LAYERS, INPUT_DIM, HIDDEN_DIM, model), dec(LAYERS, INPUT_DIM, HIDDEN_DIM, model);
  LookupParameter p_c = model.add_lookup_parameters(VOCAB_SIZE, {INPUT_DIM});
  ComputationGraph cg;
  enc.new_graph(cg);
  enc.start_new_sequence();
  for (unsigned w = 0; w < 4; ++w) enc.add_input(lookup(cg, p_c, w));
  vector<Expression> s = enc.final_s();
  check(s.size() == enc.num_h0_components(), "final_s has the whole state");
  dec.new_graph(cg);
  dec.start_new_sequence(s);
  check(as_vector(dec.back().value()) == as_vector(enc.back().value()), "the decoder goes on");
  Expression y = dec.add_input(lookup(cg, p_c, 5u));
  cg.forward(squared_norm(y));
  Builder shared(LAYERS, INPUT_DIM, HIDDEN_DIM, model);
  shared.copy(enc);
  check(shared.params[0][0].p == enc.params[0][0].p, "copy shares");
}

/// A stack as transition parsers have it: push adds an input, pop goes back.
template <class Builder>
void stack_of_states() {
  ParameterCollection model;
  Builder stack(1, INPUT_DIM, HIDDEN_DIM, model);
  Parameter p_guard = model.add_parameters({INPUT_DIM});
  LookupParameter p_c = model.add_lookup_parameters(VOCAB_SIZE, {INPUT_DIM});
  ComputationGraph cg;
  stack.new_graph(cg);
  stack.start_new_sequence();
  stack.add_input(parameter(cg, p_guard));
  RNNPointer bottom = stack.state();
  Expression one = stack.add_input(lookup(cg, p_c, 1u));
  stack.add_input(lookup(cg, p_c, 2u));
  stack.rewind_one_step();
  check(as_vector(stack.back().value()) == as_vector(one.value()), "pop gives what was below");
  check(stack.get_head(stack.state()) == bottom, "heads");
  Expression two = stack.add_input(bottom, lookup(cg, p_c, 1u));
  check(as_vector(two.value()) == as_vector(one.value()), "the same input on the same state");
  check(as_vector(stack.get_h(bottom)[0].value()).size() == HIDDEN_DIM, "states stay");
}

/// Builders behind pointers to the base class, in both directions.
void both_directions(RNNBuilder& l2r, RNNBuilder& r2l, ParameterCollection& model) {
  LookupParameter p_w = model.add_lookup_parameters(VOCAB_SIZE, {INPUT_DIM});
  Parameter p_th2t = model.add_parameters({3, 2 * HIDDEN_DIM});
  SimpleSGDTrainer trainer(model, 0.1f);
  float first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    ComputationGraph cg;
    l2r.new_graph(cg);
    l2r.start_new_sequence();
    r2l.new_graph(cg);
    r2l.start_new_sequence();
    Expression th2t = parameter(cg, p_th2t);
    const vector<unsigned> words{0, 1, 2, 0};
    vector<Expression> fwd(4), rev(4), errs;
    for (unsigned t = 0; t < 4; ++t) fwd[t] = l2r.add_input(lookup(cg, p_w, words[t]));
    for (unsigned t = 4; t-- > 0;) rev[t] = r2l.add_input(lookup(cg, p_w, words[t]));
    for (unsigned t = 0; t < 4; ++t)
      errs.push_back(pickneglogsoftmax(th2t * concatenate({fwd[t], rev[t]}), t % 3));
    Expression loss = sum(errs);
    last = as_scalar(cg.forward(loss));
    if (i == 0) first = last;
    cg.backward(loss);
    trainer.update();
  }
  check(last < 0.5f * first, "the tagger learns");
}

/// A builder of the program's own: the sum of its inputs, times a parameter.
struct SummingBuilder : public RNNBuilder {
  explicit SummingBuilder(unsigned dim, ParameterCollection& model) {
    local_model = model.add_subcollection("summing-builder");
    p_w = local_model.add_parameters({dim});
  }
  Expression back() const override { return cur == -1 ? h0.back() : h[cur]; }
  vector<Expression> final_h() const override {
    return h.empty() ? h0 : vector<Expression>{h.back()};
  }
  vector<Expression> final_s() const override { return final_h(); }
  vector<Expression> get_h(RNNPointer i) const override {
    return i == -1 ? h0 : vector<Expression>{h[i]};
  }
  vector<Expression> get_s(RNNPointer i) const override { return get_h(i); }
  unsigned num_h0_components() const override { return 1; }
  void copy(const RNNBuilder& other) override {
    p_w = dynamic_cast<const SummingBuilder&>(other).p_w;
  }
  ParameterCollection& get_parameter_collection() override { return local_model; }
  Parameter p_w;

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override {
    w = update ? parameter(cg, p_w) : const_parameter(cg, p_w);
  }
  void start_new_sequence_impl(const vector<Expression>& h_0) override {
    h.clear();
    h0 = h_0;
  }
  Expression add_input_impl(int prev, const Expression& x) override {
    Expression in = dropout_rate != 0.f ? dropout(x, dropout_rate) : x;
    Expression y = cmult(w, in);
    if (prev >= 0)
      y = y + h[prev];
    else if (!h0.empty())
      y = y + h0[0];
    h.push_back(y);
    return y;
  }
  Expression set_h_impl(int, const vector<Expression>& h_new) override {
    h.push_back(h_new[0]);
    return h_new[0];
  }
  Expression set_s_impl(int prev, const vector<Expression>& s_new) override {
    return set_h_impl(prev, s_new);
  }

 private:
  ParameterCollection local_model;
  Expression w;
  vector<Expression> h, h0;
};

int main(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  dynet::initialize(params);
  language_model<SimpleRNNBuilder>("SimpleRNNBuilder");
  language_model<GRUBuilder>("GRUBuilder");
  language_model<LSTMBuilder>("LSTMBuilder");
  language_model<VanillaLSTMBuilder>("VanillaLSTMBuilder");
  language_model<SparseLSTMBuilder>("SparseLSTMBuilder");
  language_model<CompactVanillaLSTMBuilder>("CompactVanillaLSTMBuilder");
  language_model<FastLSTMBuilder>("FastLSTMBuilder");
  language_model<DeepLSTMBuilder>("DeepLSTMBuilder");
  encoder_decoder<SimpleRNNBuilder>();
  encoder_decoder<GRUBuilder>();
  encoder_decoder<CoupledLSTMBuilder>();
  encoder_decoder<CompactVanillaLSTMBuilder>();
  stack_of_states<GRUBuilder>();
  stack_of_states<VanillaLSTMBuilder>();
  stack_of_states<FastLSTMBuilder>();
  {
    ParameterCollection model;
    GRUBuilder l2r(1, INPUT_DIM, HIDDEN_DIM, model);
    SparseLSTMBuilder r2l(1, INPUT_DIM, HIDDEN_DIM, model, true);
    both_directions(l2r, r2l, model);
  }
  ParameterCollection model;
  // Both directions in one.
  BiRNNBuilder<GRUBuilder> both(2, INPUT_DIM, 2 * HIDDEN_DIM, model);
  both.set_dropout(0.5f);
  both.disable_dropout();
  SummingBuilder sums(4, model);
  RNNBuilder* rnn = &sums;
  rnn->set_dropout(0.5f);
  rnn->disable_dropout();
  ComputationGraph cg;
  rnn->new_graph(cg);
  rnn->start_new_sequence();
  rnn->add_input(input(cg, {4}, vector<float>{1, 2, 3, 4}));
  rnn->add_input(input(cg, {4}, vector<float>{4, 3, 2, 1}));
  Expression all = parameter(cg, sums.p_w) * 5.f;
  check(as_scalar(squared_distance(rnn->back(), all).value()) < 1e-8f, "an own builder");
  rnn->rewind_one_step();
  check(rnn->state() == 0, "an own builder goes back");
  both.new_graph(cg);
  const Expression x = input(cg, {INPUT_DIM}, vector<float>(INPUT_DIM, 1.f));
  check(both.transduce({x, x, x})[1].dim() == Dim({2 * HIDDEN_DIM}), "both directions");
  check(both.back().dim() == Dim({2 * HIDDEN_DIM}), "both ends");
  remove("recurrent.model");
  return wrong;
}
