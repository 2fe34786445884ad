#include "trainers/table_averages.h"

#include <algorithm>

#include "kernels/float_mode.h"
#include "trainers/missed.h"

namespace dynet::trainers {
namespace {

// e^-2: a difference of two loses the digits that the value's share in one step lacks.
constexpr double kBlockKeep = 0.1353352832366127;

// When the log is full, all rows are caught up: at most one row per step, in the mean.
constexpr std::uint32_t kFewestLogged = 64;
constexpr std::uint32_t kMostLogged = 65536;

// The cost of a call beside its numbers, in numbers of a pass over the table: some nanoseconds, or
// the microseconds of a launch on a device with memory of its own.
// nanoseconds, or on a device with memory of its own the microseconds of a launch.
constexpr std::int64_t kCallOnHost = 32;
constexpr std::int64_t kCallElsewhere = std::int64_t{1} << 19;

}  // namespace

/// Without anything of the old average it is not read: an infinity in it does not make a NaN.
void AverageStep::run(const ext::Kernels& kernels, const void* values, void* averages,
                      std::int64_t n) const {
  if (keep != 0.0) {
    kernels.add_scaled(keep, averages, averages, n, true);
  }
  kernels.add_scaled(take, values, averages, n, keep == 0.0);
}

AverageLog::AverageLog(std::uint32_t most) : most_(most) {
  taken_.reserve(most);
  blocks_.reserve(most + 1);
  inside_.reserve(most + 1);
  clear();
}

void AverageLog::clear() {
  taken_.clear();
  blocks_.assign(1, {0, {}});
  inside_.assign(1, {});
}

void AverageLog::push(const AverageStep& step) {
  taken_.push_back(step);
  const AverageStep inside = step.after(inside_.back());
  if (inside.keep < kBlockKeep) {
    blocks_.push_back({steps() + 1, step});
    inside_.emplace_back();
  } else {
    inside_.push_back(inside);
  }
}

AverageStep AverageLog::since(std::uint32_t since) const {
  AverageStep all;
  std::uint32_t end = steps();
  for (auto block = blocks_.rbegin();; ++block) {
    const AverageStep& upto = inside_[end];
    if (since >= block->start) {
      const AverageStep& before = inside_[since];
      const double keep = upto.keep / before.keep;
      return all.after({keep, upto.take - keep * before.take});
    }
    all = all.after(upto).after(block->own);
    if (all.keep < kForgotten) {
      all.keep = all.keep == 0.0 ? 0.0 : kForgotten;
      return all;
    }
    end = block->start - 1;
  }
}

TableAverages::TableAverages(const detail::StorageState& table,
                             const ShadowLookupParameters& averages)
    : table_(table),
      averages_(reinterpret_cast<std::byte*>(averages.all_h.v)),
      keep_alive_(averages.memory()),
      log_(std::clamp(static_cast<std::uint32_t>(table.stamps.size()), kFewestLogged, kMostLogged)),
      last_(table.stamps.size()) {}

void TableAverages::step(const AverageStep& step) {
  if (log_.is_full()) {
    catch_up();
  }
  log_.push(step);
}

void TableAverages::catch_up_run(unsigned first, unsigned end, const AverageStep& missed) const {
  const std::int64_t n = (end - first) * table_.row_elements();
  missed.run(table_.kernels, table_.value_row(first), average_row(first), n);
}

void TableAverages::catch_up(const std::vector<unsigned>& rows) {
  const std::int64_t call = table_.device.is_host_visible() ? kCallOnHost : kCallElsewhere;
  if (static_cast<std::int64_t>(rows.size()) * (call + table_.row_elements()) >= table_.elements) {
    catch_up();
    return;
  }
  const std::uint32_t now = log_.steps();
  const MissedUpdates* const moving = MissedUpdates::of(table_);
  for (const unsigned row : rows) {
    if (last_[row] != now) {
      catch_up_run(row, row + 1, log_.since(last_[row]));
      if (moving != nullptr) {
        moving->add_to_average(row, log_, last_[row], average_row(row));
      }
      last_[row] = now;
    }
  }
}

/// Neighbours that lag alike in one call: most rows of a large table do.
void TableAverages::catch_up() {
  const std::uint32_t now = log_.steps();
  if (now == 0) {
    return;
  }
  const kernels::FlushDenormals float_mode;
  const auto rows = static_cast<unsigned>(last_.size());
  std::uint32_t since = now;
  AverageStep missed;
  for (unsigned first = 0; first < rows;) {
    unsigned end = first + 1;
    while (end < rows && last_[end] == last_[first]) {
      ++end;
    }
    if (last_[first] != since) {
      since = last_[first];
      missed = log_.since(since);
    }
    if (since != now) {
      catch_up_run(first, end, missed);
    }
    first = end;
  }
  const MissedUpdates* const moving = MissedUpdates::of(table_);
  for (unsigned row = 0; row < rows && moving != nullptr; ++row) {
    if (last_[row] != now) {
      moving->add_to_average(row, log_, last_[row], average_row(row));
    }
  }
  std::fill(last_.begin(), last_.end(), 0U);
  log_.clear();
  if (table_.lags()) {
    table_.missed->catch_up();
  }
}

}  // namespace dynet::trainers
