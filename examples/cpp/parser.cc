// Parses sentences with stack LSTMs. Start reading at parser_model.h, the model. Data: CoNLL-U.

#include <string>
#include <utility>
#include <vector>

#include "parser_model.h"

namespace example {
namespace {

std::vector<Parsed> read(const std::string& file, Dict& words) {
  std::vector<Parsed> trees;
  for (const text::ConlluSentence& sentence : read_all<text::ConlluReader>(file)) {
    Parsed tree{numbers_of({"<root>"}, words), {kNone}};
    for (const text::ConlluToken* word : sentence.words()) {
      tree.words.push_back(static_cast<unsigned>(words.convert(word->form)));
      tree.heads.push_back(static_cast<unsigned>(word->head));
    }
    trees.push_back(tree);
  }
  return trees;
}

void parse_sentences(const Options& options) {
  Dict words;
  const std::vector<Parsed> trees = read(options.train, words);
  freeze(words);
  Parser parser(words.size());
  train_and_test(options, parser, trees, read(options.dev, words), [&](const Parsed& tree) {
    ComputationGraph cg;
    parser.new_graph(cg);
    parser.loss(cg, tree, true);
    return std::pair(parser.heads, tree.heads);
  });
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "A transition parser with stack LSTMs.",
                      example::small_data_options("file in CoNLL-U", 0.005),
                      example::parse_sentences);
}
