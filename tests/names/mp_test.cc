// Names of mp.h.

#include "dynet/mp.h"

#include "dynet/expr.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::string;
using std::vector;

namespace {

struct Loss {
  float total = 0;
  Loss& operator+=(const Loss& other) {
    total += other.total;
    return *this;
  }
  bool operator<(const Loss& other) const { return total < other.total; }
};
std::ostream& operator<<(std::ostream& out, const Loss& loss) { return out << loss.total; }

/// Learns to make a number small.
class Learner : public mp::ILearner<float, Loss> {
 public:
  explicit Learner(ParameterCollection& model)
      : p_(model.add_parameters({1}, ParameterInitConst(1.0F))) {}
  // The names of 2.1. NOLINTBEGIN(readability-identifier-naming)
  Loss LearnFromDatum(const float& datum, bool learn) override {
    ComputationGraph cg;
    const Expression loss = squared_norm(parameter(cg, p_) * datum);
    Loss result;
    result.total = as_scalar(cg.forward(loss));
    if (learn) {
      cg.backward(loss);
    }
    return result;
  }
  void SaveModel() override {}
  // NOLINTEND(readability-identifier-naming)

 private:
  Parameter p_;
};

/// A loss as in programs since the examples of 2.1: its operators for comparison and output are not
/// const.
class SufficientStats {
 public:
  SufficientStats() = default;
  explicit SufficientStats(double loss) : loss_(loss), count_(1) {}
  SufficientStats& operator+=(const SufficientStats& other) {
    loss_ += other.loss_;
    count_ += other.count_;
    return *this;
  }
  bool operator<(const SufficientStats& other) { return loss_ < other.loss_; }
  friend std::ostream& operator<<(std::ostream& out, SufficientStats& stats) {
    return out << stats.loss_ << " of " << stats.count_;
  }

 private:
  double loss_ = 0.0;
  unsigned count_ = 0;
};

class Counter : public mp::ILearner<float, SufficientStats> {
 public:
  // The names of 2.1. NOLINTBEGIN(readability-identifier-naming)
  SufficientStats LearnFromDatum(const float& datum, bool /*learn*/) override {
    return SufficientStats(static_cast<double>(datum));
  }
  void SaveModel() override { ++saves; }
  // NOLINTEND(readability-identifier-naming)
  int saves = 0;
};

TEST(Names, MultiProcess) {
  DYNET_HAS(string, mp::queue_name);
  DYNET_HAS(string, mp::shared_memory_name);
  DYNET_HAS(timespec, mp::start_time);
  DYNET_HAS(bool, mp::stop_requested);
  DYNET_HAS(mp::SharedObject*, mp::shared_object);
  DYNET_HAS(string, mp::generate_queue_name());
  DYNET_HAS(string, mp::generate_shared_memory_name());
  DYNET_HAS(float, mp::sum_values(vector<float>{1, 2}));
  DYNET_HAS(float, mp::mean(vector<float>{1, 2}));
  DYNET_HAS(string, mp::elapsed_time_string(mp::start_time, mp::start_time));
  const mp::WorkloadHeader header{true, false, 3};
  DYNET_EQ(true, header.is_dev_set);
  DYNET_EQ(false, header.end_of_epoch);
  DYNET_EQ(3U, header.report_frequency);
  mp::Workload load{};
  DYNET_HAS(pid_t, load.pid);
  DYNET_EQ(0, pipe(load.c2p));
  DYNET_EQ(0, load.p2c[1]);
  DYNET_HAS(void, mp::write_data(load.c2p[1], 5));
  DYNET_EQ(5, mp::read_data<int>(load.c2p[0]));
  close(load.c2p[0]);
  close(load.c2p[1]);
  DYNET_HAS(int*, mp::get_shared_memory<int>());
  vector<mp::Workload> none = mp::create_workloads(0);
  DYNET_HAS(vector<mp::Workload>, mp::create_workloads(0));
  DYNET_HAS(unsigned, mp::spawn_children(none));
  DYNET_HAS(void, mp::cleanup(none));
}

TEST(Names, MultiProcessTraining) {
  DynetParams params;
  params.shared_parameters = true;
  initialize(params);
  ParameterCollection model;
  Learner own(model);
  mp::ILearner<float, Loss>* learner = &own;
  SimpleSGDTrainer sgd(model, 0.01F);
  Trainer* trainer = &sgd;
  const vector<float> data{1, 2, 3};
  DYNET_HAS(Loss, mp::run_mp_minibatch(2, learner, data));
  DYNET_HAS(Loss, mp::run_mp_minibatch_trainer(2, learner, trainer, data));
  DYNET_HAS(Loss, mp::run_sp_minibatch_trainer(learner, trainer, data));
  DYNET_HAS(void, mp::run_multi_process(2, learner, trainer, data, data, 1, 0, 10));
  DYNET_HAS(void, mp::run_single_process(learner, trainer, data, data, 1, 0, 10, 2));
  Counter counter;
  mp::ILearner<float, SufficientStats>* counts = &counter;
  DYNET_HAS(void, mp::run_multi_process(2, counts, trainer, data, data, 1, 0, 1));
  DYNET_HAS(void, mp::run_single_process(counts, trainer, data, data, 1, 0, 1, 2));
  DYNET_HAS(SufficientStats, mp::run_mp_minibatch(2, counts, data));
  DYNET_HAS(SufficientStats, mp::run_mp_minibatch_trainer(2, counts, trainer, data));
  DYNET_HAS(SufficientStats, mp::run_sp_minibatch_trainer(counts, trainer, data));
  DYNET_EQ(2, counter.saves);
  cleanup();
}

}  // namespace
