#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/context.h"
#include "execute/history.h"
#include "memory/layout.h"
#include "memory/pools.h"
#include "params/settings.h"
#include "schedule/plan.h"
#include "util/stamped.h"

namespace dynet::execute {

/// Where the value of each node lies, and which group computed it. Owns the memory of values.
///
/// Invariant: a node has a value exactly when its group is in the history, or when it is listed in
/// `loose_`: a parameter, or what an inference scope kept, which no group is remembered for. (A
/// parameter that was placed again after a mark is without one between a roll back to the mark and
/// the next request: Changes.) All nodes below `complete_below()` have a value. Not thread-safe.
class Values {
 public:
  static constexpr std::uint32_t kNoGroup = ~std::uint32_t{0};
  static constexpr NodeId kNoNode = ~NodeId{0};

  /// A position to come back to, in the generation of the history that it was taken in.
  struct Mark {
    memory::Pools::Mark pools;
    std::size_t loose = 0;
  };

  struct Place {
    void* data = nullptr;
    std::uint32_t group = kNoGroup;
    std::uint32_t offset = 0;  ///< examples, as calls see them, before the node in its group
  };

  explicit Values(const Context& context)
      : context_(context),
        pools_(*context.graph.device().memory, &params::settings().first_value_bytes) {}

  /// Room for all nodes of the graph.
  void grow() { places_.resize(context_.graph.size()); }
  /// Number of nodes that there is room for.
  [[nodiscard]] NodeId size() const { return static_cast<NodeId>(places_.size()); }
  /// For loops over many nodes.
  [[nodiscard]] const Place* places() const { return places_.data(); }
  [[nodiscard]] bool has(NodeId n) const { return places_[n].data != nullptr; }
  [[nodiscard]] void* at(NodeId n) const { return places_[n].data; }
  /// The group that computed `n` (the first of two), or kNoGroup.
  [[nodiscard]] std::uint32_t group_of(NodeId n) const { return places_[n].group; }
  /// The group that computed the other terms of `n`, where `group_of(n)` computed its first terms;
  /// else kNoGroup.
  [[nodiscard]] std::uint32_t rest_of(NodeId n) const {
    return n < rest_.size() ? rest_[n] : kNoGroup;
  }
  /// Examples, as calls see them, before `n` in its group.
  [[nodiscard]] std::uint32_t offset(NodeId n) const { return places_[n].offset; }
  /// Where nodes of one key have saved output `index`: each behind those of the members before it
  /// in the group that placed it, whichever groups compute it. Valid until something is placed.
  class Saved {
   public:
    Saved(const Values& values, const graph::Node& first, std::uint32_t index);
    [[nodiscard]] std::byte* at(NodeId n) const {
      const Place& place = places_[n];
      return saved_[first_saved_[place.group] + index_] + place.offset / examples_ * bytes_;
    }
    /// Bytes of a node where the operation takes whole batches, else of an example as calls see it.
    [[nodiscard]] std::int64_t bytes() const { return bytes_; }

   private:
    const Place* places_;
    const std::uint32_t* first_saved_;
    std::byte* const* saved_;
    std::uint32_t index_;
    std::uint32_t examples_;  ///< that take `bytes_`
    std::int64_t bytes_;
  };
  /// Nodes that have a value and no group; kNoNode in the place of one that has a group since.
  [[nodiscard]] std::span<const NodeId> loose() const { return loose_; }
  [[nodiscard]] NodeId complete_below() const { return complete_below_; }
  /// To be called when all nodes have a value.
  void set_complete() { complete_below_ = static_cast<NodeId>(places_.size()); }

  /// The value of a parameter is its storage, or a copy while weight decay or exact updates are
  /// pending.
  void place_parameter(NodeId n);
  /// Nodes that show the memory of parameter `n` at `before` show it where it is now.
  void move_aliases(NodeId n, const void* before);
  /// Gives the nodes of the groups from `begin` up to `end` their memory. What it did before it
  /// throws is to be taken back with `roll_back`.
  void place(const History& history, std::uint32_t begin, std::uint32_t end);
  /// Places `plan`, whose groups these are, where only what `stays` says outlives it; `stays`
  /// is completed by what aliases show. After the plan has run, `keep` drops the rest.
  void place_by_lifetime(const History& history, const schedule::Plan& plan,
                         std::uint32_t first_group, util::Stamped<std::uint8_t>& stays);
  void keep(const schedule::Plan& plan, std::uint32_t first_group,
            const util::Stamped<std::uint8_t>& stays);
  /// Where the results of the plan that was placed by lifetime last lie.
  [[nodiscard]] const memory::Layout& layout() const { return layout_; }

  [[nodiscard]] Mark mark() { return {pools_.mark(), loose_.size()}; }
  /// Forgets the values of the groups from `first_group` on, and of what came after the mark.
  void roll_back(const Mark& mark, const History& history, std::uint32_t first_group);
  /// The nodes from `first_removed` on are gone.
  void truncate(NodeId first_removed);
  /// Forgets all values.
  void forget();
  [[nodiscard]] memory::Pools& pools() { return pools_; }
  [[nodiscard]] const memory::Pools& pools() const { return pools_; }
  /// Bytes up to the end of what is in use, with what does not fit at the ends of chunks.
  [[nodiscard]] std::size_t used() const { return pools_.used(); }
  /// Bytes of memory, used or not.
  [[nodiscard]] std::size_t held() const { return pools_.held(); }

 private:
  template <class At>
  void write_places(std::span<const NodeId> members, std::uint32_t g, At at);
  void place_aliases(std::span<const NodeId> members, std::uint32_t g);
  void place_group(const History& history, std::uint32_t g);
  void take_from_loose(NodeId n);
  void note_rest(const History& history, std::uint32_t g);
  void allocate(const schedule::Plan& plan);
  void place_in_layout(const schedule::Plan& plan, std::uint32_t g, std::uint32_t first_group);

  const Context& context_;
  std::vector<Place> places_;        ///< by node
  std::vector<std::uint32_t> rest_;  ///< by node; as long as nodes were computed in two parts
  std::vector<std::byte*> saved_;    ///< group after group
  std::vector<std::uint32_t> first_saved_;  ///< by group
  std::vector<NodeId> loose_;               ///< in the order in which they got their value
  NodeId complete_below_ = 0;
  memory::LayoutMaker layout_maker_;
  memory::Layout layout_;
  std::vector<std::byte*> blocks_;  ///< of `layout_`
  memory::Pools pools_;
};

}  // namespace dynet::execute
