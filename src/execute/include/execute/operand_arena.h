#pragma once

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <utility>

#include "dynet/ext/op.h"

#include "graph/graph.h"
#include "memory/pools.h"
#include "util/arena.h"

namespace dynet::execute {

/// Memory for the length of one call (ext::Call::scratch), that of the call's device. It is kept
/// for the next ones. Not thread-safe.
class CallMemory final : public ext::ScratchMemory {
 public:
  explicit CallMemory(ext::Memory& own) : pools_(own), pool_(&pools_.of(own)) {}
  void begin_call(ext::Memory& memory) { pool_ = &pools_.of(memory); }
  void* take(std::int64_t bytes) override {
    return pool_->allocate(std::max(bytes, kAlignment));  // a pool packs smaller blocks
  }
  [[nodiscard]] ext::Memory& memory() const override { return pool_->memory(); }
  void end_call() { pool_->reset(); }
  [[nodiscard]] memory::Pools& pools() { return pools_; }

 private:
  static constexpr std::int64_t kAlignment = 64;
  memory::Pools pools_;
  memory::Pool* pool_;  ///< of the call that runs
};

/// From an operand that counts examples, and is there, to what an operation of whole batches sees
/// (ext::Call): an example of it is the batch of one node, of shape `of_node`. Changes the
/// operand's blocks, which are an arena's.
void count_nodes(ext::Operand& o, const Dim& of_node);

/// Memory of operands and of whatever else a call reads beside numbers; owns it until `release` of
/// an earlier mark. Not thread-safe.
class OperandArena {
 public:
  [[nodiscard]] util::Arena::Mark mark() const { return arena_.mark(); }
  void release(const util::Arena::Mark& mark) { arena_.release(mark); }

  /// An operand of `count` pieces, at least one, whose examples take `stride` bytes each;
  /// `piece(i)` is a Block. Neighbours in memory become one block.
  template <class Piece>
  [[gnu::always_inline]] ext::Operand operand(const Dim& dim, std::int64_t stride,
                                              std::size_t count, Piece piece) {
    auto* const blocks = room<ext::Block>(count);
    ext::Operand o{.dim = dim.single_batch(), .blocks = blocks};
    ext::Block piece_before = piece(0);
    ext::Block* last = begin_block(blocks, piece_before);
    std::int64_t examples = piece_before.examples;
    for (std::size_t i = 1; i < count; ++i) {
      const ext::Block b = piece(i);
      const void* const end =
          static_cast<std::byte*>(piece_before.data) + piece_before.examples * stride;
      if (b.data == end && b.fresh == piece_before.fresh) {
        last->examples += b.examples;
      } else {
        last = begin_block(last + 1, b);
      }
      examples += b.examples;
      piece_before = b;
    }
    o.examples = examples;
    o.block_count = last + 1 - blocks;
    return o;
  }
  /// The same of `count` nodes, `node(i)` each, of which `piece(i)` has the examples; the call sees
  /// columns.
  template <class Node, class Piece>
  [[gnu::noinline]] ext::Operand columns(const graph::Graph& graph, std::size_t count, Node node,
                                         Piece piece) {
    const graph::Interner& shapes = graph.interner();
    const graph::ShapeId first = graph[node(0)].shape();
    return operand(shapes.column(first), shapes.bytes(first) / shapes.columns(first), count,
                   [&](std::size_t i) {
                     ext::Block b = piece(i);
                     b.examples *= shapes.columns(graph[node(i)].shape());
                     return b;
                   });
  }
  /// `count` operands, `make(i)` each, made in their place.
  template <class Make>
  std::span<const ext::Operand> operands(std::size_t count, Make make) {
    auto* all = room<ext::Operand>(count);
    for (std::size_t i = 0; i < count; ++i) {
      new (&all[i]) ext::Operand(make(i));
    }
    return {all, count};
  }
  template <class T, class... Parts>
  T* make(Parts&&... parts) {
    return new (arena_.allocate(sizeof(T))) T{std::forward<Parts>(parts)...};
  }
  template <class T>
  T* array(std::size_t count) {
    return new (arena_.allocate(sizeof(T) * count)) T[count]();
  }
  /// Memory that is not initialised.
  template <class T>
  T* room(std::size_t count) {
    return static_cast<T*>(arena_.allocate(sizeof(T) * count));
  }

 private:
  /// Field by field: copied whole, it would be read back before its parts have left the core's
  /// store buffer, which costs more than all the rest of the loop.
  [[gnu::always_inline]] static ext::Block* begin_block(ext::Block* at, const ext::Block& from) {
    auto* const block = new (at) ext::Block;
    block->data = from.data;
    block->examples = from.examples;
    block->fresh = from.fresh;
    return block;
  }

  util::Arena arena_;
};

}  // namespace dynet::execute
