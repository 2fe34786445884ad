// Learning rates as functions of the number of updates.

#include "dynet/trainers/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dynet/except.h"

namespace dynet::trainers {
namespace {

constexpr double kPi = 3.14159265358979323846;

/// ValueError unless `is_right`. Errors name the number as `what`.
void check(bool is_right, const Schedule& schedule, const char* what, double value,
           const char* wanted) {
  if (!is_right) {
    std::ostringstream number;  // "0" of a count, "0.5" of a rate
    number << value;
    throw errors::ValueError(std::string(schedule.name()) + ": " + what + " is " + number.str() +
                             "; want " + wanted);
  }
}
void check_rate(const Schedule& schedule, const char* what, double rate) {
  check(std::isfinite(rate), schedule, what, rate, "a finite number");
}
void check_count(const Schedule& schedule, const char* what, std::uint64_t count) {
  check(count > 0, schedule, what, static_cast<double>(count), "1 or more");
}

}  // namespace

Schedule::Pointer Schedule::after_report(double /*metric*/) const {
  throw errors::UsageError(std::string(name()) +
                           ": it takes no metric; its rate depends on the number of updates alone");
}

ConstantSchedule::ConstantSchedule(double rate) : rate_(rate) {
  check_rate(*this, "the rate", rate);
}

WarmupSchedule::WarmupSchedule(std::uint64_t updates, Pointer then)
    : updates_(updates), then_(std::move(then)) {
  check_count(*this, "the number of updates", updates);
  if (then_ == nullptr) {
    throw errors::ValueError("WarmupSchedule: no schedule comes after it; want one");
  }
}
double WarmupSchedule::rate(std::uint64_t done) const {
  const std::uint64_t number = done + 1;
  if (number < updates_) {
    return then_->rate(0) * static_cast<double>(number) / static_cast<double>(updates_);
  }
  return then_->rate(number - updates_);
}
Schedule::Pointer WarmupSchedule::after_report(double metric) const {
  return std::make_shared<WarmupSchedule>(updates_, then_->after_report(metric));
}

CosineSchedule::CosineSchedule(double rate, std::uint64_t updates, double last)
    : rate_(rate), updates_(updates), last_(last) {
  check_rate(*this, "the rate", rate);
  check_count(*this, "the number of updates", updates);
  check_rate(*this, "the last rate", last);
}
double CosineSchedule::rate(std::uint64_t done) const {
  if (done >= updates_) {
    return last_;
  }
  const double part = static_cast<double>(done) / static_cast<double>(updates_);
  return last_ + (rate_ - last_) * 0.5 * (1.0 + std::cos(kPi * part));
}

InverseSquareRootSchedule::InverseSquareRootSchedule(double rate, std::uint64_t warmup)
    : rate_(rate), warmup_(warmup) {
  check_rate(*this, "the rate", rate);
  check_count(*this, "warmup", warmup);
}
double InverseSquareRootSchedule::rate(std::uint64_t done) const {
  const double part = (static_cast<double>(done) + 1.0) / static_cast<double>(warmup_);
  return rate_ * std::min(part, 1.0 / std::sqrt(part));
}

CyclicalSchedule::CyclicalSchedule(double min, double max, double step_size, double gamma)
    : min_(min), max_(max), step_size_(step_size), gamma_(gamma) {
  check_rate(*this, "the lowest rate", min);
  check_rate(*this, "the highest rate", max);
  check(step_size > 0.0 && std::isfinite(step_size), *this, "step_size", step_size,
        "a finite number above 0");
  check(std::isfinite(gamma), *this, "gamma", gamma, "a finite number");
}
double CyclicalSchedule::rate_of(double min, double max, double step_size, double gamma,
                                 std::uint64_t done) {
  const auto t = static_cast<double>(done);
  const double cycle = std::floor(1.0 + t / (2.0 * step_size));
  const double x = std::fabs(t / step_size - 2.0 * cycle + 1.0);
  return min + std::max(0.0, 1.0 - x) * std::pow(gamma, t) * (max - min);
}

PlateauSchedule::PlateauSchedule(double rate, double factor, unsigned patience, double threshold,
                                 double last, bool larger_is_better)
    : rate_(rate),
      factor_(factor),
      patience_(patience),
      threshold_(threshold),
      last_(last),
      larger_is_better_(larger_is_better),
      best_(larger_is_better ? -std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::infinity()) {
  check_rate(*this, "the rate", rate);
  check(factor > 0.0 && factor < 1.0, *this, "factor", factor, "a number between 0 and 1");
  check(threshold >= 0.0 && std::isfinite(threshold), *this, "threshold", threshold,
        "a finite number of at least 0");
  check_rate(*this, "the last rate", last);
}
Schedule::Pointer PlateauSchedule::after_report(double metric) const {
  if (std::isnan(metric)) {
    throw errors::ValueError("PlateauSchedule: the reported metric is NaN; want a number");
  }
  auto next = std::make_shared<PlateauSchedule>(*this);
  const double margin = std::isfinite(best_) ? threshold_ * std::fabs(best_) : 0.0;
  const bool is_better = larger_is_better_ ? metric > best_ + margin : metric < best_ - margin;
  if (is_better) {
    next->best_ = metric;
    next->bad_ = 0;
  } else if (++next->bad_ > patience_) {
    next->rate_ = std::max(rate_ * factor_, std::min(rate_, last_));
    next->bad_ = 0;
  }
  return next;
}
std::vector<double> PlateauSchedule::numbers() const {
  return {rate_,
          factor_,
          static_cast<double>(patience_),
          threshold_,
          last_,
          larger_is_better_ ? 1.0 : 0.0,
          best_,
          static_cast<double>(bad_)};
}
Schedule::Pointer PlateauSchedule::from(const std::vector<double>& n) {
  auto made = std::make_shared<PlateauSchedule>(n[0], n[1], static_cast<unsigned>(n[2]), n[3], n[4],
                                                n[5] != 0.0);
  check(!std::isnan(n[6]), *made, "the best metric", n[6], "a number");
  made->best_ = n[6];
  made->bad_ = static_cast<unsigned>(n[7]);
  return made;
}

namespace {

constexpr double kLargestCount = 9007199254740992.0;  // 2^53: doubles count no further

/// A number of updates from a text; ValueError for a number that is no count.
std::uint64_t count_of(double x) {
  if (!(x >= 0.0 && x <= kLargestCount) || x != std::floor(x)) {
    throw errors::ValueError("a schedule's count is " + std::to_string(x) +
                             "; want a whole number");
  }
  return static_cast<std::uint64_t>(x);
}

/// One kind of schedule, as its text is read.
struct Kind {
  const char* name;
  std::size_t numbers;
  bool has_inner;
  Schedule::Pointer (*make)(const std::vector<double>& n, const Schedule::Pointer& inner);
};
constexpr Kind kKinds[] = {
    {"ConstantSchedule", 1, false,
     [](const std::vector<double>& n, const Schedule::Pointer&) -> Schedule::Pointer {
       return std::make_shared<ConstantSchedule>(n[0]);
     }},
    {"WarmupSchedule", 1, true,
     [](const std::vector<double>& n, const Schedule::Pointer& inner) -> Schedule::Pointer {
       return std::make_shared<WarmupSchedule>(count_of(n[0]), inner);
     }},
    {"CosineSchedule", 3, false,
     [](const std::vector<double>& n, const Schedule::Pointer&) -> Schedule::Pointer {
       return std::make_shared<CosineSchedule>(n[0], count_of(n[1]), n[2]);
     }},
    {"InverseSquareRootSchedule", 2, false,
     [](const std::vector<double>& n, const Schedule::Pointer&) -> Schedule::Pointer {
       return std::make_shared<InverseSquareRootSchedule>(n[0], count_of(n[1]));
     }},
    {"CyclicalSchedule", 4, false,
     [](const std::vector<double>& n, const Schedule::Pointer&) -> Schedule::Pointer {
       return std::make_shared<CyclicalSchedule>(n[0], n[1], n[2], n[3]);
     }},
    {"PlateauSchedule", 8, false,
     [](const std::vector<double>& n, const Schedule::Pointer&) -> Schedule::Pointer {
       (void)count_of(n[2]);
       (void)count_of(n[7]);
       return PlateauSchedule::from(n);
     }},
};

}  // namespace

std::string text_of(const Schedule& schedule) {
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  const std::vector<double> numbers = schedule.numbers();
  text << schedule.name() << ' ' << numbers.size();
  for (const double n : numbers) {
    text << ' ' << n;
  }
  const Schedule::Pointer inner = schedule.inner();
  text << (inner == nullptr ? " 0" : " 1 " + text_of(*inner));
  return text.str();
}

Schedule::Pointer make_schedule(const std::string& name, const std::vector<double>& numbers,
                                const Schedule::Pointer& inner) {
  for (const Kind& kind : kKinds) {
    if (name == kind.name && numbers.size() == kind.numbers &&
        kind.has_inner == (inner != nullptr)) {
      return kind.make(numbers, inner);
    }
  }
  return nullptr;
}

}  // namespace dynet::trainers
