// Attention, Transformers, a CRF and beam search as a user writes them (C++17): two translators
// that learn to turn a sentence round, one of them recurrent with attention, one a Transformer, and
// a tagger whose tags depend on each other. Each is trained a little, saved, read back, and asked.

#include "dynet/attention.h"

#include <cstdio>
#include <iostream>
#include <utility>

#include "dynet/beam.h"
#include "dynet/crf-builder.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/training.h"
#include "dynet/transformer.h"

#include "common.h"

using namespace std;
using namespace dynet;

const unsigned DIM = 16;
const unsigned VOCAB = 6;  // </s>, <s>, and four words
const unsigned END = 0, BEGIN = 1;
using Sentence = vector<unsigned>;
const vector<Sentence> CORPUS{{2, 3, 4}, {5, 4}, {3, 5, 2, 4}, {2}, {4, 3, 5}, {5, 2}};

Sentence reversed(const Sentence& s) {
  Sentence r(s.rbegin(), s.rend());
  r.push_back(END);
  return r;
}

/// A state of the decoder: the LSTM's numbers, which the beam search may carry.
struct DecoderState {
  vector<Expression> s;
};
template <class F>
void for_each_expression(DecoderState& state, F&& f) {
  for_each_expression(state.s, f);
}

struct RecurrentTranslator {
  LookupParameter words;
  VanillaLSTMBuilder encoder, decoder;
  MLPAttentionBuilder attention;
  Parameter p_out;
  Expression out;
  AttentionMemory memory;

  explicit RecurrentTranslator(ParameterCollection& m)
      : words(m.add_lookup_parameters(VOCAB, {DIM})),
        encoder(1, DIM, DIM, m),
        decoder(1, DIM, DIM, m),
        attention(DIM, DIM, DIM, m),
        p_out(m.add_parameters({VOCAB, 2 * DIM})) {}

  DecoderState start(ComputationGraph& cg, const Sentence& source) {
    encoder.new_graph(cg);
    decoder.new_graph(cg);
    attention.new_graph(cg);
    out = parameter(cg, p_out);
    encoder.start_new_sequence();
    vector<Expression> states;
    for (unsigned w : source) states.push_back(encoder.add_input(lookup(cg, words, w)));
    memory = attention.read(concatenate_cols(states));
    return {encoder.final_s()};
  }
  pair<DecoderState, Expression> step(ComputationGraph& cg, const DecoderState& state,
                                      unsigned word) {
    decoder.start_new_sequence(state.s);
    const Expression h = decoder.add_input(lookup(cg, words, word));
    const Expression context = attention.attend(h, memory);
    return {DecoderState{decoder.final_s()}, log_softmax(out * concatenate({h, context}))};
  }
};

struct Translator {
  LookupParameter words;
  SinusoidalEncoding positions{DIM};
  TransformerEncoderBuilder encoder;
  TransformerDecoderBuilder decoder;
  Parameter p_out;
  Expression out;

  explicit Translator(ParameterCollection& m)
      : words(m.add_lookup_parameters(VOCAB, {DIM})),
        encoder(1, DIM, 2, 32, m),
        decoder(1, DIM, 2, 32, m),
        p_out(m.add_parameters({VOCAB, DIM})) {}

  TransformerState start(ComputationGraph& cg, const Sentence& source) {
    encoder.new_graph(cg);
    decoder.new_graph(cg);
    out = parameter(cg, p_out);
    const unsigned n = source.size();
    const Expression x = reshape(lookup(cg, words, source), {DIM, n});
    return decoder.start(encoder.encode(positions.add(x)));
  }
  pair<TransformerState, Expression> step(ComputationGraph& cg, const TransformerState& state,
                                          unsigned word) {
    TransformerState next =
        decoder.add_input(state, positions.add(lookup(cg, words, word), state.positions()));
    return {next, log_softmax(out * next.output)};
  }
};

template <class Model>
void translate(const string& name) {
  ParameterCollection m;
  Model model(m);
  AdamTrainer trainer(m, 0.01f);
  float first = 0, last = 0;
  for (int epoch = 0; epoch < 120; ++epoch) {
    ComputationGraph cg;
    vector<Expression> errs;
    for (const Sentence& source : CORPUS) {
      auto state = model.start(cg, source);
      unsigned before = BEGIN;
      for (unsigned w : reversed(source)) {
        auto after = model.step(cg, state, before);
        errs.push_back(-pick(after.second, w));
        state = after.first;
        before = w;
      }
    }
    const Expression loss = sum(errs);
    last = as_scalar(cg.forward(loss));
    if (epoch == 0) first = last;
    cg.backward(loss);
    trainer.update();
  }
  check(last < 0.1f * first, name + " learns");
  {
    TextFileSaver saver("attention.model");
    saver.save(m);
  }
  ParameterCollection m2;
  Model read(m2);
  TextFileLoader("attention.model").populate(m2);
  int right = 0;
  for (const Sentence& source : CORPUS) {
    for (const bool checkpoints : {false, true}) {
      ComputationGraph cg;
      auto start = read.start(cg, source);
      BeamOptions options;
      options.n_best = 2;
      options.max_length = 8;
      options.length_norm = length_wu(0.5);
      options.checkpoints = checkpoints;
      const vector<Hypothesis> best = beam_search(
          cg, start, BEGIN, END,
          [&](const decltype(start)& state, unsigned word) { return read.step(cg, state, word); },
          options);
      right += !best.empty() && best[0].words == reversed(source) ? 1 : 0;
    }
  }
  check(right >= 10, name + " translates");
  cout << name << ": loss " << first << " -> " << last << ", " << right << " of 12 right" << endl;
}

void tag() {
  ParameterCollection m;
  LookupParameter words = m.add_lookup_parameters(4, {8});
  VanillaLSTMBuilder l2r(1, 8, 8, m), r2l(1, 8, 8, m);
  Parameter p_w = m.add_parameters({3, 16});
  CRFBuilder crf(3, m);
  crf.forbid(0, 2);  // O, B, I: an I never follows an O
  crf.forbid_start(2);
  const vector<Sentence> text{{0, 1, 2, 3}, {1, 2, 2}, {3, 0}, {0, 1, 0, 1, 2}};
  const vector<Sentence> tags{{0, 1, 2, 0}, {1, 2, 2}, {0, 0}, {0, 1, 0, 1, 2}};
  AdamTrainer trainer(m, 0.02f);
  auto scores = [&](ComputationGraph& cg, const Sentence& s) {
    l2r.new_graph(cg);
    r2l.new_graph(cg);
    l2r.start_new_sequence();
    r2l.start_new_sequence();
    vector<Expression> f(s.size()), b(s.size()), columns;
    for (size_t t = 0; t < s.size(); ++t) f[t] = l2r.add_input(lookup(cg, words, s[t]));
    for (size_t t = s.size(); t-- > 0;) b[t] = r2l.add_input(lookup(cg, words, s[t]));
    for (size_t t = 0; t < s.size(); ++t) columns.push_back(concatenate({f[t], b[t]}));
    return parameter(cg, p_w) * concatenate_cols(columns);
  };
  for (int epoch = 0; epoch < 60; ++epoch) {
    ComputationGraph cg;
    crf.new_graph(cg);
    vector<Expression> errs;
    for (size_t i = 0; i < text.size(); ++i)
      errs.push_back(crf.neg_log_likelihood(scores(cg, text[i]), tags[i]));
    cg.backward(sum(errs));
    trainer.update();
  }
  ComputationGraph cg;
  crf.new_graph(cg);
  for (size_t i = 0; i < text.size(); ++i)
    check(crf.viterbi(scores(cg, text[i])).tags == tags[i], "the tagger finds the tags");
  try {
    crf.neg_log_likelihood(scores(cg, text[0]), Sentence{0, 2, 2, 0});
    check(false, "forbidden tags are an error");
  } catch (const invalid_argument& e) {
    check(string(e.what()).find("is forbidden") != string::npos, e.what());
  }
}

int main() {
  DynetParams params;
  params.random_seed = 1;
  initialize(params);
  translate<RecurrentTranslator>("LSTM with attention");
  translate<Translator>("Transformer");
  tag();
  remove("attention.model");
  return wrong;
}
