// Functions and the class of the computation graph.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/inference.h"

#include "arrays.h"
#include "binding.h"
#include "cycles.h"
#include "graph.h"
#include "quick.h"
#include "signals.h"
#include "texts.h"

namespace dynet::python {
namespace {

using GraphPointer = std::shared_ptr<PyGraph>;

/// Holds the graph by a pointer of its own: objects kept by the graph may run code of the user's
/// when they go.
GraphPointer renew(GraphPointer graph, bool immediate_compute, bool check_validity,
                   std::optional<bool> autobatching) {
  graph->renew(immediate_compute, check_validity, autobatching);
  return graph;
}

/// With the defaults below: the call that programs make for each example.
GraphPointer renew_as_usual() { return renew(current_graph_pointer(), false, false, std::nullopt); }

nb::list values_of(const ExprListArg& exps, bool recalculate, const char* method) {
  const nb::tuple all(exps.owner);  // other threads may change the list meanwhile
  compute_all(std::vector(exps.nodes()), recalculate);
  nb::list values;
  HandlersInLoop handlers;
  for (const nb::handle e : all) {
    handlers.pass();
    values.append(e.attr(method)());
  }
  return values;
}

void bind_graph_class(nb::module_& m) {
  using nb::arg;
  nb::class_<PyGraph>(m, "ComputationGraph", texts::ComputationGraph,
                      nb::type_slots(cycle_slots<PyGraph>))
      .def(nb::new_(
               [](bool immediate_compute, bool check_validity, std::optional<bool> autobatching) {
                 auto graph = std::make_shared<PyGraph>();
                 graph->set(immediate_compute, check_validity, autobatching);
                 return graph;
               }),
           arg("immediate_compute") = false, arg("check_validity") = false,
           arg("autobatching") = nb::none())
      .def(
          "__enter__",
          [](const GraphPointer& graph) {
            enter_graph(graph);
            return graph;
          },
          nb::sig("def __enter__(self) -> ComputationGraph"),
          "From now on it is this thread's current graph.")
      .def(
          "__exit__", [](PyGraph& graph, const nb::args&) { leave_graph(graph); },
          nb::sig("def __exit__(self, *args: object) -> None"),
          "The graph of before is the current one again.")
      .def(
          "renew",
          [](const GraphPointer& graph, bool immediate_compute, bool check_validity,
             std::optional<bool> autobatching) {
            graph->renew(immediate_compute, check_validity, autobatching);
          },
          arg("immediate_compute") = false, arg("check_validity") = false,
          arg("autobatching") = nb::none(), "See `renew_cg`.")
      .def(
          "version", [](const GraphPointer& graph) { return graph->version(); },
          "How often the graph was renewed.")
      .def(
          "backward",
          [](const GraphPointer& graph, unsigned index, bool full) {
            run_backward(Expression(&graph->cg, index), full);
          },
          arg("index"), arg("full") = false, "`Expression.backward` by index.")
      .def(
          "checkpoint", [](const GraphPointer& graph) { graph->cg.checkpoint(); },
          "See `cg_checkpoint`.")
      .def(
          "revert", [](const GraphPointer& graph) { graph->revert(); }, "See `cg_revert`.")
      .def(
          "__len__", [](const GraphPointer& graph) { return graph->cg.nodes.size(); },
          "Number of nodes.")
      .def(
          "__bool__", [](const GraphPointer&) { return true; },
          "True, also of a graph without nodes, as in DyNet 2.1.");
}

void bind_graph_texts(nb::module_& m) {
  using nb::arg;
  nb::borrow<nb::class_<PyGraph>>(m.attr("ComputationGraph"))
      .def(
          "set_random_stream",
          [](const GraphPointer& graph, std::uint64_t stream) {
            graph->cg.set_random_stream(stream);
          },
          arg("stream"), texts::ComputationGraph_set_random_stream)
      .def(
          "print_graphviz", [](const GraphPointer& graph) { graph->cg.print_graphviz(); },
          texts::ComputationGraph_print_graphviz)
      .def(
          "to_dot", [](const GraphPointer& graph) { return graph->cg.to_dot(); },
          texts::ComputationGraph_to_dot)
      .def(
          "to_svg", [](const GraphPointer& graph) { return graph->cg.to_svg(); },
          texts::ComputationGraph_to_svg)
      .def("_repr_svg_", [](const GraphPointer& graph) { return graph->cg.to_svg(); })
      .def(
          "dump",
          [](const GraphPointer& graph, const std::string& filename, bool values, bool gradients,
             bool nan_check_only) { graph->cg.dump(filename, values, gradients, nan_check_only); },
          arg("filename"), arg("show_values"), arg("show_gradients"), arg("nan_check_only"),
          "See `dump_cg`.");
}

/// `forward(i)` and the like: by index, computing everything anew or only missing values.
void bind_by_index(nb::module_& m) {
  auto c = nb::borrow<nb::class_<PyGraph>>(m.attr("ComputationGraph"));
  const auto node = [](const GraphPointer& graph, unsigned index) {
    if (index >= graph->cg.nodes.size()) {
      throw errors::IndexError("node " + std::to_string(index) + " of a graph of " +
                               std::to_string(graph->cg.nodes.size()) + " nodes");
    }
    return Expression(&graph->cg, index);
  };
  const auto def = [&](const std::string& prefix, bool anew) {
    c.def((prefix + "forward").c_str(),
          [=](const GraphPointer& g, unsigned index) { compute(node(g, index), anew); },
          nb::arg("index"),
          anew ? texts::ComputationGraph_forward : texts::ComputationGraph_incremental_forward);
    c.def((prefix + "forward_scalar").c_str(),
          [=](const GraphPointer& g, unsigned index) {
            const Expression e = node(g, index);
            return to_scalar(evaluate(e, anew).tensor, e);
          },
          nb::arg("index"));
    c.def((prefix + "forward_vec").c_str(),
          [=](const GraphPointer& g, unsigned index) {
            return to_list(evaluate(node(g, index), anew).tensor);
          },
          nb::arg("index"));
  };
  def("", true);
  def("inc_", false);
}

void bind_graph_functions(nb::module_& m) {
  using nb::arg;
  m.def(
      "renew_cg",
      [](bool immediate_compute, bool check_validity, std::optional<bool> autobatching) {
        return renew(current_graph_pointer(), immediate_compute, check_validity, autobatching);
      },
      arg("immediate_compute") = false, arg("check_validity") = false,
      arg("autobatching") = nb::none(),
      "Empties this thread's current graph and gives it; its expressions become stale. "
      "`immediate_compute`: nodes are "
      "computed when they are made, `check_validity`: and looked at for NaN. `autobatching`: "
      "whether "
      "nodes are run together; None: as the option --dynet-autobatch says (yes).");
  add_quick_way<&renew_as_usual>(m, "renew_cg");
  m.def(
      "explain_batch",
      [](const ExprArg& a, const ExprArg& b) { return explain_batch(a.node(), b.node()); },
      arg("a"), arg("b"),
      "Why batching does not run two nodes of a graph together, as the first difference of their "
      "keys: `attributes: d=0 != d=1`, `argument 1: {3} != {4}`; or another reason; `equal keys` "
      "if there is none: the nodes then share a group if the program asks for them together and "
      "they become ready together. Computes nothing. GraphError if the nodes are of different "
      "graphs.");
  m.def("cg", &current_graph_pointer, "This thread's graph.");
  m.def(
      "cg_version", [] { return current_graph().version(); },
      "How often this thread's graph was renewed.");
  m.def(
      "cg_checkpoint", [] { current_graph().cg.checkpoint(); },
      "Marks the graph as it is; marks nest.");
  m.def(
      "cg_revert", [] { current_graph().revert(); },
      "Removes the nodes above the last mark, and the mark; without a mark does nothing.");
  m.def(
      "print_text_graphviz", [] { current_graph().cg.print_graphviz(); },
      "DOT text of the graph on the standard error stream.");
  m.def(
      "dump_cg",
      [](const std::string& filename, bool values, bool gradients, bool nan_check_only) {
        current_graph().cg.dump(filename, values, gradients, nan_check_only);
      },
      arg("filename") = "", arg("show_values") = true, arg("show_gradients") = true,
      arg("nan_check_only") = false, "The graph as text, to a file or the standard output stream.");
}

/// `with dynet.no_grad():` and its like. One scope for each `with` block of the object.
template <class Scope>
struct Scopes {
  Scopes() = default;
  Scopes(const Scopes&) = delete;
  Scopes& operator=(const Scopes&) = delete;
  ~Scopes() = default;
  std::vector<std::unique_ptr<Scope>> entered;
  std::thread::id thread;
};

template <class Scope>
nb::class_<Scopes<Scope>> bind_scope(nb::module_& m, const char* name, const char* doc) {
  using Py = Scopes<Scope>;
  return nb::class_<Py>(m, name, doc)
      .def(nb::init<>())
      .def("__repr__",
           [name](const Py& it) {
             return std::string(name) + (it.entered.empty() ? "()" : "(), entered");
           })
      .def("__enter__",
           [name](nb::handle self) {
             auto& it = nb::cast<Py&>(self);
             if (!it.entered.empty() && it.thread != std::this_thread::get_id()) {
               throw errors::UsageError(std::string(name) +
                                        ": another thread is in this scope; make one of its own");
             }
             it.entered.push_back(std::make_unique<Scope>());
             it.thread = std::this_thread::get_id();
             return nb::borrow(self);
           })
      .def("__exit__", [name](Py& it, const nb::args&) {
        if (it.entered.empty() || it.thread != std::this_thread::get_id()) {
          throw errors::UsageError(std::string(name) + ": left by a thread that did not enter it");
        }
        it.entered.pop_back();
      });
}

void bind_scopes(nb::module_& m) {
  bind_scope<InferenceScope>(m, "no_grad", texts::InferenceScope);
  bind_scope<Evaluating>(m, "evaluating", texts::Evaluating)
      .def_static("is_on", &Evaluating::is_on, texts::Evaluating_is_on);
}

void bind_values_of_lists(nb::module_& m) {
  using nb::arg;
  m.def(
      "forward",
      [](const ExprListArg& exps, bool recalculate) {
        compute_all(std::vector(exps.nodes()), recalculate);  // a copy: Python code may run
      },
      arg("exps"), arg("recalculate") = false,
      "Computes all of a list, together: in the kernel calls that the largest needs, or a few "
      "more.");
  m.def(
      "values",
      [](const ExprListArg& exps, bool recalculate) {
        return values_of(exps, recalculate, "value");
      },
      arg("exps"), arg("recalculate") = false, "`value()` of each.");
  m.def(
      "npvalues",
      [](const ExprListArg& exps, bool recalculate) {
        return values_of(exps, recalculate, "npvalue");
      },
      arg("exps"), arg("recalculate") = false, "`npvalue()` of each.");
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_graph_class(m);
  bind_graph_texts(m);
  bind_by_index(m);
  bind_graph_functions(m);
  bind_values_of_lists(m);
  bind_scopes(m);
}

}  // namespace dynet::python
