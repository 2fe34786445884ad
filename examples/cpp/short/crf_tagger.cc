// Tags the words of sentences: a bidirectional LSTM says how well each tag fits each word, a
// conditional random field how well each tag follows another (Huang et al., 2015). Data: one
// sentence per line, word|TAG between spaces.

#include <vector>

#include "dynet/crf-builder.h"
#include "dynet/lstm.h"

#include "example.h"

namespace {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using example::Numbers;
using example::Tagged;

class Tagger {
 public:
  Tagger(ParameterCollection& m, unsigned words, unsigned tags)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        left_(1, kSize, kSize, m),
        right_(1, kSize, kSize, m),
        weights_(m.add_parameters({tags, 2 * kSize})),
        bias_(m.add_parameters({tags}, ParameterInitConst(0))),
        crf_(tags, m) {}

  Expression loss(ComputationGraph& cg, const Tagged& sentence) {
    return crf_.neg_log_likelihood(scores(cg, sentence.words), sentence.tags);
  }
  Numbers tag(const Numbers& words) {
    ComputationGraph cg;
    return crf_.viterbi(scores(cg, words)).tags;
  }

 private:
  static constexpr unsigned kSize = 32;

  /// {tags,words}
  Expression scores(ComputationGraph& cg, const Numbers& words) {
    left_.new_graph(cg);
    right_.new_graph(cg);
    crf_.new_graph(cg);
    left_.start_new_sequence();
    right_.start_new_sequence();
    const std::size_t n = words.size();
    std::vector<Expression> forward(n);
    std::vector<Expression> backward(n);
    for (std::size_t i = 0; i < n; ++i) {
      forward[i] = left_.add_input(lookup(cg, embedding_, words[i]));
      backward[n - 1 - i] = right_.add_input(lookup(cg, embedding_, words[n - 1 - i]));
    }
    const Expression w = parameter(cg, weights_);
    const Expression b = parameter(cg, bias_);
    std::vector<Expression> columns(n);
    for (std::size_t i = 0; i < n; ++i) {
      columns[i] = affine_transform({b, w, concatenate({forward[i], backward[i]})});
    }
    return concatenate_cols(columns);
  }

  LookupParameter embedding_;
  VanillaLSTMBuilder left_, right_;
  Parameter weights_, bias_;
  CRFBuilder crf_;
};

void tag_sentences(const example::Setup& setup) {
  Dict words = example::numbered_words(setup.train);
  Dict tags;
  const std::vector<Tagged> train = example::read_tagged(setup.train, words, tags);
  tags.freeze();
  const std::vector<Tagged> dev = example::read_tagged(setup.dev, words, tags);

  ParameterCollection m;
  Tagger tagger(m, words.size(), tags.size());
  AdamTrainer trainer(m, setup.rate);
  const auto loss = [&](ComputationGraph& cg, const Tagged& s) { return tagger.loss(cg, s); };
  example::train(setup, train, trainer, loss, [&] { return example::share_right(tagger, dev); });
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, "A tagger with a conditional random field.",
                      "file of sentences: word|TAG between spaces", {.rate = 0.005F},
                      tag_sentences);
}
