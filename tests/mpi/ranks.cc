// A job of several ranks, which mpi_test.cc starts:
//   ranks train STEPS sparse|dense|exact           trains, and prints checksum and loss
//   ranks resume FOLDER STEPS EVERY                goes on from the newest checkpoint to STEPS
//   ranks fault KIND RANK WHEN FOLDER              trains without end; one rank fails at a step
//   ranks combined STEPS WORKERS THREADS           gradients by workers of each rank; 0: by itself
// KIND: throw, caught (and main returns 1), kill, exit, leave (main returns 0), hang, nan; shot and
// stopped: by a signal WHEN milliseconds after the first update, whatever the rank does then.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/mpi.h"
#include "dynet/training.h"
#include "dynet/workers.h"

#include "kernels/team.h"
#include "test_ranks.h"

namespace {

using dynet::distributed::Exchange;
using dynet::testing::RankModel;
using World = std::shared_ptr<Exchange>;

/// This rank's sentences of a step.
std::vector<unsigned> share(const Exchange& world, unsigned step) {
  return dynet::testing::sentences(step, world.rank(), world.size());
}

/// A line that others do not divide.
void say(const char* text, unsigned rank, unsigned long long number, double loss) {
  char line[160];
  const int n =
      std::snprintf(line, sizeof line, "%s rank %u: %016llx %.9g\n", text, rank, number, loss);
  std::cout.write(line, n).flush();
}

void report(const RankModel& model, const Exchange& world) {
  unsigned long long sum = 1469598103934665603ULL;
  for (const auto& p : model.parameters.parameters_list()) {
    for (const float x : dynet::as_vector(p->values)) {
      unsigned bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      sum = (sum ^ bits) * 1099511628211ULL;
    }
  }
  for (const dynet::Tensor& row : *model.words.values()) {
    for (const float x : dynet::as_vector(row)) {
      unsigned bits = 0;
      std::memcpy(&bits, &x, sizeof bits);
      sum = (sum ^ bits) * 1099511628211ULL;
    }
  }
  std::vector<unsigned> all(dynet::testing::kSentences);
  for (unsigned n = 0; n < dynet::testing::kSentences; ++n) {
    all[n] = n;
  }
  dynet::ComputationGraph cg;
  const double loss = dynet::as_scalar(cg.forward(model.sum_of(cg, all)));
  say("values", world.rank(), sum, loss);
}

int train(const World& world, unsigned steps, const std::string& how) {
  RankModel model;
  dynet::AdamTrainer adam(model.parameters, 0.005F);
  adam.set_lookup_updates(how == "exact"   ? dynet::LookupUpdates::kExact
                          : how == "dense" ? dynet::LookupUpdates::kDense
                                           : dynet::LookupUpdates::kSparse);
  dynet::DistributedTrainer trainer(adam, world, {.check_every = 50});
  for (unsigned step = 0; step < steps; ++step) {
    const std::vector<unsigned> mine = share(*world, step);
    model.learn(mine);
    trainer.update(mine.size());
  }
  trainer.check();
  report(model, *world);
  return 0;
}

int resume(const World& world, const std::string& folder, unsigned steps, unsigned every) {
  RankModel model;
  dynet::AdamTrainer adam(model.parameters, 0.005F);
  dynet::DistributedTrainer trainer(adam, world, {.check_every = 1});
  dynet::CheckpointPolicy policy;
  policy.every_steps = every;
  dynet::DistributedCheckpointer checkpoints(folder, trainer, policy);
  const bool is_resumed = checkpoints.resume();
  unsigned step = is_resumed ? static_cast<unsigned>(std::stoul(checkpoints.position())) : 0;
  say("resumed", world->rank(), step, static_cast<double>(checkpoints.steps()));
  for (; step < steps; ++step) {
    model.learn(share(*world, step));
    trainer.update();
    checkpoints.step(std::to_string(step + 1));
  }
  report(model, *world);
  return 0;
}

[[noreturn]] void hang() {
  for (;;) {
    std::this_thread::sleep_for(std::chrono::seconds(60));
  }
}

/// The moment, for the test, on the clock of the machine.
void note_time(const std::string& file) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  std::ofstream(file) << std::chrono::duration<double>(now).count();
}

void fail(const std::string& kind, RankModel& model) {
  if (kind == "throw" || kind == "caught") {
    throw std::runtime_error("a fault of the test");
  }
  if (kind == "kill") {
    kill(getpid(), SIGKILL);
  }
  if (kind == "exit") {
    std::exit(3);  // NOLINT(concurrency-mt-unsafe): as a program might
  }
  if (kind == "hang") {
    hang();
  }
  if (kind == "nan") {
    model.scores.gradients()->v[3] = std::numeric_limits<float>::quiet_NaN();
  }
}

/// A signal to this process at a moment that the training does not know.
void send_later(int signal, unsigned milliseconds, const std::string& note) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    note_time(note);
    kill(getpid(), signal);
  }).detach();
}

int fault(const World& world, const std::string& kind, unsigned rank, unsigned when,
          const std::string& folder) {
  RankModel model;
  dynet::AdamTrainer adam(model.parameters, 0.005F);
  const bool is_silent = kind == "hang" || kind == "stopped";
  dynet::DistributedTrainer trainer(adam, world, {.patience = is_silent ? 3.0 : 60.0});
  dynet::CheckpointPolicy policy;
  policy.every_steps = 5;
  dynet::DistributedCheckpointer checkpoints(folder, trainer, policy);
  const bool is_by_signal = kind == "shot" || kind == "stopped";
  for (unsigned step = 0;; ++step) {
    model.learn(share(*world, step));
    if (world->rank() == rank && is_by_signal && step == 1) {
      send_later(kind == "shot" ? SIGKILL : SIGSTOP, when, folder + "/fault");
    }
    if (world->rank() == rank && !is_by_signal && step == when) {
      note_time(folder + "/fault");
      if (kind == "leave") {
        return 0;
      }
      fail(kind, model);
    }
    trainer.update();
    checkpoints.step(std::to_string(step + 1));
  }
}

/// The number of threads that compute, and whether loops were cut among them, as one number.
double team() {
  return dynet::get_threads() + (dynet::kernels::team_counts().loops > 0 ? 0.5 : 0.0);
}

/// Ranks, workers of each rank and threads of each process at once. `threads` as in set_threads.
int combined(const World& world, unsigned steps, unsigned workers, unsigned threads) {
  dynet::set_threads(threads);
  const dynet::kernels::CutEverything short_loops_too;
  RankModel model;
  dynet::AdamTrainer adam(model.parameters, 0.005F);
  dynet::DistributedTrainer trainer(adam, world, {.check_every = 10});
  std::optional<dynet::WorkerPool> pool;
  if (workers > 0) {
    pool.emplace(
        model.parameters,
        [&model](dynet::ComputationGraph& cg, const std::vector<unsigned>& examples) {
          return model.sum_of(cg, examples);
        },
        dynet::WorkerOptions{workers},
        [](const std::vector<unsigned>& /*examples*/) { return team(); });
  }
  for (unsigned step = 0; step < steps; ++step) {  // the mean of the examples, as in train()
    pool ? static_cast<void>(pool->learn(share(*world, step))) : model.learn(share(*world, step));
    trainer.update();
  }
  say("worker", world->rank(), workers, pool ? pool->evaluate({0}) : 0.0);
  say("rank", world->rank(), workers, team());
  pool.reset();
  trainer.check();
  report(model, *world);
  return 0;
}

void initialize(bool is_shared) {
  dynet::DynetParams params;
  params.random_seed = 5;
  params.shared_parameters = is_shared;
  dynet::initialize(params);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return static_cast<unsigned>(std::stoul(words.at(i))); };
  if (words.at(0) == "fault" && words.at(1) == "caught") {
    const World world = dynet::mpi::start();
    try {
      initialize(false);
      return fault(world, words[1], number(2), number(3), words.at(4));
    } catch (const std::exception& e) {
      std::cerr << "main: " << e.what() << '\n';
      return 1;
    }
  }
  return dynet::mpi::run([&](const World& world) {
    initialize(words[0] == "combined" && number(2) > 0);
    if (words[0] == "combined") {
      return combined(world, number(1), number(2), number(3));
    }
    if (words[0] == "train") {
      return train(world, number(1), words.at(2));
    }
    if (words[0] == "resume") {
      return resume(world, words.at(1), number(2), number(3));
    }
    return fault(world, words.at(1), number(2), number(3), words.at(4));
  });
}
