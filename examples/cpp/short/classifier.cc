// Classifies documents with a convolution over their words (Kim, 2014): filters that see three
// words at a time, of which the strongest answer counts. Data: one document per line, its words,
// then "|||" and its class.

#include <string>
#include <vector>

#include "example.h"

namespace {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using example::Numbers;

struct Document {
  Numbers words;
  Numbers label;  ///< one
};

class Classifier {
 public:
  Classifier(ParameterCollection& m, unsigned words, unsigned classes)
      : embedding_(m.add_lookup_parameters(words, {kSize})),
        filters_(m.add_parameters({kSize, kWidth, kFilters})),
        weights_(m.add_parameters({classes, kFilters})),
        bias_(m.add_parameters({classes}, ParameterInitConst(0))) {}

  Expression loss(ComputationGraph& cg, const Document& document) {
    return pickneglogsoftmax(scores(cg, document.words, 0.3F), document.label[0]);
  }
  unsigned classify(const Numbers& words) {
    ComputationGraph cg;
    return example::best(scores(cg, words, 0.0F));
  }

 private:
  static constexpr unsigned kSize = 24;
  static constexpr unsigned kWidth = 3;
  static constexpr unsigned kFilters = 32;

  /// {classes}
  Expression scores(ComputationGraph& cg, const Numbers& words, float dropped) {
    std::vector<Expression> columns;
    for (const unsigned word : words) {
      columns.push_back(lookup(cg, embedding_, word));
    }
    while (columns.size() < kWidth) {
      columns.push_back(zeros(cg, {kSize}));
    }
    const Expression seen =
        rectify(filter1d_narrow(concatenate_cols(columns), parameter(cg, filters_)));
    const Expression strongest = dropout(max_dim(seen, 1), dropped);  // {filters}
    return affine_transform({parameter(cg, bias_), parameter(cg, weights_), strongest});
  }

  LookupParameter embedding_;
  Parameter filters_, weights_, bias_;
};

std::vector<Document> read(const std::string& file, Dict& words, Dict& classes) {
  std::vector<Document> documents;
  text::ParallelReader reader(file);
  text::SentencePair pair;
  while (reader.next(pair)) {
    if (pair.target.size() != 1) {
      reader.lines().fail(1, "want one class behind |||");
    }
    documents.push_back(
        {example::numbers_of(pair.source, words), example::numbers_of(pair.target, classes)});
  }
  return documents;
}

void classify_documents(const example::Setup& setup) {
  std::vector<text::Words> texts;
  for (const text::SentencePair& pair : text::ParallelReader(setup.train)) {
    texts.push_back(pair.source);
  }
  Dict words = example::numbered(texts, 2);
  Dict classes;
  const std::vector<Document> train = read(setup.train, words, classes);
  classes.freeze();
  const std::vector<Document> dev = read(setup.dev, words, classes);

  ParameterCollection m;
  Classifier classifier(m, words.size(), classes.size());
  AdamTrainer trainer(m, setup.rate);
  const auto accuracy = [&] {
    example::Score score;
    for (const Document& document : dev) {
      score.add({classifier.classify(document.words)}, document.label);
    }
    return score.share();
  };
  const auto loss = [&](ComputationGraph& cg, const Document& d) { return classifier.loss(cg, d); };
  example::train(setup, train, trainer, loss, accuracy);
}

}  // namespace

int main(int argc, char** argv) {
  return example::run(argc, argv, "Classifies documents with a convolution.",
                      "file of documents: words ||| class", {.rate = 0.005F}, classify_documents);
}
