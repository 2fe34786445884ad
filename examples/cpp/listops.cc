// The main job: trains a tree LSTM on ListOps, or on bracketed trees, and shows what it learned.
// Start reading at main(); the model is tree_model.cc, the loop training.cc, the data
// listops_data.h. The Python twin is ../python/listops.py.

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "dynet/init.h"

#include "baseline.h"
#include "listops_data.h"
#include "options.h"
#include "progress.h"
#include "training.h"
#include "tree_model.h"
#include "trees.h"

namespace examples {
namespace {

constexpr unsigned kSentimentClasses = 5;
constexpr std::size_t kBaselineTrees = 20000;

/// What a run learns from and is tested on.
struct Task {
  ModelSettings settings;
  std::vector<Tree> train;  ///< bracketed trees; for ListOps those of the baselines
  std::vector<Tree> test;
  std::vector<unsigned> test_depths;  ///< ListOps only
  TrainingPlan plan;
};

/// New trees of ListOps without end, none of which is held out.
class ListOpsSource {
 public:
  ListOpsSource(std::uint32_t seed, std::shared_ptr<const std::unordered_set<std::string>> held_out)
      : generator_(seed), held_out_(std::move(held_out)) {}
  const Tree& next() {
    ListExpr expr = generator_.next();
    while (held_out_->count(to_text(expr)) != 0) {
      expr = generator_.next();
    }
    tree_ = to_tree(expr);
    return tree_;
  }

 private:
  ListOpsGenerator generator_;
  std::shared_ptr<const std::unordered_set<std::string>> held_out_;
  Tree tree_;
};

Task make_listops_task(const Options& options) {
  Task task;
  task.settings = {"listops", options.hidden, kDigitCount, listops_words()};
  ListOpsGenerator test_lists(options.seed + 1000000007U);
  auto held_out = std::make_shared<std::unordered_set<std::string>>();
  while (task.test.size() < options.test_trees) {
    const ListExpr expr = test_lists.next();
    if (held_out->insert(to_text(expr)).second) {
      task.test.push_back(to_tree(expr));
      task.test_depths.push_back(depth(expr));
    }
  }
  ListOpsSource for_baselines(options.seed, held_out);
  for (std::size_t i = 0; i < kBaselineTrees; ++i) {
    task.train.push_back(for_baselines.next());
  }
  const auto source = std::make_shared<ListOpsSource>(options.seed, held_out);
  task.plan.next_tree = [source]() -> const Tree& { return source->next(); };
  task.plan.updates = options.updates;
  task.plan.updates_a_point = std::max<std::size_t>(options.updates / 40, 1);
  task.plan.test_limit = 300;
  task.plan.max_seconds = options.max_seconds;
  task.plan.lowers_rate = true;
  return task;
}

/// Goes over the trees in a new random order each time.
class EpochSource {
 public:
  EpochSource(std::uint32_t seed, const std::vector<Tree>& trees) : random_(seed), trees_(trees) {}
  const Tree& next() {
    if (next_ == order_.size()) {
      order_ = random_order(trees_.size(), random_);
      next_ = 0;
    }
    return trees_[order_[next_++]];
  }

 private:
  Random random_;
  const std::vector<Tree>& trees_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;
};

/// `task` stays where it is: the plan refers to its trees.
void read_task(const Options& options, Task& task) {
  Vocabulary vocabulary;
  task.train = read_tree_file(options.train, vocabulary, kSentimentClasses);
  vocabulary.freeze();
  task.test = read_tree_file(options.dev.empty() ? options.train : options.dev, vocabulary,
                             kSentimentClasses);
  task.settings = {"trees", options.hidden, kSentimentClasses, vocabulary.words()};
  const std::size_t epoch = (task.train.size() + options.minibatch - 1) / options.minibatch;
  const auto source = std::make_shared<EpochSource>(options.seed, task.train);
  task.plan.next_tree = [source]() -> const Tree& { return source->next(); };
  task.plan.updates = options.updates != 0 ? options.updates : epoch * options.epochs;
  task.plan.updates_a_point = epoch;
  task.plan.test_limit = task.test.size();
}

/// Starts the library with `params`, the --dynet-* options, and what options of this program say.
void start_library(dynet::DynetParams params, const Options& options) {
  params.random_seed = params.random_seed != 0 ? params.random_seed : options.seed;
  params.autobatch = options.autobatch ? params.autobatch : 0;
  params.device = options.device != "CPU" ? options.device : params.device;
  dynet::initialize(params);
}

/// A tree small enough for a picture.
Tree example_tree(const Task& task) {
  if (task.settings.task == "listops") {
    return to_tree(parse_list("[MAX 3 [MIN 4 5]]"));
  }
  const Tree* smallest = &task.test.front();
  for (const Tree& tree : task.test) {
    const bool is_smaller = tree.nodes.size() < smallest->nodes.size();
    if (tree.nodes.size() > 6 && (is_smaller || smallest->nodes.size() <= 6)) {
      smallest = &tree;
    }
  }
  return *smallest;
}

void write_graph(TreeModel& model, const Tree& tree, const std::string& file) {
  dynet::ComputationGraph cg;
  model.new_graph(cg);
  model.add_tree(cg, tree);
  std::ofstream out(file);
  out << cg.to_dot();
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + file + "'");
  }
}

void print_table(const Task& task, TreeModel& model, const TrainingResult& result,
                 const Options& options) {
  const Baselines baselines =
      measure_baselines(task.train, task.test, static_cast<unsigned>(task.settings.words.size()),
                        task.settings.classes, options.is_listops() ? 2 : 5);
  const std::vector<unsigned> answers = classify_roots(model, task.test, task.test.size());
  std::size_t right[kListOpsMaxDepth + 1] = {};
  std::size_t count[kListOpsMaxDepth + 1] = {};
  std::size_t all_right = 0;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const bool is_right = static_cast<int>(answers[i]) == task.test[i].root().label;
    const unsigned group = task.test_depths.empty() ? 0 : task.test_depths[i];
    right[group] += is_right ? 1 : 0;
    ++count[group];
    all_right += is_right ? 1 : 0;
  }
  std::printf("\n%zu updates in %s of training, %.0f a second\n", result.updates,
              minutes(result.seconds).c_str(),
              static_cast<double>(result.updates) / result.seconds);
  std::printf("right answers at the root of %zu %s trees:\n", task.test.size(),
              options.is_listops() || !options.dev.empty() ? "held-out" : "training");
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

void make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
  }
}

void train_and_report(const Options& options) {
  for (const std::string& file : {options.model, options.curve, options.dot}) {
    make_folder_of(file);
  }
  Task task;
  if (options.is_listops()) {
    task = make_listops_task(options);
  } else {
    read_task(options, task);
  }
  task.plan.test = &task.test;
  TreeModel model(task.settings);
  if (options.deterministic_init) {
    model.set_deterministic_values();
  }
  if (!options.init_file.empty()) {
    model.populate(options.init_file);
  }
  if (!options.is_quiet) {
    std::printf("%s: %zu words, state %u, %zu parameters, %s, batching %s, seed %u\n",
                task.settings.task.c_str(), task.settings.words.size(), options.hidden,
                model.parameters().parameter_count(), options.trainer.c_str(),
                options.autobatch ? "on" : "off", options.seed);
  }
  const TrainingResult result = train(model, task.plan, options);
  save_settings(task.settings, options.model);
  model.save(options.model);
  write_curve(result.curve, options.curve);
  write_graph(model, example_tree(task), options.dot);
  print_table(task, model, result, options);
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

void predict(const Options& options) {
  const ModelSettings settings = load_settings(options.model);
  TreeModel model(settings);
  model.populate(options.model);
  if (settings.task == "listops") {
    predict_list(model, options.predict);
    return;
  }
  Vocabulary vocabulary;
  for (const std::string& word : settings.words) {
    vocabulary.number(word);
  }
  vocabulary.freeze();
  const Tree tree = parse_tree(options.predict, vocabulary, settings.classes, "expression");
  std::printf("class %u\n", classify_roots(model, {tree}, 1).front());
}

int run(int argc, char** argv) {
  const dynet::DynetParams params = dynet::extract_dynet_params(argc, argv);
  Options options;
  int exit_code = 0;
  if (!parse_options(argc, argv, options, exit_code)) {
    return exit_code;
  }
  const bool trains = options.predict.empty() || !std::filesystem::exists(options.model);
  if (trains && !options.predict.empty() && options.is_listops()) {
    parse_list(options.predict);  // a mistake is reported before minutes of training
  }
  start_library(params, options);
  if (trains) {
    train_and_report(options);
  }
  if (!options.predict.empty()) {
    predict(options);
  } else if (options.is_listops() && !options.is_quiet) {
    const ModelSettings settings = load_settings(options.model);
    TreeModel model(settings);
    model.populate(options.model);
    std::printf("\nthe saved model, read again:\n");
    for (const char* text : {"[MAX 3 [MIN 4 5] 1]", "[SM 7 [MED 2 9 4] 8]"}) {
      predict_list(model, text);
    }
    std::printf("try your own: %s --predict \"[SM 4 [MAX 2 7] 5]\"\n", argv[0]);
  }
  return 0;
}

}  // namespace
}  // namespace examples

int main(int argc, char** argv) {
  try {
    return examples::run(argc, argv);
  } catch (const examples::TreeError& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "listops: %s\n", e.what());
    return 1;
  }
}
