#include "training.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>

#include "dynet/training.h"

#include "progress.h"

namespace examples {

double rate_factor(double share) {
  return share < 0.6 ? 1.0 : 1.0 - 0.98 * (std::min(share, 1.0) - 0.6) / 0.4;
}

void write_curve(const std::vector<CurvePoint>& curve, const std::string& file) {
  std::ofstream out(file);
  out << "updates,seconds,train_loss,train_accuracy,test_accuracy\n";
  for (const CurvePoint& p : curve) {
    out << p.updates << ',' << p.seconds << ',' << p.train_loss << ',' << p.train_accuracy << ','
        << p.test_accuracy << '\n';
  }
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + file + "'");
  }
}

namespace {

/// Sums since the last point of the curve, and a mean that follows the last few hundred trees.
class Scores {
 public:
  void add(double loss, unsigned losses, bool is_right) {
    loss_ += loss;
    losses_ += losses;
    right_ += is_right ? 1 : 0;
    ++trees_;
    weight_ = kKeep * weight_ + (1 - kKeep);
    recent_loss_ = kKeep * recent_loss_ + (1 - kKeep) * loss / losses;
    recent_right_ = kKeep * recent_right_ + (1 - kKeep) * (is_right ? 1 : 0);
  }
  [[nodiscard]] double recent_loss() const { return recent_loss_ / weight_; }
  [[nodiscard]] double recent_accuracy() const { return recent_right_ / weight_; }
  [[nodiscard]] double loss() const { return loss_ / static_cast<double>(losses_); }
  [[nodiscard]] double accuracy() const {
    return static_cast<double>(right_) / static_cast<double>(trees_);
  }
  void start_anew() {
    loss_ = 0;
    losses_ = right_ = trees_ = 0;
  }

 private:
  static constexpr double kKeep = 0.996;

  double loss_ = 0;
  std::size_t losses_ = 0;
  std::size_t right_ = 0;
  std::size_t trees_ = 0;
  double weight_ = 0;
  double recent_loss_ = 0;
  double recent_right_ = 0;
};

std::unique_ptr<dynet::Trainer> make_trainer(TreeModel& model, const Options& options) {
  const auto rate = static_cast<float>(options.learning_rate);
  if (options.trainer == "sgd") {
    return std::make_unique<dynet::SimpleSGDTrainer>(model.parameters(), rate);
  }
  return std::make_unique<dynet::AdamTrainer>(model.parameters(), rate);
}

/// One update on `minibatch` trees, each written into the graph on its own.
class Step {
 public:
  Step(TreeModel& model, const TrainingPlan& plan, const Options& options)
      : model_(model), plan_(plan), options_(options), trainer_(make_trainer(model, options)) {}

  void run(std::size_t update, double share, Scores& scores) {
    if (plan_.lowers_rate) {
      trainer_->learning_rate = static_cast<float>(options_.learning_rate * rate_factor(share));
    }
    dynet::ComputationGraph cg;
    model_.new_graph(cg);
    outputs_.clear();
    losses_.clear();
    labels_.clear();
    for (unsigned i = 0; i < options_.minibatch; ++i) {
      const Tree& tree = plan_.next_tree();
      outputs_.push_back(model_.add_tree(cg, tree));
      losses_.push_back(outputs_.back().loss);
      labels_.push_back(tree.root().label);
    }
    const dynet::Expression loss = losses_.size() == 1 ? losses_[0] : dynet::sum(losses_);
    const float total = dynet::as_scalar(cg.forward(loss));
    if (update < options_.print_losses) {
      std::printf("loss %zu %.9g\n", update + 1, static_cast<double>(total));
    }
    cg.backward(loss);
    trainer_->update();
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const unsigned answer = highest(dynet::as_vector(outputs_[i].root_scores.value()));
      scores.add(dynet::as_scalar(losses_[i].value()), outputs_[i].losses,
                 static_cast<int>(answer) == labels_[i]);
    }
  }

 private:
  TreeModel& model_;
  const TrainingPlan& plan_;
  const Options& options_;
  std::unique_ptr<dynet::Trainer> trainer_;
  std::vector<TreeModel::Outputs> outputs_;
  std::vector<dynet::Expression> losses_;
  std::vector<int> labels_;
};

}  // namespace

TrainingResult train(TreeModel& model, const TrainingPlan& plan, const Options& options) {
  TrainingResult result;
  Step step(model, plan, options);
  Scores scores;
  Stopwatch watch;
  Progress progress(plan.updates, "updates", options.is_quiet);
  const auto total = static_cast<double>(plan.updates);
  watch.start();
  for (std::size_t update = 0; update < plan.updates; ++update) {
    // A machine too slow for all updates ends in time, with the rate lowered as far.
    const double in_time = plan.max_seconds > 0 ? watch.running() / plan.max_seconds : 0.0;
    if (in_time >= 1) {
      break;
    }
    step.run(update, std::max(static_cast<double>(update) / total, in_time), scores);
    result.updates = update + 1;
    const double share = std::max(static_cast<double>(result.updates) / total, in_time);
    progress.show(result.updates, watch.running(), share, scores.recent_loss(),
                  scores.recent_accuracy());
    if (result.updates % plan.updates_a_point == 0 || result.updates == plan.updates) {
      watch.stop();
      result.curve.push_back({result.updates, watch.seconds(), scores.loss(), scores.accuracy(),
                              root_accuracy(model, *plan.test, plan.test_limit)});
      scores.start_anew();
      watch.start();
    }
  }
  watch.stop();
  result.seconds = watch.seconds();
  return result;
}

}  // namespace examples
