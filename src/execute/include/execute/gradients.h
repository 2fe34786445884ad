#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/ext/kernels.h"

#include "execute/context.h"
#include "execute/history.h"
#include "execute/values.h"
#include "memory/pools.h"
#include "params/settings.h"
#include "util/stamped.h"

namespace dynet::execute {

/// Where the gradient of each node lies during and after a backward pass, and what of it is true.
/// Owns the memory of gradients, which has the layout of the values.
///
/// A pass has a number, and what is noted of a node counts only within the pass it was noted in, so
/// that a pass need not visit the nodes it has nothing to do with. All nodes made of one parameter
/// share one gradient, that of the first such node, while they `follow` it. Not thread-safe.
///
/// The gradient of a node has a term for each node that reads it, and a sum of 10^6 floats, one
/// after the other, has two correct digits. So after kMostUses terms the next ones go to another
/// *piece* of memory. Pieces are added up as the digits of a counter carry: pieces of terms to a
/// sum of up to kMostUses pieces, such sums to a sum of sums, and so on. Memory of pieces that were
/// added is used again, so a gradient of 10^6 terms takes 6 times the memory of a gradient of one.
/// Whatever is left is added up before the gradient is read: a reader calls settle() first.
/// Example: of a parameter that 100 nodes read, 3 pieces of 31 terms are in the first sum, and the
/// current piece has 7 terms.
///
/// A piece can only be added when the call that got its memory has run: begin_write() says that all
/// earlier calls have. A call that reads one node more often than kMostUses times takes further
/// pieces, until the next call.
class Gradients {
 public:
  Gradients(const Context& context, const Values& values, const History& history)
      : context_(context),
        values_(values),
        history_(history),
        pools_(*context.graph.device().memory, &params::settings().first_gradient_bytes) {}

  /// Begins a pass: no node needs or has a gradient. Memory that was handed out stays as it is
  /// where `keeps_memory`, else it is used again.
  void begin(bool keeps_memory);
  /// Notes a node of the pass: whether it depends on something trained, and whether it follows the
  /// first node of its parameter.
  void note(NodeId n, bool needs, bool follows) {
    Entry& e = entries_[n];
    e.data = nullptr;
    e.mark = current_ | (needs ? kNeeds : 0U) | (follows ? kFollows : 0U);
  }
  [[nodiscard]] bool is_noted(NodeId n) const { return (entries_[n].mark ^ current_) < kPassStep; }
  [[nodiscard]] bool needs(NodeId n) const { return (flags(n) & kNeeds) != 0; }
  [[nodiscard]] bool is_written(NodeId n) const { return (flags(n) & kWritten) != 0; }
  /// The node in whose memory the gradient of `n` lies: `n`, or the first node of its parameter.
  /// (Graph::owner is another relation, from a projection to the node that computes it.)
  [[nodiscard]] NodeId owner(NodeId n) const {
    return (flags(n) & kFollows) == 0 ? n : first_of_parameter(n);
  }
  /// Number of nodes that the last pass knew.
  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(entries_.size()); }
  /// Memory of the gradient of `n`, an owner; null: there is none in this pass.
  [[nodiscard]] void* at(NodeId n) const { return is_noted(n) ? entries_[n].data : nullptr; }
  /// The gradient, made where there is none, for the whole group at once.
  void* ensure(NodeId n) {
    const Entry& e = entry(n);
    return e.data != nullptr ? e.data : make(n);
  }
  void set_written(NodeId n) { entry(n).mark |= kWritten; }
  /// To be called before memory is taken for the next call: whoever got memory so far has written.
  void begin_write() { ++write_; }
  /// Adds up the pieces of the gradient of `n`, an owner. Nobody is about to write.
  void settle(NodeId n) {
    if (has_pieces() && sum_of_[n] != 0) {
      add_up(sums_[sum_of_[n] - 1]);
    }
  }
  void settle_all();
  [[nodiscard]] bool has_pieces() const { return sum_count_ != 0; }
  /// Memory of the gradient of `n`, an owner, for somebody who is going to write it: stores where
  /// `fresh`, else adds.
  struct Target {
    void* data;
    bool fresh;
  };
  Target target(NodeId n) {
    Entry& e = entry(n);
    if ((e.mark & kUses) == kUses) {
      return begin_piece(n);
    }
    void* data = e.data != nullptr ? e.data : make(n);
    const bool fresh = (e.mark & kWritten) == 0;
    e.mark = (e.mark | kWritten) + kOneUse;
    return {data, fresh};
  }
  /// Memory of the gradient of `n`, an owner, with zeros where nothing was written.
  void* ensure_true(NodeId n) { return is_written(n) ? entries_[n].data : zero(n); }

  /// Zeros for a gradient of `n` that was not written, for a call that reads them: the node's own
  /// memory, or, on devices that the host does not see, zeros that all such nodes share.
  void* zeros_of(NodeId n);
  /// Memory for a gradient of `n` that a call writes and nobody reads; any two may get the same.
  void* waste(NodeId n) { return shared_room(wastes_, n).data; }
  /// To be called between target() and the call that uses the memory: pieces are clear then.
  void finish_pieces();

  /// Calls with several operands: `Notes` tell nodes that stand in two of them. A call begins with
  /// `begin_call`, each of its operands with `begin_operand`.
  struct Stamps {
    std::uint32_t call, operand;
  };
  void begin_call() { call_ = next_stamp_; }
  Stamps begin_operand() { return {call_, ++next_stamp_}; }

  [[nodiscard]] memory::Pools& pools() { return pools_; }
  [[nodiscard]] const memory::Pools& pools() const { return pools_; }
  [[nodiscard]] const Context& context() const { return context_; }

 private:
  struct Entry;

 public:
  /// What is noted of the nodes, for loops over many of them: two numbers that stay in registers.
  /// Valid until the next pass begins.
  class Notes {
   public:
    [[nodiscard]] bool needs(NodeId n) const { return (flags(n) & kNeeds) != 0; }
    [[nodiscard]] bool is_written(NodeId n) const { return (flags(n) & kWritten) != 0; }
    /// Gradients::note of a node that follows no other.
    void note(NodeId n, bool needs) const {
      entries_[n].data = nullptr;
      entries_[n].mark = current_ | (needs ? kNeeds : 0U);
    }
    /// Whether `n`, which needs a gradient, follows the first node of its parameter.
    [[nodiscard]] bool follows(NodeId n) const { return (entries_[n].mark & kFollows) != 0; }
    /// Whether `n` was seen in this call with another operand.
    [[nodiscard]] bool was_in_other_operand(NodeId n, const Stamps& now) const {
      std::uint32_t& stamp = entries_[n].stamp;
      const bool was = stamp > now.call && stamp != now.operand;
      stamp = now.operand;
      return was;
    }
    /// Memory of a gradient that was written.
    [[nodiscard]] void* written(NodeId n) const { return entries_[n].data; }
    /// Gradients::target_of, where there is memory and the node follows no other; else null data.
    [[nodiscard]] Target target_of(NodeId n) const {
      Entry& e = entries_[n];
      const std::uint32_t flags = e.mark ^ current_;
      if ((flags & ~(kWritten | kUses)) != kNeeds || e.data == nullptr ||
          (flags & kUses) == kUses) {
        return {nullptr, true};
      }
      e.mark = (e.mark | kWritten) + kOneUse;
      return {e.data, (flags & kWritten) == 0};
    }

   private:
    friend Gradients;
    Notes(Entry* entries, std::uint32_t current) : entries_(entries), current_(current) {}
    [[nodiscard]] std::uint32_t flags(NodeId n) const {
      const std::uint32_t flags = entries_[n].mark ^ current_;
      return flags < kPassStep ? flags : 0;
    }
    Entry* entries_;
    std::uint32_t current_;
  };
  [[nodiscard]] Notes notes() { return {entries_.data(), current_}; }

 private:
  // Bits of Entry::mark beside the number of the pass.
  static constexpr std::uint32_t kNeeds = 1;    ///< depends on something trained
  static constexpr std::uint32_t kWritten = 2;  ///< its memory holds something
  static constexpr std::uint32_t kFollows = 4;
  static constexpr std::uint32_t kOneUse = 8;  ///< how many terms its memory got
  static constexpr std::uint32_t kMostUses = 31;
  static constexpr std::uint32_t kUses = kOneUse * kMostUses;
  static constexpr std::uint32_t kPassStep = kUses + kOneUse;

  struct Entry {
    void* data = nullptr;
    std::uint32_t mark = 0;   ///< the pass it is of, times kPassStep, and flags
    std::uint32_t stamp = 0;  ///< of the last operand that it stood in
  };
  [[nodiscard]] std::uint32_t flags(NodeId n) const {
    const std::uint32_t flags = entries_[n].mark ^ current_;
    return flags < kPassStep ? flags : 0;
  }
  /// The entry of a node, noted as one that needs no gradient if it was not yet.
  Entry& entry(NodeId n) {
    if (!is_noted(n)) {
      note(n, false, false);
    }
    return entries_[n];
  }
  [[nodiscard]] NodeId first_of_parameter(NodeId n) const {
    return context_.graph.storages()[context_.graph[n].payload->storage_slot].first;
  }
  void* make(NodeId n);
  void* zero(NodeId n);
  struct Sum;
  Target begin_piece(NodeId n);
  Sum& sum_of(NodeId n);
  void* room_for_piece(Sum& sum);
  void carry(Sum& sum, void* piece);
  void carry_written(Sum& sum);
  void add_up(Sum& sum);
  void clear_piece(NodeId n, void* data);
  void add_piece(NodeId n, const void* from, void* to, bool stores);
  void run_additions();

  const Context& context_;
  const Values& values_;
  const History& history_;
  std::vector<Entry> entries_;  ///< by node
  std::uint32_t current_ = kPassStep;
  std::uint32_t call_ = 0;
  std::uint32_t next_stamp_ = 0;
  memory::Pools pools_;
  /// Memory that many nodes share.
  struct Room {
    const ext::Memory* memory;
    void* data;
    std::int64_t bytes;
  };
  struct RoomOfNode {
    void* data;
    bool is_new;
  };
  RoomOfNode shared_room(std::vector<Room>& rooms, NodeId n);
  std::vector<Room> wastes_, zeros_;  ///< by memory
  /// A piece that has got all its terms, or a sum of pieces.
  struct Piece {
    void* data = nullptr;
    std::uint32_t number = 0;  ///< of a piece: the call that was the last to get its memory; of a
                               ///< sum: how many pieces were added
  };
  /// The gradient of a node in pieces: these and the current one, Entry::data.
  struct Sum {
    static constexpr std::size_t kLevels = 5;  ///< 31^6 terms
    NodeId node = 0;
    void* own = nullptr;          ///< the node's memory, which gets the total
    std::vector<Piece> complete;  ///< pieces whose last call may not have run
    std::vector<void*> free;      ///< memory of pieces that were added
    std::array<Piece, kLevels> levels;
  };
  std::vector<Sum> sums_;  ///< of this pass the first `sum_count_`; others have room
  std::size_t sum_count_ = 0;
  util::Stamped<std::uint32_t> sum_of_;  ///< by node: index of its sum, plus one
  std::uint32_t write_ = 0;              ///< number of the call that gets memory now
  // On devices that the host does not see, on which a start of a loop costs: additions of pieces of
  // one node, and pieces to be cleared. The additions come first: a piece that was added may be
  // memory of the next piece.
  NodeId listed_ = 0;
  std::vector<ext::Addition> additions_;
  std::vector<ext::Block> to_clear_;
};

}  // namespace dynet::execute
