#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dynet/ext/kernels.h"

#include "util/arena.h"

namespace dynet::execute {

/// The products that make the gradients of weights, dW += dy * transpose(x): noted during a
/// backward pass, by the slot of the weight among the graph's storages, and done as one product for
/// each weight at its end. Holds no memory of numbers; the operands' memory outlives the pass. Not
/// thread-safe.
class WeightGradients {
 public:
  WeightGradients() = default;
  /// Forgets all products.
  void begin();
  /// Where products for a slot are left; valid until `begin`.
  [[nodiscard]] ext::ProductSink& sink(std::uint32_t slot);
  [[nodiscard]] bool has(std::uint32_t slot) const {
    return slot < sinks_.size() && sinks_[slot] != nullptr && sinks_[slot]->pass == pass_ &&
           sinks_[slot]->first != 0;
  }
  /// Makes room, so that `add` takes nothing from the heap.
  void prepare();
  /// Does the noted products of a slot as one, into `destination`. Returns the squared norm of the
  /// result if that came with it.
  std::optional<double> add(const ext::Kernels& kernels, std::uint32_t slot,
                            const ext::Operand& destination);
  /// Forgets the products of one slot.
  void drop(std::uint32_t slot);

 private:
  struct Sink final : ext::ProductSink {
    explicit Sink(WeightGradients& to) : owner(to) {}
    void push(const ext::Operand& dy, const ext::Operand& x) override { owner.push(*this, dy, x); }

    WeightGradients& owner;
    std::uint64_t pass = 0;   ///< that the rest is of
    std::uint32_t first = 0;  ///< of its products, + 1
    std::uint32_t last = 0;
  };
  struct Product {
    ext::Operand dy, x;
    std::uint32_t next;  ///< of the same weight, + 1
  };
  void push(Sink& sink, const ext::Operand& dy, const ext::Operand& x);
  ext::Operand keep(const ext::Operand& o, std::int64_t columns_each);

  std::vector<std::unique_ptr<Sink>> sinks_;  ///< by slot; null: none was asked for
  std::vector<Product> products_;
  util::Arena blocks_;
  std::size_t block_count_ = 0;     ///< of all products
  std::vector<ext::Block> joined_;  ///< while they are done
  std::uint64_t pass_ = 1;
};

}  // namespace dynet::execute
