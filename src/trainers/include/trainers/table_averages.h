#pragma once

// Moving averages of a table whose rows rest.
//
// In:  once per average taken, the share of the old average and the share of the value.
// Out: the average of a row that rested since then, in closed form:
//      average = A * average + B * value.
//
// A row is caught up before its value changes (StorageState::before_change, Trainer::update_table),
// and all rows before the averages are read. The cost of an update grows with the changed rows
// only. Example: with beta 0.9, a row of value 1 that rests for two averages gets 0.81 * average +
// 0.19.
//
// With exact updates (missed.h) a row moves without gradients, and the motion adds its own part to
// the average. Average and value of such a row catch up together, average first, and both logs are
// cleared together.
//
// Start reading at AverageLog. Surprising: a row that an update has just changed lags too, until it
// changes again.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet/ext/kernels.h"
#include "dynet/shadow-params.h"

#include "params/missed.h"
#include "params/state.h"

namespace dynet::trainers {

/// One or many averages taken: average = keep * average + take * stored value.
struct AverageStep {
  double keep = 1.0;
  double take = 0.0;

  /// Applies the step to `n` numbers in the kernels' memory.
  void run(const ext::Kernels& kernels, const void* values, void* averages, std::int64_t n) const;
  /// This step after another.
  [[nodiscard]] AverageStep after(const AverageStep& before) const {
    return {keep * before.keep, keep * before.take + take};
  }
};

/// The averages taken so far, and the sum of all steps since any average. Products of all `keep`
/// from the start would vanish, and a `keep` may be 0; so products start anew when they fall below
/// e^-2, and the step that falls below stands by itself.
class AverageLog {
 public:
  /// Takes memory for `most` steps; nothing else here takes any.
  explicit AverageLog(std::uint32_t most);

  [[nodiscard]] std::uint32_t steps() const {
    return static_cast<std::uint32_t>(inside_.size()) - 1;
  }
  [[nodiscard]] bool is_full() const { return steps() == most_; }
  void push(const AverageStep& step);
  void clear();
  /// The step after the first `before`.
  [[nodiscard]] const AverageStep& taken(std::uint32_t before) const { return taken_[before]; }
  /// All steps after the first `since`. The share of an old average is not followed below 1e-24,
  /// and never becomes 0, as infinity stays.
  [[nodiscard]] AverageStep since(std::uint32_t since) const;

 private:
  struct Block {
    std::uint32_t start;  ///< steps before it, `own` included
    AverageStep own;      ///< the step that began it
  };
  std::uint32_t most_;
  std::vector<AverageStep> taken_;
  std::vector<Block> blocks_;
  std::vector<AverageStep> inside_;  ///< [t]: the steps of t's block after its start, up to t
};

/// The averages of one table. Thread rule: as LaggingAverages.
class TableAverages final : public detail::LaggingAverages {
 public:
  /// Begins up to date. `table` must outlive this object.
  TableAverages(const detail::StorageState& table, const ShadowLookupParameters& averages);
  [[nodiscard]] bool is_of(const ShadowLookupParameters& averages) const {
    return keep_alive_ == averages.memory();
  }
  /// The number of averages taken since all rows were up to date.
  [[nodiscard]] std::uint32_t taken() const { return log_.steps(); }
  /// An average of all rows is taken.
  void step(const AverageStep& step);
  void catch_up(const std::vector<unsigned>& rows) override;
  void catch_up() override;

 private:
  [[nodiscard]] std::byte* average_row(unsigned row) const {
    return averages_ + row * table_.row_bytes;
  }
  void catch_up_run(unsigned first, unsigned end, const AverageStep& missed) const;

  const detail::StorageState& table_;
  std::byte* averages_;
  std::shared_ptr<void> keep_alive_;  ///< the owner of its memory
  AverageLog log_;
  std::vector<std::uint32_t> last_;  ///< per row: the step at which it was up to date
};

}  // namespace dynet::trainers
