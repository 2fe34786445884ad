#pragma once

// Operands that a call makes itself: scratch memory, other shapes of the same numbers, some of the
// examples. Part of no contract; an operation from outside the tree may use it or not.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "dynet/ext/op.h"

namespace dynet::ops {

/// The most scratch memory that a call takes at once, so that the memory stays in a cache. One
/// large example may need more.
inline constexpr std::int64_t kScratchBytes = std::int64_t{1} << 20;

/// How many examples of `elements` numbers each fit into it; at least one.
inline std::int64_t examples_at_once(const ext::Kernels& k, std::int64_t elements) {
  return std::max<std::int64_t>(
      1, kScratchBytes / std::max<std::int64_t>(1, elements * ext::bytes_of(k.number())));
}

/// The same numbers in another shape, with the same number of elements.
inline ext::Operand seen_as(ext::Operand o, const Dim& dim) {
  o.dim = dim;
  return o;
}

/// Scratch memory of a call as an operand in one block: `examples` tensors of shape `dim`, not
/// initialised. Writes store, and add nothing.
class ScratchOperand {
 public:
  ScratchOperand(const ext::Call& call, const Dim& dim, std::int64_t examples,
                 ext::SavedAs as = ext::SavedAs::kNumbers)
      : block_{call.scratch(dim.example_elements() * examples *
                            ext::saved_bytes(as, call.kernels.number())),
               examples, true},
        all_{.dim = dim, .examples = examples, .blocks = &block_, .block_count = 1} {}
  ScratchOperand(const ScratchOperand&) = delete;
  ScratchOperand& operator=(const ScratchOperand&) = delete;
  ~ScratchOperand() = default;

  // NOLINTNEXTLINE(google-explicit-constructor): it is an operand
  operator const ext::Operand&() const { return all_; }
  /// As an operand of its first n examples. Valid until the next call of this function.
  const ext::Operand& first(std::int64_t n) {
    block_.examples = all_.examples = n;
    return all_;
  }
  void fill(const ext::Kernels& k, double value) const {
    k.fill(block_.data, value, all_.size() * all_.examples);
  }

 private:
  ext::Block block_;
  ext::Operand all_;
};

/// The operands of a call, some examples at a time. An operand with one example beside many is in
/// every part; if it is written, the first part stores or adds as the block says, and the other
/// parts add. Lives on the stack, allocates nothing.
template <std::size_t kCount>
class Parts {
 public:
  /// `most`: examples at a time. `one_block`: each part lies in one block of every operand; else
  /// only if there are several parts.
  Parts(const ext::Call& call, const std::array<ext::Operand, kCount>& operands, std::int64_t most,
        bool one_block = false)
      : bytes_(ext::bytes_of(call.kernels.number())),
        operands_(operands),
        parts_(operands),
        left_(call.examples),
        most_(most) {
    for (const ext::Operand& o : operands) {
      is_whole_ = is_whole_ && (o.absent() || o.one_block() || !one_block);
      is_lone_ = is_lone_ && o.examples <= 1;
    }
    is_whole_ = is_whole_ && call.examples <= most;
  }
  /// Goes to the next part; false if there is none.
  bool next() {
    if (left_ <= 0) {
      return false;
    }
    if (is_whole_) {
      examples_ = left_;
    } else {
      cut();
    }
    left_ -= examples_;
    return true;
  }
  /// Operand i of this part.
  const ext::Operand& operator[](std::size_t i) const { return parts_[i]; }
  /// Examples of this part.
  [[nodiscard]] std::int64_t examples() const { return examples_; }

 private:
  [[nodiscard]] bool steps(const ext::Operand& o) const { return o.examples != 1 || is_lone_; }
  void cut() {
    examples_ = std::min(most_, left_);
    for (std::size_t i = 0; i < kCount; ++i) {
      const ext::Operand& o = operands_[i];
      while (!o.absent() && at_[i] == o.blocks->examples) {
        ++operands_[i].blocks;
        at_[i] = 0;
      }
      if (!o.absent() && steps(o)) {
        examples_ = std::min(examples_, o.blocks->examples - at_[i]);
      }
    }
    for (std::size_t i = 0; i < kCount; ++i) {
      const ext::Operand& o = operands_[i];
      if (o.absent()) {
        continue;
      }
      const std::int64_t n = steps(o) ? examples_ : 1;
      blocks_[i] = {static_cast<char*>(o.blocks->data) + at_[i] * o.size() * bytes_, n,
                    o.blocks->fresh && (steps(o) || is_first_)};
      parts_[i].examples = n;
      parts_[i].blocks = &blocks_[i];
      parts_[i].block_count = 1;
      at_[i] += steps(o) ? n : 0;
    }
    is_first_ = false;
  }

  std::int64_t bytes_;
  std::array<ext::Operand, kCount> operands_;  ///< `blocks` goes on to the block in use
  std::array<ext::Operand, kCount> parts_;
  std::array<ext::Block, kCount> blocks_{};
  std::array<std::int64_t, kCount> at_{};  ///< examples done in the block in use
  std::int64_t left_, most_, examples_ = 0;
  bool is_whole_ = true, is_lone_ = true, is_first_ = true;
};

}  // namespace dynet::ops
