#pragma once

// Execution: from plans and addresses to numbers, forward and backward.
//
// In:  a Graph; requests for values of some node, for the gradient of a scalar.
// Out: values and gradients in memory; gradients of parameters added to their storages.
//
// A request collects the nodes that are missing (nothing that is not needed is computed), has them
// scheduled, placed and run group by group, and appends the groups to a history. Backward walks the
// history in reverse. Nodes may be added and asked for at any time in between; groups of different
// requests are never merged, which is also what keeps groups from crossing a checkpoint.
//
// Gradients have the memory layout of the values: the first writer into a group's block makes it,
// the first writer of each member stores, later ones add (`fresh`). Products for a weight's
// gradient are not computed on the way: operands are noted (ProductSink) and each parameter gets
// one product at the end. All that is added to a parameter's storage is added there under its lock,
// so graphs of many threads may run backward on one model.
//
// Start reading at forward.cc, then operands.h (how members become the operands of one call), then
// backward.cc. Surprising: all nodes made of one parameter share one gradient block while a pass
// runs; the gradient of one of several such nodes is computed on demand by a second pass
// (gradients.cc).

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "dynet/devices.h"
#include "dynet/tensor.h"

#include "execute/operands.h"
#include "execute/views.h"
#include "graph/graph.h"
#include "memory/layout.h"
#include "memory/pool.h"
#include "schedule/policy.h"

namespace dynet::execute {

using graph::NodeId;

/// Told of every kernel call; for tests, statistics and traces. Called inside the pass: may not use
/// the graph's values.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;
  /// `shared`: bit a is set where argument a was one storage for all members.
  /// `args`: bit a is set where the call reads argument a (all of them, but for a part of a sum).
  struct Call {
    std::span<const NodeId> members;
    std::uint64_t shared;
    std::uint64_t args;
    bool backward;
  };
  virtual void on_call(const graph::Graph& graph, const Call& call) = 0;
};

/// Computes one graph. Invariant: between requests a node has a value exactly when it, and with it
/// all its group, is in the history (parameters and aliases point to others' memory). A request
/// that throws computes nothing. Not thread-safe: belongs to its graph.
class Executor {
 public:
  Executor(graph::Graph& graph, const Device& device);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  [[nodiscard]] schedule::Scheduler& scheduler() { return scheduler_; }
  void set_device(const Device& device) {
    device_ = &device;
    number_bytes_ = ext::bytes_of(number());
  }
  [[nodiscard]] const Device& device() const { return *device_; }
  void set_random_stream(std::uint64_t stream) { random_stream_ = stream; }
  void set_observer(Observer* observer) { observer_ = observer; }

  /// Computes what node `n` needs and does not have.
  const Tensor& value(NodeId n);
  /// Computes all nodes up to the last one.
  void compute_all();
  /// Forgets values and gradients; the next evaluation of random nodes draws anew.
  void invalidate();
  /// Adds the gradient of `root` to the parameters. ShapeError unless it has one element.
  void backward(NodeId root, bool full);
  const Tensor& gradient(NodeId n);

  struct Mark {
    memory::Pool::Mark pool;
    graph::Arena::Mark operands;
    std::size_t groups;
    std::size_t resolved;
  };
  [[nodiscard]] Mark mark() const {
    return {values_pool_.mark(), assembler_.mark(), history_.groups.size(), resolved_.size()};
  }
  /// Forgets nodes from `first_removed` on and whatever was computed after the mark.
  void revert(const Mark& mark, NodeId first_removed);
  /// Forgets all nodes: the graph is being cleared.
  void remove_all();
  /// The same at the end of a graph's life; keeps at most `keep_bytes` of each pool for the next
  /// one.
  void clear(std::size_t keep_bytes);

 private:
  struct Deferred;
  class Reading;
  /// What a call reads as one operand.
  struct Argument {
    std::uint32_t index;
    std::span<const NodeId> nodes;  ///< that its operand is made of
  };
  /// A call and where its operands come from.
  struct Assembled {
    ext::Call call;
    std::span<const Argument> arguments;  ///< one an operand of `call.in`
  };
  /// What one kernel call computes.
  struct Step {
    std::span<const NodeId> members;
    std::uint64_t shared;  ///< bit a: argument a is one storage for all members
    std::uint64_t args;    ///< bit a: argument a is read
    schedule::Part part;
    Assembled* forward = nullptr;  ///< backward: what was assembled for the same members
  };

  // forward.cc
  void compute(NodeId last, bool all);
  void collect_wanted(NodeId last, bool all);
  void run_plan();
  void place_group(const schedule::Group& group);
  void remember(const schedule::Group& group);
  Assembled* run_segment(const Step& step);
  void run_leaf(const graph::Node& node, NodeId n);
  void resolve_parameter(NodeId n);
  void forget(NodeId n);
  void roll_back(const Mark& mark);

  // assemble.cc
  [[nodiscard]] static bool is_shared(const Step& step, std::uint32_t arg) {
    return arg < schedule::kMaxMaskedArgs && ((step.shared >> arg) & 1) != 0;
  }
  std::span<const Argument> list_arguments(const Step& step);
  Assembled* assemble(const Step& step);
  std::span<const NodeId> argument_nodes(const Step& step, std::uint32_t arg);
  ext::Operand stacked(std::span<const NodeId> nodes);
  ext::Operand outputs(const Step& step, std::uint32_t output);
  ext::Operand saved(std::span<const NodeId> members, std::uint32_t index);
  const unsigned* expand_indices(std::span<const NodeId> members, std::int64_t examples);
  ext::Operand expand_values(std::span<const NodeId> members);
  std::span<const ext::Call::Random> random_keys(std::span<const NodeId> members);

  // backward.cc
  enum class Pass : std::uint8_t { kAccumulate, kInspect };
  void run_backward(NodeId root, bool full, Pass pass);
  void mark_path(NodeId root, bool full);
  [[nodiscard]] std::uint8_t flags_of_leaf(NodeId n) const;
  [[nodiscard]] bool is_trained(NodeId n) const;
  void backward_segment(const Step& step);
  void backward_alias(NodeId n);
  void backward_call(const Step& step);
  void* ensure_gradient(NodeId n);
  void zero_gradient(NodeId n);
  ext::Operand output_gradient(std::span<const NodeId> active, std::uint32_t output);
  std::span<const ext::Operand> input_gradients(const Step& step,
                                                std::span<const Argument> arguments);
  void zero_shared_gradients(bool partial, std::span<const Argument> arguments);
  ext::Operand weight_gradient(NodeId n);
  void mark_direct(const Assembled& assembled);
  ext::Operand input_gradient(std::span<const NodeId> nodes);
  [[nodiscard]] NodeId gradient_owner(NodeId n) const {
    return (flags_[n] & kFollows) == 0 ? n : first_node_of_parameter(n);
  }
  [[nodiscard]] NodeId first_node_of_parameter(NodeId n) const;

  // gradients.cc
  void drop_gradients(Pass pass = Pass::kAccumulate);
  void flush();
  void flush_parameter(std::uint32_t slot);
  void flush_lookup(NodeId n);
  std::optional<double> add_products(std::uint32_t slot, const ext::Operand& destination);
  void finish_parameter_gradient(NodeId n);
  [[nodiscard]] Tensor tensor(NodeId n, void* data) const;

  [[nodiscard]] const ext::Kernels& kernels() const { return *device_->kernels; }
  [[nodiscard]] ext::Number number() const { return kernels().number(); }
  [[nodiscard]] std::int64_t bytes(std::int64_t elements) const { return elements * number_bytes_; }

  [[nodiscard]] std::int64_t example_bytes(NodeId n) const { return bytes(graph_.example_size(n)); }

  static constexpr std::uint8_t kNeeds = 1;    ///< depends on something trained
  static constexpr std::uint8_t kReached = 2;  ///< the root depends on it
  static constexpr std::uint8_t kWritten = 4;  ///< its gradient memory holds something
  static constexpr std::uint8_t kFollows = 8;  ///< a parameter's node: its gradient is the first's

  graph::Graph& graph_;
  const Device* device_;
  std::int64_t number_bytes_ = 0;
  Observer* observer_ = nullptr;
  std::uint64_t random_stream_ = 0;
  std::uint64_t evaluation_ = 0;

  // per node
  std::vector<void*> values_;
  std::vector<std::uint32_t> group_of_;  ///< index into the history + 1
  std::vector<std::uint32_t> offset_;    ///< examples before this member in its group
  std::vector<void*> gradients_;
  std::vector<std::uint8_t> flags_;
  NodeId computed_below_ = 0;  ///< all nodes below are computed or not wanted

  schedule::Plan history_;
  std::vector<Assembled*> calls_;  ///< of the history's segments; null: none was made
  std::vector<memory::Placement> places_;
  std::vector<NodeId> resolved_;  ///< parameter nodes with a value, in order
  memory::Pool values_pool_;
  memory::Pool gradients_pool_;

  // scheduling
  std::vector<NodeId> wanted_;
  std::vector<std::uint8_t> is_wanted_;
  schedule::Scheduler scheduler_;
  schedule::Plan plan_;

  // backward
  bool has_gradients_ = false;
  bool last_full_ = false;
  NodeId last_root_ = 0;
  Pass pass_ = Pass::kAccumulate;
  Assembler assembler_;
  std::vector<NodeId> active_;
  std::vector<std::uint32_t> stamp_;  ///< node -> last segment that wrote its gradient
  std::vector<std::uint32_t> stamp_arg_;
  std::uint32_t stamp_count_ = 0;
  std::vector<NodeId> lookups_;                      ///< lookup nodes with a gradient
  std::vector<std::unique_ptr<Deferred>> deferred_;  ///< one a storage slot
  struct Product {
    ext::Operand dy, x;
    std::uint32_t next;  ///< of the same parameter, + 1
  };
  std::vector<Product> products_;
  graph::Arena product_blocks_;
  std::vector<ext::Block> flush_blocks_;

  Views value_views_;
  Views gradient_views_;
};

}  // namespace dynet::execute
