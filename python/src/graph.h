#pragma once

// The default graph of a thread.

#include <memory>
#include <optional>
#include <vector>

#include "binding.h"

namespace dynet::python {

/// One thread's graph and what Python remembers about it. Made when a thread first needs it,
/// destroyed with the thread or with the last Python object that names it. Thread rule: that of
/// ComputationGraph; used with the GIL held.
class PyGraph : public std::enable_shared_from_this<PyGraph> {
 public:
  PyGraph() = default;
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;
  ~PyGraph() = default;

  /// Empties the graph. `batching`: nothing means as the option --dynet-autobatch says.
  void renew(bool immediate_compute, bool check_validity, std::optional<bool> batching);
  void revert();
  /// The node of a parameter or table in this graph, made at first use.
  Expression node(const PyExpression& parameter);
  /// How often it was renewed.
  [[nodiscard]] unsigned version() const { return version_; }
  /// Whether computing `e` is worth releasing the GIL from the start: by what was added since the
  /// last computation, and by all of it.
  [[nodiscard]] bool is_long_to_compute(const Expression& e);
  [[nodiscard]] bool is_long_in_all(const Expression& e);
  /// `e` was computed.
  void note_computed(const Expression& e);

  /// Knows whose it is: expressions know only the ComputationGraph.
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
  [[nodiscard]] bool is_long(std::size_t first, const Expression& last);
  Slot& slot(const void* storage);
  void enter(const void* storage, const Expression& node);

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t used_ = 0;
  unsigned stamp_ = 1;
  unsigned version_ = 0;
  std::size_t computed_ = 0;  ///< nodes that computations may have covered: a guess
};

/// This thread's graph.
PyGraph& current_graph();
const std::shared_ptr<PyGraph>& current_graph_pointer();

/// Null for "": the graph's own.
inline Device* device_named(const std::string& name) {
  return name.empty() ? nullptr : get_device_manager()->get_global_device(name);
}

/// A new Python object for an expression of a node.
[[nodiscard]] nb::object make_expression(
    const Expression& e, PyExpression::Settable settable = PyExpression::Settable::kNot);

/// New ones for all of these.
[[nodiscard]] nb::list list_of(const std::vector<Expression>& es);

/// The graph of an expression, which lives at least as long as this: the thread it belongs to may
/// end while another one runs in it without the GIL. StaleExpression.
[[nodiscard]] std::shared_ptr<PyGraph> graph_of(const Expression& e);

/// A view of numbers, and the graph whose memory it shows.
struct Value {
  std::shared_ptr<PyGraph> graph;
  const Tensor& tensor;
};
/// Waits for all that the device was asked to do; other Python threads go on meanwhile.
void wait_for(const Device& device);
/// Computes what is missing, or everything; backward. They release the GIL where that pays, and do
/// not wait for the device.
void compute(const Expression& e, bool recalculate);
void run_backward(const Expression& e, bool full);
/// The value, computed by the same rules, when the device has it.
Value evaluate(const Expression& e, bool recalculate);
/// The gradient of the last backward.
Value gradient_of(const Expression& e);

/// Where a builder was made ready: a graph, its version, and the last node it had then, which a
/// revert may have removed since.
class ReadyIn {
 public:
  [[nodiscard]] bool is_ready() const {
    const PyGraph* now = &current_graph();
    return graph_.get() == now && version_ == now->version() && !last_.is_stale();
  }
  /// To be called when the builder's parameters are in the graph.
  void note() {
    graph_ = current_graph_pointer();
    version_ = graph_->version();
    last_ = Expression(&graph_->cg, static_cast<VariableIndex>(graph_->cg.nodes.size() - 1));
    ++count_;
  }
  /// How often it was made ready: states of an earlier time are stale.
  [[nodiscard]] unsigned count() const { return count_; }

 private:
  std::shared_ptr<PyGraph> graph_;
  unsigned version_ = 0;
  Expression last_;
  unsigned count_ = 0;
};

}  // namespace dynet::python
