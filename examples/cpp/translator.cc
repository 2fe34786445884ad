// Translates sentences with attention (Bahdanau et al., 2015): an LSTM reads the source, another
// writes the target and looks back at each word, and a beam search finds the best sentence. Data:
// one pair per line, the source, "|||" and the target.

#include <string>
#include <utility>
#include <vector>

#include "dynet/attention.h"
#include "dynet/beam.h"
#include "dynet/lstm.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 32;
constexpr unsigned kEnd = 0;  ///< a translation begins and ends with this word

class Translator {
 public:
  ParameterCollection m;

  Translator(unsigned source_words, unsigned target_words)
      : source_(m.add_lookup_parameters(source_words, {kSize})),
        target_(m.add_lookup_parameters(target_words, {kSize})),
        reader_(1, kSize, kSize, m),
        writer_(1, 2 * kSize, kSize, m),
        attention_(kSize, kSize, kSize, m),
        weights_(m.add_parameters({target_words, 2 * kSize})),
        bias_(m.add_parameters({target_words}, ParameterInitConst(0))) {}

  void new_graph(ComputationGraph& cg) {
    reader_.new_graph(cg);
    writer_.new_graph(cg);
    attention_.new_graph(cg);
    w_ = parameter(cg, weights_);
    b_ = parameter(cg, bias_);
  }
  Expression loss(ComputationGraph& cg, const Example& pair) {
    const Numbers& target = pair.labels;
    State state = read(cg, pair.words);
    Expressions losses;
    for (std::size_t i = 0; i + 1 < target.size(); ++i) {
      auto [next, scores] = write(cg, state, target[i]);
      losses.push_back(pickneglogsoftmax(scores, target[i + 1]));
      state = next;
    }
    return sum(losses);
  }

  /// The words of the translation in their places, cut or filled to the length of the right
  /// translation.
  Numbers answer(ComputationGraph& cg, const Example& pair) {
    const State start = read(cg, pair.words);
    BeamOptions options;
    options.max_length = static_cast<unsigned>(2 * pair.words.size() + 5);
    options.length_norm = length_power(1.0);
    const auto step = [&](const State& state, unsigned word) {
      auto [next, scores] = write(cg, state, word);
      return std::pair(next, log_softmax(scores));
    };
    Numbers words = beam_search(cg, start, kEnd, kEnd, step, options).at(0).words;
    words.insert(words.begin(), kEnd);
    words.resize(pair.labels.size(), kEnd);
    return words;
  }

 private:
  /// The step of the writing LSTM, and its last context of attention.
  struct State {
    RNNPointer pointer = -1;
    Expression context;
  };

  State read(ComputationGraph& cg, const Numbers& words) {
    reader_.start_new_sequence();
    writer_.start_new_sequence();
    Expressions states;
    for (const unsigned word : words) {
      states.push_back(reader_.add_input(lookup(cg, source_, word)));
    }
    memory_ = attention_.read(concatenate_cols(states));
    return {-1, states.back()};
  }

  /// The state after a word, and the scores of the next one, {words}.
  std::pair<State, Expression> write(ComputationGraph& cg, const State& state, unsigned word) {
    const Expression input = concatenate({lookup(cg, target_, word), state.context});
    const Expression h = writer_.add_input(state.pointer, input);
    const Expression context = attention_.attend(h, memory_);
    const Expression scores = affine_transform({b_, w_, concatenate({h, context})});
    return {{writer_.state(), context}, scores};
  }

  LookupParameter source_, target_;
  VanillaLSTMBuilder reader_, writer_;
  MLPAttentionBuilder attention_;
  Parameter weights_, bias_;
  Expression w_, b_;  // in the graph
  AttentionMemory memory_;
};

std::vector<Example> read(const std::string& file, Dict& source, Dict& target) {
  std::vector<Example> pairs;
  for (const text::SentencePair& from : read_all<text::ParallelReader>(file)) {
    Example pair{numbers_of(from.source, source), numbers_of(from.target, target)};
    pair.labels.insert(pair.labels.begin(), kEnd);
    pair.labels.push_back(kEnd);
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

void translate_sentences(const Options& options) {
  Dict source;
  Dict target;
  target.convert("</s>");  // kEnd
  const std::vector<Example> pairs = read(options.train, source, target);
  for (Dict* words : {&source, &target}) {
    freeze(*words);
  }
  const std::vector<Example> dev = read(options.dev, source, target);
  Translator translator(source.size(), target.size());
  train_and_test(options, translator, pairs, dev);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "Translates sentences with attention.",
                      {.data = "file of pairs: source ||| target"}, example::translate_sentences);
}
