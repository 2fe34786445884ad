// Worker processes: functions of Python as their work, and an interpreter that knows of forks.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/evaluating.h"
#include "dynet/inference.h"
#include "dynet/workers.h"

#include "binding.h"
#include "cycles.h"
#include "gil.h"
#include "graph.h"
#include "lock.h"

namespace dynet::python {
namespace {

/// Buffers of Python's streams, which a fork would double and the end of a worker would lose.
void flush_streams() {
  const nb::module_ sys = nb::module_::import_("sys");
  for (const char* name : {"stdout", "stderr"}) {
    try {
      const nb::object stream = nb::getattr(sys, name, nb::none());
      if (!stream.is_none()) {
        stream.attr("flush")();
      }
    } catch (nb::python_error& e) {
      e.discard_as_unraisable(name);
    }
  }
}

int fork_python() {
  flush_streams();
  PyOS_BeforeFork();
  const pid_t child = fork();
  const int error = errno;
  if (child == 0) {
    PyOS_AfterFork_Child();
  } else {
    PyOS_AfterFork_Parent();
  }
  errno = error;
  return child;
}

void check_signals() {
  const WithGil gil;
  if (PyErr_CheckSignals() != 0) {
    throw nb::python_error();
  }
}

/// The number that the function gave for a piece, in this thread's graph.
double number_of(const nb::object& result, bool learn) {
  if (is_expression(result.ptr())) {
    const Expression e = resolve(instance<PyExpression>(result));
    const auto value = static_cast<double>(as_scalar(evaluate(e, false).tensor));
    if (learn) {
      run_backward(e, false);
    }
    return value;
  }
  if (learn) {
    throw errors::UsageError(std::string("the loss function gave an object of type ") +
                             Py_TYPE(result.ptr())->tp_name + "; want an Expression");
  }
  return nb::cast<double>(nb::float_(result));
}

/// In a worker. Python's exceptions become text here: their objects do not leave the process.
void run_piece(const nb::object& loss, const nb::object& score, const workers::Piece& piece) {
  try {
    nb::list examples;
    for (std::size_t i = 0; i < piece.count; ++i) {
      examples.append(piece.examples[i]);
    }
    current_graph().renew(false, false, std::nullopt);
    const auto result_of = [&examples](const nb::object& function) {
      const OthersMayEnter others;
      return function(examples);
    };
    double value = 0;
    if (piece.learn) {
      value = number_of(result_of(loss), true);
    } else {
      const InferenceScope no_gradients;
      const Evaluating no_dropout;
      value = number_of(result_of(score.is_none() ? loss : score), false);
    }
    std::memcpy(piece.result, &value, sizeof value);
  } catch (const nb::python_error& e) {
    throw errors::UsageError(e.what());
  }
}

/// The functions of a pool. Workers have them from the fork, and call nothing of this process.
struct Functions {
  nb::object loss, score;
};

/// Invariant: the functions live longer than the workers' work, which refers to them.
struct PyWorkerPool : Functions, WorkerPool {
  PyWorkerPool(const ParameterCollection& model, nb::object loss_of, const WorkerOptions& options,
               nb::object score_of)
      : Functions{std::move(loss_of), std::move(score_of)},
        WorkerPool(model, [this](const workers::Piece& piece) { run_piece(loss, score, piece); },
                   options, {fork_python, check_signals, flush_streams}) {}

  int traverse(visitproc visit, void* arg) const {
    Py_VISIT(loss.ptr());
    Py_VISIT(score.ptr());
    return 0;
  }
  void let_go() { const Functions ended = std::exchange(functions(), Functions()); }

 private:
  Functions& functions() { return *this; }
};

WorkerGradient gradient_named(const std::string& name) {
  if (name != "mean" && name != "sum") {
    throw errors::ValueError("WorkerPool: gradient is '" + name + "'; want mean or sum");
  }
  return name == "mean" ? WorkerGradient::kMean : WorkerGradient::kSum;
}

std::vector<unsigned> numbers_of(nb::handle examples) {
  std::vector<unsigned> numbers;
  for (const nb::handle n : nb::iter(examples)) {
    numbers.push_back(read_index(n));
  }
  return numbers;
}

double learn(PyWorkerPool& pool, nb::handle examples,
             const std::optional<std::vector<double>>& costs) {
  const std::vector<unsigned> numbers = numbers_of(examples);
  const WithoutGil released;
  return pool.learn(numbers, costs.value_or(std::vector<double>()));
}
double evaluate_all(PyWorkerPool& pool, nb::handle examples) {
  const std::vector<unsigned> numbers = numbers_of(examples);
  const WithoutGil released;
  return pool.evaluate(numbers);
}

}  // namespace

void bind_workers(nb::module_& m) {
  using nb::arg;
  nb::class_<PyWorkerPool>(
      m, "WorkerPool", nb::type_slots(cycle_slots<PyWorkerPool>),
      "Worker processes that compute the losses and gradients of minibatches together; the caller "
      "makes the updates. `loss(examples)` gets a list of the numbers of some examples and gives "
      "the sum of their losses, in a new graph. Workers are forked here: model and data have to "
      "exist, and the model has to be made with shared parameters "
      "(`dynet_config.set(shared_parameters=1)` before `import dynet`).\n\nA minibatch is cut into "
      "`pieces` (0: four, or one for each worker if there are more workers). Numbers depend on "
      "`pieces` alone: one to four workers give the same numbers, and so do more workers with the "
      "same `pieces`. `gradient` is \"mean\" over the examples or \"sum\". A worker without a sign "
      "of life for `patience` seconds (0: no limit) counts as hanging; making and computing nodes "
      "are signs of life. `score(examples)` gives the number that `evaluate` adds up in place of "
      "losses.")
      .def(
          "__init__",
          [](PyWorkerPool* self, const ParameterCollection& model, nb::object loss,
             unsigned workers, unsigned pieces, const std::string& gradient, double patience,
             nb::object score) {
            const WorkerOptions options{workers, pieces, gradient_named(gradient), patience};
            new (self) PyWorkerPool(model, std::move(loss), options, std::move(score));
          },
          arg("model"), arg("loss"), arg("workers") = 2, arg("pieces") = 0,
          arg("gradient") = "mean", arg("patience") = 1.5, arg("score") = nb::none(),
          "UsageError if a parameter of the model is not shared.")
      .def("learn", &learn, arg("examples"), arg("costs") = nb::none(),
           "Forward and backward over one minibatch: the sum of the losses; the gradient is added "
           "to the model's. `costs` are relative costs of the examples, such as lengths of "
           "sentences: pieces then have about equal costs. WorkerError if a worker fails, with its "
           "traceback; the pool is closed then, and gradients are empty.")
      .def("evaluate", &evaluate_all, arg("examples"),
           "The sum of the losses or scores of any number of examples, without gradients. "
           "WorkerError.")
      .def(
          "close", [](PyWorkerPool& pool) { pool.close(); },
          "Ends the workers. UsageError during another call.")
      .def_prop_ro(
          "pids", [](const PyWorkerPool& pool) { return pool.pids(); },
          "The processes, by worker; empty when closed.")
      .def("__enter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__exit__", [](PyWorkerPool& pool, const nb::args&) { pool.close(); });
}

}  // namespace dynet::python
