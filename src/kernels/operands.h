#pragma once

// Walking over the examples of operands, block by block.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "dynet/ext/kernels.h"

#include "kernels/elements.h"

namespace dynet::kernels {

using ext::Block;
using ext::Operand;
using ext::Write;

/// The value of absent operands. All its bits are zero, so both number types can read it.
inline constexpr double kZero = 0.0;

/// Examples of a call over two operands, of which one may have a single example.
[[nodiscard]] inline std::int64_t common_examples(const Operand& x, const Operand& y) {
  return x.examples == 1 ? y.examples : x.examples;
}

/// The result of Write::kMax for the old number `there`: NaN stays, and replaces numbers.
template <class T>
[[nodiscard]] T larger(T there, T x) {
  return x > there || std::isnan(x) ? x : there;
}

/// Where a walk over n examples stands in one operand. An operand with one example beside n > 1
/// does not step: it is repeated when read, summed into when written. Lives on the stack.
class Cursor {
 public:
  Cursor(const Operand& o, std::int64_t n)
      : block_(o.blocks), size_(elements_of(o.dim)), steps_(o.examples != 1 || n == 1) {
    skip_empty(n);
  }

  /// The current example; of indices, T is const unsigned.
  template <class T = float>
  [[nodiscard]] T* at() const {
    return static_cast<T*>(block_->data) + used_ * size_;
  }
  /// Elements from one example to the next; 0 for an operand that does not step.
  [[nodiscard]] std::int64_t stride() const { return steps_ ? size_ : 0; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool steps() const { return steps_; }
  /// How many examples, this one included, lie `stride()` apart.
  [[nodiscard]] std::int64_t run() const {
    return steps_ ? block_->examples - used_ : std::numeric_limits<std::int64_t>::max();
  }
  /// Whether a write here is a store. Later visits to the same example add.
  [[nodiscard]] bool stores(Write write) const {
    return !visited_ && (write == Write::kStore || (write == Write::kAsBlocks && block_->fresh));
  }
  /// To the next example but n, of which `left` remain after it.
  void advance(std::int64_t n, std::int64_t left) {
    if (steps_) {
      used_ += n;
      skip_empty(left);
    } else {
      visited_ = true;
    }
  }

 private:
  void skip_empty(std::int64_t left) {
    while (steps_ && left > 0 && block_->examples == used_) {
      ++block_;
      used_ = 0;
    }
  }

  const Block* block_;
  std::int64_t size_;
  std::int64_t used_ = 0;
  bool steps_;
  bool visited_ = false;
};

/// Moves a cursor over the next `n` examples, of which `left` remain, this run by run.
inline void skip(Cursor& at, std::int64_t n, std::int64_t left) {
  while (n > 0) {
    const std::int64_t m = std::min(at.run(), n);
    n -= m;
    left -= m;
    at.advance(m, left);
  }
}

/// Whether no two examples of a result are one place: so threads may write different examples. The
/// gradient of a node that several members of a group read is several blocks, of which the second
/// is not fresh. Blocks in the order of their addresses are told apart; of others, nothing is
/// known.
[[nodiscard]] inline bool lies_apart(const Operand& o) {
  const std::int64_t size = elements_of(o.dim);
  bool is_fresh = true;
  bool is_sorted = true;
  for (std::int64_t b = 0; b < o.block_count && (is_fresh || is_sorted); ++b) {
    is_fresh = is_fresh && o.blocks[b].fresh;
    is_sorted = is_sorted && (b == 0 || o.data<float>(b) >=
                                            o.data<float>(b - 1) + o.blocks[b - 1].examples * size);
  }
  return is_fresh || is_sorted;
}

/// Calls f(m) for runs of m examples, of n in all, that lie in one block of every operand; the
/// cursors stand at the first of them. If the result does not step, runs have one example.
template <class F, class... Inputs>
void for_each_run(std::int64_t n, Cursor& result, F f, Inputs&... inputs) {
  while (n > 0) {
    const std::int64_t m =
        result.steps() ? std::min({n, result.run(), inputs.run()...}) : std::int64_t{1};
    f(m);
    n -= m;
    result.advance(m, n);
    (inputs.advance(m, n), ...);
  }
}

}  // namespace dynet::kernels
