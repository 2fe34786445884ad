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
class PyGraph {
 public:
  PyGraph() = default;
  PyGraph(const PyGraph&) = delete;
  PyGraph& operator=(const PyGraph&) = delete;

  /// Empties the graph. `batching`: nothing means as the option --dynet-autobatch says.
  void renew(bool immediate_compute, bool check_validity, std::optional<bool> batching);
  void revert();
  /// The node of a parameter or table in this graph, made at first use.
  Expression node(const PyExpression& parameter);
  /// How often it was renewed.
  [[nodiscard]] unsigned version() const { return version_; }
  /// Whether computing what was added since the last computation is worth releasing the GIL.
  [[nodiscard]] bool is_long();
  void note_computed();

  ComputationGraph cg;

 private:
  /// Node by storage: open addressing, a slot with another stamp is empty.
  struct Slot {
    const void* storage = nullptr;
    Expression node;
    unsigned stamp = 0;
  };
  Slot& slot(const void* storage);
  void enter(const void* storage, const Expression& node);

  std::vector<Slot> slots_ = std::vector<Slot>(16);
  std::size_t used_ = 0;
  unsigned stamp_ = 1;
  unsigned version_ = 0;
  std::size_t computed_ = 0;  ///< nodes that the last computation may have covered
};

/// This thread's graph.
PyGraph& current_graph();
const std::shared_ptr<PyGraph>& current_graph_pointer();

/// A new Python object for an expression of a node.
[[nodiscard]] nb::object make_expression(
    const Expression& e, PyExpression::Settable settable = PyExpression::Settable::kNot);

/// The value, computing what is missing (or everything); backward. Release the GIL where that pays.
const Tensor& evaluate(const Expression& e, bool recalculate);
void run_backward(const Expression& e, bool full);

}  // namespace dynet::python
