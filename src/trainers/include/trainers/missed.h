#pragma once

// Exact sparse updates: the numbers of dense updates for the price of sparse ones.
//
// In:  a rule's way of moving a row without a gradient (IdleMotion), once an update the weight of
//      its step.     Out: what a row missed since it was last written, added to a copy or stored.
//
// A row with moments m, v that gets no gradient in steps s+1..t changes by
//   sum_{k=1..t-s} weight_{s+k} beta_1^k m / (sqrt(beta_2^k v) + epsilon),
// where the weight holds the rate, the bias correction and the decay factor of that step: any
// schedule will do. With u_k = beta_2^(-k/2) a term is weight b_0^k m / (sqrt(v) + epsilon u_k),
// b_0 = beta_1 / sqrt(beta_2). The u_k of the steps that count are close to each other, so 1 /
// (...) is expanded around their mean; what is needed of the steps are the sums of weight u_k^j
// b_0^k for j = 0..3, which StepLog has for any s. Momentum and AMSGrad, whose denominator rests,
// need the first alone. docs/decisions/0004 has the formulas and their error.
//
// Start reading at StepLog. Surprising: rows that were never updated (all zero state) are marked,
// and cost nothing.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "dynet/ext/kernels.h"
#include "dynet/shadow-params.h"

#include "params/missed.h"
#include "params/state.h"

namespace dynet::trainers {

/// How a rule moves a row without a gradient:
///   w += weight * m / (sqrt(v) + epsilon)   after   m *= beta_1, v *= beta_2.
struct IdleMotion {
  enum class Kind : std::uint8_t {
    kUnknown,   ///< the whole table is to be updated
    kNone,      ///< not at all
    kMomentum,  ///< w += weight * m
    kAdam,
    kAmsgrad,  ///< over the root of `largest`, which rests
  };
  Kind kind = Kind::kUnknown;
  double weight = 0.0;  ///< of this update
  double beta_1 = 0.0;
  double beta_2 = 1.0;
  double epsilon = 0.0;
  const ShadowLookupParameters* m = nullptr;
  const ShadowLookupParameters* v = nullptr;
  const ShadowLookupParameters* largest = nullptr;
};

/// Sums over steps so far. Prefix sums would lose all digits after a few hundred steps, because
/// b^k vanishes; so they start anew every block, short enough that b^k stays within e^-2.
class StepLog {
 public:
  using Sums = std::array<double, 4>;  ///< for j = 0..3

  /// `b` of j = 0; that of j is b * u^j. Blocks are no longer than `longest`.
  StepLog(double b, double u, std::uint32_t longest);

  [[nodiscard]] std::uint32_t steps() const {
    return static_cast<std::uint32_t>(prefix_.size()) - 1;
  }
  void push(double weight);
  void clear() { prefix_.resize(1); }
  /// Runs f(sums) with sum_k weight_{since+k} (b u^j)^k, a part for each block. What is below 1e-24
  /// of the first steps is left out.
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
  static constexpr double kForgotten = 1e-24;
  std::uint32_t block_ = 1;
  std::vector<Sums> power_;   ///< [k][j]: (b u^j)^k for k up to `block_`
  std::vector<Sums> prefix_;  ///< [t]: over the steps of t's block up to t
};

/// The missed steps of one table under one trainer. Thread rule: that of MissedSteps.
class MissedUpdates final : public detail::MissedSteps {
 public:
  /// Rows are up to date; `motion` must be one of those that can_follow().
  MissedUpdates(detail::StorageState& table, const IdleMotion& motion);
  /// Whether sums over many steps converge; otherwise the whole table is to be updated.
  [[nodiscard]] static bool can_follow(const IdleMotion& motion);
  /// Whether this is the same rule over the same state.
  [[nodiscard]] bool is_of(const IdleMotion& motion) const;

  [[nodiscard]] bool is_current() const override { return is_current_; }
  void add_to(unsigned row, double scale, void* to) const override;
  void catch_up() override;
  void catch_up(unsigned row);
  /// An update with a step of this weight has run: with gradients for `rows`, which were caught up
  /// before it, or for all.
  void stepped(double weight, const std::vector<unsigned>& rows);
  void stepped_all();

 private:
  static constexpr std::uint32_t kRests = std::numeric_limits<std::uint32_t>::max();

  [[nodiscard]] const std::byte* state_row(const Tensor& state, unsigned row) const;
  [[nodiscard]] bool is_zero(unsigned row) const;
  void restart_log();
  void add_part(const StepLog::Sums& sums, unsigned row, double scale, void* to) const;

  detail::StorageState& table_;
  IdleMotion::Kind kind_;
  double beta_1_, beta_2_, epsilon_;
  bool merges_blocks_;  ///< one expansion for all steps is exact enough
  Tensor m_, v_, largest_;
  std::array<std::shared_ptr<void>, 3> keep_alive_;  ///< what they point to
  StepLog log_;
  double sign_ = 0.0;                ///< of the weights in the log
  std::vector<std::uint32_t> last_;  ///< a row: step at which it was up to date, or kRests
  bool is_current_ = true;
};

}  // namespace dynet::trainers
