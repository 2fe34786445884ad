#pragma once

// What the examples share, and the only header that they include beside the library's: the command
// line, models on disk, and the loop that trains; with words.h, the data as numbers, random.h, the
// random orders, and measure.h, the clocks. A model is a class with parameters `m`,
// `new_graph(cg)`, which is called once for each graph, and `loss(cg, example)`.

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/dict.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/safetensors.h"
#include "dynet/text.h"
#include "dynet/training.h"

#include "measure.h"
#include "random.h"
#include "words.h"

namespace example {

using Expressions = std::vector<Expression>;

// ---- the command line

/// What all programs have on their command line. A program begins with its own defaults.
struct Options {
  std::string data = {};   ///< what the files hold; empty: the program has none
  bool has_loop = true;    ///< trains by `train`, which has options of its own
  std::string train = {};  ///< files
  std::string dev = {};
  unsigned epochs = 3;
  std::size_t updates = 0;  ///< 0: as many as the epochs have
  unsigned minibatch = 1;
  double max_seconds = 0;  ///< CPU time of training; 0: no limit
  double learning_rate = 0.001;
  std::string lookup_updates = "sparse";
  unsigned seed = 1;
  std::size_t test_every = 0;  ///< updates; 0: an epoch
  std::size_t print_losses = 0;
  bool is_quiet = false;
  std::string curve = {};
  // Of programs that answer.
  std::string out = {};  ///< a folder
  std::string init_file = {};
  std::string predict = {};

  [[nodiscard]] std::string model() const { return out.empty() ? "" : out + "/model.safetensors"; }
};

/// What programs whose data are small begin with. `what`: what their files hold.
inline Options small_data_options(const std::string& what, double learning_rate) {
  return {.data = what, .epochs = 10, .minibatch = 8, .learning_rate = learning_rate};
}

/// The options of `train`; those with data have epochs.
inline void declare_loop(CLI::App& app, Options& o) {
  const CLI::Range counts(1U, 1000000000U);
  if (!o.data.empty()) {
    app.add_option("--epochs", o.epochs, "passes over the examples, without --updates")
        ->check(counts);
  }
  app.add_option("--max-seconds", o.max_seconds, "end after so much CPU time of training")
      ->check(CLI::Range(1e-3, 1e9));
  app.add_option("--lookup-updates", o.lookup_updates, "of tables: sparse, dense or exact")
      ->check(CLI::IsMember({"sparse", "dense", "exact"}));
  app.add_option("--test-every", o.test_every, "updates between tests (an epoch)")->check(counts);
  app.add_option("--print-losses", o.print_losses, "print the first N losses in full")
      ->check(CLI::Range(0U, 1000000000U));
  app.add_flag("--quiet", o.is_quiet, "print the results only");
  app.add_option("--curve", o.curve, "file for the learning curve (OUT/curve.csv)");
}

inline void declare_options(CLI::App& app, Options& o, bool answers) {
  if (!o.data.empty()) {
    app.add_option("--train", o.train, o.data);
    app.add_option("--dev", o.dev, "the same, to test on")->required(!answers);
  }
  app.add_option("--updates", o.updates, "end after so many")->check(CLI::Range(1U, 1000000000U));
  app.add_option("--minibatch", o.minibatch, "examples per update")->check(CLI::Range(1, 65536));
  app.add_option("--learning-rate", o.learning_rate, "of Adam")->check(CLI::Range(1e-9, 1e3));
  app.add_option("--seed", o.seed, "of the data and of the library");
  if (o.has_loop) {
    declare_loop(app, o);
  }
  if (answers) {
    app.add_option("--out", o.out, "folder for the model and the curve");
    app.add_option("--init-file", o.init_file, "initial values from a model file");
    app.add_option("--predict", o.predict, "answer this with the model in OUT");
  }
}

/// Whether there is a saved model to ask; without one the program trains first.
inline bool has_model(const Options& o) {
  return !o.predict.empty() && std::filesystem::exists(o.model());
}

inline void check_options(Options& o) {
  if (!o.predict.empty() && o.out.empty()) {
    throw CLI::ValidationError("--predict", "needs --out");
  }
  if (!o.data.empty() && o.train.empty() && !has_model(o)) {
    throw CLI::ValidationError(
        "--train", o.predict.empty() ? "is required" : "is required: there is no " + o.model());
  }
  if (!o.dev.empty() && o.train.empty()) {
    throw CLI::ValidationError("--dev", "needs --train");
  }
  if (o.curve.empty() && !o.out.empty()) {
    o.curve = o.out + "/curve.csv";
  }
}

/// The frame of main: reads the command line (which may hold options of the library, such as
/// --dynet-autobatch=0), trains, predicts where asked, and prints what goes wrong. Mistakes in data
/// exit with 2, others with 1. `declare` adds options; `predict` is of programs that answer.
template <class AllOptions>
int run(int argc, char** argv, const char* about, AllOptions options,
        void (*train)(const AllOptions&), void (*declare)(CLI::App&, AllOptions&) = nullptr,
        void (*predict)(const AllOptions&) = nullptr) {
  try {
    DynetParams params = extract_dynet_params(argc, argv);
    CLI::App app(about);
    app.option_defaults()->always_capture_default();
    declare_options(app, options, predict != nullptr);
    if (declare != nullptr) {
      declare(app, options);
    }
    try {
      app.parse(argc, argv);
      check_options(options);
    } catch (const CLI::ParseError& error) {
      return app.exit(error);
    }
    params.random_seed = params.random_seed != 0 ? params.random_seed : options.seed;
    initialize(params);
    if (!has_model(options)) {
      train(options);
    }
    if (!options.predict.empty()) {
      predict(options);
    }
    return 0;
  } catch (const text::TextError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 1;
  }
}

// ---- models on disk

/// What has to be known before a model can be made: numbers, and the words that have numbers. They
/// are the metadata of its file, which Python reads and writes as well.
struct Settings {
  std::string task;
  std::map<std::string, unsigned> numbers = {};
  std::map<std::string, Dict> dicts = {};  ///< frozen

  /// A number, or how many words there are.
  unsigned operator[](const std::string& name) const {
    const auto dict = dicts.find(name);
    const auto number = numbers.find(name);
    if (dict == dicts.end() && number == numbers.end()) {
      throw std::runtime_error("the settings have no '" + name + "'");
    }
    return dict == dicts.end() ? number->second : dict->second.size();
  }
};

/// An option for each number: its name, and what it is.
inline void declare_sizes(CLI::App& app, Settings& settings,
                          const std::map<std::string, std::string>& texts) {
  for (const auto& [name, text] : texts) {
    unsigned& value = settings.numbers.at(name);
    app.add_option("--" + name, value, text)->check(CLI::Range(value == 0 ? 0U : 1U, 1000000U));
  }
}

inline void save_model(const Settings& settings, const ParameterCollection& m,
                       const std::string& file) {
  SafetensorsSaver saver(file);
  saver.save(m);
  saver.set_metadata("task", settings.task);
  for (const auto& [name, number] : settings.numbers) {
    saver.set_metadata(name, std::to_string(number));
  }
  for (const auto& [name, dict] : settings.dicts) {
    std::string lines;
    for (const std::string& word : dict.get_words()) {
      lines += word + "\n";
    }
    saver.set_metadata(name + "[]", lines);
  }
  saver.close();
}

/// The settings in a model's file. std::runtime_error where it is one of another task, or where
/// they are none.
inline Settings load_settings(const std::string& file, const std::string& task) {
  std::map<std::string, std::string> metadata = SafetensorsLoader(file).metadata();
  if (metadata["task"] != task) {
    throw std::runtime_error(file + " is not a model of " + task);
  }
  metadata.erase("task");
  Settings settings{task};
  for (const auto& [name, value] : metadata) {
    const std::size_t end = name.size() - std::min<std::size_t>(2, name.size());
    if (name.substr(end) != "[]") {
      const char* const last = value.data() + value.size();
      const auto read = std::from_chars(value.data(), last, settings.numbers[name]);
      if (read.ec != std::errc() || read.ptr != last) {
        std::ostringstream what;
        what << file << ": " << name << " is '" << value << "'; want a number";
        throw std::runtime_error(what.str());
      }
      continue;
    }
    std::istringstream lines(value);
    Dict& dict = settings.dicts[name.substr(0, end)];
    for (std::string line; std::getline(lines, line);) {
      dict.convert(line);
    }
    dict.contains("<unk>") ? freeze(dict) : dict.freeze();
  }
  return settings;
}

/// The model that `save_model` wrote.
template <class Model>
void populate(Model& model, const std::string& file) {
  SafetensorsLoader(file).populate(model.m);
}

// ---- training

/// What a program tells the loop beside its model and examples.
struct Plan {
  const char* unit = "examples";        ///< what is counted: "words"
  const char* score_name = "accuracy";  ///< a share
  bool less_is_better = false;          ///< a score that is no share: "perplexity"
  std::function<double()> score = {};   ///< of the model as it is; none: nothing to test on
  const Settings* settings = nullptr;   ///< are saved with the model, where there is --out
  bool keeps_best = true;               ///< saves what tested best so far; else what came last
  bool lowers_rate = false;             ///< see rate_factor
};

/// What the learning rate is multiplied by: 1 for the first 60 % of the training, then down to 0.02
/// in a straight line.
inline double rate_factor(double share) {
  return 1.0 - 0.98 * std::clamp((share - 0.6) / 0.4, 0.0, 1.0);
}

/// Follows a training: when it ends, when it is tested, what is printed and written.
class Progress {
 public:
  Progress(const Options& options, const Plan& plan, const ParameterCollection& m,
           std::size_t updates_an_epoch)
      : options_(options),
        plan_(plan),
        m_(m),
        all_(options.updates != 0 ? options.updates : options.epochs * updates_an_epoch),
        test_every_(options.test_every != 0 ? options.test_every : updates_an_epoch) {
    if (!options.out.empty()) {
      std::filesystem::create_directories(options.out);
    }
    if (!options.curve.empty()) {
      std::error_code ignored;  // what cannot be made cannot be written either
      std::filesystem::create_directories(std::filesystem::path(options.curve).parent_path(),
                                          ignored);
      curve_.open(options.curve);
      curve_ << "updates,seconds,items,train_loss,dev_score\n";
      check_curve();
    }
    resumed_ = cpu_seconds();
  }

  /// The share of the training that is done. A machine too slow for all updates ends in time.
  [[nodiscard]] double share() const { return share_; }

  /// After an update.
  void add(float loss, std::size_t items) {
    if (updates_++ == 0) {
      first_update_at_ = seconds_since_start();
    }
    if (updates_ <= options_.print_losses) {
      std::printf("loss %zu %.9g\n", updates_, static_cast<double>(loss));
    }
    loss_ += loss;
    since_test_ += items;
    items_ += items;
    share_ = std::max(static_cast<double>(updates_) / static_cast<double>(all_),
                      options_.max_seconds > 0 ? seconds() / options_.max_seconds : 0.0);
    if (updates_ % test_every_ == 0 || share_ >= 1) {
      test();
    }
  }

  void print_results() const {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf(
        "trained %zu items in %.3f cpu-seconds: %.1f items/s; peak memory %.1f MiB; "
        "first-update-at %.2f s after start\n",
        items_, seconds(), static_cast<double>(items_) / seconds(),
        static_cast<double>(used.ru_maxrss) / 1024, first_update_at_);
    if (plan_.score) {
      std::printf("dev %s, best %s\n", text_of(score_).c_str(), text_of(best_).c_str());
    }
  }

 private:
  [[nodiscard]] double seconds() const { return before_ + cpu_seconds() - resumed_; }
  [[nodiscard]] std::string text_of(double score) const {
    char text[64];
    std::snprintf(text, sizeof text, plan_.less_is_better ? "%s %.1f" : "%s %.2f %%",
                  plan_.score_name, plan_.less_is_better ? score : 100 * score);
    return text;
  }

  void check_curve() {
    if (!curve_.flush()) {
      throw std::runtime_error("cannot write '" + options_.curve + "'");
    }
  }

  /// Tests, saves the model, and says so; none of it counts as training.
  void test() {
    before_ = seconds();
    bool is_best = true;
    std::string score = "  ";
    if (plan_.score) {
      score_ = plan_.score();
      is_best = !plan_.keeps_best || std::isnan(best_) ||
                (plan_.less_is_better ? score_ < best_ : score_ > best_);
      best_ = is_best ? score_ : best_;
      score += text_of(score_) + "  ";
    }
    if (is_best && plan_.settings != nullptr && !options_.out.empty()) {
      save_model(*plan_.settings, m_, options_.model());
    }
    const double loss = loss_ / static_cast<double>(since_test_);
    if (curve_.is_open()) {
      const std::string column = plan_.score ? std::to_string(score_) : "";
      curve_ << updates_ << ',' << before_ << ',' << items_ << ',' << loss << ',' << column << "\n";
      check_curve();
    }
    if (!options_.is_quiet) {
      std::printf("%3.0f %%  %zu updates  %.0f %s a second  loss %.4f%s%.0f s left\n",
                  100 * std::min(share_, 1.0), updates_, static_cast<double>(items_) / before_,
                  plan_.unit, loss, score.c_str(), before_ * std::max(0.0, 1 / share_ - 1));
      std::fflush(stdout);
    }
    loss_ = 0;
    since_test_ = 0;
    resumed_ = cpu_seconds();
  }

  const Options& options_;
  const Plan& plan_;
  const ParameterCollection& m_;
  std::size_t all_;
  std::size_t test_every_;
  std::ofstream curve_;
  std::size_t updates_ = 0;
  std::size_t items_ = 0;
  double share_ = 0;
  double resumed_ = 0;  ///< CPU seconds of the process, when training went on
  double before_ = 0;   ///< CPU seconds of training until then
  double first_update_at_ = 0;
  double loss_ = 0;  ///< the sum since the last test, of `since_test_` items
  std::size_t since_test_ = 0;
  double score_ = std::numeric_limits<double>::quiet_NaN();
  double best_ = std::numeric_limits<double>::quiet_NaN();
};

/// Trains a model with Adam as the options say: the losses of a minibatch are written into one
/// graph. `items_in` says how many items an example has; none: one. (A default that is a lambda
/// makes clang-tidy 19 ask for const everywhere in the callers.)
template <class Model, class Example>
void train(const Options& options, const Plan& plan, Model& model,
           const std::vector<Example>& examples,
           const std::function<std::size_t(const std::type_identity_t<Example>&)>& items_in = {}) {
  if (!options.init_file.empty()) {
    populate(model, options.init_file);
  }
  AdamTrainer trainer(model.m, static_cast<float>(options.learning_rate));
  LookupUpdates how{};
  std::istringstream(options.lookup_updates) >> how;
  trainer.set_lookup_updates(how);
  Minibatches order(options.seed, examples.size(), options.minibatch);
  Progress progress(options, plan, model.m, order.updates_an_epoch());
  Expressions losses;
  while (progress.share() < 1) {
    if (plan.lowers_rate) {
      trainer.learning_rate =
          static_cast<float>(options.learning_rate * rate_factor(progress.share()));
    }
    ComputationGraph cg;
    model.new_graph(cg);
    losses.clear();
    std::size_t items = 0;
    for (const std::size_t i : order.next()) {
      losses.push_back(model.loss(cg, examples[i]));
      items += items_in ? items_in(examples[i]) : 1;
    }
    const Expression all = losses.size() == 1 ? losses[0] : sum(losses);
    const float value = as_scalar(cg.forward(all));
    cg.backward(all);
    trainer.update();
    progress.add(value, items);
  }
  progress.print_results();
}

inline void append(Numbers& to, const Numbers& more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// The place of the largest number in each of these, which are of one size, and in each example of
/// a batch. Computes them together.
inline Numbers best_of_each(const Expressions& scores) {
  const std::vector<float> all = as_vector(concatenate(scores).value());
  const auto size = static_cast<std::ptrdiff_t>(scores[0].dim().rows());
  Numbers best;
  for (auto at = all.begin(); at != all.end(); at += size) {
    best.push_back(static_cast<unsigned>(std::max_element(at, at + size) - at));
  }
  return best;
}

/// Answers to examples, 16 in a graph, so that the library has something to run together.
/// `ask(cg, example, scores)` appends what to take the largest numbers of.
template <class Model, class Example, class Ask>
Numbers answers_to(Model& model, const std::vector<Example>& examples, const Ask& ask) {
  Numbers answers;
  for (std::size_t i = 0; i < examples.size();) {
    ComputationGraph cg;
    model.new_graph(cg);
    Expressions scores;
    for (const std::size_t end = std::min(i + 16, examples.size()); i < end; ++i) {
      ask(cg, examples[i], scores);
    }
    append(answers, best_of_each(scores));
  }
  return answers;
}

/// The share of the answers that are right.
inline double share_right(const Numbers& answers, const Numbers& right) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    count += answers[i] == right[i] ? 1 : 0;
  }
  return static_cast<double>(count) / static_cast<double>(right.size());
}

/// Trains, and tests on `dev`: `answer(example)` are the answers to one, and what is right.
template <class Model, class Example, class Answer>
void train_and_test(const Options& options, Model& model, const std::vector<Example>& examples,
                    const std::vector<Example>& dev, const Answer& answer) {
  const auto score = [&] {
    Numbers answers, right;
    for (const Example& example : dev) {
      const std::pair<Numbers, Numbers> more = answer(example);
      append(answers, more.first);
      append(right, more.second);
    }
    return share_right(answers, right);
  };
  train(options, {.score = score}, model, examples);
}

/// Trains and tests a Model that is made of how many words and tags there are and answers with
/// `tag(words)`. `first_tag`: as in TaggedData.
template <class Model>
void train_on_tagged(const Options& options, const text::Words& first_tag = {}) {
  const TaggedData data(options.train, options.dev, first_tag);
  Model model(data.words.size(), data.tags.size());
  train_and_test(options, model, data.train, data.dev, [&](const Tagged& sentence) {
    return std::pair(model.tag(sentence.words), sentence.tags);
  });
}

}  // namespace example
