#pragma once

// Operands of loops over numbers: examples of one shape, in one or more blocks of memory. Example:
// three {4} of which two lie side by side are an operand of two blocks, with 2 and 1 examples.

#include <cstdint>

#include "dynet/dim.h"

namespace dynet::ext {

/// The number types of devices. Users have `kFloat`; `kDouble` is the plain scalar device for
/// checks.
enum class Number : std::uint8_t { kFloat, kDouble };

[[nodiscard]] constexpr std::int64_t bytes_of(Number n) { return n == Number::kFloat ? 4 : 8; }

/// Consecutive examples in memory.
struct Block {
  void* data = nullptr;       ///< first element of the first example; column-major, dense
  std::int64_t examples = 0;  ///< the number of examples in the block
  bool fresh = true;          ///< for writing: true stores, false adds to the memory
};

class ProductSink;

/// `examples` tensors of shape `dim` each. One block in the good case; several if the examples lie
/// apart. Two blocks of a written operand may have the same memory: writers go through the blocks
/// in order. Owns nothing; valid for the call it is passed to.
struct Operand {
  Dim dim;                    ///< shape of one example (bd is 1)
  std::int64_t examples = 0;  ///< total over the blocks; 1 beside a larger batch means: repeated
  const Block* blocks = nullptr;  ///< null: absent (no value asked for, no gradient wanted)
  std::int64_t block_count = 0;
  ProductSink* sink = nullptr;  ///< of a weight's gradient: for weight_gradient() alone

  [[nodiscard]] bool absent() const { return blocks == nullptr; }
  [[nodiscard]] bool one_block() const { return block_count == 1; }
  [[nodiscard]] std::int64_t size() const { return dim.example_elements(); }  ///< of one example
  template <class T>
  [[nodiscard]] T* data(std::int64_t block = 0) const {
    return static_cast<T*>(blocks[block].data);
  }
  /// Address of one example, found by walking the blocks.
  template <class T>
  [[nodiscard]] T* example(std::int64_t e) const {
    if (examples == 1) {
      e = 0;
    }
    const Block* b = blocks;
    while (e >= b->examples) {
      e -= (b++)->examples;
    }
    return static_cast<T*>(b->data) + e * size();
  }
};

/// Collects products for one weight's gradient, dW += dy * transpose(x), so that they can be done
/// as one product at the end of the backward pass. The operands' memory outlives the pass.
class ProductSink {
 public:
  ProductSink() = default;
  ProductSink(const ProductSink&) = delete;
  ProductSink& operator=(const ProductSink&) = delete;
  virtual ~ProductSink() = default;
  virtual void push(const Operand& dy, const Operand& x) = 0;
};

}  // namespace dynet::ext
