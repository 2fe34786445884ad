#pragma once

// The progress of a training: its end and its tests, the printed lines, the learning curve, and the
// saved model.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>

#include "example.h"
#include "measure.h"
#include "model_file.h"
#include "options.h"

namespace example {

/// The facts that a program tells the loop beside its model and examples.
struct Plan {
  const char* unit = "examples";        ///< the counted things: "words"
  const char* score_name = "accuracy";  ///< a share
  bool less_is_better = false;          ///< a score that is no share: "perplexity"
  std::function<double()> score = {};   ///< of the model as it is; none: nothing to test on
  const Settings* settings = nullptr;   ///< saved with the model, if there is --out
  bool keeps_best = true;               ///< saves the best in tests so far; else the last
  bool lowers_rate = false;             ///< see rate_factor
};

/// Follows a training: its end, its tests, and the printed and written lines.
class Progress {
 public:
  Progress(const PaperOptions& options, const Plan& plan, const ParameterCollection& m,
           std::size_t updates_an_epoch)
      : options_(options),
        plan_(plan),
        m_(m),
        all_(options.updates != 0 ? options.updates : options.epochs * updates_an_epoch),
        test_every_(options.test_every != 0 ? options.test_every : updates_an_epoch) {
    if (!options.out.empty()) {
      std::filesystem::create_directories(options.out);
    }
    if (!options.curve.empty()) {
      std::error_code ignored;  // a folder that cannot be made fails at the write
      std::filesystem::create_directories(std::filesystem::path(options.curve).parent_path(),
                                          ignored);
      curve_.open(options.curve);
      curve_ << "updates,seconds,items,train_loss,dev_score\n";
      check_curve();
    }
    resumed_ = cpu_seconds();
  }

  /// The share of the training that is done. A machine too slow for all updates ends in time.
  [[nodiscard]] double share() const { return share_; }
  /// As of the first rank of a job.
  void set_share(double share) { share_ = share; }

  /// After an update.
  void add(float loss, std::size_t items) {
    if (updates_++ == 0) {
      first_update_at_ = seconds_since_start();
    }
    if (updates_ <= options_.print_losses) {
      std::printf("loss %zu %.9g\n", updates_, static_cast<double>(loss));
    }
    loss_ += loss;
    since_test_ += items;
    items_ += items;
    share_ = std::max(static_cast<double>(updates_) / static_cast<double>(all_),
                      options_.max_seconds > 0 ? seconds() / options_.max_seconds : 0.0);
    if (updates_ % test_every_ == 0 || share_ >= 1) {
      test();
    }
  }

  void print_results() const {
    std::printf(
        "trained %zu items in %.3f cpu-seconds: %.1f items/s; peak memory %.1f MiB; "
        "first-update-at %.2f s after start\n",
        items_, seconds(), static_cast<double>(items_) / seconds(), peak_memory_mib(),
        first_update_at_);
    if (plan_.score) {
      std::printf("dev %s, best %s\n", text_of(score_).c_str(), text_of(best_).c_str());
    }
  }

 private:
  [[nodiscard]] double seconds() const { return before_ + cpu_seconds() - resumed_; }
  [[nodiscard]] std::string text_of(double score) const {
    char text[64];
    std::snprintf(text, sizeof text, plan_.less_is_better ? "%s %.1f" : "%s %.2f %%",
                  plan_.score_name, plan_.less_is_better ? score : 100 * score);
    return text;
  }

  void check_curve() {
    if (!curve_.flush()) {
      throw std::runtime_error("cannot write '" + options_.curve + "'");
    }
  }

  /// Tests, saves the model, and says so; none of it counts as training.
  void test() {
    before_ = seconds();
    bool is_best = true;
    std::string score = "  ";
    if (plan_.score) {
      score_ = plan_.score();
      is_best = !plan_.keeps_best || std::isnan(best_) ||
                (plan_.less_is_better ? score_ < best_ : score_ > best_);
      best_ = is_best ? score_ : best_;
      score += text_of(score_) + "  ";
    }
    if (is_best && plan_.settings != nullptr && !options_.out.empty()) {
      save_model(*plan_.settings, m_, options_.model());
    }
    const double loss = loss_ / static_cast<double>(since_test_);
    if (curve_.is_open()) {
      const std::string column = plan_.score ? std::to_string(score_) : "";
      curve_ << updates_ << ',' << before_ << ',' << items_ << ',' << loss << ',' << column << "\n";
      check_curve();
    }
    if (!options_.is_quiet) {
      std::printf("%3.0f %%  %zu updates  %.0f %s a second  loss %.4f%s%.0f s left\n",
                  100 * std::min(share_, 1.0), updates_, static_cast<double>(items_) / before_,
                  plan_.unit, loss, score.c_str(), before_ * std::max(0.0, 1 / share_ - 1));
      std::fflush(stdout);
    }
    loss_ = 0;
    since_test_ = 0;
    resumed_ = cpu_seconds();
  }

  const PaperOptions& options_;
  const Plan& plan_;
  const ParameterCollection& m_;
  std::size_t all_;
  std::size_t test_every_;
  std::ofstream curve_;
  std::size_t updates_ = 0;
  std::size_t items_ = 0;
  double share_ = 0;
  double resumed_ = 0;  ///< CPU seconds of the process, when training went on
  double before_ = 0;   ///< CPU seconds of training until then
  double first_update_at_ = 0;
  double loss_ = 0;  ///< the sum since the last test, of `since_test_` items
  std::size_t since_test_ = 0;
  double score_ = std::numeric_limits<double>::quiet_NaN();
  double best_ = std::numeric_limits<double>::quiet_NaN();
};

}  // namespace example
