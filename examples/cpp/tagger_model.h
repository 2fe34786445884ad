#pragma once

// The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
// small network names the tag of each word. Words that are spelled are read by two LSTMs as well.

#include <algorithm>

#include "sentences.h"

namespace examples {

/// Two LSTMs: one reads a sequence from the left, one from the right.
struct BothWays {
  BothWays() = default;
  BothWays(unsigned in, unsigned hidden, ParameterCollection& m)
      : left(1, in, hidden, m), right(1, in, hidden, m) {}
  void new_graph(ComputationGraph& cg) {
    left.new_graph(cg);
    right.new_graph(cg);
  }
  void start() {
    left.start_new_sequence();
    right.start_new_sequence();
  }

  VanillaLSTMBuilder left, right;
};

struct Tagger {
  ParameterCollection m;
  LookupParameter words, letters;
  BothWays spelling, reading;
  Parameter hidden, output;
  Expression h, o;  // in the graph

  explicit Tagger(const Settings& s)
      : words(m.add_lookup_parameters(std::max(s["rows"], s["words"]), {s["embedding"]})) {
    if (s["characters"] > 0) {
      letters = m.add_lookup_parameters(s["characters"], {s["character-embedding"]});
      spelling = {s["character-embedding"], s["character-hidden"], m};
    }
    reading = {s["embedding"], s["hidden"], m};
    hidden = m.add_parameters({s["mlp"], 2 * s["hidden"]});
    output = m.add_parameters({s["tags"], s["mlp"]});
  }

  void new_graph(ComputationGraph& cg) {
    spelling.new_graph(cg);
    reading.new_graph(cg);
    h = parameter(cg, hidden);
    o = parameter(cg, output);
  }

  Expression spell(ComputationGraph& cg, const Numbers& word) {
    spelling.start();
    for (const unsigned letter : word) {
      spelling.left.add_input(lookup(cg, letters, letter));
    }
    for (std::size_t i = word.size(); i-- > 0;) {
      spelling.right.add_input(lookup(cg, letters, word[i]));
    }
    return concatenate({spelling.left.back(), spelling.right.back()});
  }

  Expressions represent(ComputationGraph& cg, const std::vector<Word>& sentence) {
    Expressions xs;
    for (const Word& w : sentence) {
      xs.push_back(w.letters.empty() ? lookup(cg, words, w.number) : spell(cg, w.letters));
    }
    return xs;
  }

  /// The scores of the tags of each word.
  Expressions scores(ComputationGraph& cg, const std::vector<Word>& sentence) {
    Expressions xs = represent(cg, sentence);
    reading.start();
    const Expressions left = reading.left.transduce(xs);
    for (std::size_t i = xs.size(); i-- > 0;) {
      xs[i] = o * tanh(h * concatenate({left[i], reading.right.add_input(xs[i])}));
    }
    return xs;
  }

  /// The sum of the losses of all words.
  Expression loss(ComputationGraph& cg, const Sentence& sentence) {
    Expressions losses = scores(cg, sentence.words);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      losses[i] = pickneglogsoftmax(losses[i], sentence.tags[i]);
    }
    return sum(losses);
  }
};

}  // namespace examples
