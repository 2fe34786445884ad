// A language model with a Transformer (Vaswani et al., 2017): each word is predicted from all
// earlier words, in training all at once, in writing one after the other with a cache. Data: one
// sentence per line, words between spaces.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "dynet/beam.h"
#include "dynet/transformer.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 32;
constexpr unsigned kEnd = 0;  ///< before the first word and after the last one

class LanguageModel {
 public:
  ParameterCollection m;

  explicit LanguageModel(unsigned words)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        positions_(kSize),
        layers_(2, kSize, 4, 2 * kSize, m, without_memory()),
        weights_(m.add_parameters({words, kSize})),
        bias_(m.add_parameters({words}, ParameterInitConst(0))) {}

  void new_graph(ComputationGraph& cg) {
    layers_.new_graph(cg);
    w_ = parameter(cg, weights_);
    b_ = parameter(cg, bias_);
  }
  Expression loss(ComputationGraph& cg, const Example& sentence) {
    layers_.set_dropout(0.1F);
    return sum_batches(pickneglogsoftmax(all_scores(cg, sentence.words), sentence.labels));
  }
  /// The most probable next word at each place.
  Numbers answer(ComputationGraph& cg, const Example& sentence) {
    layers_.disable_dropout();
    return best_of_each({all_scores(cg, sentence.words)});
  }

  /// The most probable sentence.
  Numbers write() {
    layers_.disable_dropout();
    ComputationGraph cg;
    new_graph(cg);
    const auto step = [&](const TransformerState& state, unsigned word) {
      const Expression x = positions_.add(lookup(cg, embedding_, word), state.positions());
      TransformerState next = layers_.add_input(state, x);
      const Expression odds = log_softmax(scores(next.output));
      return std::pair(std::move(next), odds);
    };
    BeamOptions options;
    options.max_length = 20;
    return beam_search(cg, layers_.start(), kEnd, kEnd, step, options).at(0).words;
  }

 private:
  static TransformerOptions without_memory() {
    TransformerOptions options;
    options.has_memory = false;
    return options;
  }
  /// Scores of the next word, {words}xb.
  Expression scores(const Expression& h) { return affine_transform({b_, w_, h}); }
  /// Scores of the next word at each place, as a batch.
  Expression all_scores(ComputationGraph& cg, const Numbers& sentence) {
    Numbers read = sentence;
    read.insert(read.begin(), kEnd);
    const auto n = static_cast<unsigned>(read.size());
    const Expression x = reshape(lookup(cg, embedding_, read), {kSize, n});
    const Expression h = layers_.add_input(layers_.start(), positions_.add(x)).output;
    return scores(reshape(h, Dim({kSize}, n)));
  }

  LookupParameter embedding_;
  SinusoidalEncoding positions_;
  TransformerDecoderBuilder layers_;
  Parameter weights_, bias_;
  Expression w_, b_;  // in the graph
};

/// Sentences, and the next word at each place.
std::vector<Example> read(const std::string& file, Dict& words) {
  std::vector<Example> sentences;
  for (const text::Words& sentence : read_all<text::PlainReader>(file)) {
    const Numbers numbers = numbers_of(sentence, words);
    sentences.push_back({numbers, numbers});
    sentences.back().labels.push_back(kEnd);
  }
  return sentences;
}

void model_language(const Options& options) {
  Dict words;
  words.convert("</s>");  // kEnd
  const std::vector<Example> sentences = read(options.train, words);
  freeze(words);
  const std::vector<Example> dev = read(options.dev, words);
  LanguageModel model(words.size());
  train_and_test(options, model, sentences, dev);
  for (const unsigned word : model.write()) {
    std::printf("%s ", words.convert(static_cast<int>(word)).c_str());
  }
  std::printf("\n");
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "A language model with a Transformer.",
                      {.data = "file of sentences, words between spaces", .learning_rate = 0.003},
                      example::model_language);
}
