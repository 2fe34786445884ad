#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "execute/context.h"
#include "execute/history.h"
#include "execute/values.h"
#include "params/state.h"

namespace dynet::execute {

/// Parameters that change after the graph has computed with them.
///
/// Graphs read the values of parameters where storages have them. A node that is computed after a
/// change reads the new values; backward reads what each node was computed with. While a loss of
/// the graph may still want a backward the graph holds the values (params: HeldValues), so that a
/// change leaves a copy of them. When backward has gone over all losses, as before the update of
/// most programs, it lets them go: then a change costs nothing, and a backward that needs the old
/// values is an error.
///
/// Nodes cost nothing: each parameter of a graph costs a `note`, each request `is_current`, and
/// each backward `pass`. Not thread-safe.
class Changes {
 public:
  Changes(const Context& context, Values& values, const History& history)
      : context_(context), values_(values), history_(history) {}

  /// Whether no parameter of the graph's models was changed since `follow`.
  [[nodiscard]] bool is_current() const { return count() == seen_; }
  /// Finds what has changed. The caller keeps updates from running.
  void follow();

  /// Nodes are going to be computed that a backward may follow for.
  void open() {
    if (!is_open_) {
      hold_all();
    }
  }
  /// The value of a parameter's node was placed.
  void note(NodeId n);

  void begin_backward(NodeId root);
  /// Whether the backward has to ask `put_back` about each call.
  [[nodiscard]] bool has_any() const { return !past_.empty(); }
  /// Lets a call read the values that the segment was computed with. GraphError if they are gone.
  void put_back(const SegmentView& segment, const Assembled& assembled) const;
  /// GraphError naming `call` if `n` was computed with values of before a change, kept or not.
  void refuse_old(NodeId n, const char* call) const;
  /// The backward was delivered. `found`: the nodes that its root depends on, descending.
  void pass(std::span<const NodeId> found);

  /// A position to come back to.
  struct Mark {
    std::size_t shown;
    NodeId shown_below;
    std::uint64_t seen;
  };
  [[nodiscard]] Mark mark() const { return {shown_.size(), shown_below_, seen_}; }
  /// What was noted after the mark is gone, and so are groups of the history.
  void roll_back(const Mark& mark);
  /// The nodes from `first_removed` on are gone.
  void truncate(NodeId first_removed);
  void forget();

 private:
  using State = detail::StorageState;

  /// A parameter's node with a value.
  struct Shown {
    NodeId node = 0;
    bool is_in_place = false;
    const State* storage = nullptr;
    std::uint64_t version = 0;
    std::shared_ptr<detail::HeldValues> held;  ///< null: nobody needs them
  };
  /// The values of a storage before a change.
  struct Past {
    NodeId node;           ///< of the parameter
    std::uint32_t groups;  ///< so many first ones were computed with them
    const State* storage;
    const std::byte* old;                      ///< null: they are gone
    std::shared_ptr<detail::HeldValues> held;  ///< owns `old`, unless it is memory of the graph
    const char* changed_by;
  };

  [[nodiscard]] std::uint64_t count() const {
    std::uint64_t all = 0;
    for (const graph::ModelUse& model : context_.graph.models()) {
      all += model.usage->changes();
    }
    return all;
  }
  void hold_all();
  [[nodiscard]] std::shared_ptr<detail::HeldValues> hold(const State& storage) const;
  void note_past(const Shown& shown);
  void place_again(NodeId n);
  [[nodiscard]] bool has_other_loss(std::span<const NodeId> found) const;
  [[nodiscard]] bool is_loss(NodeId n) const;
  [[nodiscard]] const std::byte* overlap(const Past& past, const ext::Block& block,
                                         std::int64_t size) const;
  [[nodiscard]] void* old_data(const Past& past, const ext::Block& block, std::int64_t size,
                               NodeId user) const;
  [[noreturn]] void fail(const Past& past, NodeId user, const char* call) const;

  const Context& context_;
  Values& values_;
  const History& history_;
  std::vector<Shown> shown_;
  NodeId shown_below_ = 0;  ///< all of them are
  std::vector<Past> past_;  ///< of each storage in the order of its changes
  std::uint64_t seen_ = 0;
  NodeId root_ = 0;           ///< of the last backward
  NodeId passed_below_ = 0;   ///< backward has gone over all losses below
  std::vector<bool> passed_;  ///< by node: those above that it has gone over; may be shorter
  bool is_open_ = false;      ///< whether a loss may want a backward: values are held
};

}  // namespace dynet::execute
