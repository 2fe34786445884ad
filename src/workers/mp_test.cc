// mp.h as a program of 2.x uses it.
#include "dynet/mp.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <string>
#include <vector>

#include "testing/errors.h"
#include "testing/tolerance.h"
#include "worker_test_model.h"

namespace dynet {
namespace {

using testing::SmallModel;
using testing::Started;

/// A loss with a count, as programs have it.
struct Loss {
  double sum = 0;
  unsigned count = 0;
  Loss& operator+=(const Loss& other) {
    sum += other.sum;
    count += other.count;
    return *this;
  }
  bool operator<(const Loss& other) const { return sum < other.sum; }
};
std::ostream& operator<<(std::ostream& os, const Loss& loss) {
  return os << loss.sum << " of " << loss.count;
}

class Learner : public mp::ILearner<unsigned, Loss> {
 public:
  Loss LearnFromDatum(const unsigned& datum, bool learn) override {
    ComputationGraph cg;
    const Expression loss = model.sentence(cg, datum);
    const auto value = static_cast<double>(as_scalar(cg.forward(loss)));
    if (learn) {
      cg.backward(loss);
    }
    return {value, 1};
  }
  void SaveModel() override { ++saves; }

  SmallModel model;
  int saves = 0;
};

/// The text that a run writes to the standard error stream.
class Captured {
 public:
  Captured() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;
  ~Captured() { std::cerr.rdbuf(before_); }
  [[nodiscard]] std::string text() const { return text_.str(); }
  [[nodiscard]] int count(const std::string& part) const {
    const std::string all = text();
    int n = 0;
    for (std::size_t at = all.find(part); at != std::string::npos; at = all.find(part, at + 1)) {
      ++n;
    }
    return n;
  }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

std::vector<unsigned> data(unsigned first, unsigned count) {
  std::vector<unsigned> all(count);
  std::iota(all.begin(), all.end(), first);
  return all;
}

class Mp : public ::testing::Test {
 protected:
  void TearDown() override {
    mp::average_gradients = true;
    mp::stop_requested = false;
  }
  const Started library_{"CPU:double"};
};

/// Values after two iterations over 30 examples with the sum of `n` gradients an update.
std::vector<float> train(bool with_workers, unsigned n) {
  Learner learner;
  SimpleSGDTrainer trainer(learner.model.parameters, 0.02F);
  mp::average_gradients = false;
  if (with_workers) {
    mp::run_multi_process<unsigned, Loss>(n, &learner, &trainer, data(0, 30), data(30, 7), 2, 12,
                                          0);
  } else {
    mp::run_single_process<unsigned, Loss>(&learner, &trainer, data(0, 30), data(30, 7), 2, 12, 0,
                                           n);
  }
  return learner.model.values();
}

TEST_F(Mp, UpdatesAreThoseOfOneProcess) {
  const Captured errors;
  for (const unsigned n : {1U, 2U, 3U}) {
    rndeng->seed(3);
    const std::vector<float> one = train(false, n);
    rndeng->seed(3);
    const std::vector<float> several = train(true, n);
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_NEAR(several[i], one[i], tolerance::kTrainedInDouble) << n << " workers, number " << i;
    }
  }
}

TEST_F(Mp, AveragesAreTheDefault) {
  const Captured errors;
  const auto change = [](bool averages) {
    rndeng->seed(3);
    Learner learner;
    SimpleSGDTrainer trainer(learner.model.parameters, 0.1F);
    trainer.clipping_enabled = false;
    const std::vector<float> before = as_vector(learner.model.scores.p->values);
    mp::average_gradients = averages;
    mp::run_multi_process<unsigned, Loss>(4, &learner, &trainer, data(0, 4), {}, 1, 0, 0);
    return as_vector(learner.model.scores.p->values)[0] - before[0];
  };
  EXPECT_NEAR(4 * change(true), change(false), tolerance::kThroughFloat);
}

TEST_F(Mp, ReportsAndSaves) {
  Learner learner;
  SimpleSGDTrainer trainer(learner.model.parameters, 0.05F);
  const Captured errors;
  mp::run_multi_process<unsigned, Loss>(2, &learner, &trainer, data(0, 24), data(24, 8), 2, 10, 8);
  EXPECT_EQ(mp::shared_object->counter, 48U);
  EXPECT_EQ(errors.count("\tdev loss = "), 6);  // chunks of 10, 10 and 4, twice
  EXPECT_EQ(errors.count("(New best!)"), learner.saves);
  EXPECT_GE(learner.saves, 2);
  EXPECT_EQ(errors.count("s)\n"), 6);
  EXPECT_EQ(errors.count("(so far)"), 4);  // one in each chunk of 10
  EXPECT_EQ(errors.count("\n0.416667\tloss = "), 1) << errors.text();
  EXPECT_EQ(errors.count(" of 10 ("), 4) << errors.text();
  const int saves = learner.saves;
  mp::run_multi_process<unsigned, Loss>(2, &learner, &trainer, data(0, 24), {}, 1, 12, 0);
  EXPECT_EQ(learner.saves, saves + 2);  // without a dev set after each chunk
}

TEST_F(Mp, ARunCanBeStopped) {
  class Stopping : public Learner {
   public:
    void SaveModel() override {
      Learner::SaveModel();
      mp::stop_requested = true;
    }
  };
  const Captured errors;
  for (const bool with_workers : {true, false}) {
    Stopping learner;
    SimpleSGDTrainer trainer(learner.model.parameters, 0.05F);
    mp::stop_requested = false;
    if (with_workers) {
      mp::run_multi_process<unsigned, Loss>(2, &learner, &trainer, data(0, 24), {}, 100, 12, 0);
    } else {
      mp::run_single_process<unsigned, Loss>(&learner, &trainer, data(0, 24), {}, 100, 12, 0, 2);
    }
    EXPECT_EQ(learner.saves, 1);
    EXPECT_EQ(trainer.updates, 6.0F);
  }
}

TEST_F(Mp, Minibatches) {
  Learner learner;
  const std::vector<float> before = learner.model.values();
  Loss want;
  for (const unsigned n : data(0, 13)) {
    want += learner.LearnFromDatum(n, false);
  }
  const Loss evaluated =
      mp::run_mp_minibatch_trainer<unsigned, Loss>(3, &learner, nullptr, data(0, 13));
  EXPECT_EQ(evaluated.count, 13U);
  EXPECT_EQ(evaluated.sum, want.sum);
  EXPECT_EQ(learner.model.parameters.gradient_l2_norm(), 0.0F);
  const auto restore = [&] {
    rndeng->seed(5);
    return Learner();
  };
  Learner one = restore();
  Learner several = restore();
  ASSERT_EQ(one.model.values(), several.model.values());
  SimpleSGDTrainer one_trainer(one.model.parameters, 0.5F);
  SimpleSGDTrainer several_trainer(several.model.parameters, 0.5F);
  const Loss a = mp::run_sp_minibatch_trainer<unsigned, Loss>(&one, &one_trainer, data(0, 13));
  const Loss b =
      mp::run_mp_minibatch_trainer<unsigned, Loss>(3, &several, &several_trainer, data(0, 13));
  EXPECT_NEAR(a.sum, b.sum, tolerance::kSameInDouble);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(several_trainer.updates, 1.0F);
  const std::vector<float> x = one.model.values();
  const std::vector<float> y = several.model.values();
  EXPECT_NE(y, before);
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_NEAR(x[i], y[i], tolerance::kThroughFloat);
  }
  EXPECT_EQ((mp::run_sp_minibatch_trainer<unsigned, Loss>(&one, nullptr, data(0, 13)).count), 13U);
  EXPECT_EQ(one_trainer.updates, 1.0F);
}

/// A program of 2.1 makes the update itself.
TEST_F(Mp, AMinibatchWithoutATrainerLeavesGradients) {
  const auto make = [] {
    rndeng->seed(5);
    return Learner();
  };
  for (const bool averages : {true, false}) {
    mp::average_gradients = averages;
    Learner one = make();
    Learner several = make();
    const Learner other = make();  // in another model, which gets nothing
    SimpleSGDTrainer one_trainer(one.model.parameters, 0.5F);
    SimpleSGDTrainer several_trainer(several.model.parameters, 0.5F);
    const Loss a = mp::run_sp_minibatch_trainer<unsigned, Loss>(&one, &one_trainer, data(0, 13));
    const Loss b = mp::run_mp_minibatch<unsigned, Loss>(3, &several, data(0, 13));
    EXPECT_NEAR(a.sum, b.sum, tolerance::kSameInDouble);
    EXPECT_EQ(b.count, 13U);
    EXPECT_EQ(mp::shared_object->counter, 13U);
    EXPECT_EQ(other.model.parameters.gradient_l2_norm(), 0.0F);
    std::string told;
    set_log_sink([&](const std::string& text) { told += text; });
    several_trainer.update();
    set_log_sink(nullptr);
    EXPECT_EQ(told, "") << "there was no backward here, but its gradients came";
    const std::vector<float> x = one.model.values();
    const std::vector<float> y = several.model.values();
    EXPECT_NE(y, other.model.values());
    for (std::size_t i = 0; i < x.size(); ++i) {
      ASSERT_NEAR(x[i], y[i], tolerance::kThroughFloat) << averages;
    }
  }
  Learner learner;
  EXPECT_EQ((mp::run_mp_minibatch<unsigned, Loss>(3, &learner, {})).count, 0U);
}

/// Their gradients would end with the worker.
TEST(MpWithoutSharedMemory, AGradientThatWouldBeLostIsAnError) {
  const Started library("CPU:double", false);
  class Evaluating : public Learner {
   public:
    Loss LearnFromDatum(const unsigned& datum, bool /*learn*/) override {
      return Learner::LearnFromDatum(datum, false);
    }
  };
  Evaluating evaluating;
  Learner learner;
  static_cast<void>(learner.LearnFromDatum(0, true));  // of the parent's own; it stays
  EXPECT_EQ((mp::run_mp_minibatch<unsigned, Loss>(2, &evaluating, data(0, 5))).count, 5U);
  EXPECT_GT(learner.model.parameters.gradient_l2_norm(), 0.0F);
  EXPECT_NE(testing::text_of_error<errors::WorkerError>([&] {
              mp::run_mp_minibatch<unsigned, Loss>(2, &learner, data(0, 5));
            }).find("would be lost with the worker"),
            std::string::npos);
}

TEST_F(Mp, AWorkerThatFailsIsAnError) {
  class Failing : public Learner {
   public:
    Loss LearnFromDatum(const unsigned& datum, bool learn) override {
      if (datum == 11) {
        raise(SIGKILL);
      }
      return Learner::LearnFromDatum(datum, learn);
    }
  };
  const Captured errors;
  Failing learner;
  SimpleSGDTrainer trainer(learner.model.parameters, 0.05F);
  EXPECT_THROW(
      (mp::run_multi_process<unsigned, Loss>(2, &learner, &trainer, data(0, 24), {}, 1, 0, 0)),
      errors::WorkerError);
  EXPECT_EQ(learner.saves, 0);
}

/// Processes of the program itself, as in 2.x: the children evaluate data from the parent, with the
/// current values of the parent.
TEST_F(Mp, ChildrenOfTheProgramsOwn) {
  Learner learner;
  constexpr unsigned kChildren = 3;
  std::vector<mp::Workload> workloads = mp::create_workloads(kChildren);
  const unsigned cid = mp::spawn_children(workloads);
  if (cid < kChildren) {
    try {
      while (true) {
        const auto datum = mp::read_data<unsigned>(workloads[cid].p2c[0]);
        mp::write_data(workloads[cid].c2p[1], learner.LearnFromDatum(datum, false));
      }
    } catch (const errors::IoError&) {
      _exit(0);  // the parent has closed its end
    } catch (...) {
      _exit(1);
    }
  }
  ASSERT_EQ(cid, kChildren);
  TensorTools::set_elements(learner.model.bias.p->values, std::vector<float>(8, 0.5F));
  for (unsigned n = 0; n < 12; ++n) {
    mp::write_data(workloads[n % kChildren].p2c[1], n);
  }
  for (unsigned n = 0; n < 12; ++n) {
    const auto got = mp::read_data<Loss>(workloads[n % kChildren].c2p[0]);
    EXPECT_EQ(got.sum, learner.LearnFromDatum(n, false).sum) << n;
  }
  mp::cleanup(workloads);
  EXPECT_TRUE(workloads.empty());
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
}

/// Each is an error of the parent, which neither hangs nor dies of it.
TEST_F(Mp, ChildrenThatFail) {
  const auto spawn = [](unsigned count, const auto& child) {
    std::vector<mp::Workload> workloads = mp::create_workloads(count);
    if (const unsigned cid = mp::spawn_children(workloads); cid < count) {
      child(cid);
      _exit(0);
    }
    return workloads;
  };
  std::vector<mp::Workload> killed = spawn(2, [](unsigned cid) {
    if (cid == 1) {
      raise(SIGKILL);
    }
    pause();
  });
  EXPECT_THROW(mp::read_data<int>(killed[1].c2p[0]), errors::IoError);
  EXPECT_THROW(
      {
        for (;;) {
          mp::write_data(killed[1].p2c[1], 5);
        }
      },
      errors::IoError);
  const pid_t pid = killed[1].pid;
  kill(killed[0].pid, SIGTERM);
  try {
    mp::cleanup(killed);
    ADD_FAILURE() << "no error";
  } catch (const errors::WorkerError& error) {
    EXPECT_EQ(error.worker, 0U);
    EXPECT_EQ(error.signal, SIGTERM);
    EXPECT_NE(error.pid, pid);
  }
  std::vector<mp::Workload> left = spawn(3, [](unsigned cid) { _exit(cid == 2 ? 7 : 0); });
  const int last = left[2].pid;
  const std::string want = "child 2 of 3 (process " + std::to_string(last) + ") left with status 7";
  EXPECT_EQ(testing::text_of_error<errors::WorkerError>([&] { mp::cleanup(left); }), want);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  std::vector<mp::Workload> none = mp::create_workloads(0);
  EXPECT_EQ(mp::spawn_children(none), 0U);
  mp::cleanup(none);
}

/// Pipes refused by the system are an error that leaves no trace.
TEST_F(Mp, PipesThatTheSystemRefuses) {
  struct FewFiles {
    FewFiles() {
      getrlimit(RLIMIT_NOFILE, &before);
      rlimit few = before;
      few.rlim_cur = 32;
      setrlimit(RLIMIT_NOFILE, &few);
    }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;
    ~FewFiles() { setrlimit(RLIMIT_NOFILE, &before); }
    rlimit before{};
  };
  const FewFiles limit;
  for (int round = 0; round < 2; ++round) {
    EXPECT_NE(testing::text_of_error<errors::IoError>([] {
                static_cast<void>(mp::create_workloads(100));
              }).find("create_workloads: pipes for 100 children"),
              std::string::npos);
    std::vector<mp::Workload> some = mp::create_workloads(2);  // as the others were closed
    mp::cleanup(some);
  }
}

TEST_F(Mp, Helpers) {
  EXPECT_EQ(mp::sum_values(std::vector<double>{1, 2, 6}), 9.0);
  EXPECT_EQ(mp::mean(std::vector<double>{1, 2, 6}), 3.0);
  EXPECT_EQ(mp::elapsed_time_string({1, 900'000'000}, {3, 150'000'000}), "1.25s");
  EXPECT_NE(mp::generate_queue_name(), mp::generate_queue_name());
  EXPECT_NE(mp::generate_shared_memory_name(), mp::generate_shared_memory_name());
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  mp::write_data(ends[1], mp::WorkloadHeader{true, false, 7});
  EXPECT_EQ(mp::read_data<mp::WorkloadHeader>(ends[0]).report_frequency, 7U);
  close(ends[1]);
  EXPECT_THROW(mp::read_data<int>(ends[0]), errors::IoError);
  close(ends[0]);
  auto* const shared = mp::get_shared_memory<std::atomic<int>>();
  EXPECT_EQ(*shared, 0);
}

}  // namespace
}  // namespace dynet
