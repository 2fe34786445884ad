#pragma once

// Execution: from plans and addresses to numbers, forward and backward.
//
// In:  a Graph; requests for values of some node, for the gradient of a scalar.
// Out: values and gradients in memory; gradients of parameters added to their storages.
//
// A request finds the nodes that are missing (`Wanted`; nothing that is not needed is computed),
// has them scheduled, placed (`Values`) and run group by group (`Assembly` makes the calls,
// `CallPayload` what they read beside values), and appends the groups to a `History`. Backward
// finds the groups that the root depends on (`Path`) and walks them in reverse (`Gradients`,
// `GradientOperands`). Nodes may be added and asked for at any time in between; groups of different
// requests are never merged, which is also what keeps groups from crossing a checkpoint.
//
// In an inference scope (lifetimes.h) a request drops what nobody waits for: the plan is cut so
// that less is alive at a time, its memory is used again by lifetime, and its groups are not
// remembered.
//
// Gradients have the memory layout of the values: the first writer into a group's block makes it,
// the first writer of each member stores, later ones add (`fresh`). Products for a weight's
// gradient are not computed on the way: operands are noted (`WeightGradients`) and each parameter
// gets one product at the end.
// All that is added to a parameter's storage is added there under its lock (deliver.cc), so graphs
// of many threads may run backward on one model.
//
// Memory may run out anywhere in a request. Pool::allocate throws out_of_memory, place_group
// (memory/layout.h) adds the operation and its shape, `compute` takes back all that the request did
// since its mark (`roll_back`) and gives unused chunks to the system, and api::exclusively
// (graph_state.h) frees the memory of graphs at rest. Example: of five groups the third does not
// fit. None of the five has values afterwards, values of earlier requests are still there, and the
// same request may be made again.
//
// Nothing here is remembered as a position that something else may reset. What refers to the values
// as they are now (a mark) carries the generation of the history, and counts for nothing in a later
// one; what refers to a backward pass carries the number of the pass; whatever a request keeps
// between its parts is empty before the next one, also after an exception.
//
// Parameters may change between two requests (`Changes`): what is computed later reads the new
// values, and backward what each node was computed with.
//
// Start reading at executor.cc, which only keeps the order of calls, then assembly.h (how members
// become the operands of one call). The nodes of a graph may be on several devices: each part has
// memory of each (memory/pools.h), a call runs on the device of its group, and only device_copies.h
// knows two of them. Surprising: all nodes made of one parameter share one gradient
// while a pass runs; the gradient of one of several such nodes is computed on demand by a second
// pass.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet/devices.h"
#include "dynet/tensor.h"

#include "execute/assembly.h"
#include "execute/changes.h"
#include "execute/context.h"
#include "execute/device_copies.h"
#include "execute/gradient_operands.h"
#include "execute/gradients.h"
#include "execute/history.h"
#include "execute/hooks.h"
#include "execute/lifetimes.h"
#include "execute/operand_arena.h"
#include "execute/path.h"
#include "execute/payload.h"
#include "execute/values.h"
#include "execute/views.h"
#include "execute/wanted.h"
#include "execute/weight_gradients.h"
#include "graph/graph.h"
#include "schedule/policy.h"
#include "schedule/shorten.h"

namespace dynet::execute {

/// Computes one graph: keeps the order in which the parts are called. A request that throws
/// computes nothing. Not thread-safe: belongs to its graph.
class Executor {
 public:
  explicit Executor(const graph::Graph& graph) : context_(graph) {}
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor() = default;

  [[nodiscard]] schedule::Scheduler& scheduler() { return scheduler_; }
  /// To be called when the graph's own device was changed: gives back memory of others. There may
  /// be no nodes.
  void follow_device();
  void set_random_stream(std::uint64_t stream) { payload_.set_random_stream(stream); }
  [[nodiscard]] Hooks& hooks() { return hooks_; }
  /// What bounds memory that would otherwise grow with the nodes of a graph. Others than these are
  /// for tests.
  struct Limits {
    /// Nodes that are planned at once. A request for more is planned piece by piece, so that the
    /// buffers of scheduling (some 130 bytes per node) stay this large. More groups are made, but a
    /// few for each piece.
    std::size_t planned_nodes = std::size_t{1} << 18;
    /// Calls that are kept for backward as they were made. Those beyond, each some 500 bytes, are
    /// made again.
    std::uint32_t kept_calls = std::uint32_t{1} << 16;
  };
  void set_limits(const Limits& limits) { limits_ = limits; }

  /// Computes what node `n` needs and does not have.
  const Tensor& value(NodeId n);
  /// Shares the memory that the value of `n` lies in: see memory::Pool::share.
  [[nodiscard]] std::shared_ptr<const void> share(NodeId n);
  /// Computes all nodes up to the last one.
  void compute_all();
  /// Forgets values and gradients; the next evaluation of random nodes draws anew.
  void invalidate();
  /// Adds the gradient of `root` to the parameters. ShapeError unless it has one element.
  void backward(NodeId root, bool full);
  const Tensor& gradient(NodeId n);
  /// For a gradient in nodes, which read parameters as they are when they are computed. GraphError
  /// if one of `path`, the nodes on the way from `root`, was computed before a parameter changed.
  void refuse_old(NodeId root, std::span<const NodeId> path);
  /// Whether gradient() has one: a backward was run, from this node or one after it.
  [[nodiscard]] bool can_have_gradient(NodeId n) const {
    return request_.is_valid && n <= request_.root;
  }

  /// A state to come back to.
  struct Mark {
    std::uint64_t generation = 0;  ///< of the history; the rest means something in it alone
    std::uint32_t groups = 0;
    Values::Mark values;
    util::Arena::Mark operands;
    Changes::Mark parameters{};
  };
  [[nodiscard]] Mark mark() {
    return {history_.generation(), history_.size(), values_.mark(), arena_.mark(), changes_.mark()};
  }
  /// Forgets nodes from `first_removed` on and whatever was computed after the mark. Where values
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
  [[nodiscard]] const Gradients& gradients() const { return gradients_; }
  /// Whether they are those of a pass over the graph as it is.
  [[nodiscard]] bool has_gradients() const { return request_.done != Pass::kNone; }
  [[nodiscard]] const Wanted& wanted() const { return wanted_; }
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  /// What a backward pass left behind that `gradient` can be asked for.
  enum class Pass : std::uint8_t {
    kNone,        ///< nothing: it failed, or something was computed anew
    kAccumulate,  ///< nodes of one parameter share their gradient
    kInspect,     ///< each node has its own
  };
  struct Request {
    bool is_valid = false;  ///< whether a backward was run since values were last forgotten
    bool full = false;
    NodeId root = 0;
    Pass done = Pass::kNone;
  };

  // executor.cc
  void compute(NodeId last, bool all);
  [[nodiscard]] bool is_changed_parameter(NodeId n) const;
  void pass_sweep();
  void plan(const std::vector<NodeId>& nodes);
  void run_wanted(NodeId asked, bool all_nodes);
  void place_and_run(std::uint32_t first_group);
  void run_dropping(NodeId asked, std::uint32_t first_group);
  void roll_back(const Mark& mark);
  void give_back_unused();
  void forget();
  void forget_gradients();

  // forward.cc
  void run(std::uint32_t first, std::uint32_t last, bool has_backward);
  [[nodiscard]] bool can_be_made_again(const SegmentView& segment) const;
  [[nodiscard]] bool is_uploaded(std::uint32_t g) const;
  bool assemble_uploaded(std::uint32_t g);
  void run_group(std::uint32_t g, bool is_made, bool has_backward);
  Assembled* assemble(const SegmentView& segment);
  void run_segment(const SegmentView& segment, Assembled* assembled);
  void call_segment(const SegmentView& segment, Assembled* assembled);

  // backward.cc
  void run_backward(NodeId root, bool full, Pass pass);
  [[nodiscard]] Assembled* put_back(const SegmentView& segment, Assembled* call);
  void backward_segment(const SegmentView& segment, Assembled* whole, Pass pass);
  void settle_gradients(std::span<const NodeId> members);
  void finish_weights(std::span<const NodeId> members);
  void copy_back(std::span<const NodeId> active);
  void backward_alias(NodeId n);
  void backward_call(const SegmentView& segment, std::span<const NodeId> active, Assembled& whole,
                     Pass pass);

  // asked_gradients.cc
  void inspect();
  void finish_gradient_of_parameter(NodeId n);

  // deliver.cc
  void deliver();
  void deliver_parameter(NodeId n);
  void deliver_lookup(NodeId n);

  Context context_;

  History history_;
  Values values_{context_};
  Changes changes_{context_, values_, history_};
  OperandArena arena_;
  Upload upload_;
  CallPayload payload_{context_, arena_, upload_};
  CallMemory call_memory_{*context_.graph.device().memory};
  Assembly assembly_{context_, values_, arena_, payload_, call_memory_};
  Wanted wanted_;
  schedule::Scheduler scheduler_;
  schedule::Plan plan_;
  std::vector<NodeId> piece_;  ///< of the wanted nodes, where they are planned piece by piece
  Limits limits_;

  // inference scopes
  Lifetimes lifetimes_;
  schedule::Shortener shortener_;
  schedule::Plan short_plan_;

  Gradients gradients_{context_, values_, history_};
  Hooks hooks_{{*this, context_, history_, values_, gradients_, assembly_, arena_, call_memory_}};
  WeightGradients weights_;
  ComputedWeights computed_weights_{gradients_};
  GradientOperands gradient_operands_{gradients_, weights_, computed_weights_, arena_};
  DeviceCopies copies_{context_, values_, gradients_, call_memory_};
  Path path_{context_, values_, history_};
  Request request_;
  std::vector<NodeId> active_;  ///< members of the segment that backward runs

  Views value_views_;
  Views gradient_views_;
};

}  // namespace dynet::execute
