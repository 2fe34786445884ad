// Classifies documents with a convolution over their words (Kim, 2014): filters that see three
// words at a time, of which the strongest answer counts. Data: one document per line, its words,
// then "|||" and its class.

#include <string>
#include <vector>

#include "example.h"

namespace example {
namespace {

class Classifier {
 public:
  ParameterCollection m;

  Classifier(unsigned words, unsigned classes)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        filters_(m.add_parameters({kSize, kWidth, kFilters})),
        weights_(m.add_parameters({classes, kFilters})),
        bias_(m.add_parameters({classes}, ParameterInitConst(0))) {}

  void new_graph(ComputationGraph& cg) {
    f_ = parameter(cg, filters_);
    w_ = parameter(cg, weights_);
    b_ = parameter(cg, bias_);
  }
  Expression loss(ComputationGraph& cg, const Example& document) {
    return pickneglogsoftmax(scores(cg, document.words, 0.3F), document.labels[0]);
  }
  Numbers answer(ComputationGraph& cg, const Example& document) {
    return best_of_each({scores(cg, document.words, 0)});
  }

 private:
  static constexpr unsigned kSize = 24;
  static constexpr unsigned kWidth = 3;
  static constexpr unsigned kFilters = 32;

  /// The scores of the classes, {classes}.
  Expression scores(ComputationGraph& cg, const Numbers& words, float dropped) {
    Expressions columns;
    for (const unsigned word : words) {
      columns.push_back(lookup(cg, embedding_, word));
    }
    while (columns.size() < kWidth) {
      columns.push_back(zeros(cg, {kSize}));
    }
    const Expression seen = rectify(filter1d_narrow(concatenate_cols(columns), f_));
    const Expression strongest = dropout(max_dim(seen, 1), dropped);  // {filters}
    return affine_transform({b_, w_, strongest});
  }

  LookupParameter embedding_;
  Parameter filters_, weights_, bias_;
  Expression f_, w_, b_;  // in the graph
};

std::vector<Example> read(const std::string& file, Dict& words, Dict& classes) {
  std::vector<Example> documents;
  text::ParallelReader reader(file);  // NOLINT(misc-const-correctness): begin() is not const
  for (const text::SentencePair& pair : reader) {
    if (pair.target.size() != 1) {
      reader.lines().fail(1, "want one class behind |||");
    }
    documents.push_back({numbers_of(pair.source, words), numbers_of(pair.target, classes)});
  }
  return documents;
}

void classify_documents(const Options& options) {
  Dict words =
      numbered(read_all<text::ParallelReader>(options.train), 2, &text::SentencePair::source);
  Dict classes;
  const std::vector<Example> documents = read(options.train, words, classes);
  classes.freeze();
  const std::vector<Example> dev = read(options.dev, words, classes);
  Classifier classifier(words.size(), classes.size());
  train_and_test(options, classifier, documents, dev);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "Classifies documents with a convolution.",
                      {.data = "file of documents: words ||| class"}, example::classify_documents);
}
