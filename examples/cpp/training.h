#pragma once

// The training loop: one update after the other, measured, shown and written down.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "options.h"
#include "tree_model.h"
#include "trees.h"

namespace examples {

/// One row of the learning curve. Means are over the updates since the row before.
struct CurvePoint {
  std::size_t updates;
  double seconds;         ///< of training: without testing
  double train_loss;      ///< mean over labelled nodes
  double train_accuracy;  ///< of roots, before the update that learns from them
  double test_accuracy;
};

struct TrainingPlan {
  std::function<const Tree&()> next_tree;  ///< valid until the next call
  const std::vector<Tree>* test = nullptr;
  std::size_t updates = 0;
  std::size_t updates_a_point = 0;  ///< of the curve
  std::size_t test_limit = 0;       ///< trees tested at a point of the curve
  double max_seconds = 0;           ///< 0: no limit
  bool lowers_rate = false;         ///< see rate_factor
};

struct TrainingResult {
  std::vector<CurvePoint> curve;
  std::size_t updates = 0;
  double seconds = 0;
};

/// 1 for the first 60 % of the training, then down to 0.02 in a straight line.
double rate_factor(double share);

TrainingResult train(TreeModel& model, const TrainingPlan& plan, const Options& options);
void write_curve(const std::vector<CurvePoint>& curve, const std::string& file);

}  // namespace examples
