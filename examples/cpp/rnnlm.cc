// Trains a recurrent language model on a file of sentences and tells its perplexity, or continues a
// text. Start reading at rnnlm_model.h, the model; program.h has what all programs share. The
// Python twin is ../python/rnnlm.py.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "rnnlm_model.h"
#include "sequence_losses.h"

namespace examples {
namespace {

struct RnnlmOptions : Options {
  Settings sizes{"rnnlm", {{"embedding", 128}, {"hidden", 256}}, {}};
  unsigned vocabulary = 10000;
  bool by_sequence = false;
};

/// All words of the training text, or the most frequent ones; `<unk>` and the end mark first.
std::vector<std::string> make_vocabulary(const std::vector<RawSentence>& sentences,
                                         std::size_t limit) {
  std::vector<std::string> words = {"<unk>", "<s>"};
  for (const std::string& word : most_frequent(sentences, limit)) {
    if (words.size() < limit && word != words[0] && word != words[kEndMark]) {
      words.push_back(word);
    }
  }
  return words;
}

Numbers numbers_of(const RawSentence& sentence, Dict& words) {
  Numbers numbers;
  for (const std::string& word : sentence.words) {
    numbers.push_back(static_cast<unsigned>(words.convert(word)));
  }
  numbers.push_back(kEndMark);
  return numbers;
}

/// Sentences in batches of equal size and similar length, so that little of a batch is filler.
std::vector<Batch> make_batches(const std::vector<RawSentence>& raw, const Settings& settings,
                                std::size_t size) {
  Dict words = settings.dict("words");
  std::vector<std::size_t> order(raw.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t length_a = raw[a].words.size();
    const std::size_t length_b = raw[b].words.size();
    return length_a != length_b ? length_a > length_b : a < b;
  });
  std::vector<Batch> batches((raw.size() + size - 1) / size);
  for (std::size_t i = 0; i < order.size(); ++i) {
    batches[i / size].push_back(numbers_of(raw[order[i]], words));
  }
  return batches;
}

class RnnlmLearner : public ExampleLearner<Rnnlm, Batch> {
 public:
  RnnlmLearner(const RnnlmOptions& options, const Settings& settings,
               const std::vector<RawSentence>& raw)
      : ExampleLearner(settings, make_batches(raw, settings, options.minibatch),
                       options.dev.empty()
                           ? std::vector<Batch>()
                           : make_batches(read_text_file(options.dev), settings, kTestBatch),
                       options.seed, 1),
        by_sequence_(options.by_sequence) {}

  [[nodiscard]] ScoreKind score_kind() const override { return {"perplexity", false}; }
  double test() override {
    double loss = 0;
    std::size_t words = 0;
    for (const Batch& batch : dev) {
      ComputationGraph cg;
      model.new_graph(cg);
      const Losses losses = add(cg, batch);
      loss += as_scalar(losses.sum.value());
      words += losses.items;
    }
    return std::exp(loss / static_cast<double>(words));
  }

 protected:
  Losses add(ComputationGraph& cg, const Batch& batch) override {
    std::size_t words = 0;
    for (const Numbers& sentence : batch) {
      words += sentence.size();
    }
    return {by_sequence_ ? sequence_loss(model, cg, batch) : model.loss(cg, batch), words, words};
  }

 private:
  static constexpr std::size_t kTestBatch = 16;
  bool by_sequence_;
};

void train_and_report(const RnnlmOptions& options) {
  const std::vector<RawSentence> sentences = read_text_file(options.train);
  Settings sizes = options.sizes;
  sizes.lists = {{"words", make_vocabulary(sentences, options.vocabulary)}};
  RnnlmLearner learner(options, sizes, sentences);
  set_initial_values(learner.parameters(), options);
  if (!options.is_quiet) {
    std::printf("rnnlm: %u words, embedding %u, state %u, %zu parameters, %u sentences an update\n",
                sizes["words"], sizes["embedding"], sizes["hidden"],
                learner.parameters().parameter_count(), options.minibatch);
  }
  train(learner, {.unit = "words", .updates_an_epoch = learner.order.updates_an_epoch()}, options);
}

/// How well the model foresees a text, and what it thinks comes next.
void predict(const RnnlmOptions& options) {
  const Settings settings = load_settings(options.model, {"rnnlm"});
  Rnnlm model(settings);
  populate(model.m, options.model);
  Dict vocabulary = settings.dict("words");
  Numbers words = numbers_of(parse_words(options.predict), vocabulary);

  ComputationGraph cg;
  model.new_graph(cg);
  const double loss = as_scalar(model.loss(cg, words).value());
  std::printf("perplexity %.1f\n", std::exp(loss / static_cast<double>(words.size())));
  words.pop_back();
  const std::vector<float> probabilities =
      as_vector(softmax(model.scores_after(cg, words)).value());
  Numbers order(probabilities.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](unsigned a, unsigned b) {
    return probabilities[a] != probabilities[b] ? probabilities[a] > probabilities[b] : a < b;
  });
  order.resize(std::min<std::size_t>(order.size(), 5));
  for (const unsigned word : order) {
    std::printf("next %5.1f %%  %s\n", 100 * static_cast<double>(probabilities[word]),
                settings.list("words")[word].c_str());
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
  declare_sizes(app, options.sizes,
                {{"embedding", "size of a word's vector"}, {"hidden", "size of the LSTM's state"}});
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences")
      ->group("Model");
  return run_task(app, argc, argv, options, train_and_report, predict);
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::run_program("rnnlm", argc, argv, examples::run);
}
