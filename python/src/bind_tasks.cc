// Turns of tasks in a graph: dynet/tasks.h for dynet/_together.py, which has the loop over Python's
// generators.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dynet/tasks.h"

#include "binding.h"
#include "graph.h"

namespace dynet::python {
namespace {

/// Guards this thread's current graph while tasks take turns in it.
class PyTurns {
 public:
  PyTurns()
      : graph_(current_graph_pointer()), guard_(std::make_unique<detail::TurnGuard>(graph_->cg)) {}
  PyTurns(const PyTurns&) = delete;
  PyTurns& operator=(const PyTurns&) = delete;
  ~PyTurns() = default;

  void begin() { guard_->begin(); }
  [[nodiscard]] std::optional<std::string> misuse() const {
    if (current_graph_pointer() != graph_) {
      return "asks in a `with ComputationGraph()` block, in which the other tasks would go on to "
             "make nodes; want the end of the block before the question";
    }
    std::string why = guard_->misuse();
    return why.empty() ? std::nullopt : std::optional(std::move(why));
  }
  void close() { guard_.reset(); }

 private:
  std::shared_ptr<PyGraph> graph_;
  std::unique_ptr<detail::TurnGuard> guard_;
};

}  // namespace

void bind_tasks(nb::module_& m) {
  nb::class_<PyTurns>(m, "_Turns", "Guards this thread's graph while tasks take turns in it.")
      .def(nb::init<>())
      .def("begin", &PyTurns::begin, "A task begins its turn.")
      .def("misuse", &PyTurns::misuse, "Why the task may not ask now; None if it may.")
      .def("close", &PyTurns::close, "The tasks are at their ends.");
}

}  // namespace dynet::python
