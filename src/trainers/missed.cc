#include "trainers/missed.h"

#include <algorithm>
#include <cmath>

namespace dynet::trainers {
namespace {

using Kind = IdleMotion::Kind;

// The log takes 32 bytes a step, and old parts of it are seldom read. When it is full, all rows are
// caught up: a pass over the table, shared by so many updates.
constexpr std::uint32_t kMostSteps = 65536;

// In a block of prefix sums b^k stays above e^-2: a difference of two keeps 15 digits less those
// of 1 / (1 - b).
constexpr double kBlockDecay = 2.0;

// The series leaves out the fourth central moment of u over its mean to the fourth, times at most
// 0.082 of the displacement (reached where epsilon is 4 sqrt(v)); a row moves by at most
// 1 / (1 - beta_1) * m / sqrt(v), some 30 rates.
constexpr double kWidestMoment = 2e-7;
// The same for a block, over which u is spread evenly: |u - mean| / mean.
constexpr double kWidestBlock = 0.03;

double root_ratio(const IdleMotion& motion) {
  return motion.kind == Kind::kAdam ? 1.0 / std::sqrt(motion.beta_2) : 1.0;
}
double decay(const IdleMotion& motion) { return motion.beta_1 * root_ratio(motion); }

std::uint32_t longest_block(const IdleMotion& motion) {
  const double spread = std::log(root_ratio(motion)) / 2.0;
  return spread * kMostSteps <= kWidestBlock ? kMostSteps
                                             : static_cast<std::uint32_t>(kWidestBlock / spread);
}

/// Whether one expansion around the mean does for steps of equal weight, however many.
bool is_narrow(const IdleMotion& motion) {
  const double u = root_ratio(motion);
  double moment[5];
  for (int j = 0; j < 5; ++j) {
    const double b = decay(motion) * std::pow(u, j);
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

Tensor tensor_of(const ShadowLookupParameters* state) {
  return state == nullptr ? Tensor() : state->all_h;
}
std::shared_ptr<void> memory_of(const ShadowLookupParameters* state) {
  return state == nullptr ? nullptr : state->memory();
}

}  // namespace

StepLog::StepLog(double b, double u, std::uint32_t longest) : prefix_(1) {
  if (b > 0.0) {
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

MissedUpdates::MissedUpdates(detail::StorageState& table, const IdleMotion& motion)
    : table_(table),
      kind_(motion.kind),
      beta_1_(motion.beta_1),
      beta_2_(motion.beta_2),
      epsilon_(motion.epsilon),
      merges_blocks_(motion.kind != Kind::kAdam || is_narrow(motion)),
      m_(tensor_of(motion.m)),
      v_(tensor_of(motion.v)),
      largest_(tensor_of(motion.largest)),
      keep_alive_{memory_of(motion.m), memory_of(motion.v), memory_of(motion.largest)},
      log_(decay(motion), root_ratio(motion), merges_blocks_ ? kMostSteps : longest_block(motion)),
      last_(table.stamps.size()) {
  for (unsigned row = 0; row < last_.size(); ++row) {
    last_[row] = is_zero(row) ? kRests : 0;
  }
}

bool MissedUpdates::can_follow(const IdleMotion& motion) {
  if (motion.kind == Kind::kUnknown || motion.kind == Kind::kNone) {
    return false;
  }
  const bool is_rate = motion.beta_1 >= 0.0 && motion.beta_2 > 0.0 && motion.beta_2 <= 1.0;
  return is_rate && decay(motion) < 1.0;
}

bool MissedUpdates::is_of(const IdleMotion& motion) const {
  return kind_ == motion.kind && beta_1_ == motion.beta_1 && beta_2_ == motion.beta_2 &&
         epsilon_ == motion.epsilon && m_.v == tensor_of(motion.m).v &&
         v_.v == tensor_of(motion.v).v && largest_.v == tensor_of(motion.largest).v;
}

const std::byte* MissedUpdates::state_row(const Tensor& state, unsigned row) const {
  return reinterpret_cast<const std::byte*>(state.v) + row * table_.row_bytes;
}

bool MissedUpdates::is_zero(unsigned row) const {
  const auto none = [&](const Tensor& state) {
    return state.v == nullptr ||
           table_.kernels.squared_norm(state_row(state, row), table_.row_elements()) == 0.0;
  };
  return none(m_) && none(v_) && none(largest_);
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
  if (sums[0] == 0.0) {
    return;
  }
  const std::byte* m = state_row(m_, row);
  const std::int64_t n = table_.row_elements();
  if (kind_ == Kind::kMomentum) {
    table_.kernels.add_scaled(scale * sums[0], m, to, n, false);
    return;
  }
  ext::AdamCatchUp step{scale * sums[0], 1.0, 0.0, 0.0, epsilon_};
  if (kind_ == Kind::kAdam) {
    const double mean = sums[1] / sums[0];
    const double second = sums[2] / sums[0];
    step.root = mean;
    step.variance = second - mean * mean;
    step.skew = sums[3] / sums[0] - mean * (3.0 * second - 2.0 * mean * mean);
  }
  const Tensor& under = kind_ == Kind::kAdam ? v_ : largest_;
  table_.kernels.adam_catch_up(step, m, state_row(under, row), to, n);
}

void MissedUpdates::catch_up(unsigned row) {
  if (last_[row] == kRests || last_[row] == log_.steps()) {
    return;
  }
  add_to(row, 1.0, table_.value_row(row));
  const auto shrink = [&](const Tensor& state, double beta, double steps) {
    if (state.v != nullptr && beta != 1.0) {
      auto* numbers = const_cast<std::byte*>(state_row(state, row));
      table_.kernels.add_scaled(std::pow(beta, steps), numbers, numbers, table_.row_elements(),
                                true);
    }
  };
  const double steps = log_.steps() - last_[row];
  shrink(m_, beta_1_, steps);
  shrink(v_, beta_2_, steps);
  last_[row] = log_.steps();
}

void MissedUpdates::catch_up() {
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
  sign_ = 0.0;
  is_current_ = true;
}

void MissedUpdates::stepped(double weight, const std::vector<unsigned>& rows) {
  // The expansion is around a mean: weights of both signs may have none.
  if (log_.steps() == kMostSteps || weight * sign_ < 0.0) {
    catch_up();
  }
  log_.push(weight);
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
