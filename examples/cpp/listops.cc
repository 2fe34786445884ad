// The main job: trains a tree LSTM on ListOps, or on bracketed trees, and shows what it learned.
// Start reading at tree_model.h, the model; the data is listops_data.h, and program.h has what all
// programs share. The Python twin is ../python/listops.py.

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "baseline.h"
#include "listops_data.h"
#include "progress.h"
#include "tree_model.h"

namespace examples {
namespace {

constexpr unsigned kSentimentClasses = 5;
constexpr std::size_t kBaselineTrees = 20000;
constexpr std::size_t kListOpsUpdates = 42000;

struct TreeOptions : Options {
  std::size_t test_trees = 2000;
  unsigned hidden = 128;
  std::string dot;

  [[nodiscard]] bool is_listops() const { return train.empty(); }
};

/// What a run learns from and is tested on.
struct Task {
  Settings settings;
  std::vector<Tree> train;  ///< bracketed trees; for ListOps those of the baselines
  std::vector<Tree> test;
  std::vector<unsigned> test_depths;  ///< ListOps only
  std::size_t test_limit = 0;         ///< trees tested at a point of the curve
  /// The trees of the next update, valid until the next call.
  std::function<const std::vector<const Tree*>&()> next_trees;
  TrainingPlan plan;
};

Settings make_settings(const std::string& task, unsigned hidden, unsigned classes,
                       const std::vector<std::string>& words) {
  return {task, {{"hidden", hidden}, {"classes", classes}}, {{"words", words}}};
}

/// Classes of the roots of the first trees.
Numbers classify_roots(TreeModel& model, std::vector<Tree> trees, std::size_t limit) {
  trees.resize(std::min(limit, trees.size()));
  return answers_to(model, trees, [&](ComputationGraph& cg, const Tree& tree, Expressions& all) {
    all.push_back(model.scores(cg, tree));
  });
}

/// New trees of ListOps without end, none of which is held out.
class ListOpsSource {
 public:
  ListOpsSource(std::uint32_t seed, std::size_t minibatch,
                std::shared_ptr<const std::unordered_set<std::string>> held_out)
      : generator_(seed), trees_(minibatch), held_out_(std::move(held_out)) {
    for (const Tree& tree : trees_) {
      batch_.push_back(&tree);
    }
  }
  Tree next_tree() {
    ListExpr expr = generator_.next();
    while (held_out_->count(to_text(expr)) != 0) {
      expr = generator_.next();
    }
    return to_tree(expr);
  }
  const std::vector<const Tree*>& next() {
    for (Tree& tree : trees_) {
      tree = next_tree();
    }
    return batch_;
  }

 private:
  ListOpsGenerator generator_;
  std::vector<Tree> trees_;
  std::vector<const Tree*> batch_;
  std::shared_ptr<const std::unordered_set<std::string>> held_out_;
};

void make_listops_task(const TreeOptions& options, Task& task) {
  task.settings = make_settings("listops", options.hidden, kDigitCount, listops_words());
  ListOpsGenerator test_lists(options.seed + 1000000007U);
  auto held_out = std::make_shared<std::unordered_set<std::string>>();
  while (task.test.size() < options.test_trees) {
    const ListExpr expr = test_lists.next();
    if (held_out->insert(to_text(expr)).second) {
      task.test.push_back(to_tree(expr));
      task.test_depths.push_back(depth(expr));
    }
  }
  ListOpsSource for_baselines(options.seed, 1, held_out);
  for (std::size_t i = 0; i < kBaselineTrees; ++i) {
    task.train.push_back(for_baselines.next_tree());
  }
  const auto source = std::make_shared<ListOpsSource>(options.seed, options.minibatch, held_out);
  task.next_trees = [source]() -> const std::vector<const Tree*>& { return source->next(); };
  task.test_limit = 300;
  // What is tested on chooses nothing here: the held-out lists also measure the saved model.
  task.plan = {.unit = "trees", .lowers_rate = true, .keeps_best = false};
}

/// Goes over the trees in a new random order each time.
class EpochSource {
 public:
  EpochSource(std::uint32_t seed, std::size_t minibatch, const std::vector<Tree>& trees)
      : order_(seed, trees.size(), minibatch), trees_(trees) {}
  [[nodiscard]] std::size_t updates_an_epoch() const { return order_.updates_an_epoch(); }
  const std::vector<const Tree*>& next() {
    batch_.clear();
    for (const std::size_t i : order_.next()) {
      batch_.push_back(&trees_[i]);
    }
    return batch_;
  }

 private:
  Minibatches order_;
  const std::vector<Tree>& trees_;
  std::vector<const Tree*> batch_;
};

/// `task` stays where it is: the source refers to its trees.
void read_task(const TreeOptions& options, Task& task) {
  Dict vocabulary;
  vocabulary.convert("<unk>");
  task.train = read_tree_file(options.train, vocabulary, kSentimentClasses);
  vocabulary.freeze();
  vocabulary.set_unk("<unk>");
  if (!options.dev.empty()) {
    task.test = read_tree_file(options.dev, vocabulary, kSentimentClasses);
  }
  task.settings = make_settings("trees", options.hidden, kSentimentClasses, vocabulary.get_words());
  task.test_limit = task.test.size();
  const auto source = std::make_shared<EpochSource>(options.seed, options.minibatch, task.train);
  task.next_trees = [source]() -> const std::vector<const Tree*>& { return source->next(); };
  task.plan = {.unit = "trees", .updates_an_epoch = source->updates_an_epoch()};
}

class TreeLearner : public Learner {
 public:
  explicit TreeLearner(const Task& task) : task_(task), model_(task.settings) {}

  [[nodiscard]] TreeModel& model() { return model_; }
  ParameterCollection& parameters() override { return model_.m; }
  [[nodiscard]] const Settings& settings() const override { return task_.settings; }

  Losses add_next(ComputationGraph& cg) override {
    model_.new_graph(cg);
    Expressions losses;
    std::size_t count = 0;
    for (const Tree* tree : task_.next_trees()) {
      losses.push_back(model_.loss(cg, *tree));
      count += tree->labels();
    }
    return {losses.size() == 1 ? losses[0] : sum(losses), count, losses.size()};
  }

  [[nodiscard]] bool can_test() const override { return !task_.test.empty(); }
  [[nodiscard]] ScoreKind score_kind() const override { return {"root accuracy", true}; }
  double test() override {
    const Numbers answers = classify_roots(model_, task_.test, task_.test_limit);
    std::size_t right = 0;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      right += answers[i] == task_.test[i].root().label ? 1 : 0;
    }
    return static_cast<double>(right) / static_cast<double>(answers.size());
  }

 private:
  const Task& task_;
  TreeModel model_;
};

/// A tree small enough for a picture.
Tree example_tree(const Task& task) {
  if (task.settings.task == "listops") {
    return to_tree(parse_list("[MAX 3 [MIN 4 5]]"));
  }
  const Tree* smallest = &task.train.front();
  for (const Tree& tree : task.train) {
    const bool is_smaller = tree.nodes.size() < smallest->nodes.size();
    if (tree.nodes.size() > 6 && (is_smaller || smallest->nodes.size() <= 6)) {
      smallest = &tree;
    }
  }
  return *smallest;
}

void write_graph(TreeModel& model, const Tree& tree, const std::string& file) {
  ComputationGraph cg;
  model.new_graph(cg);
  model.loss(cg, tree);
  make_folder_of(file);
  std::ofstream out(file);
  out << cg.to_dot();
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + file + "'");
  }
}

void print_table(const Task& task, TreeModel& model, const TrainingResult& result,
                 const TreeOptions& options) {
  const Baselines baselines =
      measure_baselines(task.train, task.test, task.settings["words"], task.settings["classes"],
                        options.is_listops() ? 2 : 5);
  const Numbers answers = classify_roots(model, task.test, task.test.size());
  std::size_t right[kListOpsMaxDepth + 1] = {};
  std::size_t count[kListOpsMaxDepth + 1] = {};
  std::size_t all_right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_right = answers[i] == task.test[i].root().label;
    const unsigned group = task.test_depths.empty() ? 0 : task.test_depths[i];
    right[group] += is_right ? 1 : 0;
    ++count[group];
    all_right += is_right ? 1 : 0;
  }
  std::printf("\n%zu updates in %s of training, %.0f a second\n", result.updates,
              minutes(result.seconds).c_str(),
              static_cast<double>(result.updates) / result.seconds);
  std::printf("right answers at the root of %zu held-out trees:\n", task.test.size());
  std::printf("  most frequent answer  %5.1f %%\n", 100 * baselines.most_frequent);
  std::printf("  bag of symbols        %5.1f %%\n", 100 * baselines.bag_of_symbols);
  std::printf("  tree LSTM             %5.1f %%\n",
              100.0 * static_cast<double>(all_right) / static_cast<double>(answers.size()));
  for (unsigned group = 1; group <= kListOpsMaxDepth; ++group) {
    if (count[group] != 0) {
      std::printf("    depth %u             %5.1f %%  (%zu trees)\n", group,
                  100.0 * static_cast<double>(right[group]) / static_cast<double>(count[group]),
                  count[group]);
    }
  }
}

void train_and_report(const TreeOptions& options) {
  Task task;
  if (options.is_listops()) {
    make_listops_task(options, task);
  } else {
    read_task(options, task);
  }
  TreeLearner learner(task);
  TreeModel& model = learner.model();
  set_initial_values(model.m, options);
  if (!options.is_quiet) {
    std::printf("%s: %u words, state %u, %zu parameters, %s, batching %s, seed %u\n",
                task.settings.task.c_str(), task.settings["words"], options.hidden,
                model.m.parameter_count(), options.trainer.c_str(),
                options.autobatch ? "on" : "off", options.seed);
  }
  const TrainingResult result = train(learner, task.plan, options);
  write_graph(model, example_tree(task), options.dot);
  if (learner.can_test()) {
    populate(model.m, options.model);  // the best, as it was saved
    print_table(task, model, result, options);
  }
  if (!options.is_quiet) {
    std::printf("wrote %s, %s and %s\n", options.model.c_str(), options.curve.c_str(),
                options.dot.c_str());
  }
}

void predict_list(TreeModel& model, const std::string& text) {
  const ListExpr expr = parse_list(text);
  const unsigned answer = classify_roots(model, {to_tree(expr)}, 1).front();
  const unsigned value = evaluate(expr);
  std::printf("%s = %u, %s\n", to_text(expr).c_str(), answer,
              answer == value ? "right" : ("not " + std::to_string(value)).c_str());
}

void predict(const TreeOptions& options) {
  const Settings settings = load_settings(options.model, {"listops", "trees"});
  TreeModel model(settings);
  populate(model.m, options.model);
  if (settings.task == "listops") {
    predict_list(model, options.predict);
    return;
  }
  Dict vocabulary = settings.dict("words");
  const Tree tree = parse_tree(options.predict, vocabulary, settings["classes"], "expression");
  std::printf("class %u\n", classify_roots(model, {tree}, 1).front());
}

void show_saved_model(const TreeOptions& options, const char* program) {
  const Settings settings = load_settings(options.model, {"listops", "trees"});
  TreeModel model(settings);
  populate(model.m, options.model);
  std::printf("\nthe saved model, read again:\n");
  for (const char* text : {"[MAX 3 [MIN 4 5] 1]", "[SM 7 [MED 2 9 4] 8]"}) {
    predict_list(model, text);
  }
  std::printf("try your own: %s --predict \"[SM 4 [MAX 2 7] 5]\"\n", program);
}

void declare(CLI::App& app, TreeOptions& options) {
  declare_options(app, options, "bracketed trees to learn from; without it ListOps");
  app.add_option("--test-trees", options.test_trees, "held-out trees of ListOps")
      ->check(CLI::Range(1, 1000000))
      ->group("Data");
  app.add_option("--hidden", options.hidden, "size of a node's state (128)")
      ->check(CLI::Range(1, 4096))
      ->group("Model");
  app.add_option("--dot", options.dot, "graph of one tree (OUT/graph.dot)")->group("Output");
}

/// What depends on other options.
void set_defaults(TreeOptions& options) {
  options.dot = options.dot.empty() ? options.out + "/graph.dot" : options.dot;
  if (options.is_listops()) {
    options.updates = options.updates == 0 ? kListOpsUpdates : options.updates;
    options.test_every = options.test_every == 0 ? std::max<std::size_t>(options.updates / 40, 1)
                                                 : options.test_every;
    options.max_seconds = options.max_seconds == 0 ? 110 : options.max_seconds;
  }
}

int run(int argc, char** argv) {
  TreeOptions options;
  options.out = "listops-output";
  options.generates_data = true;
  CLI::App app(
      "Trains a tree LSTM, one tree at a time, on lists such as [MAX 3 [MIN 4 5] 1] that it "
      "generates itself,\nor with --train on bracketed trees such as (3 (2 It) (4 works)).");
  declare(app, options);
  int exit_code = 0;
  if (!parse_options(app, argc, argv, options, exit_code)) {
    return exit_code;
  }
  set_defaults(options);
  const bool trains = !options.has_saved_model();
  if (trains && !options.predict.empty() && options.is_listops()) {
    parse_list(options.predict);  // a mistake is reported before minutes of training
  }
  if (trains) {
    train_and_report(options);
  }
  if (!options.predict.empty()) {
    predict(options);
  } else if (options.is_listops() && !options.is_quiet) {
    show_saved_model(options, argv[0]);
  }
  return 0;
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  return examples::run_program("listops", argc, argv, examples::run);
}
