#pragma once

// The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
// small network names the tag of each word. Words that are spelled are read by two LSTMs as well.

#include <algorithm>
#include <utility>

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
  /// The outputs of both after they have read each of `xs`.
  std::pair<Expressions, Expressions> read(Expressions xs) {
    left.start_new_sequence();
    right.start_new_sequence();
    std::pair<Expressions, Expressions> outputs;
    outputs.first = left.transduce(xs);
    std::reverse(xs.begin(), xs.end());
    outputs.second = right.transduce(xs);
    std::reverse(outputs.second.begin(), outputs.second.end());
    return outputs;
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
    Expressions xs;
    for (const unsigned letter : word) {
      xs.push_back(lookup(cg, letters, letter));
    }
    const auto [left, right] = spelling.read(xs);
    return concatenate({left.back(), right.front()});
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
    const auto [left, right] = reading.read(represent(cg, sentence));
    Expressions scores;
    for (std::size_t i = 0; i < left.size(); ++i) {
      scores.push_back(o * tanh(h * concatenate({left[i], right[i]})));
    }
    return scores;
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
