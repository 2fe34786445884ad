// Training steps of two of the paper's models, against the limits of this machine.
//
// The floor of a row is its multiply-adds at 0.75 of the FMA probe, and one pass of Adam over the
// dense parameters an update, timed here on arrays of that size.

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/expr.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/update.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "random_trees.h"
#include "report.h"
#include "tree_model.h"

namespace dynet::bench {

namespace {

constexpr unsigned kHidden = 128;
constexpr unsigned kClasses = 5;
constexpr unsigned kWords = 18300;

/// Half of the words are drawn from a few hundred frequent ones.
std::vector<example::Tree> make_trees(std::size_t count) {
  example::Random random(1);
  std::vector<example::Tree> trees(count);
  for (example::Tree& tree : trees) {
    append_random_tree(tree, 5 + random.below(29), random, [&random] {
      const unsigned range = random.below(2) == 0 ? 300 : kWords;
      return random.below(range);
    });
  }
  return trees;
}

double words_in(const example::Tree& tree) { return static_cast<double>((tree.size() + 1) / 2); }

/// Multiply-adds of training on a tree: three products of each size, forward and two backward.
double flops_of(const example::Tree& tree) {
  const double h = kHidden;
  const double words = words_in(tree);
  const auto nodes = static_cast<double>(tree.size());
  const double forward =
      words * 3 * h * h + (nodes - words) * (3 * 2 * h * h + 2 * h * h) + nodes * kClasses * h;
  return 3 * 2 * forward;
}

example::Settings tree_settings() {
  return {"trees", {{"hidden", kHidden}, {"classes", kClasses}, {"words", kWords}}};
}

/// Trains a tree LSTM on generated trees, `minibatch` of them an update.
class TreeTraining {
 public:
  TreeTraining(unsigned minibatch, bool batching)
      : minibatch_(minibatch),
        batching_(batching),
        trees_(make_trees(256)),
        model_(tree_settings()),
        trainer_(model_.m, 0.001F) {}

  void step() {
    ComputationGraph cg(batching_);
    model_.new_graph(cg);
    losses_.clear();
    for (unsigned i = 0; i < minibatch_; ++i) {
      const example::Tree& tree = trees_[next_++ % trees_.size()];
      losses_.push_back(model_.loss(cg, tree));
    }
    const Expression loss = minibatch_ == 1 ? losses_[0] : sum(losses_);
    cg.forward(loss);
    cg.backward(loss);
    trainer_.update();
  }
  /// Whole passes over the trees, so that every round does the same work.
  double seconds_a_tree(double round_seconds) {
    const std::size_t steps = trees_.size() / minibatch_;
    const double pass = seconds_a_call(
        [&] {
          for (std::size_t i = 0; i < steps; ++i) {
            step();
          }
        },
        round_seconds);
    return pass / static_cast<double>(steps * minibatch_);
  }
  [[nodiscard]] double flops_a_tree() const {
    double flops = 0;
    for (const example::Tree& tree : trees_) {
      flops += flops_of(tree);
    }
    return flops / static_cast<double>(trees_.size());
  }
  [[nodiscard]] double words_a_tree() const {
    double words = 0;
    for (const example::Tree& tree : trees_) {
      words += words_in(tree);
    }
    return words / static_cast<double>(trees_.size());
  }
  std::size_t dense_parameters() {
    std::size_t n = 0;
    for (const auto& p : model_.m.parameters_list()) {
      n += p->size();
    }
    return n;
  }

 private:
  unsigned minibatch_;
  bool batching_;
  std::vector<example::Tree> trees_;
  example::TreeModel model_;
  AdamTrainer trainer_;
  std::vector<Expression> losses_;
  std::size_t next_ = 0;
};

void add_tree_row(Report& report, const Settings& settings, unsigned minibatch, bool batching,
                  double done_at, double adam) {
  TreeTraining training(minibatch, batching);
  const double words = training.words_a_tree();
  const double floor =
      training.flops_a_tree() / (0.75e9 * report.machine().fma_gflops) + adam / minibatch;
  const double seconds = training.seconds_a_tree(settings.seconds);
  char name[96];
  std::snprintf(name, sizeof name, "tree LSTM, %u an update, batching %s", minibatch,
                batching ? "on" : "off");
  char note[160];
  std::snprintf(note, sizeof note, "floor %.0f: %.1f MFLOP, Adam %.0f us on %zu; %.1f words",
                1 / floor, training.flops_a_tree() * 1e-6, adam * 1e6, training.dense_parameters(),
                words);
  report.add({"training, Adam, sparse updates", name, 1 / seconds, "sentences/s",
              done_at > 0 ? Want::kAtLeast : Want::kNothing, done_at / floor, note});
}

/// Forward and backward of an LSTM of 128 over 20 steps, `batch` sequences side by side.
double lstm_step_seconds(unsigned batch, bool batching) {
  constexpr unsigned kSteps = 20;
  ParameterCollection parameters;
  VanillaLSTMBuilder builder(1, kHidden, kHidden, parameters);
  const LookupParameter words = parameters.add_lookup_parameters(1000, {kHidden});
  std::vector<unsigned> indices(batch);
  std::vector<Expression> losses;
  const double seconds = seconds_a_call(
      [&] {
        ComputationGraph cg(batching);
        builder.new_graph(cg);
        builder.start_new_sequence();
        losses.clear();
        for (unsigned step = 0; step < kSteps; ++step) {
          for (unsigned i = 0; i < batch; ++i) {
            indices[i] = (step * 37 + i * 11) % 1000;
          }
          losses.push_back(squared_norm(builder.add_input(lookup(cg, words, indices))));
        }
        const Expression loss = sum_batches(sum(losses));
        cg.forward(loss);
        cg.backward(loss);
        parameters.reset_gradient();
      },
      0.05);
  return seconds / kSteps;
}

}  // namespace

double adam_seconds(std::size_t n) {
  ParameterCollection nothing;
  const AdamTrainer loads_the_loops(nothing);
  const ext::Kernels& kernels = *get_device_manager()->get_global_device("CPU")->kernels;
  std::vector<float> w(n), g(n, 0.1F), m(n), v(n, 1.0F);
  void* const data[] = {w.data(), g.data(), m.data(), v.data()};
  const trainers::updates::Adam step{1e-9, 0.9, 0.999, 1e-8, 1.0, 1.0};
  return seconds_a_call(
      [&] { ext::run_update(kernels, step, data, static_cast<std::int64_t>(n)); });
}

void measure_models(Report& report, const Settings& settings) {
  const double adam = adam_seconds(TreeTraining(1, true).dense_parameters());
  add_tree_row(report, settings, 1, false, 0, adam);
  add_tree_row(report, settings, 1, true, 0.6, adam);
  add_tree_row(report, settings, 16, true, 0.5, adam);
  add_tree_row(report, settings, 64, true, 0.5, adam);
  const struct {
    unsigned batch;
    double most_us;
  } rows[] = {{1, 9}, {16, 82}, {64, 330}};
  for (const auto& row : rows) {
    const double flops = 3.0 * 2 * 4 * kHidden * 2 * kHidden * row.batch;
    const double floor = flops / (0.75e9 * report.machine().fma_gflops);
    char name[96];
    std::snprintf(name, sizeof name, "LSTM step 128/128, forward and backward, batch %u",
                  row.batch);
    char note[96];
    const double seconds = lstm_step_seconds(row.batch, true);
    std::snprintf(note, sizeof note, "%.0f %% of the multiply-add floor of %.1f us",
                  100 * floor / seconds, floor * 1e6);
    // The bound was stated on a machine with 228 GF/s.
    const double most = row.most_us * 228 / report.machine().fma_gflops;
    report.add({"LSTM", name, seconds * 1e6, "us/step", Want::kAtMost, most, note});
  }
}

void train_a_little(int updates) {
  TreeTraining training(1, true);
  for (int i = 0; i < updates; ++i) {
    training.step();
  }
}

}  // namespace dynet::bench
