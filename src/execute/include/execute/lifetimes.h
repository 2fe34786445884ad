#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "execute/values.h"
#include "execute/wanted.h"
#include "graph/graph.h"
#include "schedule/plan.h"
#include "util/stamped.h"

namespace dynet::execute {

/// Whether this thread is in an inference scope, and how deep.
[[nodiscard]] bool is_in_inference_scope();
void enter_inference_scope();
void leave_inference_scope();

/// Which results an inference scope has to keep: those asked for, those that a node in the graph
/// still waits for, and those without any user so far, with the other results of their node.
///
/// A guess, and never more: what was dropped and is wanted later is computed again. After the first
/// such mistake `keeps_all()`, so that a program that asks in an unusual order computes nothing
/// more than twice. Not thread-safe.
class Lifetimes {
 public:
  /// Whether a request keeps everything: the guess was wrong before, or is with what it wants, or
  /// it is for all nodes (`all`), which more nodes are going to be built on.
  [[nodiscard]] bool keeps_all(const Wanted& wanted, bool all);

  /// What stays after `plan` has run for the values of `asked`: not 0, by node.
  util::Stamped<std::uint8_t>& decide(const graph::Graph& graph, const Values& values,
                                      const schedule::Plan& plan, std::span<const NodeId> asked);
  /// The plan failed: its nodes wait for their arguments as before.
  void undo(const graph::Graph& graph, const schedule::Plan& plan);
  /// The plan has run, and what did not stay is gone.
  void note_dropped(const graph::Graph& graph, const schedule::Plan& plan);

  /// The nodes from `first_removed` on are gone.
  void truncate(NodeId first_removed);
  /// All values are forgotten.
  void forget();

 private:
  struct Entry {
    std::uint32_t waiting = 0;  ///< arguments of nodes that have no value
    bool has_user = false;
    bool was_dropped = false;
  };
  void count_new(const graph::Graph& graph, const Values& values);

  std::vector<Entry> entries_;  ///< by node; arguments of all of these nodes have been counted
  util::Stamped<std::uint8_t> stays_;
  bool keeps_all_ = false;
};

}  // namespace dynet::execute
