// Programs of cells: dynet/cell.h for dynet/_cell.py, which finds the programs of a call.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/cell.h"

#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

/// This thread's current graph, until the end of the scope.
class Within {
 public:
  explicit Within(std::shared_ptr<PyGraph> graph) : graph_(std::move(graph)) {
    enter_graph(graph_);
  }
  ~Within() { leave_graph(*graph_); }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  std::shared_ptr<PyGraph> graph_;
};

/// The programs of a function for calls of one structure: which arguments are expressions, and the
/// values of all others.
class PyPrograms {
 public:
  PyPrograms(const std::string& name, std::vector<unsigned> inputs)
      : name_(name), programs_(name, std::move(inputs)) {}

  /// The results of a call. None if an argument is no expression, and for arguments of a kind that
  /// is new; NotImplemented if the function has to run by itself.
  nb::object call(const nb::tuple& args) {
    in_.clear();
    for (const nb::handle arg : args) {
      if (!is_expression(arg.ptr())) {
        return nb::none();
      }
      in_.push_back(resolve(instance<PyExpression>(arg)));
    }
    const std::shared_ptr<PyGraph> graph = in_.empty() ? nullptr : graph_of(in_[0]);
    std::vector<Expression> results;
    using Outcome = detail::CellPrograms::Outcome;
    const Outcome outcome = programs_.call(in_, here(), results);
    if (outcome != Outcome::kAdded) {
      return outcome == Outcome::kNew ? nb::none() : nb::borrow(Py_NotImplemented);
    }
    const auto form = static_cast<Form>(programs_.form());
    if (form == Form::kOne) {
      return make_expression(results[0]);
    }
    nb::list all = list_of(results);
    return form == Form::kList ? nb::object(std::move(all)) : nb::object(nb::tuple(all));
  }

  /// Runs the function on a list of placeholders for these arguments.
  void record(const nb::tuple& args, const nb::callable& function) {
    std::vector<Expression> in;
    for (const nb::handle arg : args) {
      in.push_back(resolve(instance<PyExpression>(arg)));
    }
    const auto graph = std::make_shared<PyGraph>();
    auto form = Form::kOne;
    {
      const Within within(graph);
      programs_.record(in, graph->cg, [&](const std::vector<Expression>& placeholders) {
        const nb::object result = run(function, list_of(placeholders));
        if (graph->keeps_objects()) {
          throw errors::UsageError("cell(" + name_ +
                                   "): its function applies an operation written in Python; want "
                                   "it outside of the cell");
        }
        form = form_of(result);
        std::vector<Expression> results;
        if (form == Form::kOne) {
          results.push_back(resolve(instance<PyExpression>(result)));
        } else {
          for (const nb::handle item : nb::list(result)) {
            results.push_back(resolve(instance<PyExpression>(item)));
          }
        }
        return results;
      });
    }
    programs_.form() = static_cast<unsigned>(form);
  }

 private:
  /// What the function returns.
  enum class Form : unsigned { kOne, kTuple, kList };

  /// Python's GraphError becomes the library's again, which gets the name of the cell.
  static nb::object run(const nb::callable& function, const nb::list& placeholders) {
    try {
      return function(placeholders);
    } catch (const nb::python_error& e) {
      if (e.matches(nb::module_::import_("_dynet").attr("GraphError"))) {
        throw errors::GraphError(nb::str(e.value()).c_str());
      }
      throw;
    }
  }
  static Form form_of(nb::handle result) {
    if (PyTuple_Check(result.ptr())) {
      return Form::kTuple;
    }
    return PyList_Check(result.ptr()) ? Form::kList : Form::kOne;
  }
  std::string name_;
  detail::CellPrograms programs_;
  std::vector<Expression> in_;  ///< room for the arguments of a call
};

}  // namespace

void bind_cell(nb::module_& m) {
  nb::class_<PyPrograms>(m, "_CellPrograms", "The programs of a cell for calls of one structure.")
      .def(nb::init<const std::string&, std::vector<unsigned>>(), nb::arg("name"),
           nb::arg("inputs"))
      .def("call", &PyPrograms::call, nb::arg("args"),
           nb::sig("def call(self, args: tuple[typing.Any, ...]) -> typing.Any"),
           "The results; None for a new kind of arguments; NotImplemented if no program was made.")
      .def("record", &PyPrograms::record, nb::arg("args"), nb::arg("function"),
           nb::sig("def record(self, args: tuple[Expression, ...], function: "
                   "collections.abc.Callable[[list[Expression]], typing.Any]) -> None"),
           "Runs the function, which returns expressions, on placeholders, and notes its program.");
}

}  // namespace dynet::python
