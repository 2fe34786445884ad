// Trains a recurrent language model on a file of sentences and tells its perplexity, or continues a
// text. Start reading at run(); the model is rnnlm_model.cc, the loop training.cc, the reader
// sentences.cc. The Python twin is ../python/rnnlm.py.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "data.h"
#include "options.h"
#include "rnnlm_model.h"
#include "sentences.h"
#include "training.h"

namespace examples {
namespace {

constexpr const char* kEnd = "<s>";

struct RnnlmOptions : Options {
  unsigned vocabulary = 10000;
  unsigned embedding = 128;
  unsigned hidden = 256;
  bool by_sequence = false;
};

WordNumbers numbers_of(const RawSentence& sentence, Vocabulary& vocabulary) {
  WordNumbers numbers;
  numbers.reserve(sentence.words.size() + 1);
  for (const std::string& word : sentence.words) {
    numbers.push_back(vocabulary.number(word));
  }
  numbers.push_back(vocabulary.number(kEnd));
  return numbers;
}

/// All words of the training text, or the most frequent ones; `<unk>` and the end mark first.
Vocabulary make_vocabulary(const std::vector<RawSentence>& sentences, std::size_t limit) {
  std::vector<RawSentence> marks(1);
  marks[0].words = {"<unk>", kEnd};
  std::vector<std::string> words = marks[0].words;
  for (const std::string& word : most_frequent(sentences, limit)) {
    if (words.size() < limit && word != words[0] && word != words[1]) {
      words.push_back(word);
    }
  }
  return Vocabulary(words);
}

/// Sentences in batches of equal size and similar length, so that little of a batch is filler.
class Batches {
 public:
  Batches(const std::vector<RawSentence>& raw, Vocabulary& vocabulary, std::size_t size)
      : size_(size) {
    for (const RawSentence& sentence : raw) {
      sentences_.push_back(numbers_of(sentence, vocabulary));
    }
    std::stable_sort(
        sentences_.begin(), sentences_.end(),
        [](const WordNumbers& a, const WordNumbers& b) { return a.size() > b.size(); });
  }
  [[nodiscard]] std::size_t count() const { return (sentences_.size() + size_ - 1) / size_; }
  /// Valid until the next call.
  const std::vector<const WordNumbers*>& batch(std::size_t index) {
    batch_.clear();
    const std::size_t end = std::min((index + 1) * size_, sentences_.size());
    for (std::size_t i = index * size_; i < end; ++i) {
      batch_.push_back(&sentences_[i]);
    }
    return batch_;
  }

 private:
  std::size_t size_;
  std::vector<WordNumbers> sentences_;
  std::vector<const WordNumbers*> batch_;
};

class RnnlmLearner : public Learner {
 public:
  explicit RnnlmLearner(const RnnlmOptions& options)
      : RnnlmLearner(options, read_text_file(options.train)) {}

  dynet::ParameterCollection& parameters() override { return model_.parameters(); }
  [[nodiscard]] Settings settings() const override { return settings_.saved(); }
  [[nodiscard]] std::size_t updates_an_epoch() const { return order_.updates_an_epoch(); }
  [[nodiscard]] std::size_t words() const { return settings_.words.size(); }

  Losses add_next(dynet::ComputationGraph& cg) override {
    return add(cg, train_.batch(order_.next()[0]));
  }

  [[nodiscard]] bool can_test() const override { return dev_.count() > 0; }
  [[nodiscard]] ScoreKind score_kind() const override { return {"perplexity", false}; }
  double test() override {
    double loss = 0;
    std::size_t words = 0;
    for (std::size_t i = 0; i < dev_.count(); ++i) {
      dynet::ComputationGraph cg;
      const Losses losses = add(cg, dev_.batch(i));
      loss += dynet::as_scalar(losses.sum.value());
      words += losses.items;
    }
    return std::exp(loss / static_cast<double>(words));
  }

 private:
  static constexpr std::size_t kTestBatch = 16;

  RnnlmLearner(const RnnlmOptions& options, const std::vector<RawSentence>& train)
      : vocabulary_(make_vocabulary(train, options.vocabulary)),
        settings_{options.embedding, options.hidden, vocabulary_.words()},
        train_(train, vocabulary_, options.minibatch),
        dev_(options.dev.empty() ? std::vector<RawSentence>() : read_text_file(options.dev),
             vocabulary_, kTestBatch),
        order_(options.seed, train_.count(), 1),
        by_sequence_(options.by_sequence),
        model_(settings_, vocabulary_.number(kEnd)) {}

  Losses add(dynet::ComputationGraph& cg, const std::vector<const WordNumbers*>& sentences) {
    std::size_t words = 0;
    for (const WordNumbers* sentence : sentences) {
      words += sentence->size();
    }
    model_.new_graph(cg);
    const dynet::Expression loss =
        by_sequence_ ? model_.add_sequences(cg, sentences) : model_.add_sentences(cg, sentences);
    return {loss, words, words};
  }

  Vocabulary vocabulary_;
  RnnlmSettings settings_;
  Batches train_;
  Batches dev_;
  Minibatches order_;
  bool by_sequence_;
  RnnlmModel model_;
};

void train_and_report(const RnnlmOptions& options) {
  RnnlmLearner learner(options);
  set_initial_values(learner.parameters(), options);
  if (!options.is_quiet) {
    std::printf(
        "rnnlm: %zu words, embedding %u, state %u, %zu parameters, %u sentences an update\n",
        learner.words(), options.embedding, options.hidden, learner.parameters().parameter_count(),
        options.minibatch);
  }
  train(learner, {.unit = "words", .updates_an_epoch = learner.updates_an_epoch()}, options);
}

/// How well the model foresees a text, and what it thinks comes next.
void predict(const RnnlmOptions& options) {
  const RnnlmSettings settings = RnnlmSettings::from(load_settings(options.model, {"rnnlm"}));
  Vocabulary vocabulary(settings.words);
  RnnlmModel model(settings, vocabulary.number(kEnd));
  populate(model.parameters(), options.model);
  WordNumbers words = numbers_of(parse_words(options.predict), vocabulary);

  dynet::ComputationGraph cg;
  model.new_graph(cg);
  const double loss = dynet::as_scalar(model.add_sentence(cg, words).value());
  std::printf("perplexity %.1f\n", std::exp(loss / static_cast<double>(words.size())));
  words.pop_back();
  const std::vector<float> probabilities =
      dynet::as_vector(dynet::softmax(model.score_next(cg, words)).value());
  std::vector<std::size_t> order(probabilities.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return probabilities[a] > probabilities[b];
  });
  order.resize(std::min<std::size_t>(order.size(), 5));
  for (const std::size_t word : order) {
    std::printf("next %5.1f %%  %s\n", 100 * static_cast<double>(probabilities[word]),
                settings.words[word].c_str());
  }
}

int run(int argc, char** argv) {
  RnnlmOptions options;
  options.minibatch = 16;
  CLI::App app("Trains an LSTM language model; sentences of an update are one batch.");
  declare_options(app, options, "sentences to learn from, one a line, words between spaces");
  app.add_option("--vocabulary", options.vocabulary,
                 "words at most, the most frequent ones (10000)")
      ->check(CLI::Range(2, 100000000))
      ->group("Model");
  app.add_option("--embedding", options.embedding, "size of a word's vector (128)")
      ->check(CLI::Range(1, 4096))
      ->group("Model");
  app.add_option("--hidden", options.hidden, "size of the LSTM's state (256)")
      ->check(CLI::Range(1, 4096))
      ->group("Model");
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences")
      ->group("Model");
  return run_task(app, argc, argv, options, train_and_report, predict);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::run_program("rnnlm", argc, argv, examples::run);
}
