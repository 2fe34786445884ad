#pragma once

// Schedules: the learning rate as a function of the number of updates, or of a metric.
//
// In:  the number of a trainer's updates with the schedule, and, for PlateauSchedule, reported
//      metrics.   Out: the rate of the next update.
//
//   trainer.set_schedule(WarmupSchedule(1000, CosineSchedule(0.1, 50000)));
//
// A schedule is a value and never changes: a report makes the next schedule out of this one. So
// trainers share schedules freely, and any thread may read a schedule. The rates are the schedule's
// own; the learning rate of the trainer's constructor is not used. Example: in the schedule above
// update 10 has the rate 0.001, update 1000 the rate 0.1. Start reading at Schedule, the base of
// your own schedules.

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace dynet::trainers {

/// Base of the schedules: the learning rate as a function of the number of updates. A schedule
/// never changes.
class Schedule {
 public:
  using Pointer = std::shared_ptr<const Schedule>;

  virtual ~Schedule() = default;
  /// The rate of the update that comes after `done` updates.
  [[nodiscard]] virtual double rate(std::uint64_t done) const = 0;
  /// The schedule to go on with after a metric was reported; UsageError if rates depend on the
  /// number of updates alone (the default).
  [[nodiscard]] virtual Pointer after_report(double metric) const;

  // The content of the schedule's text, from which an equal schedule is made.
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual std::vector<double> numbers() const = 0;
  /// The schedule inside of this schedule; null: none.
  [[nodiscard]] virtual Pointer inner() const { return nullptr; }

 protected:
  Schedule() = default;
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;
};

/// `rate`, always.
class ConstantSchedule final : public Schedule {
 public:
  /// ValueError if the rate is NaN or infinite, as for all rates here.
  explicit ConstantSchedule(double rate);
  [[nodiscard]] double rate(std::uint64_t /*done*/) const override { return rate_; }
  [[nodiscard]] const char* name() const override { return "ConstantSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override { return {rate_}; }

 private:
  double rate_;
};

/// The n-th update, from 1, has n / updates of the first rate of another schedule, which starts
/// with the update number `updates` (Goyal et al., 2017, section 2.2).
///
/// Python: A number in the place of the other schedule is a rate that stays.
class WarmupSchedule final : public Schedule {
 public:
  /// ValueError unless `updates` is at least 1, and if there is no other schedule.
  WarmupSchedule(std::uint64_t updates, Pointer then);
  template <class S, class = std::enable_if_t<std::is_base_of_v<Schedule, S>>>
  WarmupSchedule(std::uint64_t updates, S then)
      : WarmupSchedule(updates, Pointer(std::make_shared<S>(std::move(then)))) {}
  /// Up to `rate`, and on with it.
  WarmupSchedule(std::uint64_t updates, double rate)
      : WarmupSchedule(updates, ConstantSchedule(rate)) {}
  [[nodiscard]] double rate(std::uint64_t done) const override;
  [[nodiscard]] Pointer after_report(double metric) const override;
  [[nodiscard]] const char* name() const override { return "WarmupSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override {
    return {static_cast<double>(updates_)};
  }
  [[nodiscard]] Pointer inner() const override { return then_; }

 private:
  std::uint64_t updates_;
  Pointer then_;
};

/// Half a wave of the cosine: last + (rate - last) * (1 + cos(pi t / updates)) / 2 after t updates,
/// and `last` from there on (Loshchilov and Hutter, 2017, formula 5, without restarts).
class CosineSchedule final : public Schedule {
 public:
  /// ValueError unless `updates` is at least 1.
  CosineSchedule(double rate, std::uint64_t updates, double last = 0.0);
  [[nodiscard]] double rate(std::uint64_t done) const override;
  [[nodiscard]] const char* name() const override { return "CosineSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override {
    return {rate_, static_cast<double>(updates_), last_};
  }

 private:
  double rate_;
  std::uint64_t updates_;
  double last_;
};

/// rate * min(n / warmup, sqrt(warmup / n)) for the n-th update, from 1: the schedule of the
/// Transformer (Vaswani et al., 2017, formula 3), with the highest rate, `rate`, in update
/// `warmup`. A `warmup` of 1 leaves rate / sqrt(n).
class InverseSquareRootSchedule final : public Schedule {
 public:
  /// ValueError unless `warmup` is at least 1.
  explicit InverseSquareRootSchedule(double rate, std::uint64_t warmup = 1);
  [[nodiscard]] double rate(std::uint64_t done) const override;
  [[nodiscard]] const char* name() const override { return "InverseSquareRootSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override {
    return {rate_, static_cast<double>(warmup_)};
  }

 private:
  double rate_;
  std::uint64_t warmup_;
};

/// Up from `min` to `max` in `step_size` updates and down again in `step_size` updates, again and
/// again; the part above `min` is multiplied by gamma^t after t updates (Smith, 2015, section 3.1).
class CyclicalSchedule final : public Schedule {
 public:
  /// ValueError unless `step_size` is above 0 and `gamma` is finite.
  CyclicalSchedule(double min, double max, double step_size, double gamma = 1.0);
  [[nodiscard]] double rate(std::uint64_t done) const override {
    return rate_of(min_, max_, step_size_, gamma_, done);
  }
  [[nodiscard]] const char* name() const override { return "CyclicalSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override {
    return {min_, max_, step_size_, gamma_};
  }
  /// The curve itself, for trainers that have its numbers as settings.
  [[nodiscard]] static double rate_of(double min, double max, double step_size, double gamma,
                                      std::uint64_t done);

 private:
  double min_, max_, step_size_, gamma_;
};

/// Multiplies the rate by `factor`, down to `last`, when more than `patience` reports in a row were
/// no better than the best one (`ReduceLROnPlateau` of PyTorch). A metric is better if it is below
/// the best by more than `threshold` times the size of the best, or above it by the same amount if
/// `larger_is_better`. The first report is the best so far.
class PlateauSchedule final : public Schedule {
 public:
  /// ValueError unless 0 < factor < 1 and threshold >= 0.
  explicit PlateauSchedule(double rate, double factor = 0.1, unsigned patience = 10,
                           double threshold = 1e-4, double last = 0.0,
                           bool larger_is_better = false);
  [[nodiscard]] double rate(std::uint64_t /*done*/) const override { return rate_; }
  /// ValueError for NaN.
  [[nodiscard]] Pointer after_report(double metric) const override;
  [[nodiscard]] const char* name() const override { return "PlateauSchedule"; }
  [[nodiscard]] std::vector<double> numbers() const override;
  /// From the result of numbers().
  [[nodiscard]] static Pointer from(const std::vector<double>& numbers);

 private:
  double rate_, factor_;
  unsigned patience_;
  double threshold_, last_;
  bool larger_is_better_;
  double best_;
  unsigned bad_ = 0;  ///< reports in a row that were no better
};

/// "Name count number... [schedule inside]", with enough digits to bring every number back.
[[nodiscard]] std::string text_of(const Schedule& schedule);
/// The schedule of the library with this name, numbers and inside; null if none has the name or
/// so many numbers. ValueError if it refuses the numbers.
[[nodiscard]] Schedule::Pointer make_schedule(const std::string& name,
                                              const std::vector<double>& numbers,
                                              const Schedule::Pointer& inner);

}  // namespace dynet::trainers
