// The class Expression: values, gradients, parts.

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "dynet/debug.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/selections.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/pick.h"
#include "dynet/share.h"

#include "arrays.h"
#include "binding.h"
#include "calls.h"
#include "errors.h"
#include "graph.h"
#include "lock.h"
#include "notes.h"
#include "quick.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {

namespace {

/// The result of `convert(tensor, handlers)` for the value of `e`.
template <class Convert>
auto converted(const Expression& e, bool recalculate, const Convert& convert) {
  constexpr std::int64_t kMany = 100'000;
  const Value value = evaluate(e, recalculate);
  if (value.tensor.d.elements() < kMany) {
    return convert(value.tensor, Handlers::kWait);
  }
  // Handlers of signals may end the graph meanwhile.
  return convert(share_value(e).tensor, Handlers::kRun);
}

nb::object value_array(const Tensor& t, Handlers handlers) { return to_numpy(t, 1.0, handlers); }

nb::object value_of(const PyExpression& x, bool recalculate) {
  const Expression e = resolve(x);
  return converted(e, recalculate, [&](const Tensor& t, Handlers handlers) -> nb::object {
    if (t.d.nd >= 2) {
      return value_array(t, handlers);
    }
    if (t.d.elements() == 1) {
      return nb::float_(to_scalar(t, e));
    }
    return to_list(t, handlers);
  });
}

template <class Op>
Expression add_picked(const Expression& e, const Op& op, const ext::NodePayload& payload) {
  return ext::add_node(ext::kRecord<Op>, &op, nullptr, {&e, 1}, payload, here());
}

Expression pick_index(const Expression& e, long index) {
  const Dim& d = e.dim();
  const long n = static_cast<long>(d.d[0]);
  if (index < -n || index >= n) {
    throw errors::IndexError("pick: index " + std::to_string(index) + " of an expression " +
                             to_string(d) + "; want from " + std::to_string(-n) + " to " +
                             std::to_string(n - 1));
  }
  const auto at = static_cast<unsigned>(index < 0 ? index + n : index);
  return add_picked(e, ops::Pick{0}, ext::NodePayload::of(at));
}

/// The part of an expression that slices select.
class Slices {
 public:
  explicit Slices(const Expression& e) : e_(e), shape_(e.dim()) {}
  /// The slice for the next dimension, or after them for the batch.
  void add(nb::handle slice) {
    const unsigned axis = count_;
    const long n = extent(axis);
    const auto* const parts = reinterpret_cast<const PySliceObject*>(slice.ptr());
    const long stride = number(parts->step, 1);
    const long from = bound(parts->start, 0, n);
    const long to = bound(parts->stop, n, n);
    if (stride < 1 || from >= to) {
      const std::string what =
          std::string(nb::repr(slice).c_str()) + " of " +
          (axis < shape_.nd ? "dimension " + std::to_string(axis) : "the batch") +
          " of an expression " + to_string(shape_);
      if (stride < 1) {
        throw errors::IndexError("strided_select: " + what + "; want a step of at least 1");
      }
      throw errors::ShapeError("strided_select: " + what + " is empty");
    }
    strides_[axis] = entry(stride);
    from_[axis] = entry(from);
    to_[axis] = entry(to);
    ++count_;
  }
  [[nodiscard]] bool is_full() const { return count_ > shape_.nd; }
  /// A range of one dimension is `pick_range`, of which many merge; else it is `strided_select`.
  [[nodiscard]] Expression taken() const {
    unsigned cut = 0;
    unsigned cuts = 0;
    for (unsigned k = 0; k < count_; ++k) {
      if (strides_[k] != 1 || from_[k] != 0 || to_[k] != extent(k)) {
        cut = k;
        ++cuts;
      }
    }
    if (cuts == 1 && strides_[cut] == 1 && cut < shape_.nd) {
      return pick_range(e_, static_cast<unsigned>(from_[cut]), static_cast<unsigned>(to_[cut]), cut,
                        here());
    }
    const auto list = [this](const Entries& of) {
      return std::vector<int>(of.begin(), of.begin() + count_);
    };
    return strided_select(e_, list(strides_), list(from_), list(to_), here());
  }

 private:
  using Entries = std::array<int, DYNET_MAX_TENSOR_DIM + 1>;

  [[nodiscard]] long extent(unsigned axis) const {
    return static_cast<long>(axis < shape_.nd ? shape_.d[axis] : shape_.bd);
  }
  static long number(PyObject* value, long otherwise) {
    std::int64_t read = otherwise;
    if (value != Py_None && !read_whole(value, whole<long>(), read)) {
      throw Refused();
    }
    return static_cast<long>(read);
  }
  /// As in Python: a negative one counts from the end, and beyond an end there is nothing.
  static long bound(PyObject* value, long otherwise, long n) {
    const long b = number(value, otherwise);
    return std::clamp(b < 0 ? b + n : b, 0L, n);
  }
  static int entry(long n) {
    return static_cast<int>(std::min<long>(n, std::numeric_limits<int>::max()));
  }

  Expression e_;
  Dim shape_;
  unsigned count_ = 0;
  Entries strides_{}, from_{}, to_{};
};

nb::object get_item(const PyExpression& x, nb::handle index) {
  const Expression e = resolve(x);
  const bool is_slice = PySlice_Check(index.ptr());
  if (!is_slice && !PyTuple_Check(index.ptr())) {
    std::int64_t at = 0;
    if (!read_whole(index.ptr(), whole<long>(), at)) {
      throw Refused();
    }
    return make_expression(pick_index(e, at), PyExpression::Settable::kPlaces);
  }
  Slices slices(e);
  if (is_slice) {
    slices.add(index);
  } else {
    for (const nb::handle part : nb::borrow<nb::tuple>(index)) {
      if (!PySlice_Check(part.ptr()) || slices.is_full()) {
        throw TypeError(
            "an expression's index is an int, a slice, or a tuple of one slice for each dimension "
            "at most, and one for the batch");
      }
      slices.add(part);
    }
  }
  return make_expression(slices.taken());
}

/// Python's own way to `__getitem__` looks that up first, which takes longer than the node.
PyObject* subscript(PyObject* self, PyObject* index) {
  const Entered entered;
  const CallNotes notes;
  PyObject* const result =
      guarded([&] { return get_item(instance<PyExpression>(self), index).release().ptr(); });
  return result != nullptr ? result : explain_slot("__getitem__", self, index);
}

bool has_indices(const PyExpression& x) {
  return x.settable == PyExpression::Settable::kIndices ||
         x.settable == PyExpression::Settable::kPlaces;
}

void set_indices(const PyExpression& x, nb::handle value) {
  const bool is_one = is_one_number(value);
  std::vector<unsigned> indices;
  if (x.settable == PyExpression::Settable::kPlaces) {
    PlaceListArg places;
    if (is_one ? !read_whole(value.ptr(), kPlace, places.list.emplace_back())
               : !read_wholes(value.ptr(), kPlace, places.list)) {
      throw Refused();
    }
    indices = places.in("set", ext::index_limit(x.e));
  } else if (is_one) {
    indices = {read_index(value)};
  } else {
    indices = read_indices(value);
  }
  ext::set_payload(x.e, std::span<const unsigned>(indices));
}

void set_numbers(const Expression& e, std::span<const float> numbers) {
  const auto count = static_cast<std::size_t>(e.dim().elements());
  if (numbers.size() != count && !e.is_stale()) {
    throw errors::ValueError("Expression.set: value has " + std::to_string(numbers.size()) +
                             (numbers.size() == 1 ? " number" : " numbers") + "; want " +
                             std::to_string(count) + ", as when the node was built\n  " +
                             describe(e) + "\n  called at " + line_here());
  }
  ext::set_payload(e, numbers);
}

void set_value(const PyExpression& x, nb::handle value) {
  if (x.settable == PyExpression::Settable::kNot) {
    throw errors::ValueError("set: the expression is not an input that can be set");
  }
  if (has_indices(x)) {
    set_indices(x, value);
  } else if (is_one_number(value)) {
    const auto number = nb::cast<float>(value);
    set_numbers(x.e, {&number, 1});
  } else {
    set_numbers(x.e, read_numbers(value));
  }
}

// The calls that programs make at every step, without arguments: quick.h has the way to them.
nb::object value_now(const ExprArg& x) { return value_of(*x.x, false); }
double scalar_of(const PyExpression& x, bool recalculate) {
  const Expression e = resolve(x);
  return to_scalar(evaluate(e, recalculate).tensor, e);
}
double scalar_now(const ExprArg& x) { return scalar_of(*x.x, false); }
nb::object list_of_value(const PyExpression& x, bool recalculate) {
  return converted(resolve(x), recalculate, &to_list);
}
nb::object list_now(const ExprArg& x) { return list_of_value(*x.x, false); }
nb::object npvalue_of(const PyExpression& x, bool recalculate) {
  return converted(resolve(x), recalculate, &value_array);
}
nb::object array_now(const ExprArg& x) { return npvalue_of(*x.x, false); }

void add_quick_values(nb::class_<PyExpression>& c) {
  add_quick_way<&value_now>(c, "value");
  add_quick_way<&scalar_now>(c, "scalar_value");
  add_quick_way<&list_now>(c, "vec_value");
  add_quick_way<&array_now>(c, "npvalue");
}

void bind_values(nb::class_<PyExpression>& c) {
  using nb::arg;
  c.def("value", &value_of, arg("recalculate") = false,
        nb::sig("def value(self, recalculate: bool = False) -> typing.Any"),
        texts::Expression_value)
      .def("scalar_value", &scalar_of, arg("recalculate") = false,
           "The only element. ValueError if there are several.")
      .def("vec_value", &list_of_value, arg("recalculate") = false,
           nb::sig("def vec_value(self, recalculate: bool = False) -> list[float]"),
           "All elements, column by column, the examples of a batch one after the other.")
      .def("npvalue", &npvalue_of, arg("recalculate") = false,
           nb::sig(
               "def npvalue(self, recalculate: bool = False) -> numpy.typing.NDArray[typing.Any]"),
           "The value as an array, with the batch as last axis unless it is 1.")
      .def(
          "forward",
          [](const PyExpression& x, bool recalculate) { compute(resolve(x), recalculate); },
          arg("recalculate") = false, "Computes the value.")
      .def(
          "backward", [](const PyExpression& x, bool full) { run_backward(resolve(x), full); },
          arg("full") = false,
          "Adds the gradients of this value, which has one element, to the parameters. `full`: "
          "also "
          "computes gradients of nodes that do not depend on a parameter.")
      .def(
          "gradient",
          [](const PyExpression& x) { return to_numpy(gradient_of(resolve(x)).tensor); },
          nb::sig("def gradient(self) -> numpy.typing.NDArray[typing.Any]"),
          texts::Expression_gradient);
}

void bind_parts(nb::class_<PyExpression>& c) {
  using nb::arg;
  c.def(
       "dim",
       [](const PyExpression& x) {
         const Dim d = resolve(x).dim();
         return nb::make_tuple(shape_tuple(d), d.bd);
       },
       nb::sig("def dim(self) -> tuple[tuple[int, ...], int]"), texts::Expression_dim)
      .def(
          "__getitem__", &get_item, arg("index"),
          nb::sig("def __getitem__(self, index: int | slice | tuple[slice, ...], /) -> Expression"),
          "A part: `pick` for an int, `pick_range` or `strided_select` for a slice or a tuple of "
          "slices; a slice after the dimensions' slices is for the batch. Negative places and "
          "bounds count from the end.")
      .def(
          "device_name", [](const PyExpression& x) { return resolve(x).get_device_name(); },
          texts::Expression_get_device_name)
      .def(
          "is_stale", [](const PyExpression& x) { return resolve(x).is_stale(); },
          texts::Expression_is_stale)
      .def("set", &set_value, arg("value"),
           "Replaces the numbers of an input, or the indices of a lookup or a pick, and forgets "
           "computed values. The number of values stays the same. For a pick, -1 is the last "
           "place. Ask for a value before the next `backward`.")
      .def(
          "set_index",
          [](const PyExpression& x, nb::handle index) {
            if (!has_indices(x)) {
              throw errors::ValueError("set_index: the expression has no index that can be set");
            }
            set_indices(x, index);
          },
          arg("index"), "Replaces the index, or indices, of a pick; see `set`.");
}

// ---- as a number
// --------------------------------------------------------------------------------------

/// The only element, in a place of a number.
double number_of(const PyExpression& x, const char* wanted_by) {
  const Expression e = resolve(x);
  if (e.dim().elements() != 1) {
    throw TypeError(std::string(wanted_by) + " of an expression " + to_string(e.dim()) +
                    "; want one element, or value() of all of them");
  }
  return to_scalar(evaluate(e, false).tensor, e);
}

[[noreturn]] void refuse_comparison(nb::handle other, const char* symbol) {
  throw TypeError("operator " + std::string(symbol) + " compares no values: the other operand is " +
                  told(other) + "; want `x.value() " + symbol + " ...`");
}

/// Whether it is a number, or has some.
bool is_value(nb::handle o) {
  return PyNumber_Check(o.ptr()) != 0 || PyList_Check(o.ptr()) != 0 ||
         PyTuple_Check(o.ptr()) != 0 || nb::hasattr(o, "__array__");
}

/// Lists look for an expression with `==`, so among expressions it is `is`; None and the like are
/// other things. Numbers are an error, as they were meant to be compared with the value.
nb::object equals(nb::handle x, nb::handle other) {
  if (!is_expression(other.ptr()) && is_value(other)) {
    refuse_comparison(other, "==");
  }
  return x.is(other) ? nb::borrow(Py_True) : nb::borrow(Py_NotImplemented);
}

/// There is no `__bool__`: an expression is true, as any object. Programs ask in this way which
/// expressions they have: `filter(None, [word, tag])`.
void bind_number(nb::class_<PyExpression>& c) {
  using nb::arg;
  c.def(
       "__float__", [](const PyExpression& x) { return number_of(x, "float()"); },
       "The value, if it is one number. TypeError for more numbers.")
      .def(
          "__int__",
          [](const PyExpression& x) {
            const nb::object whole = nb::steal(PyLong_FromDouble(number_of(x, "int()")));
            if (!whole.is_valid()) {
              throw nb::python_error();
            }
            return whole;
          },
          nb::sig("def __int__(self) -> int"), "The value without its fraction.")
      .def(
          "__format__",
          [](nb::handle_t<PyExpression> self, const nb::str& form) {
            const bool is_plain = nb::len(form) == 0;
            const nb::object shown =
                is_plain ? nb::object(nb::str(self))
                         : nb::float_(number_of(instance<PyExpression>(self), "the format"));
            const nb::object text = nb::steal(PyObject_Format(shown.ptr(), form.ptr()));
            if (!text.is_valid()) {
              throw nb::python_error();
            }
            return text;
          },
          arg("form"), nb::sig("def __format__(self, form: str, /) -> str"),
          "The value formatted as a float, unless `form` is empty.")
      .def("__eq__", &equals, arg("other").none(),
           nb::sig("def __eq__(self, other: object, /) -> bool"),
           "Whether `other` is the same object. TypeError if `other` is a number or holds numbers.")
      .def(
          "__lt__", [](nb::handle, nb::handle o) -> bool { refuse_comparison(o, "<"); },
          arg("other").none(), nb::sig("def __lt__(self, other: object, /) -> bool"), "TypeError.")
      .def(
          "__le__", [](nb::handle, nb::handle o) -> bool { refuse_comparison(o, "<="); },
          arg("other").none(), nb::sig("def __le__(self, other: object, /) -> bool"), "TypeError.")
      .def(
          "__gt__", [](nb::handle, nb::handle o) -> bool { refuse_comparison(o, ">"); },
          arg("other").none(), nb::sig("def __gt__(self, other: object, /) -> bool"), "TypeError.")
      .def(
          "__ge__", [](nb::handle, nb::handle o) -> bool { refuse_comparison(o, ">="); },
          arg("other").none(), nb::sig("def __ge__(self, other: object, /) -> bool"), "TypeError.");
}

}  // namespace

void bind_expression(nb::module_& m) {
  nb::class_<PyExpression> c(m, "Expression", nb::pooled(1024), texts::Expression);
  object_type<PyExpression> = reinterpret_cast<PyTypeObject*>(c.ptr());
  // NumPy then leaves `array * expression` to us, instead of looking into the expression.
  c.attr("__array_ufunc__") = nb::none();
  bind_values(c);
  add_quick_values(c);
  bind_parts(c);
  reinterpret_cast<PyTypeObject*>(c.ptr())->tp_as_mapping->mp_subscript = &subscript;
  bind_number(c);
}

}  // namespace dynet::python
