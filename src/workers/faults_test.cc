// Workers that throw, are killed, leave or hang, and parents that are killed: an error that names
// the worker, in time, and nothing is left. The whole bar of 200 kills:
//   faults_test --gtest_filter='*RandomMoments*' --gtest_repeat=10
#include <dirent.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "dynet/training.h"
#include "dynet/workers.h"

#include "testing/errors.h"
#include "testing/sanitized.h"
#include "worker_test_model.h"

namespace dynet {
namespace {

using Clock = std::chrono::steady_clock;
using testing::minibatch;
using testing::SmallModel;
using testing::Started;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

int lines_of(const char* file, const std::string& part) {
  std::ifstream in(file);
  std::string line;
  int count = 0;
  while (std::getline(in, line)) {
    count += line.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}
/// Without the files of MPI, which another test may use at the same time.
int entries_of(const char* folder) {
  int count = 0;
  if (DIR* const dir = opendir(folder)) {
    while (const dirent* const entry = readdir(dir)) {
      const std::string name = entry->d_name;
      const bool is_of_mpi = name.find("sm_segment.") == 0 || name.find("vader_segment.") == 0 ||
                             name.find("mpich_") == 0 || name.find("open_mpi.") == 0;
      count += is_of_mpi ? 0 : 1;
    }
    closedir(dir);
  }
  return count;
}

/// Traces that a pool could leave behind: children, shared mappings, descriptors, and segments and
/// semaphores with a name or an identifier.
struct Traces {
  int mappings = lines_of("/proc/self/maps", "/dev/zero (deleted)");
  int descriptors = entries_of("/proc/self/fd");
  int named = entries_of("/dev/shm");
  int segments = lines_of("/proc/sysvipc/shm", "");
  int semaphores = lines_of("/proc/sysvipc/sem", "");
  bool operator==(const Traces&) const = default;
};
bool has_children() { return waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD; }

class Faults : public ::testing::Test {
 protected:
  /// The error of a pool whose worker runs `what` at example 7.
  errors::WorkerError error_of(const std::function<void()>& what, double most_seconds = 2) {
    const SmallModel model;
    WorkerPool pool(model.parameters,
                    [&](ComputationGraph& cg, const std::vector<unsigned>& examples) {
                      for (const unsigned n : examples) {
                        if (n == 7) {
                          what();
                        }
                      }
                      return model(cg, examples);
                    },
                    {2});
    EXPECT_GT(pool.learn({1, 2, 3, 4}), 0.0);
    const std::vector<float> before = model.values();
    const std::vector<int> pids = pool.pids();
    const Clock::time_point begin = Clock::now();
    try {
      pool.learn({1, 2, 3, 4, 5, 6, 7, 8});
    } catch (const errors::WorkerError& error) {
      EXPECT_LT(seconds_since(begin), most_seconds);
      EXPECT_LT(error.worker, 2U);
      EXPECT_EQ(error.pid, pids[error.worker]);
      EXPECT_EQ(std::string(error.what())
                    .rfind("worker " + std::to_string(error.worker) + " of 2 (process " +
                               std::to_string(error.pid),
                           0),
                0U);
      EXPECT_FALSE(has_children());
      EXPECT_EQ(model.values(), before);
      EXPECT_EQ(model.parameters.gradient_l2_norm(), 0.0F);
      EXPECT_THROW(pool.learn({1}), errors::UsageError);
      WorkerPool another(model.parameters, model, {2});
      EXPECT_GT(another.learn({1, 2, 3}), 0.0);
      return error;
    }
    ADD_FAILURE() << "no error";
    return {"", 0, 0, 0};
  }
  /// A pool fails in its first call.
  static void error_of_first_call(const SmallModel& model) {
    WorkerPool pool(model.parameters,
                    [](ComputationGraph&, const std::vector<unsigned>&) -> Expression {
                      throw errors::StateError("");
                    },
                    {2});
    EXPECT_THROW(pool.learn({1, 2}), errors::WorkerError);
  }
  static bool says(const errors::WorkerError& error, const std::string& part) {
    return std::string(error.what()).find(part) != std::string::npos;
  }

  const Started library_;
};

TEST_F(Faults, AWorkerThatThrows) {
  const errors::WorkerError error = error_of([] { throw errors::UsageError("no such sentence"); });
  EXPECT_TRUE(says(error, "threw: no such sentence"));
  EXPECT_EQ(error.signal, 0);
  EXPECT_TRUE(says(error_of([] { throw 5; }), "no std::exception"));
  EXPECT_TRUE(says(error_of([] { throw errors::UsageError(std::string(100'000, 'x')); }), "xxx"));
}
/// Another pool that repeats the call draws the random numbers of the failed call.
TEST_F(Faults, RandomNumbersOfARepeatedCall) {
  const SmallModel model(0.5F);
  const std::vector<unsigned> examples{1, 2, 3, 4};
  const auto loss = [&] {
    WorkerPool pool(model.parameters, model, {2});
    return pool.learn(examples);
  };
  reset_rng(5);
  const double right = loss();
  EXPECT_NE(loss(), right);
  reset_rng(5);
  error_of_first_call(model);
  EXPECT_EQ(loss(), right);
}
TEST_F(Faults, AWorkerThatIsKilled) {
  const errors::WorkerError error = error_of([] { raise(SIGKILL); });
  EXPECT_TRUE(says(error, "was killed by signal 9 (Killed)"));
  EXPECT_EQ(error.signal, SIGKILL);
}
TEST_F(Faults, AWorkerThatLeaves) {
  EXPECT_TRUE(says(error_of([] { _exit(3); }), "left with status 3"));
}
TEST_F(Faults, AWorkerThatComputesForEver) {
  EXPECT_TRUE(says(error_of([] {
                     for (volatile unsigned n = 0;;) {
                       n = n + 1;
                     }
                   }),
                   "hangs: it computes"));
}
TEST_F(Faults, AWorkerThatSleepsForEver) {
  EXPECT_TRUE(says(error_of([] { pause(); }), "hangs: it sleeps"));
}
TEST_F(Faults, AWorkerThatIsStopped) {
  EXPECT_TRUE(says(error_of([] { raise(SIGSTOP); }), "hangs: it is stopped"));
}

/// A slow worker that shows signs of life is no fault, and patience may be endless.
TEST_F(Faults, AWorkerThatTakesLong) {
  const SmallModel model;
  const auto slow = [&model](ComputationGraph& cg, const std::vector<unsigned>& examples) {
    const Clock::time_point begin = Clock::now();
    while (seconds_since(begin) < 0.8) {
      static_cast<void>(model(cg, examples));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return model(cg, examples);
  };
  WorkerPool pool(model.parameters, slow, {2, 2, WorkerGradient::kMean, 0.3});
  EXPECT_GT(pool.learn({1, 2}), 0.0);
  const auto silent = [&model](ComputationGraph& cg, const std::vector<unsigned>& examples) {
    std::this_thread::sleep_for(std::chrono::milliseconds(800));
    return model(cg, examples);
  };
  WorkerPool patient(model.parameters, silent, {2, 2, WorkerGradient::kMean, 0});
  EXPECT_GT(patient.learn({1, 2}), 0.0);
  WorkerPool impatient(model.parameters, silent, {2, 2, WorkerGradient::kMean, 0.3});
  EXPECT_THROW(impatient.learn({1, 2}), errors::WorkerError);
}

/// Whoever ignores the ends of children is told by the system only that there is none.
TEST_F(Faults, AWorkerThatSomebodyElseWaitedFor) {
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGCHLD, &ignore, &before);
  const errors::WorkerError error = error_of([] { raise(SIGKILL); });
  sigaction(SIGCHLD, &before, nullptr);
  EXPECT_TRUE(says(error, "is gone, and somebody else waited for it"));
}

/// Between two calls, while nobody watches.
TEST_F(Faults, AWorkerThatIsKilledWhileItWaits) {
  const SmallModel model;
  WorkerPool pool(model.parameters, model, {3});
  EXPECT_GT(pool.learn({1, 2, 3, 4}), 0.0);
  kill(pool.pids()[1], SIGTERM);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Clock::time_point begin = Clock::now();
  try {
    pool.learn({1, 2, 3, 4});
    ADD_FAILURE() << "no error";
  } catch (const errors::WorkerError& error) {
    EXPECT_EQ(error.worker, 1U);
    EXPECT_EQ(error.signal, SIGTERM);
  }
  EXPECT_LT(seconds_since(begin), 2);
  EXPECT_FALSE(has_children());
}

/// Runs something in the middle of an update.
struct InterruptedTrainer : AdamTrainer {
  using AdamTrainer::AdamTrainer;
  std::function<void()> middle = [] {};

 protected:
  void update_params(real gscale, std::size_t idx) override {
    if (idx == 1) {
      middle();
    }
    AdamTrainer::update_params(gscale, idx);
  }
};

/// The update goes on as if nothing had happened; the next call names the worker.
TEST_F(Faults, AWorkerThatIsKilledDuringAnUpdate) {
  const auto values_after = [](bool is_killed) {
    reset_rng(7);
    const SmallModel model;
    ParameterCollection parameters = model.parameters;
    InterruptedTrainer trainer(parameters, 0.1F);
    WorkerPool pool(parameters, model, {2});
    EXPECT_GT(pool.learn(minibatch(0)), 0.0);
    if (is_killed) {
      trainer.middle = [pid = pool.pids()[1]] { kill(pid, SIGKILL); };
    }
    trainer.update();
    std::vector<float> values = model.values();
    const Clock::time_point begin = Clock::now();
    try {
      pool.learn(minibatch(1));
      EXPECT_FALSE(is_killed);
    } catch (const errors::WorkerError& error) {
      EXPECT_TRUE(is_killed);
      EXPECT_EQ(error.worker, 1U);
      EXPECT_EQ(error.signal, SIGKILL);
      EXPECT_LT(seconds_since(begin), 2);
      EXPECT_EQ(model.values(), values);
    }
    return values;
  };
  EXPECT_EQ(values_after(true), values_after(false));
}

/// It is the program's own error: the pool and the next update are as ever.
TEST_F(Faults, AnUpdateThatThrows) {
  const SmallModel model;
  ParameterCollection parameters = model.parameters;
  InterruptedTrainer trainer(parameters, 0.1F);
  WorkerPool pool(parameters, model, {2});
  pool.learn(minibatch(0));
  trainer.middle = [] { throw errors::StateError("in the middle"); };
  EXPECT_THROW(trainer.update(), errors::StateError);
  trainer.middle = [] {};
  parameters.reset_gradient();
  trainer.learning_rate = std::nanf("");
  pool.learn(minibatch(1));
  EXPECT_THROW(trainer.update(), errors::ValueError);
  trainer.learning_rate = 0.1F;
  const double before = pool.evaluate(minibatch(1));
  for (int step = 0; step < 5; ++step) {
    trainer.update();
    pool.learn(minibatch(1));
  }
  EXPECT_LT(pool.evaluate(minibatch(1)), before);
}

/// A gradient that was there when a call failed is emptied: part of it may be overwritten.
TEST_F(Faults, GradientsOfACallThatFails) {
  const SmallModel model;
  ComputationGraph cg;
  cg.backward(model(cg, {1, 2, 3}));
  EXPECT_GT(model.parameters.gradient_l2_norm(), 0.0F);
  WorkerPool pool(model.parameters,
                  [](ComputationGraph& /*cg*/, const std::vector<unsigned>& /*examples*/) {
                    raise(SIGKILL);
                    return Expression();
                  },
                  {2});
  EXPECT_THROW(pool.learn({1, 2, 3}), errors::WorkerError);
  EXPECT_EQ(model.parameters.gradient_l2_norm(), 0.0F);
}

/// An interrupt of the waiting parent ends the workers.
TEST_F(Faults, AnErrorInTheParent) {
  const SmallModel model;
  int polls = 0;
  workers::Hooks hooks;
  hooks.wait = [&polls] {
    if (++polls == 3) {
      throw errors::UsageError("interrupted");
    }
  };
  workers::Crew crew(
      model.parameters, [](const workers::Piece& /*piece*/) { pause(); }, 8, 4, {2}, hooks);
  const std::vector<unsigned> examples(4);
  EXPECT_THROW(crew.run({examples.data(), 4, 4, true, 1.0}), errors::UsageError);
  EXPECT_FALSE(has_children());
  EXPECT_TRUE(crew.pids().empty());
}

/// Notes in shared memory if a child of the process that made this object left its scope.
class Scope {
 public:
  explicit Scope(std::atomic<bool>& was_left) : was_left_(was_left) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (getpid() != owner_) {
      was_left_ = true;
      _exit(3);  // so that it does not go on with the tests
    }
  }

 private:
  std::atomic<bool>& was_left_;
  pid_t owner_ = getpid();
};
/// Makes a crew and gives it to `use`. False if a worker came back to its parent's functions.
bool stays_in_workers(const SmallModel& model, const workers::Hooks& hooks,
                      const std::function<void(workers::Crew&)>& use) {
  void* const page = mmap(nullptr, sizeof(std::atomic<bool>), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& was_left = *new (page) std::atomic<bool>(false);
  {
    const Scope scope(was_left);
    workers::Crew crew(model.parameters, [](const workers::Piece& /*piece*/) {}, 8, 4, {2}, hooks);
    use(crew);
  }
  const bool stayed = !was_left;
  munmap(page, sizeof(std::atomic<bool>));
  return stayed;
}

TEST_F(Faults, AWorkerThatThrowsAtItsEndStaysAWorker) {
  workers::Hooks hooks;
  hooks.leave = [] { throw errors::UsageError("at the end"); };
  EXPECT_TRUE(stays_in_workers(SmallModel(), hooks, [](workers::Crew& crew) { crew.close(); }));
  EXPECT_FALSE(has_children());
}

/// A worker finds no memory for the gradients of its tables.
TEST_F(Faults, AWorkerWithoutMemoryIsAnErrorInTheParent) {
#ifdef DYNET_SANITIZED
  GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
  SmallModel model;
  model.parameters.add_lookup_parameters(10'000, {1000}, ParameterInitConst(0));
  workers::Hooks hooks;
  hooks.fork = [] {
    const pid_t child = fork();
    if (child == 0) {
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const rlim_t most = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (16U << 20);
      const rlimit limit{most, most};
      setrlimit(RLIMIT_AS, &limit);
    }
    return child;
  };
  std::string error;
  EXPECT_TRUE(stays_in_workers(model, hooks, [&](workers::Crew& crew) {
    const std::vector<unsigned> examples(4);
    error = testing::text_of_error<errors::WorkerError>(
        [&] { crew.run({examples.data(), 4, 4, true, 1.0}); });
  }));
  EXPECT_NE(error.find("threw: workers: the system refused to map"), std::string::npos) << error;
}

constexpr int kKills = 20;

/// Trains until something ends it.
void train_on(const SmallModel& model, WorkerPool& pool) {
  ParameterCollection parameters = model.parameters;
  SimpleSGDTrainer trainer(parameters, 0.01F);
  for (unsigned step = 0;; ++step) {
    pool.learn(minibatch(step, 16));
    trainer.update();
  }
}

TEST_F(Faults, KillsOfWorkersAtRandomMoments) {
  const SmallModel model;
  std::mt19937 random(std::random_device{}());
  const Traces before;
  for (int i = 0; i < kKills; ++i) {
    WorkerPool pool(model.parameters, model, {2});
    const unsigned victim = random() % 2;
    const auto delay = std::chrono::microseconds(random() % 30'000);
    Clock::time_point killed_at;
    std::thread killer([&, pid = pool.pids()[victim]] {
      std::this_thread::sleep_for(delay);
      killed_at = Clock::now();
      kill(pid, SIGKILL);
    });
    try {
      train_on(model, pool);
    } catch (const errors::WorkerError& error) {
      killer.join();
      EXPECT_LT(seconds_since(killed_at), 2);
      EXPECT_EQ(error.worker, victim);
      EXPECT_EQ(error.signal, SIGKILL);
    }
    EXPECT_FALSE(has_children());
  }
  EXPECT_EQ(before, Traces());
  for (const float value : model.values()) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

/// The parent is killed; the workers become children of this test, which sees them end.
TEST_F(Faults, KillsOfParentsAtRandomMoments) {
  const SmallModel model;
  std::mt19937 random(std::random_device{}());
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  const Traces before;
  for (int i = 0; i < kKills; ++i) {
    const pid_t parent = fork();
    if (parent == 0) {
      try {
        WorkerPool pool(model.parameters, model, {2});
        train_on(model, pool);
      } catch (...) {
        _exit(1);
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30'000));
    kill(parent, SIGKILL);
    const Clock::time_point begin = Clock::now();
    while (has_children() && seconds_since(begin) < 2) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_FALSE(has_children());
  }
  EXPECT_EQ(before, Traces());
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

}  // namespace
}  // namespace dynet
