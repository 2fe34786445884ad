// The speed-up of several threads inside a graph over one: the paper's language model, tagger and
// trees, Adam, one, 16 and 64 sentences an update. Wall time, in short rounds that take turns, so
// that other load on the machine hits all alike; the best round counts. The losses of all numbers
// of threads have to be the same bits. `--quick` is a smoke test.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/init.h"
#include "dynet/training.h"

#include "program.h"
#include "random_trees.h"
#include "rnnlm_model.h"
#include "tagger_model.h"
#include "tree_model.h"

namespace dynet::bench {
namespace {

struct Options {
  unsigned rounds = 30;
  double seconds = 0.05;  ///< of a round
  unsigned threads = 2;
  std::string only;  ///< rows whose name begins with it
};

/// A model in training. Every step of a new object is the same work on the same numbers.
class Training {
 public:
  Training() = default;
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  virtual ~Training() = default;

  float step() {
    ComputationGraph cg;
    const Expression loss = build(cg);
    const float value = as_scalar(cg.forward(loss));
    cg.backward(loss);
    trainer_->update();
    return value;
  }

 protected:
  virtual Expression build(ComputationGraph& cg) = 0;
  void set_model(ParameterCollection& m) { trainer_ = std::make_unique<AdamTrainer>(m, 0.001F); }

 private:
  std::unique_ptr<AdamTrainer> trainer_;
};

class LanguageModel final : public Training {
 public:
  explicit LanguageModel(unsigned sentences)
      : model_({"rnnlm", {{"embedding", 128}, {"hidden", 256}, {"words", 10000}}}) {
    set_model(model_.m);
    example::Random random(1);
    for (unsigned i = 0; i < 8; ++i) {  // lengths of a batch are alike
      const unsigned length = 15 + random.below(15);
      example::Batch batch(sentences);
      for (example::Numbers& sentence : batch) {
        for (unsigned w = 0; w < length; ++w) {
          sentence.push_back(random.below(10000));
        }
      }
      batches_.push_back(batch);
    }
  }

 protected:
  Expression build(ComputationGraph& cg) override {
    model_.new_graph(cg);
    return model_.loss(cg, batches_[next_++ % batches_.size()]);
  }

 private:
  example::Rnnlm model_;
  std::vector<example::Batch> batches_;
  std::size_t next_ = 0;
};

class TaggerTraining final : public Training {
 public:
  explicit TaggerTraining(unsigned sentences)
      : count_(sentences),
        model_({"tagger",
                {{"embedding", 128},
                 {"hidden", 50},
                 {"mlp", 32},
                 {"rows", 69500},
                 {"words", 0},
                 {"tags", 9},
                 {"characters", 0}}}) {
    set_model(model_.m);
    example::Random random(1);
    sentences_.resize(256);
    for (example::Sentence& sentence : sentences_) {
      const unsigned length = 5 + random.below(41);
      for (unsigned i = 0; i < length; ++i) {
        const unsigned word = random.below(random.below(2) == 0 ? 300U : 69500U);
        sentence.words.push_back({word, {}});
        sentence.tags.push_back(word % 9);
      }
    }
  }

 protected:
  Expression build(ComputationGraph& cg) override {
    model_.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned i = 0; i < count_; ++i) {
      losses.push_back(model_.loss(cg, sentences_[next_++ % sentences_.size()]));
    }
    return sum(losses);
  }

 private:
  unsigned count_;
  example::Tagger model_;
  std::vector<example::Sentence> sentences_;
  std::size_t next_ = 0;
};

class TreeTraining final : public Training {
 public:
  explicit TreeTraining(unsigned sentences)
      : count_(sentences),
        trees_(256),
        model_({"trees", {{"words", 16000}, {"hidden", 128}, {"classes", 5}}}) {
    set_model(model_.m);
    example::Random random(1);
    for (example::Tree& tree : trees_) {
      append_random_tree(tree, 5 + random.below(29), random,
                         [&random] { return random.below(random.below(2) == 0 ? 300U : 16000U); });
    }
  }

 protected:
  Expression build(ComputationGraph& cg) override {
    model_.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned i = 0; i < count_; ++i) {
      losses.push_back(model_.loss(cg, trees_[next_++ % trees_.size()]));
    }
    return sum(losses);
  }

 private:
  unsigned count_;
  std::vector<example::Tree> trees_;
  example::TreeModel model_;
  std::size_t next_ = 0;
};

/// Two models of the same numbers, one for each number of threads.
struct Row {
  std::string name;
  std::unique_ptr<Training> one, several;
};
template <class T>
Row make_row(const std::string& model, unsigned sentences) {
  const auto make = [&] {
    reset_rng(1);
    return std::make_unique<T>(sentences);
  };
  return {model + " n" + std::to_string(sentences), make(), make()};
}

/// The best round: other programs only make rounds longer.
double best(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

/// Seconds of `steps` steps on so many threads.
double seconds_of(Training& training, unsigned threads, unsigned steps,
                  std::vector<float>& losses) {
  using Clock = std::chrono::steady_clock;
  set_threads(threads);
  const auto start = Clock::now();
  for (unsigned i = 0; i < steps; ++i) {
    losses.push_back(training.step());
  }
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void measure(const Options& options, const Row& row) {
  std::vector<float> losses[2];
  std::vector<double> seconds[2];
  const double first = seconds_of(*row.one, 1, 1, losses[0]);
  seconds_of(*row.several, options.threads, 1, losses[1]);
  const auto steps = static_cast<unsigned>(std::clamp(options.seconds / first, 1.0, 50.0));
  for (unsigned round = 0; round < options.rounds; ++round) {
    seconds[0].push_back(seconds_of(*row.one, 1, steps, losses[0]));
    seconds[1].push_back(seconds_of(*row.several, options.threads, steps, losses[1]));
  }
  if (losses[0] != losses[1]) {
    throw std::runtime_error(row.name + ": the losses differ from the losses of one thread");
  }
  const double one = best(seconds[0]) / steps;
  const double several = best(seconds[1]) / steps;
  std::printf("%-12s %10.1f us an update on one thread, %10.1f on %u: %5.2f times as fast\n",
              row.name.c_str(), one * 1e6, several * 1e6, options.threads, one / several);
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  Options options;
  bool is_quick = false;
  CLI::App app("Measures how much faster several threads train the paper's models.");
  app.add_option("--rounds", options.rounds, "of each number of threads (30)");
  app.add_option("--seconds", options.seconds, "of a round (0.05)");
  app.add_option("--with", options.threads, "threads, compared with one (2)");
  app.add_option("--only", options.only, "rows whose name begins so, such as tagger");
  app.add_flag("--quick", is_quick, "a smoke test");
  CLI11_PARSE(app, argc, argv);
  if (is_quick) {
    options.rounds = 1;
    options.seconds = 0.0;
  }
  initialize(params);
  using Make = Row (*)(const std::string& model, unsigned sentences);
  const std::vector<std::pair<std::string, Make>> models{{"rnnlm", make_row<LanguageModel>},
                                                         {"tagger", make_row<TaggerTraining>},
                                                         {"trees", make_row<TreeTraining>}};
  for (const auto& [name, make] : models) {
    for (const unsigned n :
         is_quick ? std::vector<unsigned>{2} : std::vector<unsigned>{1, 16, 64}) {
      if (name.rfind(options.only, 0) == 0) {
        measure(options, make(name, n));
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_thread_speed", argc, argv, dynet::bench::run);
}
