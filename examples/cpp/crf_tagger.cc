// Tags the words of sentences: a bidirectional LSTM says how well each tag fits each word, a
// conditional random field how well each tag follows another (Huang et al., 2015). Data: one
// sentence per line, word|TAG between spaces.

#include <vector>

#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/lstm.h"

#include "example.h"

namespace example {
namespace {

class Tagger {
 public:
  ParameterCollection m;

  Tagger(unsigned words, unsigned tags)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        reader_(1, kSize, 2 * kSize, m),
        weights_(m.add_parameters({tags, 2 * kSize})),
        bias_(m.add_parameters({tags}, ParameterInitConst(0))),
        crf_(tags, m) {}

  void new_graph(ComputationGraph& cg) {
    reader_.new_graph(cg);
    crf_.new_graph(cg);
    w_ = parameter(cg, weights_);
    b_ = parameter(cg, bias_);
  }
  Expression loss(ComputationGraph& cg, const Example& sentence) {
    return crf_.neg_log_likelihood(scores(cg, sentence.words), sentence.labels);
  }
  Numbers answer(ComputationGraph& cg, const Example& sentence) {
    return crf_.viterbi(scores(cg, sentence.words)).tags;
  }

 private:
  static constexpr unsigned kSize = 32;

  /// {tags,words}
  Expression scores(ComputationGraph& cg, const Numbers& words) {
    Expressions xs;
    for (const unsigned word : words) {
      xs.push_back(lookup(cg, embedding_, word));
    }
    Expressions columns;
    for (const Expression& h : reader_.transduce(xs)) {
      columns.push_back(affine_transform({b_, w_, h}));
    }
    return concatenate_cols(columns);
  }

  LookupParameter embedding_;
  BiRNNBuilder<VanillaLSTMBuilder> reader_;
  Parameter weights_, bias_;
  Expression w_, b_;  // in the graph
  CRFBuilder crf_;
};

void tag_sentences(const Options& options) { train_on_tagged<Tagger>(options); }

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "A tagger with a conditional random field.",
                      {.data = "file of sentences: word|TAG between spaces"},
                      example::tag_sentences);
}
