#include "dynet/training.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "measure.h"
#include "program.h"
#include "progress.h"

namespace examples {

double rate_factor(double share) {
  return share < 0.6 ? 1.0 : 1.0 - 0.98 * (std::min(share, 1.0) - 0.6) / 0.4;
}

namespace {

std::string to_text(const ScoreKind& kind, double score) {
  char text[64];
  std::snprintf(text, sizeof text, kind.is_share ? "%s %.2f %%" : "%s %.1f", kind.name,
                kind.is_share ? 100 * score : score);
  return text;
}

}  // namespace

void set_initial_values(ParameterCollection& parameters, const Options& options) {
  if (options.deterministic_init) {
    set_deterministic_values(parameters);
  }
  if (!options.init_file.empty()) {
    populate(parameters, options.init_file);
  }
}

namespace {

/// Means since the last point of the curve, and one that follows the last few hundred updates.
class MeanLoss {
 public:
  void add(double sum, std::size_t count) {
    sum_ += sum;
    count_ += count;
    weight_ = kKeep * weight_ + (1 - kKeep);
    recent_ = kKeep * recent_ + (1 - kKeep) * sum / static_cast<double>(count);
  }
  [[nodiscard]] double recent() const { return recent_ / weight_; }
  /// Starts anew.
  double take() {
    const double mean = sum_ / static_cast<double>(count_);
    sum_ = 0;
    count_ = 0;
    return mean;
  }

 private:
  static constexpr double kKeep = 0.996;

  double sum_ = 0;
  std::size_t count_ = 0;
  double weight_ = 0;
  double recent_ = 0;
};

std::unique_ptr<Trainer> make_trainer(ParameterCollection& parameters, const Options& options) {
  const auto rate = static_cast<float>(options.learning_rate);
  std::unique_ptr<Trainer> trainer;
  if (options.trainer == "sgd") {
    trainer = std::make_unique<SimpleSGDTrainer>(parameters, rate);
  } else {
    trainer = std::make_unique<AdamTrainer>(parameters, rate);
  }
  LookupUpdates how{};
  std::istringstream(options.lookup_updates) >> how;
  trainer->set_lookup_updates(how);
  return trainer;
}

void write_curve(const std::vector<CurvePoint>& curve, const std::string& file) {
  std::ofstream out(file);
  out << "updates,seconds,items,train_loss,dev_score\n";
  for (const CurvePoint& p : curve) {
    out << p.updates << ',' << p.seconds << ',' << p.items << ',' << p.train_loss << ',';
    if (!std::isnan(p.dev_score)) {
      out << p.dev_score;
    }
    out << '\n';
  }
  out.close();
  if (!out) {
    throw std::runtime_error("cannot write '" + file + "'");
  }
}

class Training {
 public:
  Training(Learner& learner, const TrainingPlan& plan, const Options& options)
      : learner_(learner),
        plan_(plan),
        options_(options),
        updates_(options.updates != 0 ? options.updates : plan.updates_an_epoch * options.epochs),
        test_every_(options.test_every != 0 ? options.test_every : plan.updates_an_epoch),
        trainer_(make_trainer(learner.parameters(), options)),
        progress_(updates_, plan.unit, options.is_quiet) {}

  TrainingResult run() {
    watch_.start();
    while (result_.updates < updates_) {
      // A machine too slow for all updates ends in time, with the rate lowered as far.
      const double in_time =
          options_.max_seconds > 0 ? cpu_seconds_so_far() / options_.max_seconds : 0.0;
      if (in_time >= 1) {
        break;
      }
      step(std::max(share_done(), in_time));
      progress_.show(result_.updates, std::max(share_done(), in_time), result_.items,
                     loss_.recent());
      if (result_.updates % test_every_ == 0 || result_.updates == updates_) {
        add_point();
      }
    }
    if (result_.curve.empty() || result_.curve.back().updates != result_.updates) {
      add_point();
    }
    progress_.finish();
    result_.seconds = watch_.seconds();
    return result_;
  }

 private:
  [[nodiscard]] double share_done() const {
    return static_cast<double>(result_.updates) / static_cast<double>(updates_);
  }
  double cpu_seconds_so_far() {
    watch_.stop();
    watch_.start();
    return watch_.seconds();
  }

  void step(double share) {
    if (plan_.lowers_rate) {
      trainer_->learning_rate = static_cast<float>(options_.learning_rate * rate_factor(share));
    }
    ComputationGraph cg;
    const Losses losses = learner_.add_next(cg);
    const float sum = as_scalar(cg.forward(losses.sum));
    if (result_.updates < options_.print_losses) {
      std::printf("loss %zu %.9g\n", result_.updates + 1, static_cast<double>(sum));
    }
    cg.backward(losses.sum);
    trainer_->update();
    loss_.add(sum, losses.count);
    result_.items += losses.items;
    if (++result_.updates == 1) {
      result_.first_update_at = seconds_since_start();
    }
  }

  /// Tests, keeps the model where it is the best so far, and writes the curve down.
  void add_point() {
    watch_.stop();
    progress_.pause();
    double score = std::numeric_limits<double>::quiet_NaN();
    if (learner_.can_test()) {
      score = learner_.test();
      progress_.set_score(to_text(learner_.score_kind(), score));
    }
    const bool is_best =
        result_.curve.empty() || std::isnan(score) || !plan_.keeps_best ||
        (learner_.score_kind().is_share ? score > result_.best_score : score < result_.best_score);
    if (is_best) {
      result_.best_score = score;
      if (!options_.model.empty()) {
        save_model(learner_.settings(), learner_.parameters(), options_.model);
      }
    }
    result_.curve.push_back(
        {result_.updates, watch_.seconds(), result_.items, loss_.take(), score});
    if (!options_.curve.empty()) {
      write_curve(result_.curve, options_.curve);
    }
    progress_.resume();
    watch_.start();
  }

  Learner& learner_;
  const TrainingPlan& plan_;
  const Options& options_;
  std::size_t updates_;
  std::size_t test_every_;
  std::unique_ptr<Trainer> trainer_;
  Progress progress_;
  Stopwatch watch_;
  MeanLoss loss_;
  TrainingResult result_;
};

}  // namespace

void make_folder_of(const std::string& file) {
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  if (!folder.empty()) {
    std::filesystem::create_directories(folder);
  }
}

TrainingResult train(Learner& learner, const TrainingPlan& plan, const Options& options) {
  for (const std::string& file : {options.model, options.curve}) {
    make_folder_of(file);
  }
  TrainingResult result = Training(learner, plan, options).run();
  std::printf(
      "trained %zu items in %.3f cpu-seconds: %.1f items/s; peak memory %.1f MiB; first-update-at "
      "%.2f s after start\n",
      result.items, result.seconds, static_cast<double>(result.items) / result.seconds,
      peak_memory_mib(), result.first_update_at);
  if (learner.can_test()) {
    const ScoreKind kind = learner.score_kind();
    std::printf("dev %s, best %s\n", to_text(kind, result.curve.back().dev_score).c_str(),
                to_text(kind, result.best_score).c_str());
  }
  return result;
}

Numbers best_of_each(const Expressions& scores) {
  const std::vector<float> all = as_vector(concatenate(scores).value());
  const std::size_t size = all.size() / scores.size();
  Numbers best;
  for (auto begin = all.begin(); begin != all.end(); begin += static_cast<std::ptrdiff_t>(size)) {
    const auto end = begin + static_cast<std::ptrdiff_t>(size);
    best.push_back(static_cast<unsigned>(std::max_element(begin, end) - begin));
  }
  return best;
}

}  // namespace examples
