// The speed of training by several ranks: four models of the examples, Adam, some sentences per
// update, which the ranks share. Wall time, median of rounds. Example, on one machine:
//
//   mpirun -n 1 dynet_rank_speed && mpirun -n 2 dynet_rank_speed
//
// One rank trains without an exchange. A line is: model, sentences in an update, ranks,
// microseconds per sentence, bytes and messages that a rank sends in an update, and the share of
// the time in which it waits. bench/machines.py reads the lines.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "dynet/distributed.h"
#include "dynet/init.h"
#include "dynet/mpi.h"
#include "dynet/training.h"

#include "program.h"
#include "random_trees.h"
#include "rnnlm_model.h"
#include "tagger_model.h"
#include "tree_model.h"

namespace dynet::bench {
namespace {

using World = std::shared_ptr<distributed::Exchange>;

struct Options {
  unsigned rounds = 9;
  unsigned updates = 10;  ///< in a round
  unsigned sentences = 64;
  std::string model = "tagger";
};

/// Half of the words are among the first few hundred.
unsigned draw_word(example::Random& random, unsigned words) {
  return random.below(random.below(2) == 0 ? 300U : words);
}

/// The paper's tagger, and with spelled words the one that reads characters.
struct TaggerCase {
  example::Tagger model;
  std::vector<example::Sentence> sentences{256};

  explicit TaggerCase(bool spells)
      : model({"tagger",
               {{"embedding", 128},
                {"hidden", 50},
                {"mlp", 32},
                {"rows", 69500},
                {"words", 0},
                {"tags", 9},
                {"characters", spells ? 60 : 0},
                {"character-embedding", 20},
                {"character-hidden", 64}}}) {
    example::Random random(1);
    for (example::Sentence& sentence : sentences) {
      const unsigned length = 5 + random.below(41);
      for (unsigned i = 0; i < length; ++i) {
        const unsigned word = draw_word(random, 69500);
        sentence.words.push_back({word, {}});
        sentence.tags.push_back(word % 9);
        for (unsigned k = 0; spells && word >= 300 && k < 7; ++k) {
          sentence.words.back().letters.push_back(random.below(60));
        }
      }
    }
  }
  Expression loss(ComputationGraph& cg, const std::vector<std::size_t>& places) {
    model.new_graph(cg);
    std::vector<Expression> losses;
    losses.reserve(places.size());
    for (const std::size_t i : places) {
      losses.push_back(model.loss(cg, sentences[i]));
    }
    return sum(losses);
  }
};

/// The paper's tree LSTM, on random trees of 2 to 40 words.
struct TreeCase {
  example::TreeModel model{{"trees", {{"words", 19500}, {"hidden", 128}, {"classes", 5}}}};
  std::vector<example::Tree> sentences{256};

  TreeCase() {
    example::Random random(1);
    for (example::Tree& tree : sentences) {
      append_random_tree(tree, 2 + random.below(39), random,
                         [&] { return draw_word(random, 19500); });
    }
  }
  Expression loss(ComputationGraph& cg, const std::vector<std::size_t>& places) {
    model.new_graph(cg);
    std::vector<Expression> losses;
    losses.reserve(places.size());
    for (const std::size_t i : places) {
      losses.push_back(model.loss(cg, sentences[i]));
    }
    return sum(losses);
  }
};

/// The paper's language model.
struct RnnlmCase {
  example::Rnnlm model{{"rnnlm", {{"embedding", 128}, {"hidden", 256}, {"words", 10000}}}};
  std::vector<example::Numbers> sentences{256};

  RnnlmCase() {
    example::Random random(1);
    for (example::Numbers& sentence : sentences) {
      for (unsigned i = 0; i < 20; ++i) {
        sentence.push_back(draw_word(random, 10000));
      }
    }
  }
  Expression loss(ComputationGraph& cg, const std::vector<std::size_t>& places) {
    model.new_graph(cg);
    example::Batch batch;
    for (const std::size_t i : places) {
      batch.push_back(sentences[i]);
    }
    return model.loss(cg, batch);
  }
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
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
    std::vector<std::size_t> places;
    for (unsigned i = 0; i < options.sentences; ++i, ++next) {
      if (i * world->size() / options.sentences == world->rank()) {
        places.push_back(next % of.sentences.size());
      }
    }
    ComputationGraph cg;
    const Expression loss = of.loss(cg, places) / static_cast<float>(options.sentences);
    cg.forward(loss);
    cg.backward(loss);
    trainer ? trainer->update() : adam.update();
  };
  for (unsigned i = 0; i < options.updates; ++i) {  // touches the memory
    update();
  }
  const distributed::Traffic before = trainer ? trainer->traffic() : distributed::Traffic{};
  std::vector<double> seconds;
  for (unsigned round = 0; round < options.rounds; ++round) {
    const double start = now();
    for (unsigned i = 0; i < options.updates; ++i) {
      update();
    }
    seconds.push_back(now() - start);
  }
  const distributed::Traffic after = trainer ? trainer->traffic() : distributed::Traffic{};
  double all = 0;
  for (const double s : seconds) {
    all += s;
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  const double updates = static_cast<double>(options.rounds) * options.updates;
  if (world->rank() == 0) {
    std::printf(
        "%s %u sentences %u ranks: %.1f us a sentence, %.0f bytes and %.0f messages an "
        "update, waits %.2f\n",
        options.model.c_str(), options.sentences, world->size(),
        seconds[seconds.size() / 2] / options.updates / options.sentences * 1e6,
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
      measure(options, world, RnnlmCase());
    } else if (options.model == "trees") {
      measure(options, world, TreeCase());
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
