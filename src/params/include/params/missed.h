#pragma once

// Rows of a table that lag behind.
//
// MissedSteps: updates that moved rows but are not yet stored (exact sparse updates,
// src/trainers/missed.h). A reader of a row adds the missed steps and stores nothing, so any number
// of threads may read. Code that shows or changes stored values catches them up first
// (StorageState::catch_up). Example: a row last written in update 10 and read after update 15 gets
// five missed steps added.
//
// LaggingAverages: moving averages of resting rows that have not gone on yet
// (src/trainers/table_averages.h). Code that changes stored values catches the averages up first
// (StorageState::before_change), because the missed averages follow from the values.

#include <vector>

namespace dynet::detail {

/// The missed steps of the rows of one table. Thread rule: add_to may run in many threads; all
/// other calls must run alone.
class MissedSteps {
 public:
  MissedSteps() = default;
  MissedSteps(const MissedSteps&) = delete;
  MissedSteps& operator=(const MissedSteps&) = delete;
  virtual ~MissedSteps() = default;

  /// Whether no row lags.
  [[nodiscard]] virtual bool is_current() const = 0;
  /// to += scale * the missed steps of `row`.
  virtual void add_to(unsigned row, double scale, void* to) const = 0;
  /// Brings all rows up to date.
  virtual void catch_up() = 0;
};

/// A moving average of each row of one table. Thread rule: each call must run alone.
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
