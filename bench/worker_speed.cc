// The speed-up of two worker processes over one: the paper's tagger, Adam, some sentences per
// update. Wall time, in short rounds that take turns, so that other load on the machine hits all
// alike; medians. The bar is 1.8 times with 16 sentences. `--quick` is a smoke test.
//
// The machine's own speed-up is measured beside it: two processes that train models of their own
// and share nothing. No scheme can be faster.

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/init.h"
#include "dynet/training.h"
#include "dynet/workers.h"

#include "paper_models.h"
#include "program.h"
#include "timing.h"

namespace dynet::bench {
namespace {

struct Options {
  unsigned rounds = 60;
  unsigned updates = 10;  ///< in a round
  unsigned sentences = 16;
  unsigned workers = 2;
  unsigned pieces = 0;
};

/// A model, its trainer, and an update in this process.
class Training {
 public:
  explicit Training(const Options& options)
      : options_(options), trainer_(tagger_.model.m, 0.001F) {}

  Expression loss(ComputationGraph& cg, const std::vector<unsigned>& examples) {
    return tagger_.loss(cg, examples);
  }
  const std::vector<unsigned>& next_examples() {
    examples_.resize(options_.sentences);
    for (unsigned& n : examples_) {
      n = static_cast<unsigned>(next_++ % tagger_.sentences.size());
    }
    return examples_;
  }
  void step_alone() {
    set_threads(1);
    ComputationGraph cg;
    const Expression l = loss(cg, next_examples()) / static_cast<float>(options_.sentences);
    cg.forward(l);
    cg.backward(l);
    trainer_.update();
  }
  void step(WorkerPool& pool) {
    set_threads(0);  // for the update, while the workers wait
    const std::vector<unsigned>& examples = next_examples();
    costs_.clear();
    for (const unsigned n : examples) {
      costs_.push_back(static_cast<double>(tagger_.sentences[n].words.size()));
    }
    pool.learn(examples, costs_);
    trainer_.update();
  }
  ParameterCollection& parameters() { return tagger_.model.m; }

 private:
  const Options& options_;
  TaggerCase tagger_;
  AdamTrainer trainer_;
  std::vector<unsigned> examples_;
  std::vector<double> costs_;
  std::size_t next_ = 0;
};

/// Seconds of each of `programs`, which take turns.
std::vector<double> measure(const Options& options,
                            const std::vector<std::function<void()>>& programs) {
  std::vector<std::vector<double>> seconds(programs.size());
  for (unsigned round = 0; round <= options.rounds; ++round) {
    for (std::size_t p = 0; p < programs.size(); ++p) {
      const double took = seconds_of(programs[p]);
      if (round != 0) {  // the first round touches the memory
        seconds[p].push_back(took);
      }
    }
  }
  std::vector<double> medians;
  medians.reserve(seconds.size());
  for (const std::vector<double>& of_program : seconds) {
    medians.push_back(median(of_program));
  }
  return medians;
}

/// Seconds of a round: one process, one worker, several workers; then one process and several that
/// share nothing.
std::vector<double> measure_all(const Options& options) {
  Training training(options);
  const auto loss = [&training](ComputationGraph& cg, const std::vector<unsigned>& examples) {
    return training.loss(cg, examples);
  };
  WorkerPool one(training.parameters(), loss, {1, options.pieces});
  WorkerPool several(training.parameters(), loss, {options.workers, options.pieces});
  std::vector<std::unique_ptr<Training>> strangers(options.workers);
  std::vector<unsigned> numbers(options.workers);
  for (unsigned i = 0; i < options.workers; ++i) {
    strangers[i] = std::make_unique<Training>(options);
    numbers[i] = i;
  }
  const auto train_stranger = [&](const workers::Piece& piece) {
    for (unsigned i = 0; i < options.updates; ++i) {
      strangers[*piece.examples]->step_alone();
    }
  };
  workers::Crew crew(ParameterCollection(), train_stranger, 8, 1, {options.workers});
  const auto repeat = [&options](const std::function<void()>& step) {
    return [&options, step] {
      for (unsigned i = 0; i < options.updates; ++i) {
        step();
      }
    };
  };
  return measure(
      options, {repeat([&] { training.step_alone(); }), repeat([&] { training.step(one); }),
                repeat([&] { training.step(several); }),
                [&] { crew.run({numbers.data(), 1, 1, false, 1.0}); },
                [&] { crew.run({numbers.data(), options.workers, options.workers, false, 1.0}); }});
}

void print(const Options& options, const std::vector<double>& seconds) {
  const double sentences = static_cast<double>(options.updates) * options.sentences;
  const auto print_row = [&](const std::string& what, double took) {
    std::printf("%-34s %8.1f us a sentence\n", what.c_str(), took / sentences * 1e6);
  };
  std::printf("tagger, Adam, %u sentences an update, %ld processors\n", options.sentences,
              sysconf(_SC_NPROCESSORS_ONLN));
  print_row("one process, no workers", seconds[0]);
  print_row("one worker", seconds[1]);
  print_row(std::to_string(options.workers) + " workers", seconds[2]);
  std::printf("%u workers / one worker:    %5.2f times as fast%s\n", options.workers,
              seconds[1] / seconds[2],
              options.workers == 2 && options.sentences == 16 ? " (the bar: 1.8)" : "");
  std::printf("%u workers / one process:   %5.2f times as fast\n", options.workers,
              seconds[0] / seconds[2]);
  std::printf("%u processes that share nothing: %5.2f times as fast as one (what is possible)\n",
              options.workers, options.workers * seconds[3] / seconds[4]);
}

int run(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv, true);
  params.random_seed = 1;
  Options options;
  bool is_quick = false;
  CLI::App app("Measures how much faster worker processes train the tagger.");
  app.add_option("--rounds", options.rounds, "of each program (60)");
  app.add_option("--updates", options.updates, "in a round (10)");
  app.add_option("--sentences", options.sentences, "in an update (16)");
  app.add_option("--workers", options.workers, "compared with one (2)");
  app.add_option("--pieces", options.pieces, "of a minibatch (as the library chooses)");
  app.add_flag("--quick", is_quick, "a smoke test");
  CLI11_PARSE(app, argc, argv);
  if (is_quick) {
    options.rounds = 1;
    options.updates = 2;
  }
  initialize(params);
  print(options, measure_all(options));
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_worker_speed", argc, argv, dynet::bench::run);
}
