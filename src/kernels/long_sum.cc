#include "kernels/long_sum.h"

#include <algorithm>
#include <cstdint>

namespace dynet::ext {

LongSum::LongSum(const Call& call, const Operand& o, std::int64_t terms) {
  const bool is_exact = call.kernels.number() == Number::kDouble;
  if (terms > kMostAdded && !o.absent() && call.memory != nullptr && !is_exact) {
    call_ = &call;
    o_ = &o;
    bytes_ = bytes_of(call.kernels.number());
  }
}

void LongSum::Level::note(std::int64_t from, std::int64_t to, std::int64_t terms) {
  first = count == 0 ? from : std::min(first, from);
  last = count == 0 ? to : std::max(last, to);
  count += terms;
}

/// Makes the block of a place the current one. Loops go through the blocks in order, so the block
/// is the current one or the next.
void LongSum::find(const char* at) {
  const auto is_in = [&](std::int64_t b) {
    const char* const data = o_->data<char>(b);
    return at >= data && at < data + o_->blocks[b].examples * o_->size() * bytes_;
  };
  if (is_in(block_)) {
    return;
  }
  carry(0);
  do {
    before_ += o_->blocks[block_].examples * o_->size();
    if (++block_ == o_->block_count) {
      block_ = before_ = 0;
    }
  } while (!is_in(block_));
}

void LongSum::added(void* at, std::int64_t span, std::int64_t terms) {
  if (call_ == nullptr || span == 0) {
    return;
  }
  find(static_cast<const char*>(at));
  const std::int64_t from = before_ + (static_cast<char*>(at) - o_->data<char>(block_)) / bytes_;
  levels_[0].note(from, from + span, terms);
  if (levels_[0].count >= kMostAdded) {
    carry(0);
  }
}

void LongSum::added_everywhere(std::int64_t terms) {
  if (call_ == nullptr) {
    return;
  }
  for (std::int64_t b = 0; b < o_->block_count; ++b) {
    added(o_->blocks[b].data, o_->blocks[b].examples * o_->size(), terms);
  }
}

/// Moves the sums of a level to the next level.
void LongSum::carry(int level) {
  Level& from = levels_[level];
  if (from.count == 0) {
    return;
  }
  const Kernels& kernels = call_->kernels;
  const std::int64_t n = from.last - from.first;
  char* const data = level == 0 ? o_->data<char>(block_) + (from.first - before_) * bytes_
                                : from.data + from.first * bytes_;
  Level& to = levels_[level + 1];
  if (to.data == nullptr) {
    const std::int64_t all = o_->size() * o_->examples;
    to.data = static_cast<char*>(call_->scratch(all * bytes_));
    kernels.fill(to.data, 0.0, all);
  }
  kernels.add_scaled(1.0, data, to.data + from.first * bytes_, n, false);
  kernels.fill(data, 0.0, n);
  to.note(from.first, from.last, 1);
  from.count = 0;
  if (to.count >= kMostAdded && level + 2 < kLevels) {
    carry(level + 1);
  }
}

/// Goes from the first level to the last, so that small sums are added before large ones.
void LongSum::settle() {
  if (call_ == nullptr) {
    return;
  }
  carry(0);
  int top = 1;
  while (top < kLevels && levels_[top].data != nullptr) {
    ++top;
  }
  for (int level = 1; level + 1 < top; ++level) {
    carry(level);
  }
  const Level& sums = levels_[top - 1];
  for (std::int64_t b = 0, at = 0; b < o_->block_count && sums.data != nullptr; ++b) {
    const std::int64_t n = o_->blocks[b].examples * o_->size();
    call_->kernels.add_scaled(1.0, sums.data + at * bytes_, o_->data<char>(b), n, false);
    at += n;
  }
}

}  // namespace dynet::ext
