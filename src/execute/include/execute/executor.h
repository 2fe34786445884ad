#pragma once

// Execution: from plans and addresses to numbers, forward and backward.
//
// In:  a Graph; requests for values of some node, for the gradient of a scalar.
// Out: values and gradients in memory; gradients of parameters added to their storages.
//
// A request asks for one node or several, which one plan computes. The request finds the nodes
// that are missing (`Wanted`; nothing that is not needed is computed),
// has them scheduled (`Planning`), placed (`Values`) and run group by group (`Forward`), and
// appends the groups to a `History`. `Backward` finds the groups that the root depends on (`Path`)
// and walks them in reverse. Both make calls with the same `CallTools`: `Assembly` finds the
// operands, and `CallPayload` the numbers that are no values of nodes. Nodes may be added and asked
// for at any time in between; groups of different requests are never merged, and
// therefore no group crosses a checkpoint.
//
// In an inference scope (lifetimes.h) a request drops values that no node waits for: the plan is
// cut so that less is alive at a time, its memory is used again by lifetime, and its groups are not
// remembered.
//
// Gradients have the memory layout of the values: the first writer into a group's block makes it,
// the first writer of each member stores, later ones add (`fresh`). The gradient of a weight is not
// computed on the way: calls leave their operands (`Products`), and each weight gets one product.
// routes.h lists all ways. Gradients of parameters are added to their storages under a lock
// (deliver.cc), so graphs of many threads may run backward on one model.
//
// Reports, interrupts and checks are hooks (hooks.h): objects that act before and after calls. In
// the steady state there are none.
//
// Memory may run out anywhere in a request. Pool::allocate throws out_of_memory, place_group
// (memory/layout.h) adds the operation and its shape, `compute` takes back all that the request did
// since its mark (`roll_back`) and gives unused chunks to the system, and api::exclusively
// (graph_state.h) frees the memory of graphs at rest. Example: of five groups the third does not
// fit. None of the five has values afterwards, values of earlier requests are still there, and the
// same request may be made again.
//
// Nothing here is remembered as a position that something else may reset. A mark of the values
// carries the generation of the history, and counts for nothing in a later one; a note about a
// backward pass carries the number of the pass; buffers that a request uses between its parts are
// empty before the next request, also after an exception.
//
// Parameters may change between two requests (`Changes`): nodes that are computed later read the
// new values, and backward reads the values that each node was computed with.
//
// Start reading at executor.cc, which only keeps the order of calls, then forward.cc, backward.cc,
// and assembly.h (how members become the operands of one call). The nodes of a graph may be on
// several devices: each part has memory of each (memory/pools.h), a call runs on the device of its
// group, and only device_copies.h knows two of them. Surprising: all nodes made of one parameter
// share one gradient while a pass runs; the gradient of one of several such nodes is computed on
// demand by a second pass.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet/devices.h"
#include "dynet/tensor.h"

#include "execute/backward.h"
#include "execute/call_tools.h"
#include "execute/changes.h"
#include "execute/context.h"
#include "execute/forward.h"
#include "execute/gradients.h"
#include "execute/history.h"
#include "execute/hooks.h"
#include "execute/lifetimes.h"
#include "execute/path.h"
#include "execute/planning.h"
#include "execute/values.h"
#include "execute/views.h"
#include "execute/wanted.h"
#include "graph/graph.h"
#include "schedule/policy.h"

namespace dynet::execute {

/// Computes one graph: keeps the order in which the parts are called. A request that throws
/// computes nothing. Not thread-safe: belongs to its graph.
class Executor {
 public:
  explicit Executor(const graph::Graph& graph) : context_(graph) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() = default;

  [[nodiscard]] schedule::Scheduler& scheduler() { return planning_.scheduler(); }
  /// To be called when the graph's own device was changed: gives back memory of others. There may
  /// be no nodes.
  void follow_device();
  void set_random_stream(std::uint64_t stream) { tools_.payload.set_random_stream(stream); }
  [[nodiscard]] Hooks& hooks() { return hooks_; }
  /// Bounds of memory that would otherwise grow with the nodes of a graph. Others than these are
  /// for tests.
  struct Limits {
    std::size_t planned_nodes = Planning::kNodesAtOnce;
    std::uint32_t kept_calls = Forward::kKeptCalls;
    schedule::Shortener::Limits pieces{};
  };
  void set_limits(const Limits& limits) {
    planning_.set_nodes_at_once(limits.planned_nodes);
    planning_.set_pieces(limits.pieces);
    forward_.set_kept_calls(limits.kept_calls);
  }

  /// The value of node `n`, after computing the nodes that it needs.
  const Tensor& value(NodeId n);
  /// Computes these nodes, together with the nodes that they need, by one plan.
  void compute_together(std::span<const NodeId> asked) { compute(asked, false); }
  /// Shares the memory that the value of `n` lies in: see memory::Pool::share.
  [[nodiscard]] std::shared_ptr<const void> share(NodeId n);
  /// Computes all nodes up to the last one.
  void compute_all();
  /// Forgets values and gradients; the next evaluation of random nodes draws anew.
  void invalidate();
  /// How many evaluations `invalidate` has begun.
  [[nodiscard]] std::uint64_t evaluation() const { return tools_.payload.evaluation(); }
  /// After a request that failed: random nodes draw as in this evaluation.
  void go_back_to(std::uint64_t evaluation) { tools_.payload.go_back_to(evaluation); }
  /// Adds the gradient of `root` to the parameters. ShapeError unless it has one element.
  void backward(NodeId root, bool full);
  const Tensor& gradient(NodeId n);
  /// For a gradient in nodes, which read parameters as they are when they are computed. GraphError
  /// if one of `path`, the nodes on the way from `root`, was computed before a parameter changed.
  void refuse_old(NodeId root, std::span<const NodeId> path);
  /// Whether gradient() has one: a backward was run, from this node or one after it.
  [[nodiscard]] bool can_have_gradient(NodeId n) const { return backward_.can_have_gradient(n); }

  /// A state to come back to.
  struct Mark {
    std::uint64_t generation = 0;  ///< of the history; the rest means something in it alone
    std::uint32_t groups = 0;
    Values::Mark values;
    util::Arena::Mark operands;
    Changes::Mark parameters{};
  };
  [[nodiscard]] Mark mark() {
    return {history_.generation(), history_.size(), values_.mark(), tools_.arena.mark(),
            changes_.mark()};
  }
  /// Forgets nodes from `first_removed` on and all that was computed after the mark. If values
  /// were computed anew since the mark, groups hold nodes from both sides of it: all values are
  /// forgotten then, and computed again when they are asked for, random nodes as they were drawn
  /// last.
  void revert(const Mark& mark, NodeId first_removed);
  /// Forgets all nodes: the graph is being cleared.
  void remove_all();
  /// Empties it at the end of a graph's life; keeps its memory for the next one.
  void clear();
  /// Gives all memory but `keep_bytes` of each pool back to the system. Nothing may be computed.
  void give_back(std::size_t keep_bytes);

  /// The parts, for tests and for `verify`.
  [[nodiscard]] const Context& context() const { return context_; }
  [[nodiscard]] const History& history() const { return history_; }
  [[nodiscard]] const Values& values() const { return values_; }
  [[nodiscard]] const Gradients& gradients() const { return backward_.gradients(); }
  [[nodiscard]] const Products& products() const { return backward_.products(); }
  /// Whether the gradients are of a pass over the graph as it is.
  [[nodiscard]] bool has_gradients() const { return backward_.has_gradients(); }
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  [[nodiscard]] const Path& path() const { return backward_.path(); }

 private:
  void compute(std::span<const NodeId> asked, bool all);
  [[nodiscard]] bool is_changed_parameter(NodeId n) const;
  void pass_sweep();
  void run_wanted(std::span<const NodeId> asked, bool all_nodes);
  void place_and_run(std::uint32_t first_group);
  void run_dropping(std::span<const NodeId> asked, std::uint32_t first_group);
  void roll_back(const Mark& mark);
  void give_back_unused();
  void forget();

  Context context_;
  History history_;
  Values values_{context_};
  Changes changes_{context_, values_, history_};
  CallTools tools_{context_, values_};
  Hooks hooks_{*this, tools_};
  Backward backward_{context_, values_, history_, changes_, tools_, hooks_};
  Forward forward_{context_, values_, history_, tools_, backward_.copies(), hooks_};
  Wanted wanted_;
  Lifetimes lifetimes_;  ///< in inference scopes
  Planning planning_;
  Views views_;  ///< of values
};

}  // namespace dynet::execute
