#pragma once

// Code that all examples share: the frame of main, data as numbers, random orders, and the training
// of a model that is tested after each epoch. A model is a class with parameters `m`,
// `new_graph(cg)`, which is called once for each graph, `loss(cg, example)`, and `answer(cg,
// example)`, the labels that the model gives, or `answers(cg, examples)`, the labels of several.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dynet/dict.h"
#include "dynet/distributed.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/text.h"
#include "dynet/training.h"

namespace CLI {  // NOLINT(readability-identifier-naming): a name of the option parser
class App;  // programs with options of their own include CLI/CLI.hpp, which compiles longer than
            // they do
}

namespace example {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using Expressions = std::vector<Expression>;
using Numbers = std::vector<unsigned>;

// ---- the command line

struct Options {
  std::string data = {};   ///< the contents of files; empty: the program has none
  std::string train = {};  ///< files
  std::string dev = {};
  unsigned epochs = 10;
  std::size_t updates = 0;  ///< 0: all updates of the epochs
  unsigned minibatch = 8;
  double learning_rate = 0.005;
  unsigned seed = 1;
  bool is_distributed = false;  ///< as one rank of a job
};

/// The options of every program.
void declare_options(CLI::App& app, Options& o);

/// The frame of main: reads the command line (which may hold options of the library, such as
/// --dynet-autobatch=0) into the variables that `declare` names, `options` among them, starts the
/// library, runs the program, and prints errors. Mistakes in data exit with 2, others with 1.
int run(int argc, char** argv, const char* about, const Options& options,
        const std::function<void(CLI::App&)>& declare, const std::function<void()>& program);

/// For a program without options of its own, which begins with these defaults.
int run(int argc, char** argv, const char* about, Options options, void (*program)(const Options&));

// ---- data as numbers

/// The input of a model, and the wanted labels: a tag for each word, the class of a document, the
/// words of a translation.
struct Example {
  Numbers words, labels;
};

/// All that a reader of dynet/text finds in a file, which is something.
template <class Reader>
auto read_all(const std::string& file) {
  auto items = Reader(file).read_all();
  if (items.empty()) {
    throw text::TextError(file, 1, 1, "nothing but blank lines in this file");
  }
  return items;
}

constexpr unsigned kNone = ~0U;

/// Takes no new words: a new word counts as "<unk>".
inline void freeze(Dict& dict) {
  dict.freeze();
  dict.set_unk("<unk>");
}

/// The numbers of words, tags or classes. A dictionary that is not frozen grows. In a dictionary
/// frozen without "<unk>", new words are kNone: a class that is in no training, and never an
/// answer.
inline Numbers numbers_of(const text::Words& words, Dict& dict) {
  const bool takes_all = !dict.is_frozen() || dict.get_unk_id() >= 0;
  Numbers numbers;
  for (const std::string& word : words) {
    numbers.push_back(takes_all || dict.contains(word) ? static_cast<unsigned>(dict.convert(word))
                                                       : kNone);
  }
  return numbers;
}

/// Words in the order in which they are first seen, and how often each occurs. `words_in` says
/// where the words of a sentence are.
template <class Sentence, class WordsIn = std::identity>
std::pair<text::Words, Numbers> count_words(const std::vector<Sentence>& sentences,
                                            const WordsIn& words_in = {}) {
  Dict seen;
  Numbers counts;
  for (const Sentence& sentence : sentences) {
    for (const unsigned number : numbers_of(std::invoke(words_in, sentence), seen)) {
      counts.resize(seen.size());
      ++counts[number];
    }
  }
  return {seen.get_words(), counts};
}

/// Numbers for "<unk>" and for the words that occur `least` times or more.
template <class Sentence, class WordsIn = std::identity>
Dict numbered(const std::vector<Sentence>& sentences, unsigned least,
              const WordsIn& words_in = {}) {
  const auto [seen, counts] = count_words(sentences, words_in);
  Dict words;
  words.convert("<unk>");
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (counts[i] >= least) {
      words.convert(seen[i]);
    }
  }
  freeze(words);
  return words;
}

// ---- random orders

/// Random integers that are the same in C++, in Python, and in comparable programs without the
/// library.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// In [0, n): the upper half of a word times n.
  unsigned below(unsigned n) { return static_cast<unsigned>((std::uint64_t{engine_()} * n) >> 32); }

 private:
  std::mt19937 engine_;
};

/// Goes over `count` examples in a new random order each time (Fisher and Yates, from the back),
/// some of them an update. None mixes two passes.
class Minibatches {
 public:
  Minibatches(std::uint32_t seed, std::size_t count, std::size_t size)
      : random_(seed), order_(count), size_(size), at_(count) {}
  /// The places of the next examples.
  std::vector<std::size_t> next() {
    if (at_ == order_.size()) {
      std::iota(order_.begin(), order_.end(), std::size_t{0});
      for (std::size_t i = order_.size(); i > 1; --i) {
        std::swap(order_[i - 1], order_[random_.below(static_cast<unsigned>(i))]);
      }
      at_ = 0;
    }
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(at_);
    at_ = std::min(at_ + size_, order_.size());
    return {begin, order_.begin() + static_cast<std::ptrdiff_t>(at_)};
  }
  [[nodiscard]] std::size_t updates_an_epoch() const { return (order_.size() + size_ - 1) / size_; }

 private:
  Random random_;
  std::vector<std::size_t> order_;
  std::size_t size_;
  std::size_t at_;
};

// ---- training

/// The ranks of the job, with --distributed; else null. Set by run().
[[nodiscard]] const std::shared_ptr<distributed::Exchange>& ranks();

/// Updates by a trainer; with --distributed by the gradients of all ranks, added.
class Updates {
 public:
  explicit Updates(Trainer& trainer) : trainer_(trainer) {
    if (ranks() != nullptr) {
      all_.emplace(trainer, ranks(), distributed::Options{distributed::Gradient::kSum});
    }
  }
  [[nodiscard]] bool is_first() const { return !all_ || all_->rank() == 0; }
  /// How many ranks there are, and this one's part of a list that all have.
  [[nodiscard]] std::size_t size() const { return all_ ? all_->size() : 1; }
  template <class T>
  [[nodiscard]] std::vector<T> share(const std::vector<T>& list) const {
    const std::size_t rank = all_ ? all_->rank() : 0;
    return {list.begin() + static_cast<std::ptrdiff_t>(list.size() * rank / size()),
            list.begin() + static_cast<std::ptrdiff_t>(list.size() * (rank + 1) / size())};
  }
  /// Over all ranks.
  double sum(double number) { return all_ ? all_->sum(number) : number; }
  void update() {
    if (all_) {
      all_->update();
    } else {
      trainer_.update();
    }
  }

 private:
  Trainer& trainer_;
  std::optional<DistributedTrainer> all_;
};

/// Leaves the gradient of the examples at these places. Returns the sum of their losses.
template <class Model, class AnyExample>
float learn_gradient(Model& model, const std::vector<AnyExample>& examples,
                     const std::vector<std::size_t>& places) {
  ComputationGraph cg;
  model.new_graph(cg);
  Expressions losses;
  for (const std::size_t i : places) {
    losses.push_back(model.loss(cg, examples[i]));
  }
  const Expression all = losses.size() == 1 ? losses[0] : sum(losses);
  const float loss = as_scalar(cg.forward(all));
  cg.backward(all);
  return loss;
}

/// An update with the examples at these places, whose losses are written into one graph; a rank
/// has its share of them. Returns the sum of the losses.
template <class Model, class AnyExample>
float learn(Updates& updates, Model& model, const std::vector<AnyExample>& examples,
            const std::vector<std::size_t>& all_places) {
  const std::vector<std::size_t> places = updates.share(all_places);
  float loss = 0;
  if (!places.empty()) {
    loss = learn_gradient(model, examples, places);
  }
  loss = static_cast<float>(updates.sum(static_cast<double>(loss)));
  updates.update();
  return loss;
}

/// The place of the largest number in each of the scores, which have one size, and in each example
/// of a batch. Computes all scores together.
inline Numbers best_of_each(const Expressions& scores) {
  const std::vector<float> all = as_vector(concatenate(scores).value());
  const auto size = static_cast<std::ptrdiff_t>(scores[0].dim().rows());
  Numbers best;
  for (auto at = all.begin(); at != all.end(); at += size) {
    best.push_back(static_cast<unsigned>(std::max_element(at, at + size) - at));
  }
  return best;
}

inline void append(Numbers& to, const Numbers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The share of the answers that are right.
inline double share_right(const Numbers& answers, const Numbers& right) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    count += answers[i] == right[i] ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(right.size());
}

/// The share of the labels that a model gets right.
template <class Model>
double accuracy(Model& model, const std::vector<Example>& examples) {
  constexpr std::size_t kTogether = 64;
  Numbers answers, right;
  for (std::size_t first = 0; first < examples.size();) {
    ComputationGraph cg;
    model.new_graph(cg);
    const std::size_t begin = first;
    if constexpr (requires { model.answers(cg, examples); }) {
      first = std::min(first + kTogether, examples.size());
      append(answers, model.answers(cg, {&examples[begin], &examples[first - 1] + 1}));
    } else {
      append(answers, model.answer(cg, examples[first++]));
    }
    for (std::size_t i = begin; i < first; ++i) {
      append(right, examples[i].labels);
    }
  }
  return share_right(answers, right);
}

/// Trains with Adam as the options say, and tests on `dev` after each epoch.
template <class Model>
void train_and_test(const Options& options, Model& model, const std::vector<Example>& examples,
                    const std::vector<Example>& dev) {
  AdamTrainer trainer(model.m, static_cast<float>(options.learning_rate));
  Updates updates(trainer);
  Minibatches order(options.seed, examples.size(), options.minibatch);
  const std::size_t epoch = order.updates_an_epoch();
  const std::size_t last = options.updates != 0 ? options.updates : options.epochs * epoch;
  std::size_t seen = 0;  // since the test before, with this loss
  double loss = 0, score = 0, best = 0;
  for (std::size_t update = 1; update <= last; ++update) {
    const std::vector<std::size_t> places = order.next();
    loss += learn(updates, model, examples, places);
    seen += places.size();
    if (update % epoch == 0 || update == last) {
      score = 100 * accuracy(model, dev);
      best = std::max(best, score);
      std::printf("%zu updates  loss %.4f  accuracy %.2f %%\n", update,
                  loss / static_cast<double>(seen), score);
      loss = 0;
      seen = 0;
    }
  }
  std::printf("dev accuracy %.2f %%, best accuracy %.2f %%\n", score, best);
}

/// Trains and tests a Model made for the numbers of words and tags. Words that occur once count as
/// "<unk>"; `first_tag`, if there is one, has the number 0.
template <class Model>
void train_on_tagged(const Options& options, const text::Words& first_tag = {}) {
  const auto read = read_all<text::TaggedReader>(options.train);
  Dict words = numbered(read, 2, &text::TaggedSentence::words);
  Dict tags;
  numbers_of(first_tag, tags);
  const auto in_numbers = [&](const std::vector<text::TaggedSentence>& sentences) {
    std::vector<Example> all;
    all.reserve(sentences.size());
    for (const text::TaggedSentence& sentence : sentences) {
      all.push_back({numbers_of(sentence.words, words), numbers_of(sentence.tags, tags)});
    }
    return all;
  };
  const std::vector<Example> train = in_numbers(read);
  tags.freeze();
  const std::vector<Example> dev = in_numbers(read_all<text::TaggedReader>(options.dev));
  Model model(words.size(), tags.size());
  train_and_test(options, model, train, dev);
}

}  // namespace example
