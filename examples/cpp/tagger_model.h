#pragma once

// The tagger of the paper: an LSTM from the left and one from the right read a sentence, and a
// small network names the tag of each word. Words that are spelled are read by two LSTMs as well.

#include <algorithm>
#include <string>

#include "dynet/birnn.h"
#include "dynet/lstm.h"
#include "dynet/text.h"

#include "model_file.h"

namespace example {

/// A word by its number or, if it is spelled, by the numbers of its characters.
struct Word {
  unsigned number = 0;
  Numbers letters = {};
};
struct Sentence {
  std::vector<Word> words = {};
  Numbers tags = {};  ///< none, or one per word; kNone for one that no training has
};

/// A word that has no number is spelled, if the model spells.
inline Word in_numbers(const std::string& word, Settings& settings) {
  Dict& characters = settings.dicts["characters"];
  Word found{static_cast<unsigned>(settings.dicts["words"].convert(word))};
  if (found.number == 0 && characters.size() > 0) {
    found.letters = numbers_of(text::letters(word), characters);
  }
  return found;
}

struct Tagger {
  ParameterCollection m;
  LookupParameter words, letters;
  using BiLSTM = BiRNNBuilder<VanillaLSTMBuilder>;
  BiLSTM spelling, reading;
  Parameter hidden, output;
  Expression h, o;  // in the graph

  explicit Tagger(const Settings& s)
      : words(m.add_lookup_parameters(std::max(s["rows"], s["words"]), {s["embedding"]})) {
    if (s["characters"] > 0) {
      letters = m.add_lookup_parameters(s["characters"], {s["character-embedding"]});
      spelling = BiLSTM(1, s["character-embedding"], 2 * s["character-hidden"], m);
    }
    reading = BiLSTM(1, s["embedding"], 2 * s["hidden"], m);
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
    spelling.add_inputs(xs);
    return spelling.back();
  }

  /// The states of both readers at each word of a sentence.
  Expressions read(ComputationGraph& cg, const Sentence& sentence) {
    Expressions xs;
    for (const Word& w : sentence.words) {
      xs.push_back(w.letters.empty() ? lookup(cg, words, w.number) : spell(cg, w.letters));
    }
    return reading.transduce(xs);
  }

  /// The scores of the tags of a word.
  Expression scores(const Expression& read) { return o * tanh(h * read); }

  /// The sum of the losses of all words.
  Expression loss(ComputationGraph& cg, const Sentence& sentence) {
    Expressions losses;
    for (const Expression& x : read(cg, sentence)) {
      losses.push_back(pickneglogsoftmax(scores(x), sentence.tags[losses.size()]));
    }
    return sum(losses);
  }
};

}  // namespace example
