// Trains the recurrent language model of the DyNet paper on a file of sentences and tells its
// perplexity, or continues a text. Start reading at rnnlm_model.h, the model. The Python twin is
// ../python/rnnlm.py.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/sequence.h"

#include "example.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "rnnlm_model.h"
#include "sentences.h"
#include "training.h"

namespace example {
namespace {

struct RnnlmOptions : PaperOptions {
  Settings sizes{"rnnlm", {{"embedding", 128}, {"hidden", 256}}};
  unsigned vocabulary = 10000;
  bool by_sequence = false;
};

/// The model, which may also be written with functions of whole sequences.
struct EitherRnnlm : Rnnlm {
  EitherRnnlm(const Settings& s, bool with_sequences) : Rnnlm(s), by_sequence(with_sequences) {}
  Expression loss(ComputationGraph& cg, const Batch& sentences) {
    if (!by_sequence) {
      return Rnnlm::loss(cg, sentences);
    }
    // Step by step: the word that each sentence reads, and the word to predict.
    std::vector<Numbers> read(sentences[0].size());
    Numbers labels;
    for (std::size_t t = 0; t < read.size(); ++t) {
      for (const Numbers& sentence : sentences) {
        read[t].push_back(t == 0 || t > sentence.size() ? kEndMark : sentence[t - 1]);
        labels.push_back(t < sentence.size() ? sentence[t] : kNoLabel);
      }
    }
    lstm.start_new_sequence();
    const Expressions states = lstm.transduce(lookup_sequence(cg, words, read));
    return sequence_loss(scores(concatenate_to_batch(states)), labels);
  }
  bool by_sequence;
};

/// Sentences in batches of equal size and similar length, so that little of a batch is filler.
std::vector<Batch> make_batches(std::vector<text::Words> sentences, Dict words, std::size_t size) {
  std::stable_sort(sentences.begin(), sentences.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<Batch> batches((sentences.size() + size - 1) / size);
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    batches[i / size].push_back(numbers_of(sentences[i], words));
    batches[i / size].back().push_back(kEndMark);
  }
  return batches;
}

std::size_t words_in(const Batch& batch) {
  return std::accumulate(batch.begin(), batch.end(), std::size_t{0},
                         [](std::size_t n, const Numbers& s) { return n + s.size(); });
}

double perplexity(EitherRnnlm& model, const std::vector<Batch>& batches) {
  double loss = 0;
  std::size_t words = 0;
  for (const Batch& batch : batches) {
    ComputationGraph cg;
    model.new_graph(cg);
    loss += as_scalar(model.loss(cg, batch).value());
    words += words_in(batch);
  }
  return std::exp(loss / static_cast<double>(words));
}

void train_rnnlm(const RnnlmOptions& options) {
  const auto sentences = read_all<text::PlainReader>(options.train);
  Settings settings = options.sizes;
  settings.dicts["words"] = most_frequent(sentences, {"<unk>", "<s>"}, options.vocabulary);
  const Dict& words = settings.dicts["words"];
  EitherRnnlm model(settings, options.by_sequence);
  Plan plan{
      .unit = "words", .score_name = "perplexity", .less_is_better = true, .settings = &settings};
  std::vector<Batch> dev;
  if (!options.dev.empty()) {
    dev = make_batches(read_all<text::PlainReader>(options.dev), words, 16);
    plan.score = [&] { return perplexity(model, dev); };
  }
  RnnlmOptions by_batch = options;
  by_batch.minibatch = ranks() == nullptr ? 1 : ranks()->size();  // a batch for each rank
  train(by_batch, plan, model, make_batches(sentences, words, options.minibatch), words_in);
}
/// The perplexity of a text, and likely next words.
void continue_text(const RnnlmOptions& options) {
  const Settings settings = load_settings(options.model(), "rnnlm");
  EitherRnnlm model(settings, options.by_sequence);
  populate(model, options.model());
  const Dict& words = settings.dicts.at("words");
  const std::vector<Batch> text = make_batches({words_of(options.predict)}, words, 1);
  std::printf("perplexity %.1f\n", perplexity(model, text));
  ComputationGraph cg;
  model.new_graph(cg);
  model.loss(cg, text[0]);  // its last state has read all words
  const auto odds = as_vector(softmax(model.scores(model.lstm.back())).value());
  Numbers order(odds.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](unsigned a, unsigned b) { return odds[a] > odds[b]; });
  order.resize(std::min<std::size_t>(order.size(), 5));
  for (const unsigned word : order) {
    std::printf("next %5.1f %%  %s\n", 100 * static_cast<double>(odds[word]),
                words.convert(static_cast<int>(word)).c_str());
  }
}

void declare(CLI::App& app, RnnlmOptions& options) {
  declare_paper_options(app, options);
  declare_sizes(app, options.sizes,
                {{"embedding", "size of a word's vector"}, {"hidden", "size of the LSTM's state"}});
  app.add_option("--vocabulary", options.vocabulary, "words at most, the most frequent ones")
      ->check(CLI::Range(2U, 1000000000U));
  app.add_flag("--sequence", options.by_sequence, "use the functions of whole sequences");
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::RnnlmOptions options;
  options.data = "file of sentences, words between spaces";
  options.minibatch = 16;
  return example::run_paper_program(
      argc, argv, "Trains an LSTM language model; an update is one batch.", options,
      example::train_rnnlm, example::declare, example::continue_text);
}
