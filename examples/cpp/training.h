#pragma once

// The training loop of all programs: one update after the other, measured, tested, shown and
// written down.

#include <cstddef>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/model.h"

#include "model_file.h"
#include "options.h"

namespace examples {

/// The losses of one update.
struct Losses {
  dynet::Expression sum;  ///< {1}
  std::size_t count = 0;  ///< how many losses are in the sum
  std::size_t items = 0;  ///< how many of what the program counts: words, sentences
};

/// How well a model does.
struct ScoreKind {
  const char* name;  ///< "accuracy", from 0 to 1, or "perplexity"
  bool is_share;     ///< shown in per cent, higher is better; else lower is
};

/// A model and its data, as the loop sees them.
class Learner {
 public:
  Learner() = default;
  Learner(const Learner&) = delete;
  Learner& operator=(const Learner&) = delete;
  virtual ~Learner() = default;

  virtual dynet::ParameterCollection& parameters() = 0;
  [[nodiscard]] virtual Settings settings() const = 0;
  /// Writes the next examples into a new graph.
  virtual Losses add_next(dynet::ComputationGraph& cg) = 0;
  /// On the examples for testing, of which there is at least one where `can_test`.
  virtual double test() = 0;
  [[nodiscard]] virtual bool can_test() const = 0;
  [[nodiscard]] virtual ScoreKind score_kind() const = 0;
};

/// One row of the learning curve.
struct CurvePoint {
  std::size_t updates;
  double seconds;     ///< CPU time of training alone
  std::size_t items;  ///< learned from so far
  double train_loss;  ///< mean since the row before
  double dev_score;   ///< NaN where there is nothing to test on
};

struct TrainingPlan {
  const char* unit = "";             ///< what `items` are, "words"
  std::size_t updates_an_epoch = 0;  ///< 0: there are no epochs
  bool lowers_rate = false;          ///< see rate_factor
  bool keeps_best = true;            ///< saves what tested best; else what came last
};

struct TrainingResult {
  std::vector<CurvePoint> curve;
  std::size_t updates = 0;
  std::size_t items = 0;
  double seconds = 0;          ///< CPU time of training alone
  double first_update_at = 0;  ///< wall time since the program was started
  double best_score = 0;       ///< of the model in the file, where `can_test`
};

/// 1 for the first 60 % of the training, then down to 0.02 in a straight line.
double rate_factor(double share);

/// Trains as the options say and writes the model, the curve and, at the end, a line of figures.
TrainingResult train(Learner& learner, const TrainingPlan& plan, const Options& options);

/// Initial values as the options say.
void set_initial_values(dynet::ParameterCollection& parameters, const Options& options);
/// "accuracy 51.2 %"
std::string to_text(const ScoreKind& kind, double score);

}  // namespace examples
