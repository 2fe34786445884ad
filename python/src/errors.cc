#include "errors.h"

#include <nanobind/stl/string.h>

#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>

#include "dynet/distributed.h"
#include "dynet/gpus.h"
#include "dynet/workers.h"

#include "binding.h"
#include "ended.h"
#include "quick.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

/// The Python class of an exception; lives as long as the process.
template <class E>
PyObject* class_of = nullptr;

/// The common base is not an exception of its own: it stands beside a built-in one in the bases.
PyObject* error_base = nullptr;

/// Stands for "see the misfit"; no user sees it.
PyObject* refusal = nullptr;

PyObject* make_class_of(nb::module_& m, const char* name, const char* doc, const nb::tuple& bases) {
  PyObject* type =
      PyErr_NewExceptionWithDoc((std::string("dynet.") + name).c_str(), doc, bases.ptr(), nullptr);
  if (type == nullptr) {
    throw nb::python_error();
  }
  m.attr(name) = nb::handle(type);
  return type;
}

template <class... Builtin>
PyObject* make_class(nb::module_& m, const char* name, const char* doc, Builtin... builtin) {
  return make_class_of(m, name, doc,
                       nb::make_tuple(nb::handle(error_base), nb::handle(builtin)...));
}

template <class E>
bool set_if(const errors::Error& error) {
  if (dynamic_cast<const E*>(&error) == nullptr) {
    return false;
  }
  if constexpr (std::is_same_v<E, errors::StaleExpression>) {
    PyErr_SetString(class_of<E>, (error.message() + end_text()).c_str());
  } else {
    PyErr_SetString(class_of<E>, error.message());
  }
  return true;
}

/// Tells which worker it was, too. The text may hold anything that a worker said.
bool set_if_of_worker(const errors::Error& error) {
  const auto* const of_worker = dynamic_cast<const errors::WorkerError*>(&error);
  if (of_worker == nullptr) {
    return false;
  }
  const nb::object text = nb::steal(PyUnicode_DecodeUTF8(
      error.message(), static_cast<Py_ssize_t>(std::strlen(error.message())), "replace"));
  const nb::object raised = nb::handle(class_of<errors::WorkerError>)(text);
  raised.attr("worker") = of_worker->worker;
  raised.attr("pid") = of_worker->pid;
  raised.attr("signal") = of_worker->signal;
  PyErr_SetObject(class_of<errors::WorkerError>, raised.ptr());
  return true;
}

/// Tells which rank it was, too.
bool set_if_of_rank(const errors::Error& error) {
  const auto* const of_rank = dynamic_cast<const errors::RankError*>(&error);
  if (of_rank == nullptr) {
    return false;
  }
  const nb::object raised = nb::handle(class_of<errors::RankError>)(error.message());
  raised.attr("rank") = of_rank->rank;
  PyErr_SetObject(class_of<errors::RankError>, raised.ptr());
  return true;
}

template <class... E>
void set_first_of(const errors::Error& error) {
  if (!set_if_of_worker(error) && !set_if_of_rank(error) && !(set_if<E>(error) || ...)) {
    PyErr_SetString(error_base, error.message());
  }
}

/// The translator that nanobind asks before its own.
void translate(const std::exception_ptr& error, void* /*payload*/) { set_python_error(error); }

/// For tests of both ways into a function: throws one of the standard library's exceptions.
bool throw_standard(IndexArg which) {
  switch (which.index) {
    case 0:
      throw std::bad_alloc();
    case 1:
      throw std::out_of_range("out_of_range");
    case 2:
      throw std::overflow_error("overflow_error");
    case 3:
      throw std::length_error("length_error");
    case 4:
      throw std::domain_error("domain_error");
    case 5:
      throw std::range_error("range_error");
    case 6:
      throw std::invalid_argument("invalid_argument");
    case 7:
      throw std::runtime_error("runtime_error");
    default:
      return false;
  }
}

}  // namespace

void set_python_error(const std::exception_ptr& error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const errors::Error& e) {
    set_first_of<errors::NoGpuLibrary, errors::ShapeError, errors::IndexError, errors::ValueError,
                 TypeError, EmptyListError, errors::SizeError, errors::StateError,
                 errors::DomainError, errors::GraphError, errors::StaleExpression,
                 errors::UsageError, errors::DeviceError, cuda_exception, errors::IoError,
                 errors::NumericError, out_of_memory>(e);
  } catch (const Refused&) {
    PyErr_SetString(refusal, "an argument does not fit");
  } catch (const std::bad_cast&) {  // nanobind's, from a binding that converts by hand
    PyErr_SetString(refusal, "an argument does not fit");
  } catch (const std::bad_alloc& e) {
    PyErr_SetString(PyExc_MemoryError, e.what());
  } catch (const std::out_of_range& e) {
    PyErr_SetString(PyExc_IndexError, e.what());
  } catch (const std::overflow_error& e) {
    PyErr_SetString(PyExc_OverflowError, e.what());
  } catch (const std::range_error& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::domain_error& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::length_error& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::invalid_argument& e) {
    PyErr_SetString(PyExc_ValueError, e.what());
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_RuntimeError, e.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "unknown C++ exception");
  }
}

nb::handle refused_class() { return refusal; }

namespace {
/// The length of the function's name at the begin of a text of ours: "lookup: ...", "save(): ...";
/// 0 for another begin.
std::size_t name_length(std::string_view text) {
  const std::size_t end =
      text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.():");
  return end != std::string_view::npos && end > 1 && text[end] == ' ' && text[end - 1] == ':'
             ? end - 1
             : 0;
}
/// Whether only C++ has that name: Python has the function under another one.
bool is_of_cpp(std::string_view name) {
  return name == "initialize" || name == "Trainer" || name.starts_with("ParameterInit") ||
         name.find("::") != std::string_view::npos;
}

}  // namespace

bool is_error_of_library(nb::handle error) {
  return PyErr_GivenExceptionMatches(error.ptr(), error_base) != 0;
}

void complete_error(nb::handle error, const std::function<std::string()>& name) {
  if (!is_error_of_library(error)) {
    return;
  }
  const nb::tuple args(error.attr("args"));
  if (args.size() != 1 || !PyUnicode_Check(nb::object(args[0]).ptr())) {
    return;
  }
  std::string text = nb::str(args[0]).c_str();
  if (text.find("built at ") != std::string::npos || text.find("called at ") != std::string::npos) {
    return;
  }
  std::size_t length = name_length(text);
  if (length != 0 && is_of_cpp(std::string_view(text).substr(0, length))) {
    text.erase(0, length + 2);
    length = 0;
  }
  const std::string line = line_here();
  error.attr("args") = nb::make_tuple((length != 0 ? "" : name() + ": ") + text +
                                      (line.empty() ? "" : "\n  called at " + line));
}

void bind_errors(nb::module_& m) {
  PyObject* value = PyExc_ValueError;
  PyObject* runtime = PyExc_RuntimeError;
  error_base = make_class_of(m, "Error", texts::Error, nb::make_tuple(nb::handle(PyExc_Exception)));
  refusal = make_class_of(m, "_Refused", "What calls.cc replaces.",
                          nb::make_tuple(nb::handle(PyExc_Exception)));
  class_of<errors::ShapeError> = make_class(m, "ShapeError", texts::ShapeError, value);
  class_of<errors::IndexError> =
      make_class(m, "IndexError", texts::IndexError, PyExc_IndexError, value);
  class_of<errors::ValueError> = make_class(m, "ValueError", texts::ValueError, value);
  class_of<TypeError> =
      make_class(m, "TypeError", "A value of the wrong kind, an argument too many or too few.",
                 PyExc_TypeError);
  class_of<EmptyListError> = make_class_of(
      m, "EmptyListError", "An empty list instead of one expression or more.",
      nb::make_tuple(nb::handle(class_of<errors::ValueError>), nb::handle(PyExc_AssertionError)));
  PyObject* range =
      make_class_of(m, "RangeError", "A number that no size, or no argument of its kind, can be.",
                    nb::make_tuple(nb::handle(class_of<errors::ValueError>),
                                   nb::handle(PyExc_OverflowError), nb::handle(PyExc_TypeError)));
  make_class_of(m, "IndexRangeError", "A number that no index can be.",
                nb::make_tuple(nb::handle(class_of<errors::IndexError>), nb::handle(range)));
  class_of<errors::SizeError> = make_class(m, "SizeError", texts::SizeError, value);
  class_of<errors::StateError> = make_class(m, "StateError", texts::StateError, value);
  class_of<errors::DomainError> = make_class(m, "DomainError", texts::DomainError, value);
  class_of<errors::GraphError> = make_class(m, "GraphError", texts::GraphError, runtime);
  class_of<errors::StaleExpression> =
      make_class(m, "StaleExpression", texts::StaleExpression, runtime, value);
  class_of<errors::UsageError> = make_class(m, "UsageError", texts::UsageError, runtime);
  class_of<errors::DeviceError> = make_class(m, "DeviceError", texts::DeviceError, runtime);
  class_of<errors::NoGpuLibrary> = class_of<cuda_exception> = class_of<errors::DeviceError>;
  class_of<errors::IoError> = make_class(m, "IoError", texts::IoError, runtime);
  make_class_of(
      m, "MissingFileError", "`load` finds no file of objects.",
      nb::make_tuple(nb::handle(class_of<errors::IoError>), nb::handle(PyExc_FileNotFoundError)));
  class_of<errors::NumericError> = make_class(m, "NumericError", texts::NumericError, runtime);
  class_of<errors::WorkerError> = make_class(
      m, "WorkerError",
      "A worker process threw, was killed, left or hangs: `worker`, from 0, its `pid`, and the "
      "`signal` that killed it, or 0.",
      runtime);
  class_of<errors::RankError> = make_class(m, "RankError", texts::RankError, runtime);
  class_of<out_of_memory> =
      make_class(m, "OutOfMemory", "Memory is exhausted; the library stays usable.",
                 PyExc_MemoryError, runtime);
  nb::register_exception_translator(&translate, nullptr);
  m.def("_throw_standard", &throw_standard, nb::arg("which"));
  add_quick_way<&throw_standard>(m, "_throw_standard");
}

}  // namespace dynet::python
