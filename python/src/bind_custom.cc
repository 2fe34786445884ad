// Operations written in Python.
//
//   class Softplus:
//       attributes = ("beta",)                         # what tells two objects of the class apart
//       def __init__(self, beta): self.beta = beta
//       def shape(self, x): return x                   # optional; else that of the first argument
//       def forward(self, x): return np.log1p(np.exp(self.beta * x)) / self.beta
//       def backward(self, xs, y, dy): return dy / (1 + np.exp(-self.beta * xs[0]))
//
//   y = dy.apply(Softplus(2.0), x)
//
// An object is entered in a table by its class and declared attributes and stands there for all
// that are equal; the node's only C++ attribute is the index. So its identity is what was declared,
// as for every operation, and forward and backward must not depend on anything else.
//
// A class is written for one example: its functions are called for each example of a batch, with
// arrays of one example, and gradients of arguments with one example are summed. A class that says
// `batched = True` gets the whole batch at once, as the last axis of arrays where it is not 1.

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/interrupt.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

/// The objects by index; strong references, for ever. Guarded by the GIL.
struct Table {
  nb::dict index_of;
  nb::list objects;
};
Table& table() {
  static auto* t = new Table;
  return *t;
}

nb::object object_of(std::uint64_t index) { return table().objects[index]; }

/// An attribute as a dictionary key: values that compare equal but differ, as 0.0 and -0.0, or 1
/// and True, are kept apart.
nb::object key_of(nb::handle value) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(value.ptr())));
  if (PyFloat_Check(value.ptr())) {
    return nb::make_tuple(type, value.attr("hex")());
  }
  if (PyTuple_Check(value.ptr())) {
    nb::list keys;
    for (const nb::handle item : nb::borrow<nb::tuple>(value)) {
      keys.append(key_of(item));
    }
    return nb::make_tuple(type, nb::tuple(keys));
  }
  return nb::make_tuple(type, value);
}

std::uint64_t enter(nb::handle object) {
  const nb::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())));
  nb::list keys;
  keys.append(type);
  const nb::object names = nb::getattr(object, "attributes", nb::tuple());
  for (const nb::handle name : nb::iter(names)) {
    keys.append(key_of(nb::getattr(object, name)));
  }
  const nb::tuple key(keys);
  Table& t = table();
  if (t.index_of.contains(key)) {
    return nb::cast<std::uint64_t>(t.index_of[key]);
  }
  const std::uint64_t index = t.objects.size();
  t.objects.append(object);
  t.index_of[key] = index;
  return index;
}

bool is_batched(nb::handle object) {
  return nb::cast<bool>(nb::bool_(nb::getattr(object, "batched", nb::bool_(false))));
}

// ---- numbers
// -------------------------------------------------------------------------------------------

nb::tuple batched_shape_tuple(const Dim& d) {
  nb::list extents;
  for (unsigned i = 0; i < d.nd; ++i) {
    extents.append(d.d[i]);
  }
  if (d.bd > 1) {
    extents.append(d.bd);
  }
  return nb::tuple(extents);
}

/// The shape of one example; of an operation on whole batches its last dimension is the batch.
Dim shape_of(const ext::Operand& x, bool whole) {
  Dim d = x.dim;
  d.bd = 1;
  if (whole) {
    d.bd = d.d[--d.nd];
    d.d[d.nd] = 1;
  }
  return d;
}

/// One example of an operand as an array.
nb::object array_of(const ext::Operand& x, bool whole, std::int64_t example, bool is_double) {
  void* to = nullptr;
  nb::object array = new_array(shape_of(x, whole), is_double, &to);
  const auto bytes =
      static_cast<std::size_t>(x.size()) * (is_double ? sizeof(double) : sizeof(float));
  const void* from = is_double ? static_cast<const void*>(x.example<double>(example))
                               : static_cast<const void*>(x.example<float>(example));
  std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(to));
  return array;
}

/// Stores or adds what Python returned into the same example.
void write(nb::handle values, const ext::Operand& y, bool whole, std::int64_t example, bool adds,
           bool is_double, nb::handle object, const char* function) {
  const HostArray array(values, is_double);
  const Dim want = shape_of(y, whole);
  if (!array.has_shape(want)) {
    throw ShapeError(class_name(object) + "." + function + ": returned an array of shape " +
                     std::string(nb::repr(array.object.attr("shape")).c_str()) + "; want " +
                     std::string(nb::repr(batched_shape_tuple(want)).c_str()));
  }
  const auto put = [&]<class T>(const T* from) {
    T* to = y.example<T>(example);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      to[i] = from[i] + (adds ? to[i] : T{0});
    }
  };
  if (is_double) {
    put(static_cast<const double*>(array.data));
  } else {
    put(static_cast<const float*>(array.data));
  }
}

nb::tuple arrays_of(std::span<const ext::Operand> xs, bool whole, std::int64_t example,
                    bool is_double) {
  nb::list arrays;
  for (const ext::Operand& x : xs) {
    arrays.append(array_of(x, whole, example, is_double));
  }
  return nb::tuple(arrays);
}

void call_forward(nb::handle object, const ext::Call& call, bool whole) {
  const bool is_double = call.kernels.number() == ext::Number::kDouble;
  const ext::Operand& y = call.out[0];
  for (std::int64_t e = 0; e < y.examples; ++e) {
    const nb::object value = object.attr("forward")(*arrays_of(call.in, whole, e, is_double));
    write(value, y, whole, e, false, is_double, object, "forward");
  }
}

/// backward returns one gradient an argument, None for none; one argument's may come without a
/// tuple.
nb::object returned_gradient(nb::handle object, const nb::object& gradients, std::size_t arg,
                             std::size_t args) {
  const bool is_list = PyTuple_Check(gradients.ptr()) || PyList_Check(gradients.ptr());
  if (!is_list && args == 1) {
    return gradients;
  }
  if (!is_list || nb::len(gradients) != args) {
    throw ValueError(class_name(object) + ".backward: want a gradient for each of the " +
                     std::to_string(args) + " arguments, as a tuple");
  }
  return gradients[arg];
}

void call_backward(nb::handle object, const ext::Call& call, bool whole) {
  const bool is_double = call.kernels.number() == ext::Number::kDouble;
  const ext::Operand& y = call.out[0];
  for (std::int64_t e = 0; e < y.examples; ++e) {
    const nb::object gradients = object.attr("backward")(
        arrays_of(call.in, whole, e, is_double), array_of(y, whole, e, is_double),
        array_of(call.d_out[0], whole, e, is_double));
    for (std::size_t a = 0; a < call.d_in.size(); ++a) {
      const ext::Operand& dx = call.d_in[a];
      const nb::object gradient = returned_gradient(object, gradients, a, call.d_in.size());
      if (dx.absent() || gradient.is_none()) {
        continue;
      }
      write(gradient, dx, whole, e, true, is_double, object, "backward");
    }
  }
}

// ---- the operation
// --------------------------------------------------------------------------------------

/// While code of the user's runs within a computation. What it computes itself, in the graph of
/// another thread, is not to ask the check of this computation, which may release the GIL.
struct UsersCode {
  nb::gil_scoped_acquire gil;
  InterruptScope nobody_is_asked{nullptr};
};

Dim shape_of(std::uint64_t index, const ext::Shapes& in) {
  const nb::gil_scoped_acquire gil;
  const nb::object object = object_of(index);
  Dim result = in[0];
  if (nb::hasattr(object, "shape")) {
    nb::list shapes;
    for (std::size_t i = 0; i < in.size(); ++i) {
      shapes.append(batched_shape_tuple(in[i].single_batch()));
    }
    const nb::object shape = object.attr("shape")(*nb::tuple(shapes));
    DimArg d;
    if (!nb::try_cast(shape, d)) {
      throw ShapeError(class_name(object) + ".shape: returned " +
                       std::string(nb::repr(shape).c_str()) + "; want an int or a tuple of ints");
    }
    result = d.dim;
  }
  result.bd = 1;
  return result;
}

/// Called for each example.
struct PythonOp {
  std::uint64_t object;

  static constexpr ext::Info kInfo{.name = "python_operation",
                                   .args = {"xs"},
                                   .attrs = {"object"},
                                   .summary = "An operation written in Python.",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kVariadic = true;
  static constexpr bool kPartialGradient = true;  // adds, as one example's gradient may come often
  static constexpr bool kOnHost = true;
  Dim shape(const ext::Shapes& in) const { return shape_of(object, in); }
  void forward(ext::Call& call) const {
    const UsersCode begun;
    call_forward(object_of(object), call, false);
  }
  void backward(ext::Call& call) const {
    const UsersCode begun;
    call_backward(object_of(object), call, false);
  }
  static std::vector<ext::Example<PythonOp>> examples() { return {}; }
};

/// Called once for the whole batch.
struct PythonBatchOp {
  std::uint64_t object;

  static constexpr ext::Info kInfo{.name = "python_batch_operation",
                                   .args = {"xs"},
                                   .attrs = {"object"},
                                   .summary = "An operation on batches written in Python.",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kVariadic = true;
  static constexpr bool kPartialGradient = true;
  static constexpr bool kOnHost = true;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    Dim d = shape_of(object, in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      d.bd = std::max(d.bd, in[i].bd);
    }
    return d;
  }
  void forward(ext::Call& call) const {
    const UsersCode begun;
    call_forward(object_of(object), call, true);
  }
  void backward(ext::Call& call) const {
    const UsersCode begun;
    call_backward(object_of(object), call, true);
  }
  static std::vector<ext::Example<PythonBatchOp>> examples() { return {}; }
};

template <class Op>
Expression add(std::uint64_t index, std::span<const Expression> xs) {
  const Op op{index};
  return ext::add_node(ext::kRecord<Op>, &op, nullptr, xs, {}, here());
}

PyExpression apply(nb::handle operation, nb::args xs) {
  ExprListArg list;
  nb::detail::make_caster<ExprListArg> caster;
  if (!caster.from_python(xs, 0, nullptr) || caster.value.count() == 0) {
    throw TypeError("apply: want an operation and one expression or more");
  }
  for (const char* function : {"forward", "backward"}) {
    if (!nb::hasattr(operation, function)) {
      throw TypeError("apply: " + class_name(operation) + " has no " + function);
    }
  }
  const std::uint64_t index = enter(operation);
  const std::vector<Expression> nodes = caster.value.nodes();
  return PyExpression(is_batched(operation) ? add<PythonBatchOp>(index, nodes)
                                            : add<PythonOp>(index, nodes));
}

}  // namespace

void bind_custom(nb::module_& m) {
  m.def(
      "apply", &apply, nb::arg("operation"), nb::arg("xs"),
      nb::sig("def apply(operation: typing.Any, *xs: Expression) -> Expression"),
      "An operation written in Python: an object with `forward(*xs)`, which returns an array, and "
      "`backward(xs, y, dy)`, which returns the gradients of the arguments as a tuple (None where "
      "there is none). Optional: `shape(*shapes)`, the result's shape (else that of the first "
      "argument), and in the class `attributes`, the names of the attributes that tell its objects "
      "apart, and `batched = True`. Functions see one example each, or, when batched, the whole "
      "batch as last axis. Two objects of a class with equal attributes count as one.");
}

}  // namespace dynet::python
