#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dynet/ext/kernels.h"

namespace dynet::execute {

/// The products that make the gradients of weights, dW += dy * transpose(x): noted during a
/// backward pass, by the slot of the weight among the graph's storages, and done as one product for
/// each weight at its end. Holds no memory of numbers; the operands' memory outlives the pass. Not
/// thread-safe.
class WeightGradients {
 public:
  /// Forgets all products.
  void begin() { ++pass_; }
  /// Where products for a slot are left; valid until `begin`.
  [[nodiscard]] ext::ProductSink& sink(std::uint32_t slot);
  [[nodiscard]] bool has(std::uint32_t slot) const {
    return slot < sinks_.size() && sinks_[slot] != nullptr && sinks_[slot]->pass == pass_ &&
           !sinks_[slot]->dy.blocks.empty();
  }
  /// Does the noted products of a slot as one, into `destination`. Returns the squared norm of the
  /// result if that came with it. Takes nothing from the heap.
  std::optional<double> add(const ext::Kernels& kernels, std::uint32_t slot,
                            const ext::Operand& destination);
  /// Forgets the products of one slot.
  void drop(std::uint32_t slot) { sinks_[slot]->clear(); }

 private:
  /// One side of the products of a weight, side by side: {rows}, an example for each column.
  struct Columns {
    ext::Operand all;
    std::vector<ext::Block> blocks;

    void append(const ext::Operand& o, std::int64_t columns_each);
    void clear();
    const ext::Operand& operand();
  };
  struct Sink final : ext::ProductSink {
    std::uint64_t pass = 0;  ///< that the rest is of
    Columns dy, x;

    void push(const ext::Operand& dy_more, const ext::Operand& x_more) override;
    void clear() {
      dy.clear();
      x.clear();
    }
  };

  std::vector<std::unique_ptr<Sink>> sinks_;  ///< by slot; null: none was asked for
  std::uint64_t pass_ = 1;
};

}  // namespace dynet::execute
