#pragma once

// What the programs of this folder share: models on disk, the command line, the loop that trains,
// and random orders that are the same in C++ and in Python.

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dynet/dict.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/text/lines.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name that CLI11 has
class App;
}

namespace examples {

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

using Numbers = std::vector<unsigned>;
using Expressions = std::vector<Expression>;
/// Data that cannot be read. `what()` reads "file:line:column: reason"; both count from 1.
using DataError = text::TextError;

/// DataError unless something was found in a file.
void check_not_blank(const std::string& file, std::size_t found);

// ---- models on disk
// -------------------------------------------------------------------------------

/// What has to be known before a model file can be read: named numbers and named lists of words.
/// It stands beside the model file, in FILE.settings, which Python reads and writes as well:
///
///   task tagger          what kind of model it is
///   hidden 50            numbers
///   words[] 2            lists: how many words, then one a line
///   <unk>
///   the
struct Settings {
  std::string task;
  std::vector<std::pair<std::string, unsigned>> numbers;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;

  /// A number, or how long a list is. All of these throw std::runtime_error for what is not there.
  [[nodiscard]] unsigned operator[](const std::string& name) const;
  [[nodiscard]] unsigned& number(const std::string& name);
  [[nodiscard]] const std::vector<std::string>& list(const std::string& name) const;
  /// Numbers for the words of a list, frozen; those that are not in it count as its first one.
  [[nodiscard]] Dict dict(const std::string& name) const;
};

/// Settings first, then parameters, each in place of the old file at once: a crash leaves the old
/// one or the new one, never a half.
void save_model(const Settings& settings, const ParameterCollection& parameters,
                const std::string& model_file);
/// Settings of one of these tasks. Throws std::runtime_error for a file that is missing, DataError
/// for one that is no such file.
Settings load_settings(const std::string& model_file, const std::vector<std::string>& tasks);
void populate(ParameterCollection& parameters, const std::string& model_file);
/// Initial values by a formula that is the same in C++ and in Python. Vectors (biases) are zero,
/// matrices and rows of tables uniform within the range of Glorot.
void set_deterministic_values(ParameterCollection& parameters);

// ---- the command line
// -----------------------------------------------------------------------------

/// What all programs have; what a program has beside it, it declares itself.
struct Options {
  // Data.
  std::string train;
  std::string dev;
  std::uint32_t seed = 1;
  // Training. 0: the default of the program.
  std::size_t updates = 0;
  unsigned epochs = 3;
  unsigned minibatch = 1;
  double max_seconds = 0;
  std::string trainer = "adam";
  double learning_rate = 0;
  std::string lookup_updates = "sparse";
  std::size_t test_every = 0;
  bool deterministic_init = false;
  std::string init_file;
  // Library.
  bool autobatch = true;
  std::string device = "CPU";
  // Output. Empty: a file of that kind in `out`; where that is empty too, none.
  std::string out;
  std::string model;
  std::string curve;
  std::string predict;
  std::size_t print_losses = 0;
  bool is_quiet = false;
  bool generates_data = false;  ///< where --train is not given; no option but the program's nature

  /// Answers come from a model that was saved, not from one trained now.
  [[nodiscard]] bool has_saved_model() const;
};

/// Declares the options above. `train_help` says what the file --train holds.
void declare_options(CLI::App& app, Options& options, const std::string& train_help);
/// Declares options for numbers of a model, which are at least 1: --NAME, and its help.
void declare_sizes(CLI::App& app, Settings& sizes,
                   const std::vector<std::pair<std::string, std::string>>& help);
/// Reads the command line and starts the library. Prints help or an error and returns false where
/// there is nothing more to do; then `exit_code` is set.
bool parse_options(CLI::App& app, int argc, char** argv, Options& options, int& exit_code);

/// Reads the command line, trains unless there is a saved model to ask, and predicts where asked.
/// Returns the exit code. `Program` has the Options of one program.
template <class Program>
int run_task(CLI::App& app, int argc, char** argv, Program& options, void (*train)(const Program&),
             void (*predict)(const Program&)) {
  int exit_code = 0;
  if (!parse_options(app, argc, argv, options, exit_code)) {
    return exit_code;
  }
  if (!options.has_saved_model()) {
    train(options);
  }
  if (!options.predict.empty()) {
    predict(options);
  }
  return 0;
}
/// The frame of main: calls `run`, and prints what goes wrong. Mistakes in data exit with 2, others
/// with 1.
int run_program(const char* name, int argc, char** argv, int (*run)(int, char**));

// ---- training
// -------------------------------------------------------------------------------------

/// The losses of one update.
struct Losses {
  Expression sum;         ///< {1}
  std::size_t count = 0;  ///< how many losses are in the sum
  std::size_t items = 0;  ///< how many of what the program counts: words, sentences
};

/// How well a model does.
struct ScoreKind {
  const char* name;  ///< "accuracy", from 0 to 1, or "perplexity"
  bool is_share;     ///< shown in per cent, higher is better; else lower is
};

/// A model and its data, as the loop sees them.
class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  virtual ParameterCollection& parameters() = 0;
  [[nodiscard]] virtual const Settings& settings() const = 0;
  /// Writes the next examples into a new graph.
  virtual Losses add_next(ComputationGraph& cg) = 0;
  /// On the examples for testing, of which there is at least one where `can_test`.
  virtual double test() = 0;
  [[nodiscard]] virtual bool can_test() const = 0;
  [[nodiscard]] virtual ScoreKind score_kind() const = 0;
};

/// One row of the learning curve.
struct CurvePoint {
  std::size_t updates;
  double seconds;     ///< CPU time of training alone
  std::size_t items;  ///< learned from so far
  double train_loss;  ///< mean since the row before
  double dev_score;   ///< NaN where there is nothing to test on
};

struct TrainingPlan {
  const char* unit = "";             ///< what `items` are, "words"
  std::size_t updates_an_epoch = 0;  ///< 0: there are no epochs
  bool lowers_rate = false;          ///< see rate_factor
  bool keeps_best = true;            ///< saves what tested best; else what came last
};

struct TrainingResult {
  std::vector<CurvePoint> curve;
  std::size_t updates = 0;
  std::size_t items = 0;
  double seconds = 0;          ///< CPU time of training alone
  double first_update_at = 0;  ///< wall time since the program was started
  double best_score = 0;       ///< of the model in the file, where `can_test`
};

/// 1 for the first 60 % of the training, then down to 0.02 in a straight line.
double rate_factor(double share);
/// Initial values as the options say.
void set_initial_values(ParameterCollection& parameters, const Options& options);
/// The folder that a file is to be written to, and those above it.
void make_folder_of(const std::string& file);
/// Trains as the options say and writes the model, the curve and, at the end, a line of figures.
TrainingResult train(Learner& learner, const TrainingPlan& plan, const Options& options);

/// The place of the largest number in each of these, which are of one size. Computes them together.
Numbers best_of_each(const Expressions& scores);

/// Answers to examples, 16 in a graph, so that the library has something to run together.
/// `ask(cg, example, scores)` appends what to take the largest numbers of.
template <class Model, class Example, class Ask>
Numbers answers_to(Model& model, const std::vector<Example>& examples, const Ask& ask) {
  constexpr std::size_t kInAGraph = 16;
  Numbers answers;
  for (std::size_t i = 0; i < examples.size();) {
    ComputationGraph cg;
    model.new_graph(cg);
    Expressions scores;
    for (const std::size_t end = i + kInAGraph; i < end && i < examples.size(); ++i) {
      ask(cg, examples[i], scores);
    }
    const Numbers more = best_of_each(scores);
    answers.insert(answers.end(), more.begin(), more.end());
  }
  return answers;
}

// ---- random orders
// --------------------------------------------------------------------------------

/// Random integers that are the same in C++ and in Python: the words of mt19937, scaled by a
/// multiplication (the standard's distributions differ between libraries).
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  /// In [0, n): the upper half of a word times n.
  unsigned below(unsigned n) { return static_cast<unsigned>((std::uint64_t{engine_()} * n) >> 32); }

 private:
  std::mt19937 engine_;
};

/// A random order of [0, n) (Fisher and Yates, from the back).
std::vector<std::size_t> random_order(std::size_t n, Random& random);

/// Goes over `count` examples in a new random order each time, some of them an update. The last
/// update of a pass may have fewer: none mixes two passes.
class Minibatches {
 public:
  Minibatches(std::uint32_t seed, std::size_t count, std::size_t size)
      : random_(seed), count_(count), size_(size) {}
  /// Valid until the next call.
  const std::vector<std::size_t>& next();
  [[nodiscard]] std::size_t updates_an_epoch() const { return (count_ + size_ - 1) / size_; }

 private:
  Random random_;
  std::size_t count_;
  std::size_t size_;
  std::vector<std::size_t> order_;
  std::size_t at_ = 0;
  std::vector<std::size_t> batch_;
};

/// A model, made of its settings, and examples that it learns from, some an update, in a random
/// order. `Model` has parameters `m` and `new_graph(cg)`.
template <class Model, class Example>
class ExampleLearner : public Learner {
 public:
  ParameterCollection& parameters() override { return model.m; }
  [[nodiscard]] const Settings& settings() const override { return settings_; }
  [[nodiscard]] bool can_test() const override { return !dev.empty(); }

  Losses add_next(ComputationGraph& cg) override {
    model.new_graph(cg);
    losses_.clear();
    Losses all;
    for (const std::size_t i : order.next()) {
      const Losses one = add(cg, train[i]);
      losses_.push_back(one.sum);
      all.count += one.count;
      all.items += one.items;
    }
    all.sum = losses_.size() == 1 ? losses_[0] : sum(losses_);
    return all;
  }

  std::vector<Example> train, dev;
  Minibatches order;
  Model model;

 protected:
  ExampleLearner(Settings settings, std::vector<Example> for_training,
                 std::vector<Example> for_tests, std::uint32_t seed, std::size_t minibatch)
      : train(std::move(for_training)),
        dev(std::move(for_tests)),
        order(seed, train.size(), minibatch),
        model(settings),
        settings_(std::move(settings)) {}
  virtual Losses add(ComputationGraph& cg, const Example& example) = 0;

 private:
  Settings settings_;
  Expressions losses_;
};

}  // namespace examples
