#pragma once

// The language model of the paper: a table of words, one LSTM, and a softmax over all words. A
// sentence starts with the end mark of the one before it.

#include "dynet/lstm.h"

#include "model_file.h"

namespace example {

constexpr unsigned kEndMark = 1;
/// Sentences, each with the end mark behind it, from the longest to the shortest.
using Batch = std::vector<Numbers>;

struct Rnnlm {
  ParameterCollection m;
  LookupParameter words;
  VanillaLSTMBuilder lstm;
  Parameter weights, bias;
  Expression w, b;  // in the graph

  explicit Rnnlm(const Settings& s)
      : words(m.add_lookup_parameters(s["words"], {s["embedding"]})),
        lstm(1, s["embedding"], s["hidden"], m),
        weights(m.add_parameters({s["words"], s["hidden"]})),
        bias(m.add_parameters({s["words"]})) {}

  void new_graph(ComputationGraph& cg) {
    lstm.new_graph(cg);
    w = parameter(cg, weights);
    b = parameter(cg, bias);
  }

  /// The scores of the word after a state.
  Expression scores(const Expression& state) { return affine_transform({b, w, state}); }

  /// The sum of the losses of all words.
  Expression loss(ComputationGraph& cg, const Numbers& sentence) {
    Expressions losses;
    lstm.start_new_sequence();
    losses.reserve(sentence.size());
    unsigned before = kEndMark;
    for (const unsigned word : sentence) {
      losses.push_back(pickneglogsoftmax(scores(lstm.add_input(lookup(cg, words, before))), word));
      before = word;
    }
    return sum(losses);
  }

  /// The loss of several sentences, which take each step together, as one batch. Steps behind a
  /// sentence's end count nothing.
  Expression loss(ComputationGraph& cg, const Batch& sentences) {
    if (sentences.size() == 1) {
      return loss(cg, sentences[0]);
    }
    Expressions losses;
    lstm.start_new_sequence();
    Numbers before(sentences.size(), kEndMark);
    for (std::size_t t = 0; t < sentences[0].size(); ++t) {
      Numbers now(before.size(), kEndMark);
      std::vector<float> counts(before.size(), 0.0F);
      for (std::size_t i = 0; i < now.size() && t < sentences[i].size(); ++i) {
        now[i] = sentences[i][t];
        counts[i] = 1.0F;
      }
      Expression one = pickneglogsoftmax(scores(lstm.add_input(lookup(cg, words, before))), now);
      if (counts.back() == 0.0F) {
        one = cmult(one, input(cg, one.dim(), counts));
      }
      losses.push_back(one);
      before = now;
    }
    return sum_batches(sum(losses));
  }
};

}  // namespace example
