// Values for other libraries: views for NumPy and DLPack, and the class Tensor.
//
// A view keeps its memory (share.h): the numbers stay whatever becomes of the graph. Takers that
// may write to the given memory, as takers of DLPack may, get a copy.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "dynet/devices.h"
#include "dynet/share.h"
#include "dynet/tensor.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "numpy_lists.h"

namespace dynet::python {
namespace {

/// The value; a long computation releases the GIL.
SharedValue shared_value_of(const PyExpression& x, bool recalculate) {
  const Expression e = resolve(x);
  (void)evaluate(e, recalculate);
  return share_value(e);
}

/// Tables have their rows first in arrays.
Order order_of(const PyExpression& x) {
  return x.kind == PyExpression::Kind::kTable ? Order::kRowsFirst : Order::kAsTensor;
}

nb::object view_of(const PyExpression& x) {
  return numpy_view(shared_value_of(x, false), order_of(x));
}

/// Whether NumPy is to have the expression itself: for an array of objects, and for an array of a
/// list if no type is named (numpy_lists.h).
bool is_object(const nb::object& type, std::optional<bool> copy) {
  if (!type.is_none()) {
    return nb::cast<std::string>(type.attr("kind")) == "O";
  }
  if (copy.has_value()) {  // NumPy asks so for one object alone
    return false;
  }
  const Asked asked = why_numpy_asks();
  if (asked == Asked::kUnknown) {
    throw TypeError(
        "__array__: this NumPy does not tell whether it wants numbers or an array of expressions; "
        "want dtype=float or dtype=object, or numpy() of an expression");
  }
  return asked == Asked::kInList;
}

/// The answer to NumPy's `__array__`.
nb::object array_of_expression(nb::handle self, const nb::object& dtype, std::optional<bool> copy) {
  const nb::module_ numpy = numpy_module();
  const nb::object type = dtype.is_none() ? nb::none() : numpy.attr("dtype")(dtype);
  if (!is_expression(self.ptr())) {
    refuse_expression(self.ptr());
    throw Refused();
  }
  if (is_object(type, copy)) {
    nb::object holder = numpy.attr("empty")(nb::make_tuple(), nb::arg("dtype") = "O");
    holder[nb::make_tuple()] = self;
    return holder;
  }
  nb::object view = view_of(instance<PyExpression>(self));
  const bool fits = type.is_none() || type.equal(view.attr("dtype"));
  if (copy == false && !fits) {
    throw errors::ValueError("__array__: an expression cannot be shown as " +
                             std::string(nb::str(type).c_str()) + " without a copy");
  }
  if (copy == true || !fits) {
    return view.attr("astype")(type.is_none() ? view.attr("dtype") : type, nb::arg("order") = "C");
  }
  return view;
}

// Kinds of devices, as DLPack numbers them.
constexpr int kHost = 1;
constexpr int kCuda = 2;

/// DLPack's pair for the device that has a value: a GPU by its number, or the host, for which
/// values of all other devices are copied.
nb::tuple dlpack_device_of(const PyExpression& x) {
  const std::string name = resolve(x).get_device_name();
  return name.starts_with("GPU:")
             ? nb::make_tuple(kCuda, get_device_manager()->get_global_device(name)->device_id)
             : nb::make_tuple(kHost, 0);
}

/// Whether the taker needs the numbers on another stream than that of the copy. The wait is the
/// host's, which is right for every stream.
bool waits_for_stream(nb::handle stream) {
  if (stream.is_none()) {
    return true;
  }
  std::int64_t number = 0;
  if (!nb::try_cast(stream, number) || number == 0 || number < -1) {
    throw errors::ValueError("__dlpack__: the stream is " + std::string(nb::repr(stream).c_str()) +
                             "; want None, -1 (no wait), 1, 2 or the address of a stream");
  }
  return number != -1;
}

/// A copy. From version 1 of DLPack on, a view could say that writing is forbidden, but takers of
/// that version, PyTorch among them, write to it.
nb::object dlpack_of(const PyExpression& x, const nb::kwargs& options) {
  const auto take = [&](const char* name) { return options.attr("pop")(name, nb::none()); };
  if (take("copy").is(Py_False)) {
    throw nb::buffer_error(
        "__dlpack__: who takes it may write to it, and values are not written to; want a copy, or "
        "numpy()");
  }
  const nb::object own = dlpack_device_of(x);
  nb::object wanted = take("dl_device");
  wanted = wanted.is_none() ? own : wanted;
  const nb::object stream = take("stream");
  nb::object copy;
  if (wanted.equal(nb::make_tuple(kHost, 0))) {
    copy = dlpack_copy(shared_value_of(x, false), order_of(x));
  } else if (wanted.equal(own)) {
    const bool waits = waits_for_stream(stream);
    copy = dlpack_copy_on_gpu(shared_value_of(x, false), order_of(x), waits);
  } else {
    throw nb::buffer_error(("__dlpack__: the value is on device " +
                            std::string(nb::repr(own).c_str()) + " of DLPack, and dl_device is " +
                            nb::repr(wanted).c_str() + "; want that device or (1, 0)")
                               .c_str());
  }
  return copy.attr("__dlpack__")(**options);
}

void bind_arrays(nb::class_<PyExpression>& c) {
  using nb::arg;
  c.def("__array__", &array_of_expression, arg("dtype") = nb::none(), arg("copy") = nb::none(),
        nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> "
                "numpy.typing.NDArray[typing.Any]"),
        "For `np.asarray(e)`: see `numpy`. The expression itself for an array of objects: with "
        "dtype=object, and in `np.array([e, f])`, without a dtype.")
      .def("__dlpack__", &dlpack_of,
           nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"),
           "For `np.from_dlpack(e)`, `torch.from_dlpack(e)` and similar functions. A copy, because "
           "the caller may write to it: on the GPU of the value, ready for `stream`, or on the "
           "host, "
           "also with `dl_device=(1, 0)`. BufferError if `copy` is False.")
      .def("__dlpack_device__", &dlpack_device_of,
           nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
           "(1, 0): memory of the host; (2, 0) for a value on GPU:0.")
      // Last: in the stub its name hides the module `numpy` below this line.
      .def("numpy", &view_of, nb::sig("def numpy(self) -> numpy.typing.NDArray[typing.Any]"),
           "The value as an array without a copy, float32, that cannot be written. The array stays "
           "the same when the graph goes on, and holds the graph's memory: copy a few numbers that "
           "are to be kept for long. The array of a parameter shows the updates of trainers.");
}

// ---- Tensor
// -------------------------------------------------------------------------------------------

/// Numbers, or positions in numbers. Keeps its memory.
struct PyTensor {
  std::variant<SharedValue, IndexTensor> content;

  [[nodiscard]] const Tensor& numbers() const {
    const auto* value = std::get_if<SharedValue>(&content);
    if (value == nullptr) {
      throw errors::UsageError("a tensor of indices; want one of numbers");
    }
    return value->tensor;
  }
};

void bind_tensor(nb::module_& m) {
  using nb::arg;
  nb::class_<PyTensor>(m, "Tensor",
                       "The value of an expression, from `Expression.tensor_value()`, or "
                       "positions in one. It stays as it is when the graph goes on.")
      .def(
          "__init__",
          [](nb::handle, const nb::args&) {
            throw errors::UsageError("tensors are not made by programs: Expression.tensor_value()");
          },
          nb::sig("def __init__(self, *args: typing.Any) -> None"))
      .def(
          "as_numpy",
          [](const PyTensor& t) {
            const auto* value = std::get_if<SharedValue>(&t.content);
            return value != nullptr ? to_numpy(value->tensor)
                                    : to_numpy(std::get<IndexTensor>(t.content));
          },
          nb::sig("def as_numpy(self) -> numpy.typing.NDArray[typing.Any]"),
          "A copy: float64 of numbers, int64 of positions.")
      .def(
          "argmax",
          [](const PyTensor& t, const AxisArg& dim, unsigned num) {
            return PyTensor{TensorTools::argmax(t.numbers(), dim.in(t.numbers().d), num)};
          },
          arg("dim") = 0, arg("num") = 1U,
          "Positions of the largest numbers along a dimension, whose extent becomes 1. `num` is 1.")
      .def(
          "categorical_sample_log_prob",
          [](const PyTensor& t, const AxisArg& dim, unsigned num) {
            return PyTensor{
                TensorTools::categorical_sample_log_prob(t.numbers(), dim.in(t.numbers().d), num)};
          },
          arg("dim") = 0, arg("num") = 1U,
          "Positions drawn along a dimension, whose numbers are logarithms of probabilities. `num` "
          "is 1.")
      .def(
          "topk",
          [](const PyTensor& t, const AxisArg& dim, unsigned num) {
            auto [numbers, positions] = TensorTools::topk(t.numbers(), dim.in(t.numbers().d), num);
            const SharedValue value{numbers, positions.memory};
            return std::pair(PyTensor{value}, PyTensor{std::move(positions)});
          },
          arg("dim") = 0, arg("num") = 1U,
          nb::sig("def topk(self, dim: int = 0, num: int = 1) -> tuple[Tensor, Tensor]"),
          "The `num` largest numbers along a dimension, the largest first, and their positions.")
      .def("__repr__", [](const PyTensor& t) {
        return std::holds_alternative<SharedValue>(t.content) ? "<Dynet Tensor:float>"
                                                              : "<Dynet Tensor:int>";
      });
}

/// Functions are pickled and copied by their names.
void make_functions_picklable(const nb::module_& m) {
  const nb::object reduce = nb::cpp_function(
      [](nb::handle function) { return nb::object(function.attr("__qualname__")); });
  const nb::object expression = m.attr("Expression");
  const nb::object enter = nb::module_::import_("copyreg").attr("pickle");
  enter(nb::handle(m.attr("tanh")).type(), reduce);
  enter(nb::handle(expression.attr("npvalue")).type(), reduce);
}

}  // namespace

void bind_views(nb::module_& m) {
  auto c = nb::borrow<nb::class_<PyExpression>>(m.attr("Expression"));
  bind_arrays(c);
  bind_tensor(m);
  c.def(
      "tensor_value",
      [](const PyExpression& x, bool recalculate) {
        return PyTensor{shared_value_of(x, recalculate)};
      },
      nb::arg("recalculate") = false,
      "The value as a Tensor, for argmax, topk and samples along a dimension.");
  make_functions_picklable(m);
}

}  // namespace dynet::python
