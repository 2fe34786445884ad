// The speed of training by several ranks: four models of the examples, Adam, some sentences per
// update, which the ranks share. Wall time, median of rounds. Example, on one machine:
//
//   mpirun -n 1 dynet_rank_speed && mpirun -n 2 dynet_rank_speed
//
// One rank trains without an exchange. A line is: model, sentences in an update, ranks,
// microseconds per sentence, bytes and messages that a rank sends in an update, and the share of
// the time in which it waits. bench/machines.py reads the lines.

#include <cstddef>
#include <cstdio>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/distributed.h"
#include "dynet/init.h"
#include "dynet/mpi.h"
#include "dynet/training.h"

#include "paper_models.h"
#include "program.h"
#include "timing.h"

namespace dynet::bench {
namespace {

using World = std::shared_ptr<distributed::Exchange>;

struct Options {
  unsigned rounds = 9;
  unsigned updates = 10;  ///< in a round
  unsigned sentences = 64;
  std::string model = "tagger";
};

/// Sentences of 20 words.
RnnlmCase make_rnnlm() {
  example::Random random(1);
  std::vector<example::Numbers> sentences(256);
  for (example::Numbers& sentence : sentences) {
    for (unsigned i = 0; i < 20; ++i) {
      sentence.push_back(draw_word(random, RnnlmCase::kWords));
    }
  }
  return RnnlmCase(std::move(sentences));
}

template <class Case>
void measure(const Options& options, const World& world, Case of) {
  AdamTrainer adam(of.model.m, 0.001F);
  std::optional<DistributedTrainer> trainer;
  if (world->size() > 1) {
    trainer.emplace(adam, world,
                    distributed::Options{distributed::Gradient::kSum, /*check_every=*/0});
  }
  std::size_t next = 0;
  const auto update = [&] {
    std::vector<unsigned> places;
    places.reserve(options.sentences);
    for (unsigned i = 0; i < options.sentences; ++i, ++next) {
      if (i * world->size() / options.sentences == world->rank()) {
        places.push_back(static_cast<unsigned>(next % of.sentences.size()));
      }
    }
    ComputationGraph cg;
    const Expression loss = of.loss(cg, places) / static_cast<float>(options.sentences);
    cg.forward(loss);
    cg.backward(loss);
    trainer ? trainer->update() : adam.update();
  };
  const auto run_round = [&] {
    for (unsigned i = 0; i < options.updates; ++i) {
      update();
    }
  };
  run_round();  // touches the memory
  const distributed::Traffic before = trainer ? trainer->traffic() : distributed::Traffic{};
  std::vector<double> seconds;
  seconds.reserve(options.rounds);
  for (unsigned round = 0; round < options.rounds; ++round) {
    seconds.push_back(seconds_of(run_round));
  }
  const distributed::Traffic after = trainer ? trainer->traffic() : distributed::Traffic{};
  const double all = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  const double updates = static_cast<double>(options.rounds) * options.updates;
  if (world->rank() == 0) {
    std::printf(
        "%s %u sentences %u ranks: %.1f us a sentence, %.0f bytes and %.0f messages an "
        "update, waits %.2f\n",
        options.model.c_str(), options.sentences, world->size(),
        median(seconds) / options.updates / options.sentences * 1e6,
        static_cast<double>(after.bytes - before.bytes) / updates,
        static_cast<double>(after.messages - before.messages) / updates,
        (after.seconds - before.seconds) / all);
  }
}

int run(int argc, char** argv) {
  DynetParams params = extract_dynet_params(argc, argv);
  params.random_seed = 1;
  Options options;
  bool is_quick = false;
  CLI::App app("Measures training by several ranks.");
  app.add_option("--rounds", options.rounds, "of which the median counts (9)");
  app.add_option("--updates", options.updates, "in a round (10)");
  app.add_option("--sentences", options.sentences, "in an update of all ranks (64)");
  app.add_option("--model", options.model, "tagger, characters, trees or rnnlm")
      ->check(CLI::IsMember({"tagger", "characters", "trees", "rnnlm"}));
  app.add_flag("--quick", is_quick, "a smoke test");
  CLI11_PARSE(app, argc, argv);
  if (is_quick) {
    options.rounds = 1;
    options.updates = 2;
  }
  return mpi::run([&](const World& world) {
    initialize(params);
    if (options.model == "rnnlm") {
      measure(options, world, make_rnnlm());
    } else if (options.model == "trees") {
      measure(options, world, TreeCase(19500, 2, 40));
    } else {
      measure(options, world, TaggerCase(options.model == "characters"));
    }
    return 0;
  });
}

}  // namespace
}  // namespace dynet::bench

int main(int argc, char** argv) {
  return dynet::bench::run_program("dynet_rank_speed", argc, argv, dynet::bench::run);
}
