#include "nested.h"

#include <algorithm>
#include <string>
#include <utility>

#include "dynet/except.h"

#include "arguments.h"
#include "arrays.h"
#include "errors.h"

namespace nb = nanobind;

namespace dynet::python {
namespace {

bool is_number(nb::handle o) { return PyFloat_Check(o.ptr()) != 0 || PyLong_Check(o.ptr()) != 0; }

/// Text is a sequence of texts, without end.
bool is_level(nb::handle o) {
  return PyList_Check(o.ptr()) != 0 || PyTuple_Check(o.ptr()) != 0 ||
         (PySequence_Check(o.ptr()) != 0 && PyUnicode_Check(o.ptr()) == 0 &&
          PyBytes_Check(o.ptr()) == 0 && PyObject_CheckBuffer(o.ptr()) == 0);
}

nb::object elements(nb::handle sequence) {
  const nb::object fast = nb::steal(PySequence_Fast(sequence.ptr(), "want a list of numbers"));
  if (!fast.is_valid()) {
    throw nb::python_error();
  }
  return fast;
}

class Reader {
 public:
  /// Follows the first elements down. False if they lead to an array.
  bool find_shape(nb::handle values) {
    nb::object level = nb::borrow(values);
    while (!is_number(level)) {
      if (nb::hasattr(level, "__array__") || nb::hasattr(level, "__dlpack__")) {
        return false;
      }
      if (!is_level(level)) {
        return !shape.empty();  // `read` reports an element that is no number
      }
      if (shape.size() > DYNET_MAX_TENSOR_DIM) {
        throw errors::SizeError(
            "lists within lists, more than 8 deep; want at most 7 dimensions and a batch");
      }
      level = elements(level);
      const Py_ssize_t count = PySequence_Fast_GET_SIZE(level.ptr());
      shape.push_back(static_cast<std::size_t>(count));
      if (count == 0) {
        return true;
      }
      level = nb::borrow(entry_of(level.ptr(), 0));
    }
    return !shape.empty();
  }

  /// Makes room, column by column or, with rows first, row by row of the first axis.
  void allocate(bool rows_first) {
    const std::size_t axes = shape.size();
    strides.resize(axes);
    std::size_t step = 1;
    for (std::size_t i = 0; i < axes; ++i) {
      const std::size_t axis = rows_first ? (i + 1) % axes : i;
      strides[axis] = step;
      step *= shape[axis];
    }
    size = step;
    data = std::make_unique<float[]>(size);
    at_.assign(axes, 0);
  }

  /// False if an element is an array.
  bool read(nb::handle values, std::size_t axis, std::size_t offset) {
    const nb::object level = elements(values);
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(level.ptr()));
    if (count != shape[axis]) {
      throw errors::ShapeError("the lists differ in length: " + place(axis, true) + " has " +
                               std::to_string(shape[axis]) + " elements, " + place(axis, false) +
                               " has " + std::to_string(count));
    }
    for (std::size_t i = 0; i < count; ++i) {
      // A float() of the user's may change the list meanwhile.
      if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(level.ptr())) != count) {
        throw errors::ValueError("a list changed its length while it was read");
      }
      at_[axis] = i;
      const nb::object element = nb::borrow(entry_of(level.ptr(), static_cast<Py_ssize_t>(i)));
      const bool innermost = axis + 1 == shape.size();
      if (!is_number(element) && nb::hasattr(element, "__array__")) {
        return false;
      }
      if (innermost) {
        data[offset + i * strides[axis]] = number(element, axis);
      } else if (!is_level(element)) {
        fail(element, axis, "a list");
      } else if (!read(element, axis + 1, offset + i * strides[axis])) {
        return false;
      }
    }
    return true;
  }

  std::vector<std::size_t> shape, strides;
  std::unique_ptr<float[]> data;
  std::size_t size = 0;

 private:
  float number(nb::handle element, std::size_t axis) const {
    double value = 0;
    if (!read_real(element.ptr(), value)) {
      if (has_raised()) {
        throw Refused();
      }
      fail(element, axis, is_complex(element.ptr()) ? "a real number" : "a number");
    }
    return static_cast<float>(value);
  }

  /// The list of level `axis`, or the first one of that level, as a user would index it.
  [[nodiscard]] std::string place(std::size_t axis, bool first) const {
    std::string text;
    for (std::size_t i = 0; i < axis; ++i) {
      text += "[" + std::to_string(first ? 0 : at_[i]) + "]";
    }
    return text.empty() ? "the list" : text;
  }

  [[noreturn]] void fail(nb::handle element, std::size_t axis, const char* wanted) const {
    throw TypeError("element " + place(axis + 1, false) + " is " + nb::repr(element).c_str() +
                    ", of type " + Py_TYPE(element.ptr())->tp_name + "; want " + wanted);
  }

  std::vector<std::size_t> at_;
};

}  // namespace

bool read_nested(nb::handle values, bool rows_first, FloatArray& result) {
  if (!is_level(values) || nb::hasattr(values, "__array__")) {
    return false;
  }
  Reader reader;
  if (!reader.find_shape(values)) {
    return false;
  }
  reader.allocate(rows_first);
  if (!reader.read(values, 0, 0)) {
    return false;
  }
  if (rows_first) {
    std::rotate(reader.shape.begin(), reader.shape.begin() + 1, reader.shape.end());
  }
  result.owned = std::move(reader.data);
  result.data = result.owned.get();
  result.size = reader.size;
  result.shape = std::move(reader.shape);
  return true;
}

}  // namespace dynet::python
