#pragma once

// The graphs of Python, and the choice of a thread's current graph.

#include <memory>
#include <optional>
#include <vector>

#include "binding.h"

namespace dynet::python {

/// Python objects that a node keeps. Destroyed with the GIL.
class KeptByNode {
 public:
  KeptByNode() = default;
  KeptByNode(const KeptByNode&) = delete;
  KeptByNode& operator=(const KeptByNode&) = delete;
  virtual ~KeptByNode() = default;
  /// For the garbage collector (cycles.h).
  virtual int traverse(visitproc visit, void* arg) const = 0;
};

/// A graph and Python's records about it: the graph of a thread, made at the thread's first use, or
/// a graph made by the program. Destroyed with the thread or with the last Python object that names
/// it. Thread rule: as ComputationGraph; used with the GIL held.
class PyGraph : public std::enable_shared_from_this<PyGraph> {
 public:
  PyGraph() = default;
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;
  ~PyGraph();

  /// How it computes. `batching`: nothing means as the option --dynet-autobatch says.
  void set(bool immediate_compute, bool check_validity, std::optional<bool> batching);
  /// Empties the graph.
  void renew(bool immediate_compute, bool check_validity, std::optional<bool> batching);
  void revert();
  /// The node of a parameter or table in this graph, made at first use.
  Expression node(const PyExpression& parameter);
  /// The node that `add` makes, with something that lives as long as the node does.
  template <class Add>
  Expression add_keeping(std::shared_ptr<KeptByNode> kept, const Add& add);
  /// For the garbage collector (cycles.h): objects kept by nodes. None while a thread or a
  /// computation also holds the graph, beside the graph's Python object.
  int traverse(visitproc visit, void* arg) const;
  /// Removes all nodes first: they refer to their kept objects.
  void let_go() noexcept;
  /// How often it was renewed.
  [[nodiscard]] unsigned version() const { return version_; }
  /// Whether nodes compute with Python objects.
  [[nodiscard]] bool keeps_objects() const { return !kept_.empty(); }
  /// Whether computing `e` is worth releasing the GIL from the start: by the nodes added since the
  /// last computation, and by all nodes.
  [[nodiscard]] bool is_long_to_compute(const Expression& e);
  [[nodiscard]] bool is_long_in_all(const Expression& e);
  /// `e` was computed.
  void note_computed(const Expression& e);

  /// A graph with its owner, as expressions know only the ComputationGraph.
  struct Cg : ComputationGraph {
    explicit Cg(PyGraph& graph) : owner(graph) {}
    PyGraph& owner;
  };
  Cg cg{*this};

 private:
  /// Node by storage: open addressing, a slot with another stamp is empty.
  struct Slot {
    const void* storage = nullptr;
    Expression node;
    unsigned stamp = 0;
  };
  /// An object kept by one node.
  struct Kept {
    std::size_t node;
    std::shared_ptr<KeptByNode> object;
  };
  /// Removes all nodes.
  [[nodiscard]] std::vector<Kept> take_all();
  /// Takes out the objects of nodes that are gone. The caller drops them last: this may run code of
  /// the user's.
  [[nodiscard]] std::vector<Kept> take_ended();
  [[nodiscard]] bool is_long(std::size_t first, const Expression& last);
  Slot& slot(const void* storage);
  void enter(const void* storage, const Expression& node);

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t used_ = 0;
  unsigned stamp_ = 1;
  unsigned version_ = 0;
  std::vector<Kept> kept_;    ///< by node
  std::size_t computed_ = 0;  ///< nodes that computations may have covered: a guess
};

template <class Add>
Expression PyGraph::add_keeping(std::shared_ptr<KeptByNode> kept, const Add& add) {
  // First, as a node that is computed at once, and fails, stays.
  kept_.push_back({cg.nodes.size(), std::move(kept)});
  try {
    return add();
  } catch (...) {
    const std::vector<Kept> ended = take_ended();
    throw;
  }
}

inline PyExpression::PyExpression(Expression expression, Settable what)
    : e(expression),
      settable(what),
      version(static_cast<PyGraph::Cg*>(expression.pg)->owner.version()) {}

/// The graph in which this thread makes nodes: the graph of the innermost `with`, or its own.
PyGraph& current_graph();
const std::shared_ptr<PyGraph>& current_graph_pointer();
/// `with graph:`. A thread may be in any number of such blocks, in one graph also several times,
/// and may leave them in any order, as generators do. The block entered last, of the blocks not yet
/// left, has the current graph.
void enter_graph(std::shared_ptr<PyGraph> graph);
/// UsageError if this thread is in no block of this graph.
void leave_graph(const PyGraph& graph);

/// Null for "": the graph's own.
inline Device* device_named(const std::string& name) {
  return name.empty() ? nullptr : get_device_manager()->get_global_device(name);
}

/// A new Python object for an expression of a node.
[[nodiscard]] nb::object make_expression(
    Expression e, PyExpression::Settable settable = PyExpression::Settable::kNot);

/// New ones for all of these.
[[nodiscard]] nb::list list_of(const std::vector<Expression>& es);

/// The graph of an expression, alive at least as long as the pointer: the owning thread may end
/// while another thread runs in the graph without the GIL. StaleExpression.
[[nodiscard]] std::shared_ptr<PyGraph> graph_of(const Expression& e);

/// A view of numbers, and the graph that has the memory.
struct Value {
  std::shared_ptr<PyGraph> graph;
  const Tensor& tensor;
};
/// Waits for all that the device was asked to do; other Python threads go on meanwhile.
void wait_for(const Device& device);
/// Computes missing values, or everything; backward. These functions release the GIL for long
/// computations, and do not wait for the device.
void compute(const Expression& e, bool recalculate);
void compute_all(const std::vector<Expression>& es, bool recalculate);
void run_backward(const Expression& e, bool full);
/// The value, computed by the same rules, when the device has it.
Value evaluate(const Expression& e, bool recalculate);
/// The gradient of the last backward.
Value gradient_of(const Expression& e);

/// The place of a builder's new_graph(): the last node of the graph then, which is gone when the
/// graph is renewed, reverted past it or destroyed. Does not keep the graph alive.
class ReadyIn {
 public:
  [[nodiscard]] bool is_ready() const {
    return last_.pg == &current_graph().cg && !last_.is_stale();
  }
  /// To be called when the builder's parameters are in the graph.
  void note() {
    PyGraph& graph = current_graph();
    last_ = Expression(&graph.cg, static_cast<VariableIndex>(graph.cg.nodes.size() - 1));
    ++count_;
  }
  /// How often it was made ready: states of an earlier time are stale.
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  Expression last_;
  unsigned count_ = 0;
};

}  // namespace dynet::python
