// A language model with a Transformer (Vaswani et al., 2017): each word is predicted from those
// before it, in training all at once, in writing one after the other with a cache. Data: one
// sentence per line, words between spaces.

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "dynet/beam.h"
#include "dynet/transformer.h"

#include "example.h"

namespace {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using example::Numbers;

constexpr unsigned kSize = 32;
constexpr unsigned kEnd = 0;  ///< before the first word and after the last one

class LanguageModel {
 public:
  LanguageModel(ParameterCollection& m, unsigned words)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        positions_(kSize),
        layers_(2, kSize, 4, 2 * kSize, m, without_memory()),
        weights_(m.add_parameters({words, kSize})),
        bias_(m.add_parameters({words}, ParameterInitConst(0))) {}

  Expression loss(ComputationGraph& cg, const Numbers& sentence) {
    layers_.set_dropout(0.1F);
    return sum_batches(pickneglogsoftmax(all_scores(cg, sentence), after(sentence)));
  }
  /// The most probable next word at each place.
  Numbers guess(const Numbers& sentence) {
    layers_.disable_dropout();
    ComputationGraph cg;
    return example::best_of_each(all_scores(cg, sentence));
  }
  /// The word at each place that is to be guessed.
  static Numbers after(Numbers sentence) {
    sentence.push_back(kEnd);
    return sentence;
  }

  /// The most probable sentence.
  Numbers write() {
    layers_.disable_dropout();
    ComputationGraph cg;
    layers_.new_graph(cg);
    const auto step = [&](const TransformerState& state, unsigned word) {
      const Expression x = positions_.add(lookup(cg, embedding_, word), state.positions());
      TransformerState next = layers_.add_input(state, x);
      const Expression odds = log_softmax(scores(cg, next.output));
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
  Expression scores(ComputationGraph& cg, const Expression& h) {
    return affine_transform({parameter(cg, bias_), parameter(cg, weights_), h});
  }
  /// Scores of the next word at each place, as a batch.
  Expression all_scores(ComputationGraph& cg, const Numbers& sentence) {
    Numbers read = sentence;
    read.insert(read.begin(), kEnd);
    const auto n = static_cast<unsigned>(read.size());
    layers_.new_graph(cg);
    const Expression x = reshape(lookup(cg, embedding_, read), {kSize, n});
    const Expression h = layers_.add_input(layers_.start(), positions_.add(x)).output;
    return scores(cg, reshape(h, Dim({kSize}, n)));
  }

  LookupParameter embedding_;
  SinusoidalEncoding positions_;
  TransformerDecoderBuilder layers_;
  Parameter weights_, bias_;
};

void model_language(const example::Setup& setup) {
  Dict words;
  words.convert("</s>");  // kEnd
  std::vector<Numbers> examples;
  for (const text::Words& sentence : text::PlainReader(setup.train)) {
    examples.push_back(example::numbers_of(sentence, words));
  }
  words.freeze();
  words.set_unk("<unk>");
  std::vector<Numbers> dev;
  for (const text::Words& sentence : text::PlainReader(setup.dev)) {
    dev.push_back(example::numbers_of(sentence, words));
  }
  ParameterCollection m;
  LanguageModel model(m, words.size());
  AdamTrainer trainer(m, setup.rate);
  const auto loss = [&](ComputationGraph& cg, const Numbers& s) { return model.loss(cg, s); };
  example::train(setup, examples, trainer, loss, [&] {
    example::Score score;  // of next words that are guessed
    for (const Numbers& sentence : dev) {
      score.add(model.guess(sentence), LanguageModel::after(sentence));
    }
    return score.share();
  });
  for (const unsigned word : model.write()) {
    std::printf("%s ", words.convert(static_cast<int>(word)).c_str());
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, "A language model with a Transformer.",
                      "file of sentences, words between spaces", {.rate = 0.003F}, model_language);
}
