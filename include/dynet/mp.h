#pragma once

// Training with several processes, under the names of DyNet 2.1. New programs use workers.h, which
// is built on the same crews.
//
// A program derives from ILearner, calls `initialize(argc, argv, true)`, and hands learner, trainer
// and data to run_multi_process. (Workers of 2.1 added gradients to one memory at any time, and one
// worker made updates.) Each update here has the mean gradient of one example per worker
// (`average_gradients`) and equals an update of one process with the same examples; the parent
// makes the update (docs/decisions/0017). Example: 100 examples and 4 workers make 25 updates an
// epoch. A worker that throws, is killed or hangs is a WorkerError.
//
// A loss `S` can be default-constructed and copied byte by byte, and has `+=`, `<` and `<<` to a
// stream. As in 2.1 the operators need not be const; so losses here are not const. Thread rule: one
// run at a time.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <functional>
#include <iostream>
#include <limits>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/except.h"
#include "dynet/globals.h"
#include "dynet/training.h"
#include "dynet/workers/crew.h"

namespace dynet::mp {

/// Unique names, as of the queues and memory segments of 2.1. This library has no such objects.
extern std::string queue_name;
extern std::string shared_memory_name;
[[nodiscard]] std::string generate_queue_name();
[[nodiscard]] std::string generate_shared_memory_name();

/// When the last run began (CLOCK_MONOTONIC).
extern timespec start_time;
/// True, set by a signal handler for example, ends a run after the current update. A run does not
/// set it back.
extern bool stop_requested;
/// Ours. False: an update has the sum of its examples' gradients, not their mean.
extern bool average_gradients;
/// Ours. As WorkerOptions::patience, for workers made from now on.
extern double patience;

/// Memory shared by the processes of a run.
struct SharedObject {
  std::atomic<unsigned> counter{0};  ///< examples learned from in the last run
};
extern SharedObject* shared_object;

struct WorkloadHeader {
  bool is_dev_set;
  bool end_of_epoch;
  unsigned report_frequency;
};
/// A child process of spawn_children, and pipes from it and to it: [0] reads, [1] writes.
struct Workload {
  pid_t pid;
  int c2p[2];
  int p2c[2];
};

/// Pipes for so many children. IoError if the system gives no more.
[[nodiscard]] std::vector<Workload> create_workloads(unsigned num_children);
/// Forks a process per workload. Returns in each of them: in a child its number, in the parent
/// `workloads.size()`. The parent's entries get the processes; each process keeps its own ends of
/// pipes alone, and the others are -1. A child has a copy of the program, and is killed when the
/// thread that made it ends; a child leaves with exit(). Children share the values of parameters
/// made after `initialize(argc, argv, true)`, and have copies of other parameters. All children
/// have the random numbers of the fork; a child gets others by reset_rng() with a seed of its own.
///
/// For programs that divide evaluation, decoding or reading among processes, with read_data() and
/// write_data(). Not for gradients: two children would overwrite each other's; run_multi_process
/// trains. UsageError if the system gives no process; children made before are ended.
unsigned spawn_children(std::vector<Workload>& workloads);
/// In the parent: closes the pipes, which ends the children's input, waits for all children, and
/// empties the list. Then WorkerError for the first child that was killed or left with another
/// status than 0.
void cleanup(std::vector<Workload>& workloads);

/// The loss of a datum, written by the program.
template <class D, class S>
class ILearner {
 public:
  ILearner() = default;
  ILearner(const ILearner&) = default;
  ILearner& operator=(const ILearner&) = default;
  virtual ~ILearner() = default;
  /// The loss of one datum; with `learn` also its gradient, by backward. Called in a worker.
  // NOLINTNEXTLINE(readability-identifier-naming): the name that programs override
  virtual S LearnFromDatum(const D& datum, bool learn) = 0;
  /// Called in the parent, when the model is the best so far.
  // NOLINTNEXTLINE(readability-identifier-naming): a name that programs override
  virtual void SaveModel() = 0;
};

namespace detail {
/// So many bytes of zeros that processes share for as long as the program runs. out_of_memory.
void* shared_bytes(std::size_t bytes);
/// One value, from or to a pipe. IoError if its other end is closed.
void read_bytes(int pipe, void* to, std::size_t bytes);
void write_bytes(int pipe, const void* from, std::size_t bytes);
[[nodiscard]] workers::WorkerOptions worker_options(unsigned num_children);
/// Notes when a run begins, and counts from 0.
void start_run();
/// All parameters of the process in shared memory, for callers that do not know the learner's
/// model.
[[nodiscard]] ParameterCollection shared_parameters();
/// In a worker: the check of the other parameters. UsageError for a gradient that a learner leaves
/// there, which would be lost with the worker.
class UnsharedGradients {
 public:
  UnsharedGradients();
  void check() const;

 private:
  ParameterCollection unshared_;
};
}  // namespace detail

/// A T that processes forked from now on share, default-constructed; of the program until it ends.
template <class T>
T* get_shared_memory() {
  return new (detail::shared_bytes(sizeof(T))) T();
}
template <class T>
T read_data(int pipe) {
  static_assert(std::is_trivially_copyable_v<T>, "values are sent byte by byte");
  T value;
  detail::read_bytes(pipe, &value, sizeof value);
  return value;
}
template <class T>
void write_data(int pipe, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>, "values are sent byte by byte");
  detail::write_bytes(pipe, &value, sizeof value);
}

/// "1.25s"
[[nodiscard]] std::string elapsed_time_string(const timespec& start, const timespec& end);

template <class S>
S sum_values(const std::vector<S>& values) {
  S total = S();
  for (const S& value : values) {
    total += value;
  }
  return total;
}
/// NaN if there are none.
template <class S>
S mean(const std::vector<S>& values) {
  return sum_values(values) / static_cast<S>(values.size());
}

namespace detail {

/// Workers that run a learner on the data of one or two lists: example `i` is `first[i]`, or
/// `second[i - first.size()]`.
template <class D, class S>
class Team {
 public:
  static_assert(std::is_trivially_copyable_v<S>, "losses are sent byte by byte");

  Team(unsigned num_children, const ParameterCollection& model, ILearner<D, S>* learner,
       const std::vector<D>& first, const std::vector<D>* second)
      : workers_(num_children),
        crew_(
            model,
            [learner, &first, second](const workers::Piece& piece) {
              S total = S();
              std::optional<UnsharedGradients> elsewhere;
              if (piece.learn) {
                elsewhere.emplace();
              }
              for (std::size_t i = 0; i < piece.count; ++i) {
                const std::size_t example = piece.examples[i];
                total += learner->LearnFromDatum(
                    example < first.size() ? first[example] : (*second)[example - first.size()],
                    piece.learn);
              }
              if (elsewhere) {
                elsewhere->check();
              }
              std::memcpy(piece.result, &total, sizeof total);
            },
            sizeof(S), std::max(num_children, 1U), worker_options(num_children)) {}

  /// The gradient of some examples.
  S learn(const unsigned* examples, std::size_t count) {
    const std::size_t pieces = std::min<std::size_t>(workers_, count);
    const double scale = average_gradients ? 1.0 / static_cast<double>(count) : 1.0;
    S loss = sum(crew_.run({examples, count, pieces, true, scale}), pieces);
    shared_object->counter += static_cast<unsigned>(count);
    return loss;
  }
  /// The loss alone of `count` examples from `first` on.
  S evaluate(unsigned first, std::size_t count) {
    constexpr std::size_t kMost = 65536;
    S total = S();
    std::vector<unsigned> examples;
    for (std::size_t done = 0; done < count; done += examples.size()) {
      examples.resize(std::min(kMost, count - done));
      std::iota(examples.begin(), examples.end(), first + static_cast<unsigned>(done));
      total += sum(crew_.run({examples.data(), examples.size(), examples.size(), false, 1.0}),
                   examples.size());
    }
    return total;
  }

 private:
  S sum(const std::byte* results, std::size_t pieces) const {
    S total = S();
    for (std::size_t i = 0; i < pieces; ++i) {
      S loss = S();
      std::memcpy(&loss, results + i * crew_.result_stride(), sizeof loss);
      total += loss;
    }
    return total;
  }

  std::size_t workers_;
  workers::Crew crew_;
};

/// Iterations, chunks and reports of a run. `learn(examples, count, report)` returns the loss of a
/// chunk and calls `report(loss so far, examples)`; `evaluate()` returns the loss of the dev set.
template <class D, class S, class Learn, class Evaluate>
void run_iterations(ILearner<D, S>* learner, std::size_t train_size, std::size_t dev_size,
                    unsigned num_iterations, unsigned dev_frequency, Learn learn,
                    Evaluate evaluate) {
  start_run();
  std::vector<unsigned> indices(train_size);
  std::iota(indices.begin(), indices.end(), 0U);
  const std::size_t chunk = dev_frequency == 0 ? train_size : dev_frequency;
  bool has_best = false;
  S best = S();
  for (unsigned iteration = 0; iteration < num_iterations && !stop_requested; ++iteration) {
    std::shuffle(indices.begin(), indices.end(), *rndeng);
    std::size_t end = 0;
    for (std::size_t begin = 0; begin < train_size && !stop_requested; begin = end) {
      end = std::min(begin + chunk, train_size);
      const auto epoch = [&](std::size_t done) {
        return iteration + static_cast<double>(begin + done) / static_cast<double>(train_size);
      };
      timespec chunk_start{};
      clock_gettime(CLOCK_MONOTONIC, &chunk_start);
      S loss = learn(indices.data() + begin, end - begin, [&](S& so_far, std::size_t n) {
        std::cerr << epoch(n) << "\tloss = " << so_far << " (so far)" << std::endl;
      });
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      std::cerr << epoch(end - begin) << "\tloss = " << loss << " ("
                << elapsed_time_string(chunk_start, now) << ")" << std::endl;
      if (stop_requested) {
        return;
      }
      bool is_best = true;
      if (dev_size != 0) {
        S dev_loss = evaluate();
        is_best = !has_best || dev_loss < best;
        std::cerr << epoch(end - begin) << "\tdev loss = " << dev_loss
                  << (is_best ? " (New best!)" : "") << std::endl;
        if (is_best) {
          best = dev_loss;
          has_best = true;
        }
      }
      if (is_best) {
        learner->SaveModel();
      }
    }
  }
}

/// Calls `report` when `done` has passed a multiple of `frequency`, with `step` of them new.
template <class S, class Report>
void report_if_due(S& loss, std::size_t done, std::size_t step, unsigned frequency,
                   const Report& report) {
  if (frequency != 0 && done / frequency != (done - step) / frequency) {
    report(loss, done);
  }
}

}  // namespace detail

/// Trains with `num_children` workers. Each iteration shuffles the data with `*rndeng` and goes
/// over it in chunks of `dev_frequency` examples (0: all of them); each update has `num_children`
/// examples, one in a worker. After a chunk the losses of chunk and dev set are written to the
/// standard error stream; SaveModel is called if the dev loss is the best so far, or without a dev
/// set. The loss so far is written every `report_frequency` examples (0: never). WorkerError,
/// UsageError and ValueError as workers::Crew.
template <class D, class S>
void run_multi_process(unsigned num_children, ILearner<D, S>* learner, Trainer* trainer,
                       const std::vector<D>& train_data, const std::vector<D>& dev_data,
                       unsigned num_iterations, unsigned dev_frequency, unsigned report_frequency) {
  detail::Team<D, S> team(num_children, *trainer->model, learner, train_data, &dev_data);
  const auto learn = [&](const unsigned* examples, std::size_t count, const auto& report) {
    S loss = S();
    std::size_t step = 0;
    for (std::size_t done = 0; done < count && !stop_requested; done += step) {
      step = std::min<std::size_t>(num_children, count - done);
      loss += team.learn(examples + done, step);
      trainer->update();
      detail::report_if_due(loss, done + step, step, report_frequency, report);
    }
    return loss;
  };
  detail::run_iterations(
      learner, train_data.size(), dev_data.size(), num_iterations, dev_frequency, learn,
      [&] { return team.evaluate(static_cast<unsigned>(train_data.size()), dev_data.size()); });
}

/// Trains in this process: an update for every `batch_size` examples (0: for each), with the sum of
/// their gradients, and an update for the rest at the end.
template <class D, class S>
void run_single_process(ILearner<D, S>* learner, Trainer* trainer, const std::vector<D>& train_data,
                        const std::vector<D>& dev_data, unsigned num_iterations,
                        unsigned dev_frequency, unsigned report_frequency, unsigned batch_size) {
  unsigned waiting = 0;  // examples whose gradients wait for an update
  const auto update = [&] {
    trainer->update();
    waiting = 0;
  };
  const auto learn = [&](const unsigned* examples, std::size_t count, const auto& report) {
    S loss = S();
    for (std::size_t done = 0; done < count && !stop_requested; ++done) {
      loss += learner->LearnFromDatum(train_data[examples[done]], true);
      if (++waiting >= batch_size) {
        update();
      }
      detail::report_if_due(loss, done + 1, 1, report_frequency, report);
    }
    return loss;
  };
  detail::run_iterations(learner, train_data.size(), dev_data.size(), num_iterations, dev_frequency,
                         learn, [&] {
                           S loss = S();
                           for (const D& datum : dev_data) {
                             loss += learner->LearnFromDatum(datum, false);
                           }
                           return loss;
                         });
  if (waiting != 0) {
    update();
  }
}

namespace detail {
/// The gradients of all of `data`, in the model. The sum of the losses.
template <class D, class S>
S learn_all(unsigned num_children, const ParameterCollection& model, ILearner<D, S>* learner,
            const std::vector<D>& data) {
  start_run();
  if (data.empty()) {
    return S();
  }
  Team<D, S> team(num_children, model, learner, data, nullptr);
  std::vector<unsigned> examples(data.size());
  std::iota(examples.begin(), examples.end(), 0U);
  return team.learn(examples.data(), examples.size());
}
}  // namespace detail

/// One minibatch with `num_children` workers that are made for it: one update with the gradients of
/// all of `data`. The sum of the losses. Without a trainer (null) the data is only evaluated.
template <class D, class S>
S run_mp_minibatch_trainer(unsigned num_children, ILearner<D, S>* learner, Trainer* trainer,
                           const std::vector<D>& data) {
  if (trainer == nullptr) {
    const ParameterCollection none;
    detail::start_run();
    return detail::Team<D, S>(num_children, none, learner, data, nullptr).evaluate(0, data.size());
  }
  S loss = detail::learn_all<D, S>(num_children, *trainer->model, learner, data);
  if (!data.empty()) {
    trainer->update();
  }
  return loss;
}
/// As run_mp_minibatch_trainer without the update: `learn` is true, and the gradients are in the
/// parameters of the learner's model when the function returns. UsageError if a learner leaves a
/// gradient in a parameter that is not in shared memory, where it would be lost.
template <class D, class S>
S run_mp_minibatch(unsigned num_children, ILearner<D, S>* learner, const std::vector<D>& data) {
  return detail::learn_all<D, S>(num_children, detail::shared_parameters(), learner, data);
}
/// As run_mp_minibatch_trainer, in this process.
template <class D, class S>
S run_sp_minibatch_trainer(ILearner<D, S>* learner, Trainer* trainer, const std::vector<D>& data) {
  detail::start_run();
  S loss = S();
  for (const D& datum : data) {
    loss += learner->LearnFromDatum(datum, trainer != nullptr);
  }
  if (trainer != nullptr && !data.empty()) {
    trainer->update(average_gradients ? 1.0F / static_cast<real>(data.size()) : 1.0F);
  }
  return loss;
}

}  // namespace dynet::mp
