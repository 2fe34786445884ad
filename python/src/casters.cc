// How lists of expressions and shapes arrive from Python.

#include <limits>
#include <string>

#include "binding.h"

namespace dynet::python {

std::vector<Expression>& ExprListArg::nodes() const {
  thread_local std::vector<Expression> nodes;
  nodes.clear();
  for (std::size_t i = 0; i < count; ++i) {
    nodes.push_back(resolve(instance<PyExpression>(items[i])));
  }
  return nodes;
}

void fail_uninitialised(nb::handle object) {
  PyErr_Format(PyExc_TypeError,
               "%s: the object was not initialised; a subclass must call super().__init__() first",
               Py_TYPE(object.ptr())->tp_name);
  throw nb::python_error();
}

Dim DimArg::with_batch(unsigned batch_size) const {
  if (batch_size == 0) {
    throw ValueError("batch_size is 0; want at least 1");
  }
  Dim d = dim;
  d.bd = batch_size;
  return d;
}

unsigned read_index(nb::handle index) {
  if (PyIndex_Check(index.ptr()) == 0) {
    PyErr_Format(PyExc_TypeError, "an index is an int, not %R", index.ptr());
    throw nb::python_error();
  }
  const Py_ssize_t n = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (n == -1 && PyErr_Occurred() != nullptr) {
    throw nb::python_error();
  }
  if (n < 0 || n > static_cast<Py_ssize_t>(std::numeric_limits<unsigned>::max())) {
    throw IndexError("index " + std::to_string(n) + "; want at least 0, and less than 2^32");
  }
  return static_cast<unsigned>(n);
}

std::vector<unsigned> read_indices(nb::handle list) {
  std::vector<unsigned> indices;
  for (const nb::handle index : nb::iter(list)) {
    indices.push_back(read_index(index));
  }
  return indices;
}

}  // namespace dynet::python

namespace nanobind::detail {

using dynet::python::DimArg;
using dynet::python::ExprListArg;

bool type_caster<ExprListArg>::from_python(handle src, uint32_t /*flags*/,
                                           cleanup_list* /*cleanup*/) noexcept {
  PyObject* sequence = nullptr;
  if (PyList_CheckExact(src.ptr()) || PyTuple_CheckExact(src.ptr())) {
    sequence = Py_NewRef(src.ptr());
  } else if (!dynet::python::is_expression(src.ptr()) && !PyUnicode_Check(src.ptr())) {
    sequence = PySequence_List(src.ptr());
  }
  if (sequence == nullptr) {
    PyErr_Clear();
    return false;
  }
  value.owner = steal(sequence);
  value.items = PySequence_Fast_ITEMS(sequence);
  value.count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence));
  for (std::size_t i = 0; i < value.count; ++i) {
    if (!dynet::python::is_expression(value.items[i])) {
      return false;
    }
  }
  return true;
}

namespace {
bool read_extent(PyObject* o, unsigned& extent) {
  if (PyIndex_Check(o) == 0) {
    return false;
  }
  const Py_ssize_t n = PyNumber_AsSsize_t(o, nullptr);
  if (n == -1 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
  }
  if (n < 0 || n > static_cast<Py_ssize_t>(std::numeric_limits<unsigned>::max())) {
    return false;
  }
  extent = static_cast<unsigned>(n);
  return true;
}
}  // namespace

bool type_caster<DimArg>::from_python(handle src, uint32_t /*flags*/,
                                      cleanup_list* /*cleanup*/) noexcept {
  value.dim = dynet::Dim();
  value.dim.nd = 1;
  if (PyIndex_Check(src.ptr()) != 0) {
    return read_extent(src.ptr(), value.dim.d[0]);
  }
  if (PyUnicode_Check(src.ptr()) || PySequence_Check(src.ptr()) == 0) {
    return false;
  }
  const object fast = steal(PySequence_Fast(src.ptr(), ""));
  if (!fast.is_valid()) {
    PyErr_Clear();
    return false;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
  if (n > DYNET_MAX_TENSOR_DIM) {
    return false;
  }
  value.dim.nd = static_cast<unsigned>(n);
  for (Py_ssize_t i = 0; i < n; ++i) {
    if (!read_extent(PySequence_Fast_GET_ITEM(fast.ptr(), i), value.dim.d[i])) {
      return false;
    }
  }
  return true;
}

}  // namespace nanobind::detail
