#pragma once

// Rows of a table that lag behind: updates moved them, but nobody has multiplied that out yet
// (exact sparse updates, src/trainers/missed.h).
//
// Whoever reads a row adds what it missed and stores nothing, so any number of threads may read.
// Whoever shows or changes stored values has them caught up first (StorageState::catch_up).

namespace dynet::detail {

/// What the rows of one table have missed. Thread rule: add_to may run in many threads; nothing
/// else may run beside anything.
class MissedSteps {
 public:
  MissedSteps() = default;
  MissedSteps(const MissedSteps&) = delete;
  MissedSteps& operator=(const MissedSteps&) = delete;
  virtual ~MissedSteps() = default;

  /// Whether no row lags.
  [[nodiscard]] virtual bool is_current() const = 0;
  /// to += scale * what `row` has missed.
  virtual void add_to(unsigned row, double scale, void* to) const = 0;
  /// Brings all rows up to date.
  virtual void catch_up() = 0;
};

}  // namespace dynet::detail
