#pragma once

// Rows of a table that lag behind.
//
// MissedSteps: updates moved them, but nobody has multiplied that out yet (exact sparse updates,
// src/trainers/missed.h). Whoever reads a row adds what it missed and stores nothing, so any number
// of threads may read. Whoever shows or changes stored values has them caught up first
// (StorageState::catch_up).
//
// LaggingAverages: they rest, and their moving averages have not gone on yet
// (src/trainers/table_averages.h). Whoever changes stored values has the averages caught up first
// (StorageState::before_change), as what they missed follows from the values.

#include <vector>

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

/// A moving average of each row of one table. Thread rule: nothing may run beside anything.
class LaggingAverages {
 public:
  LaggingAverages() = default;
  LaggingAverages(const LaggingAverages&) = delete;
  LaggingAverages& operator=(const LaggingAverages&) = delete;
  virtual ~LaggingAverages() = default;

  /// Brings the averages of these rows up to date, or of all.
  virtual void catch_up(const std::vector<unsigned>& rows) = 0;
  virtual void catch_up() = 0;
};

}  // namespace dynet::detail
