// Trains the tree LSTM of the DyNet paper on the sentiment of parsed sentences, at each node. Start
// reading at tree_model.h, the model. Data: one tree such as (3 (2 It) (4 works)) per line, with
// classes from 0 to 4. The Python twin is ../python/sentiment.py.

#include <charconv>
#include <cstdio>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "example.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "training.h"
#include "tree_model.h"
#include "trees.h"

namespace example {
namespace {

constexpr unsigned kClasses = 5;

struct SentimentOptions : PaperOptions {
  Settings sizes{"sentiment", {{"hidden", 128}}};
};

/// The class of a node.
unsigned class_of(const text::Tree::Node& node, const text::Lines& lines) {
  unsigned label = 0;
  const char* const end = node.label.data() + node.label.size();
  const auto read = std::from_chars(node.label.data(), end, label);
  if (read.ec != std::errc() || read.ptr != end || label >= kClasses) {
    lines.fail(
        node.line, node.column,
        "label " + node.label + " is out of range; want one below " + std::to_string(kClasses));
  }
  return label;
}

/// Binary trees from text; a node over a word alone becomes that word. Words that `dict` does not
/// know are added, unless it is frozen.
std::vector<Tree> read_trees(text::Lines lines, Dict& dict) {
  // NOLINTNEXTLINE(misc-const-correctness): begin() is not const
  text::TreeReader reader(std::move(lines), text::TreeReader::Layout::kOnePerLine);
  std::vector<Tree> trees;
  for (const text::Tree& read : reader) {
    Tree tree;
    Numbers places(read.nodes.size(), kNone);  // in the binary tree
    for (std::size_t i = 0; i < read.nodes.size(); ++i) {
      const text::Tree::Node& node = read.nodes[i];
      if (node.is_word()) {
        continue;
      }
      Node made;
      made.label = class_of(node, reader.lines());
      const text::Tree::Node& first = read.nodes[read.child(node, 0)];
      if (node.num_children == 1 && first.is_word()) {
        made.word = static_cast<unsigned>(dict.convert(first.label));
      } else {
        made.left = node.num_children == 2 ? places[read.child(node, 0)] : kNone;
        made.right = node.num_children == 2 ? places[read.child(node, 1)] : kNone;
        if (made.left == kNone || made.right == kNone) {
          reader.lines().fail(node.line, node.column, "want a word or two subtrees in a node");
        }
      }
      places[i] = static_cast<unsigned>(tree.size());
      tree.push_back(made);
    }
    trees.push_back(tree);
  }
  if (trees.empty()) {
    reader.lines().fail(1, 1, "nothing but blank lines in this file");
  }
  return trees;
}

void train_sentiment(const SentimentOptions& options) {
  Settings settings = options.sizes;
  settings.numbers["classes"] = kClasses;
  Dict words;
  words.convert("<unk>");
  const std::vector<Tree> trees = read_trees(options.train, words);
  freeze(words);
  settings.dicts["words"] = words;
  TreeModel model(settings);
  Plan plan{.unit = "trees", .settings = &settings};
  std::vector<Tree> dev;
  if (!options.dev.empty()) {
    dev = read_trees(options.dev, settings.dicts["words"]);
    plan.score = [&] { return root_accuracy(model, dev); };
  }
  train(options, plan, model, trees);
}

void predict(const SentimentOptions& options) {
  Settings settings = load_settings(options.model(), "sentiment");
  TreeModel model(settings);
  populate(model, options.model());
  std::istringstream in(options.predict);
  const auto trees = read_trees({in, "expression"}, settings.dicts["words"]);
  std::printf("class %u\n", classify(model, trees[0]));
}

void declare(CLI::App& app, SentimentOptions& options) {
  declare_paper_options(app, options);
  declare_sizes(app, options.sizes, {{"hidden", "size of a node's state"}});
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::SentimentOptions options;
  options.data = "file of bracketed trees";
  return example::run_paper_program(
      argc, argv, "Trains a tree LSTM on parsed sentences, one tree at a time.", options,
      example::train_sentiment, example::declare, example::predict);
}
