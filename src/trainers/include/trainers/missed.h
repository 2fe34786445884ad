#pragma once

// Exact sparse updates: the numbers of dense updates for the price of sparse ones.
//
// In:  a rule's motion without a gradient (IdleMotion, dynet/trainers/rule_trainer.h), and
//      once per update the weight of its step.
// Out: the missed steps of a row since it was last written, added to a copy or stored; and their
//      part in a moving average of the row (table_averages.h).
//
// A row without a gradient in steps s+1..t changes by the sum over k = 1..t-s of
//   weight_{s+k} ratio^k f(spread^k),
// in which the weight holds the rate, corrections and the decay factor of a step, under any
// schedule, and f depends on the row's state at step s. For Adam, f(u) is m / (sqrt(v) + epsilon
// u). The u = spread^k of the steps that count are close to each other, so f is expanded around
// their mean; the expansion needs the sums of weight u^j ratio^k for j = 0..3, which StepLog has
// for any s. With a spread of 1 (momentum, AMSGrad) the first sum is enough: three missed steps of
// momentum 0.9 move a row of speed v by (0.9 + 0.81 + 0.729) v. The trainer's catch-up rule applies
// f to the sums. docs/decisions/0004 has the formulas and their error.
//
// Start reading at StepLog. Surprising: rows that were never updated (all zero state) are marked,
// and cost nothing.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "dynet/ext/update.h"
#include "dynet/trainers/rule_trainer.h"

#include "params/missed.h"
#include "params/state.h"
#include "trainers/table_averages.h"

namespace dynet::trainers {

/// The share below which a motion is not followed further.
inline constexpr double kForgotten = 1e-24;

/// Sums over the steps so far. Prefix sums would lose all digits after a few hundred steps, because
/// b^k vanishes; so the sums start anew in every block, short enough that b^k stays within e^-2.
class StepLog {
 public:
  using Sums = std::array<double, 4>;  ///< for j = 0..3

  /// `b` of j = 0; for j it is b * u^j. Blocks are no longer than `longest`.
  StepLog(double b, double u, std::uint32_t longest);

  [[nodiscard]] std::uint32_t steps() const {
    return static_cast<std::uint32_t>(prefix_.size()) - 1;
  }
  void push(double weight);
  void clear() { prefix_.resize(1); }
  /// Runs f(sums) with sum_k weight_{since+k} (b u^j)^k, a part for each block. Steps below 1e-24
  /// of the first steps are left out.
  template <class F>
  void for_blocks(std::uint32_t since, F f) const {
    std::uint32_t start = since - since % block_;
    const std::uint32_t inside = since - start;
    Sums scale;  // of a prefix sum that starts at `start`
    for (std::size_t j = 0; j < scale.size(); ++j) {
      scale[j] = 1.0 / power_[inside][j];
    }
    for (; start < steps(); start += block_) {
      const Sums& end = prefix_[std::min(start + block_, steps())];
      const bool is_first = start < since;
      const Sums& begin = is_first ? prefix_[since] : kNothing;
      Sums sums;
      for (std::size_t j = 0; j < sums.size(); ++j) {
        sums[j] = scale[j] * (end[j] - begin[j]);
        scale[j] *= power_[block_][j];
      }
      f(sums);
      if (scale[0] < kForgotten) {
        return;
      }
    }
  }

 private:
  static constexpr Sums kNothing{};
  std::uint32_t block_ = 1;
  std::vector<Sums> power_;   ///< [k][j]: (b u^j)^k for k up to `block_`
  std::vector<Sums> prefix_;  ///< [t]: over the steps of t's block up to t
};

/// The missed steps of one table under one trainer. Thread rule: as MissedSteps.
class MissedUpdates final : public detail::MissedSteps {
 public:
  /// Begins with all rows up to date; can_follow(motion) must hold. The state is the state of table
  /// `idx` in `lists`.
  MissedUpdates(detail::StorageState& table, const IdleMotion& motion, const StateLists& lists,
                std::size_t idx);
  /// Whether sums over many steps stay in bounds; otherwise the whole table is to be updated. With
  /// a ratio and a spread of 1 all steps add alike, and a log of bounded length may sum them up.
  [[nodiscard]] static bool can_follow(const IdleMotion& motion);
  /// Whether this is the same rule over the same state.
  [[nodiscard]] bool is_of(const IdleMotion& motion, const StateLists& lists,
                           std::size_t idx) const;

  [[nodiscard]] bool is_current() const override { return is_current_; }
  void add_to(unsigned row, double scale, void* to) const override;
  void catch_up() override;
  void catch_up(unsigned row);
  /// The missed steps of a table; null: none.
  [[nodiscard]] static const MissedUpdates* of(const detail::StorageState& table) {
    return static_cast<const MissedUpdates*>(table.missed.get());  // there is no other kind
  }
  /// Whether averages may rest while rows move: add_to_average can be called, and is not too long.
  [[nodiscard]] bool follows_averages() const { return follows_averages_; }
  /// average += the part of the missed steps of `row`, in the averages that `log` has after the
  /// first `since`. The part of the value before these steps follows from the log.
  void add_to_average(unsigned row, const AverageLog& log, std::uint32_t since,
                      void* average) const;
  /// An update with a step of this weight has run: with gradients for `rows`, which were caught up
  /// before it, or for all.
  void stepped(double weight, const std::vector<unsigned>& rows);
  void stepped_all();

 private:
  static constexpr std::uint32_t kRests = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] std::byte* state_row(unsigned state, unsigned row) const;
  [[nodiscard]] bool is_zero(unsigned row) const;
  void restart_log();
  [[nodiscard]] StepLog::Sums averaged_sums(std::uint32_t last, const AverageLog& log,
                                            std::uint32_t since) const;
  void add_part(const StepLog::Sums& sums, unsigned row, double scale, void* to) const;

  detail::StorageState& table_;
  IdleMotion motion_;
  bool merges_blocks_;  ///< one expansion for all steps is exact enough
  bool follows_averages_;
  unsigned state_count_;
  std::array<std::byte*, kMaxStates> state_{};
  std::array<std::shared_ptr<void>, kMaxStates> keep_alive_;  ///< the owners of their memory
  StepLog log_;
  struct Step {
    double weight;
    std::uint32_t averages;  ///< number in the log of the table's averages before it
  };
  std::vector<Step> steps_;          ///< [t - 1]: the t-th of `log_`
  double sign_ = 0.0;                ///< of the weights in the log
  std::vector<std::uint32_t> last_;  ///< per row: step at which it was up to date, or kRests
  bool is_current_ = true;
};

}  // namespace dynet::trainers
