// The speed-up of several threads inside a graph over one: the paper's language model, tagger and
// trees, Adam, one, 16 and 64 sentences an update. Wall time, in short rounds that take turns, so
// that other load on the machine hits all alike; the best round counts. The losses of all numbers
// of threads have to be the same bits. `--quick` is a smoke test.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/init.h"
#include "dynet/training.h"

#include "paper_models.h"
#include "program.h"
#include "timing.h"

namespace dynet::bench {
namespace {

struct Options {
  unsigned rounds = 30;
  double seconds = 0.05;  ///< of a round
  unsigned threads = 2;
  std::vector<unsigned> sentences{1, 16, 64};  ///< in an update
  std::string only;                            ///< rows whose name begins with it
};

/// A model in training. Every step of a new object is the same work on the same numbers.
template <class Case>
class Training {
 public:
  template <class Make>
  Training(const Make& make, unsigned sentences)
      : case_(make(sentences)), trainer_(case_.model.m, 0.001F), places_(sentences) {}
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training() = default;

  /// Seconds of `steps` steps on so many threads.
  double seconds(unsigned threads, unsigned steps) {
    set_threads(threads);
    return seconds_of([&] {
      for (unsigned i = 0; i < steps; ++i) {
        step();
      }
    });
  }
  std::vector<float> losses;  ///< of all steps

 private:
  void step() {
    for (unsigned& place : places_) {
      place = static_cast<unsigned>(next_++ % case_.sentences.size());
    }
    ComputationGraph cg;
    const Expression loss = case_.loss(cg, places_);
    losses.push_back(as_scalar(cg.forward(loss)));
    cg.backward(loss);
    trainer_.update();
  }

  Case case_;
  AdamTrainer trainer_;
  std::vector<unsigned> places_;
  std::size_t next_ = 0;
};

/// Sentences of 15 to 29 words; the sentences of a batch are alike.
RnnlmCase make_rnnlm(unsigned batch) {
  example::Random random(1);
  std::vector<example::Numbers> sentences(std::size_t{8} * batch);
  unsigned length = 0;
  for (std::size_t i = 0; i < sentences.size(); ++i) {
    length = i % batch == 0 ? 15 + random.below(15) : length;
    for (unsigned w = 0; w < length; ++w) {
      sentences[i].push_back(random.below(RnnlmCase::kWords));
    }
  }
  return RnnlmCase(std::move(sentences));
}

/// The best round: other programs only make rounds longer.
double best(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

/// A row for each number of sentences, each with two models of the same numbers: one for each
/// number of threads.
template <class Make>
void measure(const Options& options, const std::string& model, const Make& make) {
  for (const unsigned sentences : options.sentences) {
    const std::string name = model + " n" + std::to_string(sentences);
    const auto make_training = [&] {
      reset_rng(1);
      return std::make_unique<Training<decltype(make(sentences))>>(make, sentences);
    };
    const auto one = make_training();
    const auto several = make_training();
    const double first = one->seconds(1, 1);
    several->seconds(options.threads, 1);
    const auto steps = static_cast<unsigned>(std::clamp(options.seconds / first, 1.0, 50.0));
    std::vector<double> seconds[2];
    for (unsigned round = 0; round < options.rounds; ++round) {
      seconds[0].push_back(one->seconds(1, steps));
      seconds[1].push_back(several->seconds(options.threads, steps));
    }
    if (one->losses != several->losses) {
      throw std::runtime_error(name + ": the losses differ from the losses of one thread");
    }
    const double alone = best(seconds[0]) / steps;
    const double together = best(seconds[1]) / steps;
    std::printf("%-12s %10.1f us an update on one thread, %10.1f on %u: %5.2f times as fast\n",
                name.c_str(), alone * 1e6, together * 1e6, options.threads, alone / together);
    std::fflush(stdout);
  }
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
    options.sentences = {2};
  }
  initialize(params);
  const auto measure_if = [&](const std::string& model, const auto& make) {
    if (model.rfind(options.only, 0) == 0) {
      measure(options, model, make);
    }
  };
  measure_if("rnnlm", make_rnnlm);
  measure_if("tagger", [](unsigned) { return TaggerCase(); });
  measure_if("trees", [](unsigned) { return TreeCase(16000, 5, 33); });
  return 0;
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_thread_speed", argc, argv, dynet::bench::run);
}
