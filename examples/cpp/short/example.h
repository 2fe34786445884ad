#pragma once

// What the short examples share: a command line, words by number, and the loop that trains.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/dict.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/text.h"
#include "dynet/training.h"

namespace example {

using Numbers = std::vector<unsigned>;

struct Setup {
  std::string train = {};  ///< files
  std::string dev = {};
  unsigned epochs = 10;
  unsigned minibatch = 8;
  float rate = 0.001F;
  unsigned seed = 1;
};

/// The frame of main: reads the command line (which may hold options of the library, such as
/// --dynet-autobatch=0), calls `program`, and prints what goes wrong. `data` says what --train and
/// --dev hold; null where the program has no files.
inline int run(int argc, char** argv, const char* about, const char* data, Setup setup,
               void (*program)(const Setup&)) {
  try {
    dynet::DynetParams params = dynet::extract_dynet_params(argc, argv);
    CLI::App app(about);
    if (data != nullptr) {
      app.add_option("--train", setup.train, data)->required();
      app.add_option("--dev", setup.dev, "the same, to test on")->required();
    }
    app.add_option("--epochs", setup.epochs)->capture_default_str();
    app.add_option("--minibatch", setup.minibatch, "examples per update")->capture_default_str();
    app.add_option("--rate", setup.rate, "learning rate")->capture_default_str();
    app.add_option("--seed", setup.seed)->capture_default_str();
    CLI11_PARSE(app, argc, argv);
    if (params.random_seed == 0) {  // --dynet-seed goes first
      params.random_seed = setup.seed;
    }
    dynet::initialize(params);
    program(setup);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
}

/// The numbers of words.
inline Numbers numbers_of(const dynet::text::Words& words, dynet::Dict& dict) {
  Numbers numbers;
  for (const std::string& word : words) {
    numbers.push_back(static_cast<unsigned>(dict.convert(word)));
  }
  return numbers;
}

/// Numbers for the words that occur `least` times or more; others count as "<unk>".
inline dynet::Dict numbered(const std::vector<dynet::text::Words>& sentences, unsigned least) {
  std::map<std::string, unsigned> counts;
  for (const auto& sentence : sentences) {
    for (const std::string& word : sentence) {
      ++counts[word];
    }
  }
  dynet::Dict words;
  for (const auto& [word, count] : counts) {
    if (count >= least) {
      words.convert(word);
    }
  }
  words.freeze();
  words.set_unk("<unk>");
  return words;
}

/// The place of the largest number, in each example of a batch.
inline Numbers best_of_each(const dynet::Expression& scores) {
  const std::vector<float> all = dynet::as_vector(scores.value());
  const std::size_t size = all.size() / scores.dim().batch_elems();
  Numbers best;
  for (auto begin = all.begin(); begin != all.end(); begin += static_cast<long>(size)) {
    const auto end = begin + static_cast<long>(size);
    best.push_back(static_cast<unsigned>(std::max_element(begin, end) - begin));
  }
  return best;
}
inline unsigned best(const dynet::Expression& scores) { return best_of_each(scores).front(); }

/// A tag for each word.
struct Tagged {
  Numbers words, tags;
};
inline std::vector<Tagged> read_tagged(const std::string& file, dynet::Dict& words,
                                       dynet::Dict& tags) {
  std::vector<Tagged> sentences;
  for (const dynet::text::TaggedSentence& sentence : dynet::text::TaggedReader(file)) {
    sentences.push_back({numbers_of(sentence.words, words), numbers_of(sentence.tags, tags)});
  }
  return sentences;
}
/// Numbers for the words of such a file that occur twice or more.
inline dynet::Dict numbered_words(const std::string& file) {
  std::vector<dynet::text::Words> sentences;
  for (const dynet::text::TaggedSentence& sentence : dynet::text::TaggedReader(file)) {
    sentences.push_back(sentence.words);
  }
  return numbered(sentences, 2);
}

/// `heads[w]` is the head of word w, counted from 1; word 0 is the root, "<root>".
struct Tree {
  Numbers words, heads;
};
inline constexpr unsigned kNoHead = ~0U;
inline std::vector<Tree> read_trees(const std::string& file, dynet::Dict& dict) {
  std::vector<Tree> trees;
  for (const dynet::text::ConlluSentence& sentence : dynet::text::ConlluReader(file)) {
    Tree tree{numbers_of({"<root>"}, dict), {kNoHead}};
    for (const dynet::text::ConlluToken* word : sentence.words()) {
      tree.words.push_back(static_cast<unsigned>(dict.convert(word->form)));
      tree.heads.push_back(static_cast<unsigned>(word->head));
    }
    trees.push_back(tree);
  }
  return trees;
}

/// How many answers are right.
class Score {
 public:
  void add(const Numbers& answers, const Numbers& right) {
    for (std::size_t i = 0; i < right.size(); ++i) {
      right_ += answers[i] == right[i] ? 1 : 0;
    }
    all_ += right.size();
  }
  [[nodiscard]] double share() const {
    return static_cast<double>(right_) / static_cast<double>(all_);
  }

 private:
  std::size_t right_ = 0;
  std::size_t all_ = 0;
};

/// The share of all tags that `tagger.tag(words)` gets right.
template <class Tagger>
double share_right(Tagger& tagger, const std::vector<Tagged>& sentences) {
  Score score;
  for (const Tagged& sentence : sentences) {
    score.add(tagger.tag(sentence.words), sentence.tags);
  }
  return score.share();
}

/// Goes through the examples `epochs` times, each time in another order. `loss(graph, example)`
/// adds the loss of one example to a graph; those of a minibatch are computed together. `score()`
/// tests the model after each epoch.
template <class Example, class Loss, class Score>
void train(const Setup& setup, std::vector<Example> examples, dynet::Trainer& trainer,
           const Loss& loss, const Score& score) {
  std::mt19937 random(setup.seed);
  for (unsigned epoch = 1; epoch <= setup.epochs; ++epoch) {
    std::shuffle(examples.begin(), examples.end(), random);
    double sum = 0;
    for (std::size_t begin = 0; begin < examples.size(); begin += setup.minibatch) {
      const std::size_t end = std::min<std::size_t>(begin + setup.minibatch, examples.size());
      dynet::ComputationGraph cg;
      std::vector<dynet::Expression> losses;
      for (std::size_t i = begin; i < end; ++i) {
        losses.push_back(loss(cg, examples[i]));
      }
      const dynet::Expression all = dynet::sum(losses);
      sum += dynet::as_scalar(all.value());
      cg.backward(all);
      trainer.update();
    }
    std::printf("epoch %u: loss %.4f, score %.2f %%\n", epoch,
                sum / static_cast<double>(examples.size()), 100 * score());
  }
}

}  // namespace example
