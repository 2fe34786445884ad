#include "execute/long_rows.h"

#include <algorithm>
#include <bit>

namespace dynet::execute {

void LongRows::Sums::add(std::size_t level, const void* numbers) {
  kernels_->add_scaled(1.0, numbers, data_[level], elements_, counts_[level] == 0);
  ++counts_[level];
}

void LongRows::Sums::add(const void* gradient) {
  add(0, gradient);
  for (std::size_t l = 0; counts_[l] == kMostAdded && l + 1 < used_; ++l) {
    add(l + 1, data_[l]);
    counts_[l] = 0;
  }
}

/// From the first level to the last, so that small sums are added before large ones.
const void* LongRows::Sums::total() {
  const void* all = nullptr;
  for (std::size_t l = 0; l < used_; ++l) {
    if (all != nullptr) {
      add(l, all);
    }
    all = counts_[l] != 0 ? data_[l] : nullptr;
  }
  return all;
}

void LongRows::begin() {
  reads_ = 0;
  most_ = 0;
  buckets_.clear();
  first_.clear();
  sums_.clear();
}

std::uint64_t LongRows::key(NodeId lookup, unsigned row) const {
  const std::uint64_t table = gradients_.context().graph[lookup].payload->storage_slot;
  return table << 32 | row;
}

void LongRows::count(NodeId lookup, std::span<const unsigned> rows) {
  if (buckets_.empty()) {
    const std::size_t size = std::bit_ceil(2 * reads_);
    shift_ = 64 - std::countr_zero(size);
    buckets_.assign(size, 0);
  }
  // bucket(), with all that is the same for all rows in registers: programs that do little but look
  // up rows notice each instruction.
  const std::uint64_t first = key(lookup, 0);
  const int shift = shift_;
  std::uint32_t* const buckets = buckets_.data();
  std::uint32_t most = most_;
  for (const unsigned row : rows) {
    most = std::max(most, ++buckets[hash(first + row) >> shift]);
  }
  most_ = most;
}

void LongRows::prepare(NodeId lookup, std::span<const unsigned> rows) {
  if (most_ <= kMostAdded) {
    return;
  }
  if (first_.empty()) {
    first_.assign(buckets_.size(), 0);
  }
  const Context& context = gradients_.context();
  for (const unsigned row : rows) {
    const std::uint64_t b = bucket(key(lookup, row));
    if (buckets_[b] <= kMostAdded || find(lookup, row) != nullptr) {
      continue;
    }
    Sums sums;
    sums.lookup_ = lookup;
    sums.row_ = row;
    sums.next_ = first_[b];
    sums.kernels_ = &context.kernels(lookup);
    sums.elements_ = context.graph.example_size(lookup);
    for (std::uint64_t most = 1; most < buckets_[b] && sums.used_ < Sums::kLevels;
         most *= kMostAdded) {
      sums.data_[sums.used_++] =
          static_cast<std::byte*>(gradients_.pools()
                                      .of(context.memory(lookup))
                                      .allocate(context.graph.example_bytes(lookup)));
    }
    sums_.push_back(sums);
    first_[b] = static_cast<std::uint32_t>(sums_.size());
  }
}

LongRows::Sums* LongRows::find(NodeId lookup, unsigned row) {
  const std::uint64_t k = key(lookup, row);
  for (std::uint32_t at = first_[bucket(k)]; at != 0; at = sums_[at - 1].next_) {
    Sums& sums = sums_[at - 1];
    if (key(sums.lookup_, sums.row_) == k) {
      return &sums;
    }
  }
  return nullptr;
}

}  // namespace dynet::execute
