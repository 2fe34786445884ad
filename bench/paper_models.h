#pragma once

// The paper's models, on sentences that benches make up. A loss names its sentences by number.

#include <utility>
#include <vector>

#include "dynet/expr.h"

#include "random_trees.h"
#include "rnnlm_model.h"
#include "tagger_model.h"
#include "tree_model.h"

namespace dynet::bench {

/// Half of the words are among the first few hundred.
inline unsigned draw_word(example::Random& random, unsigned words) {
  return random.below(random.below(2) == 0 ? 300U : words);
}

/// A model that has a loss for each sentence.
template <class Model, class Sentence>
struct SentenceCase {
  Model model;
  std::vector<Sentence> sentences{256};

  explicit SentenceCase(const example::Settings& settings) : model(settings) {}
  Expression loss(ComputationGraph& cg, const std::vector<unsigned>& places) {
    model.new_graph(cg);
    losses_.clear();
    for (const unsigned i : places) {
      losses_.push_back(model.loss(cg, sentences[i]));
    }
    return sum(losses_);
  }

 private:
  std::vector<Expression> losses_;
};

/// The tagger, on sentences of 5 to 45 words; if it spells, the tagger that reads characters.
struct TaggerCase : SentenceCase<example::Tagger, example::Sentence> {
  explicit TaggerCase(bool spells = false)
      : SentenceCase({"tagger",
                      {{"embedding", 128},
                       {"hidden", 50},
                       {"mlp", 32},
                       {"rows", 69500},
                       {"words", 0},
                       {"tags", 9},
                       {"characters", spells ? 60 : 0},
                       {"character-embedding", 20},
                       {"character-hidden", 64}}}) {
    example::Random random(1);
    for (example::Sentence& sentence : sentences) {
      const unsigned length = 5 + random.below(41);
      for (unsigned i = 0; i < length; ++i) {
        const unsigned word = draw_word(random, 69500);
        sentence.words.push_back({word, {}});
        sentence.tags.push_back(word % 9);
        for (unsigned k = 0; spells && word >= 300 && k < 7; ++k) {
          sentence.words.back().letters.push_back(random.below(60));
        }
      }
    }
  }
};

/// The tree LSTM, on random trees of `least` to `most` words.
struct TreeCase : SentenceCase<example::TreeModel, example::Tree> {
  TreeCase(unsigned words, unsigned least, unsigned most)
      : SentenceCase({"trees", {{"words", words}, {"hidden", 128}, {"classes", 5}}}) {
    example::Random random(1);
    for (example::Tree& tree : sentences) {
      append_random_tree(tree, least + random.below(most - least + 1), random,
                         [&] { return draw_word(random, words); });
    }
  }
};

/// The language model, on sentences with words below kWords. A loss has one batch.
struct RnnlmCase {
  static constexpr unsigned kWords = 10000;
  example::Rnnlm model{{"rnnlm", {{"embedding", 128}, {"hidden", 256}, {"words", kWords}}}};
  std::vector<example::Numbers> sentences;

  explicit RnnlmCase(std::vector<example::Numbers> all) : sentences(std::move(all)) {}
  Expression loss(ComputationGraph& cg, const std::vector<unsigned>& places) {
    model.new_graph(cg);
    example::Batch batch;
    for (const unsigned i : places) {
      batch.push_back(sentences[i]);
    }
    return model.loss(cg, batch);
  }
};

}  // namespace dynet::bench
