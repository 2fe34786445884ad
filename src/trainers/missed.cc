#include "trainers/missed.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

namespace dynet::trainers {
namespace {

// The log takes 32 bytes per step, and old parts of it are seldom read. When it is full, all rows
// are caught up: a pass over the table, shared by so many updates.
constexpr std::uint32_t kMostSteps = 65536;

// In a block of prefix sums b^k stays above e^-2: a difference of two sums keeps 15 digits less the
// digits of 1 / (1 - b).
constexpr double kBlockDecay = 2.0;
constexpr std::uint32_t kLongestBlock = 4096;

// The series leaves out the fourth central moment of u over its mean to the fourth, times at most
// 0.082 of the displacement (reached for epsilon = 4 sqrt(v)); a row moves by at most 1 / (1 -
// beta_1) * m / sqrt(v), some 30 rates.
constexpr double kWidestMoment = 2e-7;
// The same for a block, over which u is spread evenly: |u - mean| / mean.
constexpr double kWidestBlock = 0.03;

// Averages of rows that move walk over the missed steps, up to where the motion ends: some ns a
// step. The motion of Adam and momentum ends after 530 steps.
constexpr double kLongestWalk = 2048.0;

std::uint32_t longest_block(const IdleMotion& motion) {
  const double spread = std::log(motion.spread) / 2.0;
  return spread * kMostSteps <= kWidestBlock ? kMostSteps
                                             : static_cast<std::uint32_t>(kWidestBlock / spread);
}

/// Whether one expansion around the mean does for steps of equal weight, however many. (With a
/// spread of 1 nothing is left out; without any ratio the first step is all there is.)
bool is_narrow(const IdleMotion& motion) {
  if (motion.spread == 1.0) {
    return true;
  }
  double moment[5];
  for (int j = 0; j < 5; ++j) {
    const double b = motion.ratio * std::pow(motion.spread, j);
    if (b >= 1.0) {
      return false;
    }
    moment[j] = b / (1.0 - b);
  }
  const double mean = moment[1] / moment[0];
  const double m2 = moment[2] / moment[0];
  const double m3 = moment[3] / moment[0];
  const double m4 = moment[4] / moment[0];
  const double fourth = m4 - mean * (4.0 * m3 - mean * (6.0 * m2 - 3.0 * mean * mean));
  return fourth <= kWidestMoment * std::pow(mean, 4);
}

bool can_follow_averages(const IdleMotion& motion) {
  return motion.catch_up == nullptr || motion.ratio == 0.0 ||
         (motion.ratio < 1.0 && is_narrow(motion) &&
          std::log(kForgotten) / std::log(motion.ratio) <= kLongestWalk);
}

}  // namespace

StepLog::StepLog(double b, double u, std::uint32_t longest) : prefix_(1) {
  if (b >= 1.0) {  // nothing vanishes: a block is as long as a table of powers may be
    block_ = std::min(longest, kLongestBlock);
  } else if (b > 0.0) {
    block_ = static_cast<std::uint32_t>(
        std::clamp(kBlockDecay / -std::log(b), 1.0, static_cast<double>(std::max(longest, 1U))));
  }
  prefix_.reserve(kMostSteps + 1);  // updates in the steady state take no memory from the heap
  power_.resize(block_ + 1);
  for (std::uint32_t k = 0; k <= block_; ++k) {
    for (std::size_t j = 0; j < 4; ++j) {
      power_[k][j] = std::pow(b * std::pow(u, static_cast<double>(j)), k);
    }
  }
}

void StepLog::push(double weight) {
  const std::uint32_t inside = steps() % block_;  // steps of this block before
  Sums sums = inside == 0 ? kNothing : prefix_.back();
  for (std::size_t j = 0; j < sums.size(); ++j) {
    sums[j] += weight * power_[inside + 1][j];
  }
  prefix_.push_back(sums);
}

MissedUpdates::MissedUpdates(detail::StorageState& table, const IdleMotion& motion,
                             const StateLists& lists, std::size_t idx)
    : table_(table),
      motion_(motion),
      merges_blocks_(is_narrow(motion)),
      follows_averages_(can_follow_averages(motion)),
      state_count_(lists.state_count()),
      log_(motion.ratio, motion.spread, merges_blocks_ ? kMostSteps : longest_block(motion)),
      last_(table.stamps.size()) {
  steps_.reserve(kMostSteps);
  for (unsigned k = 0; k < state_count_; ++k) {
    const ShadowLookupParameters& state = (*lists.states[k].lookups)[idx];
    state_[k] = reinterpret_cast<std::byte*>(state.all_h.v);
    keep_alive_[k] = state.memory();
  }
  for (unsigned row = 0; row < last_.size(); ++row) {
    last_[row] = is_zero(row) ? kRests : 0;
  }
}

bool MissedUpdates::can_follow(const IdleMotion& motion) {
  if (motion.kind != IdleMotion::Kind::kMoves) {
    return false;
  }
  const bool shrinks = std::all_of(std::begin(motion.shrink), std::end(motion.shrink),
                                   [](double s) { return s >= 0.0 && s <= 1.0; });
  const bool converges = motion.ratio < 1.0 || (motion.ratio == 1.0 && motion.spread == 1.0);
  return shrinks && motion.ratio >= 0.0 && converges && motion.spread >= 1.0 &&
         std::isfinite(motion.spread);
}

bool MissedUpdates::is_of(const IdleMotion& motion, const StateLists& lists,
                          std::size_t idx) const {
  bool same = motion_.ratio == motion.ratio && motion_.spread == motion.spread &&
              motion_.catch_up == motion.catch_up && state_count_ == lists.state_count() &&
              std::equal(motion_.shrink, motion_.shrink + kMaxStates, motion.shrink) &&
              std::equal(std::begin(motion_.numbers), std::end(motion_.numbers), motion.numbers);
  for (unsigned k = 0; k < state_count_ && same; ++k) {
    same = keep_alive_[k] == (*lists.states[k].lookups)[idx].memory();
  }
  return same;
}

std::byte* MissedUpdates::state_row(unsigned state, unsigned row) const {
  return state_[state] + row * table_.row_bytes;
}

bool MissedUpdates::is_zero(unsigned row) const {
  params::SquaredNorm norm;
  for (unsigned k = 0; k < state_count_; ++k) {
    norm.add(table_.device, state_row(k, row), table_.row_elements());
  }
  return norm.value() == 0.0;
}

void MissedUpdates::add_to(unsigned row, double scale, void* to) const {
  if (is_current_ || last_[row] == kRests) {
    return;
  }
  StepLog::Sums all{};
  log_.for_blocks(last_[row], [&](const StepLog::Sums& sums) {
    if (!merges_blocks_) {
      add_part(sums, row, scale, to);
      return;
    }
    for (std::size_t j = 0; j < sums.size(); ++j) {
      all[j] += sums[j];
    }
  });
  if (merges_blocks_) {
    add_part(all, row, scale, to);
  }
}

/// Adds the displacement of steps with these sums.
void MissedUpdates::add_part(const StepLog::Sums& sums, unsigned row, double scale,
                             void* to) const {
  if (sums[0] == 0.0 || motion_.catch_up == nullptr) {
    return;
  }
  const double mean = sums[1] / sums[0];
  const double second = sums[2] / sums[0];
  const double moments[] = {scale * sums[0], mean, second - mean * mean,
                            sums[3] / sums[0] - mean * (3.0 * second - 2.0 * mean * mean)};
  alignas(16) std::byte step[ext::kMaxStepBytes];
  std::memcpy(step, motion_.numbers, motion_.catch_up->member_bytes);
  std::memcpy(step, moments, sizeof moments);
  motion_.catch_up->prepare(step);
  void* data[1 + kMaxStates] = {to};
  for (unsigned k = 0; k < state_count_; ++k) {
    data[1 + k] = state_row(k, row);
  }
  ext::run_step(table_.kernels, *motion_.catch_up, step, data, false, table_.row_elements());
}

void MissedUpdates::add_to_average(unsigned row, const AverageLog& log, std::uint32_t since,
                                   void* average) const {
  if (last_[row] != kRests && last_[row] != log_.steps() && motion_.catch_up != nullptr) {
    add_part(averaged_sums(last_[row], log, since), row, 1.0, average);
  }
}

/// The sums of weight (ratio spread^j)^k over the steps after `last`, each as often as its
/// displacement is in the average: both are computed along the steps.
StepLog::Sums MissedUpdates::averaged_sums(std::uint32_t last, const AverageLog& log,
                                           std::uint32_t since) const {
  StepLog::Sums power{1.0, 1.0, 1.0, 1.0};
  StepLog::Sums moved{};
  StepLog::Sums averaged{};
  const auto take = [&](const AverageStep& average) {
    for (std::size_t j = 0; j < moved.size(); ++j) {
      averaged[j] = average.keep * averaged[j] + average.take * moved[j];
    }
  };
  const double spread = motion_.spread;
  const StepLog::Sums ratio{motion_.ratio, motion_.ratio * spread, motion_.ratio * spread * spread,
                            motion_.ratio * spread * spread * spread};
  for (std::uint32_t t = last; t < steps_.size() && power[0] >= kForgotten; ++t) {
    for (; since < steps_[t].averages; ++since) {
      take(log.taken(since));
    }
    for (std::size_t j = 0; j < moved.size(); ++j) {
      power[j] *= ratio[j];
      moved[j] += steps_[t].weight * power[j];
    }
  }
  take(log.since(since));
  return averaged;
}

void MissedUpdates::catch_up(unsigned row) {
  if (last_[row] == kRests || last_[row] == log_.steps()) {
    return;
  }
  add_to(row, 1.0, table_.value_row(row));
  const double steps = log_.steps() - last_[row];
  for (unsigned k = 0; k < state_count_; ++k) {
    if (motion_.shrink[k] != 1.0) {
      std::byte* numbers = state_row(k, row);
      table_.kernels.add_scaled(std::pow(motion_.shrink[k], steps), numbers, numbers,
                                table_.row_elements(), true);
    }
  }
  last_[row] = log_.steps();
}

/// Averages first: their missed steps follow from the old values and the old state.
void MissedUpdates::catch_up() {
  if (!is_current_) {
    table_.catch_up_averages();
  }
  for (unsigned row = 0; row < last_.size() && !is_current_; ++row) {
    catch_up(row);
  }
  restart_log();
}

void MissedUpdates::restart_log() {
  for (std::uint32_t& last : last_) {
    last = last == kRests ? kRests : 0;
  }
  log_.clear();
  steps_.clear();
  sign_ = 0.0;
  is_current_ = true;
}

void MissedUpdates::stepped(double weight, const std::vector<unsigned>& rows) {
  // The expansion is around a mean: weights of both signs may have none.
  if (log_.steps() == kMostSteps || weight * sign_ < 0.0) {
    catch_up();
  }
  log_.push(weight);
  const auto averages = table_.averages.lock();
  steps_.push_back(
      {weight, averages == nullptr ? 0 : static_cast<TableAverages&>(*averages).taken()});
  sign_ = weight == 0.0 ? sign_ : weight;
  for (const unsigned row : rows) {
    last_[row] = log_.steps();
  }
  is_current_ = false;
}

void MissedUpdates::stepped_all() {
  std::fill(last_.begin(), last_.end(), 0U);  // none rests any more
  restart_log();
}

}  // namespace dynet::trainers
