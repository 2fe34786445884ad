// The demo: trains a tree LSTM on random lists such as [MAX 3 [MIN 4 5] 1], and asks for the values
// of lists that are not in the training. Start reading at tree_model.h, the model; listops_data.h
// has the lists. The Python twin is ../python/listops.py.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "example.h"
#include "listops_data.h"
#include "model_file.h"
#include "options.h"
#include "progress.h"
#include "training.h"
#include "tree_model.h"
#include "trees.h"

namespace example {
namespace {

struct ListOptions : PaperOptions {
  Settings sizes{"listops", {{"hidden", 128}}};
  unsigned test_trees = 2000;
};

/// The baseline for the tree LSTM: a linear model of the number of times that each symbol occurs.
struct BagOfSymbols {
  ParameterCollection m;
  LookupParameter weights = m.add_lookup_parameters(static_cast<unsigned>(kWords.size()), {10});

  void new_graph(ComputationGraph& /*cg*/) {}
  Expression scores(ComputationGraph& cg, const Tree& tree) {
    Expressions all;
    for (const Node& node : tree) {
      if (node.is_word()) {
        all.push_back(lookup(cg, weights, node.word));
      }
    }
    return sum(all);
  }
  Expression loss(ComputationGraph& cg, const Tree& tree) {
    return pickneglogsoftmax(scores(cg, tree), tree.back().label);
  }
};

void answer(const ListOptions& options, const std::string& list) {
  TreeModel model(load_settings(options.model(), "listops"));
  populate(model, options.model());
  const Tree tree = read_list(list);
  const unsigned answer = classify(model, tree);
  const unsigned value = tree.back().label;
  std::printf("%s = %u, %s\n", list.c_str(), answer,
              answer == value ? "right" : ("not " + std::to_string(value)).c_str());
}
void predict(const ListOptions& options) { answer(options, options.predict); }

void print_share(const char* what, double share) {
  std::printf("  %-21s %5.1f %%\n", what, 100 * share);
}

void print_table(TreeModel& model, const std::vector<Tree>& tests,
                 const std::vector<Tree>& examples) {
  std::vector<std::size_t> counts(10);
  for (const Tree& tree : tests) {
    ++counts[tree.back().label];
  }
  const std::size_t most = *std::max_element(counts.begin(), counts.end());
  BagOfSymbols bag;
  AdamTrainer trainer(bag.m, 0.01F);
  for (std::size_t i = 0; i < std::min<std::size_t>(examples.size(), 20000); ++i) {
    ComputationGraph cg;
    cg.backward(bag.loss(cg, examples[i]));
    trainer.update();
  }
  std::printf("\nright answers at the root of %zu held-out lists:\n", tests.size());
  print_share("most frequent answer",
              static_cast<double>(most) / static_cast<double>(tests.size()));
  print_share("bag of symbols", root_accuracy(bag, tests));
  print_share("tree LSTM", root_accuracy(model, tests));
}

void train_lists(const ListOptions& options) {
  if (!options.predict.empty()) {
    read_list(options.predict);  // a mistake is reported before minutes of training
  }
  // No list is trained on that is tested on: all are different.
  std::set<std::string> known;
  std::vector<Tree> tests;
  std::vector<Tree> by_depth[kDeepest + 1];
  Random random(options.seed);
  for (unsigned depth = 1; depth <= kDeepest; ++depth) {
    by_depth[depth] = make_lists(random, depth, options.test_trees / kDeepest, known);
    tests.insert(tests.end(), by_depth[depth].begin(), by_depth[depth].end());
  }
  const std::vector<Tree> examples =
      make_lists(random, 0, options.updates * options.minibatch, known);
  Settings settings = options.sizes;
  settings.numbers["classes"] = 10;
  numbers_of(kWords, settings.dicts["words"]);
  TreeModel model(settings);
  // The score chooses nothing: the held-out lists also measure the saved model, which is the last.
  const Plan plan{.unit = "trees",
                  .score_name = "root accuracy",
                  .score = [&] { return root_accuracy(model, tests); },
                  .settings = &settings,
                  .keeps_best = false,
                  .lowers_rate = true};
  train(options, plan, model, examples);
  print_table(model, tests, examples);
  for (unsigned depth = 1; depth <= kDeepest; ++depth) {
    print_share(("  depth " + std::to_string(depth)).c_str(),
                root_accuracy(model, by_depth[depth]));
  }

  ComputationGraph cg;
  model.new_graph(cg);
  model.loss(cg, read_list("[MAX 3 [MIN 4 5]]"));
  if (!(std::ofstream(options.out + "/graph.dot") << cg.to_dot())) {
    throw std::runtime_error("cannot write " + options.out + "/graph.dot");
  }
  std::printf("\nwrote %s, %s and graph.dot\n", options.model().c_str(), options.curve.c_str());
  for (const char* list : {"[MAX 3 [MIN 4 5] 1]", "[SM 7 [MED 2 9 4] 8]"}) {
    answer(options, list);
  }
  std::printf("try your own: --predict \"[SM 4 [MAX 2 7] 5]\"\n");
}

void declare(CLI::App& app, ListOptions& options) {
  declare_paper_options(app, options);
  declare_sizes(app, options.sizes, {{"hidden", "size of a node's state"}});
  app.add_option("--test-trees", options.test_trees, "held-out lists")
      ->check(CLI::Range(4, 100000));
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  example::ListOptions options;
  options.out = "listops-output";
  options.updates = 42000;
  options.test_every = 1000;
  options.max_seconds = 110;
  return example::run_paper_program(
      argc, argv, "Trains a tree LSTM on lists such as [MAX 3 [MIN 4 5] 1].", options,
      example::train_lists, example::declare, example::predict);
}
