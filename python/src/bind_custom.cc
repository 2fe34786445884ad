// Operations written in Python.
//
//   class Softplus:
//       attributes = ("beta",)                         # whose values count as they are at `apply`
//       def __init__(self, beta): self.beta = beta
//       def shape(self, x): return x                   # optional; else that of the first argument
//       def forward(self, x): return np.log1p(np.exp(self.beta * x)) / self.beta
//       def backward(self, xs, y, dy): return dy / (1 + np.exp(-self.beta * xs[0]))
//
//   y = dy.apply(Softplus(2.0), x)
//
// A node computes with its own object, which the graph keeps alive: the address is the node's
// payload, so no object ever answers for another object, and nodes of different objects may still
// run in one call. Declared attributes count for the node with their values at `apply`; if the
// object was changed since, a copy with these values computes.
//
// A class is written for one example: its functions are called for each example of a batch, with
// arrays of one example, and gradients of arguments with one example are summed. A class with
// `batched = True` gets the whole batch at once, as the last axis of arrays unless the batch is 1.

#include <nanobind/stl/string.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/interrupt.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "gil.h"
#include "graph.h"
#include "lock.h"
#include "where.h"

namespace dynet::python {
namespace {

/// A key that tells values of an attribute apart, also different values that compare equal: 0.0 and
/// -0.0, or 1 and True.
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

/// The operation of one node. Made and destroyed with the GIL, or the module's lock; used with the
/// GIL, or by the one thread that computes its graph.
class Operation final : public KeptByNode {
 public:
  /// As `object` is now.
  explicit Operation(nb::handle object) : object_(nb::borrow(object)) {
    for (const nb::handle name : nb::iter(nb::getattr(object, "attributes", nb::tuple()))) {
      const nb::object value = nb::getattr(object, name);
      if (PyObject_Hash(value.ptr()) == -1) {
        const nb::python_error unhashable;
        throw TypeError("apply: attribute " + std::string(nb::str(name).c_str()) + " of " +
                        class_name(object) + " is of type " + class_name(value) +
                        ", which may change; want a value that has a hash, such as a tuple");
      }
      attributes_.push_back({nb::borrow(name), value, key_of(value)});
    }
  }
  /// The object to call: the given one, or a copy with the attributes from `apply`.
  nb::object object() {
    for (const Attribute& a : attributes_) {
      const nb::object now = nb::getattr(object_, a.name);
      if (!now.is(a.value) && !key_of(now).equal(a.key)) {
        return object_ = copy();
      }
    }
    return object_;
  }
  int traverse(visitproc visit, void* arg) const override {
    Py_VISIT(object_.ptr());
    for (const Attribute& a : attributes_) {
      Py_VISIT(a.name.ptr());
      Py_VISIT(a.value.ptr());
      Py_VISIT(a.key.ptr());
    }
    return 0;
  }

 private:
  struct Attribute {
    nb::object name, value, key;
  };
  [[nodiscard]] nb::object copy() const {
    nb::object made = nb::module_::import_("copy").attr("copy")(object_);
    for (const Attribute& a : attributes_) {
      nb::setattr(made, a.name, a.value);
    }
    return made;
  }

  nb::object object_;
  std::vector<Attribute> attributes_;
};

/// An address as payload, which is made of 32-bit numbers.
using Address = std::array<unsigned, 2>;

/// The object of one example, or node, of a call.
nb::object object_of(const ext::Call& call, std::int64_t example) {
  Address address;
  std::copy_n(call.indices.example<const unsigned>(example), address.size(), address.begin());
  return std::bit_cast<Operation*>(address)->object();
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
  return copied_array(shape_of(x, whole), is_double,
                      is_double ? static_cast<const void*>(x.example<double>(example))
                                : static_cast<const void*>(x.example<float>(example)));
}

/// Stores an array returned by Python into an example of `y`, or adds it there.
void write(nb::handle values, const ext::Operand& y, bool whole, std::int64_t example, bool adds,
           bool is_double, nb::handle object, const char* function) {
  if (values.is_none()) {
    throw TypeError(class_name(object) + "." + function +
                    ": returned None; want an array of shape " +
                    std::string(nb::repr(batched_shape_tuple(shape_of(y, whole))).c_str()));
  }
  const HostArray array(values, is_double);
  const Dim want = shape_of(y, whole);
  if (!array.has_shape(want)) {
    throw errors::ShapeError(class_name(object) + "." + function + ": returned an array of shape " +
                             std::string(nb::repr(array.object.attr("shape")).c_str()) + "; want " +
                             std::string(nb::repr(batched_shape_tuple(want)).c_str()));
  }
  const auto put = [&]<class T>(const T* from) {
    T* to = y.example<T>(example);
    for (std::int64_t i = 0; i < y.size(); ++i) {
      to[i] = adds ? to[i] + from[i] : from[i];
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

void call_forward(const ext::Call& call, bool whole) {
  const bool is_double = call.kernels.number() == ext::Number::kDouble;
  const ext::Operand& y = call.out[0];
  for (std::int64_t e = 0; e < y.examples; ++e) {
    const nb::object object = object_of(call, e);
    const nb::object value = object.attr("forward")(*arrays_of(call.in, whole, e, is_double));
    write(value, y, whole, e, false, is_double, object, "forward");
  }
}

/// backward returns one gradient an argument, None for none; one argument's may come without a
/// tuple.
nb::object returned_gradient(nb::handle object, const nb::object& gradients, std::size_t arg,
                             std::size_t args) {
  const bool is_list = PyTuple_Check(gradients.ptr()) || PyList_Check(gradients.ptr());
  if (gradients.is_none()) {
    throw TypeError(class_name(object) +
                    ".backward: returned None; want a gradient for each of the " +
                    std::to_string(args) + " arguments, as a tuple");
  }
  if (!is_list && args == 1) {
    return gradients;
  }
  if (!is_list || nb::len(gradients) != args) {
    throw errors::ValueError(class_name(object) + ".backward: want a gradient for each of the " +
                             std::to_string(args) + " arguments, as a tuple");
  }
  return gradients[arg];
}

void call_backward(const ext::Call& call, bool whole) {
  const bool is_double = call.kernels.number() == ext::Number::kDouble;
  const ext::Operand& y = call.out[0];
  for (std::int64_t e = 0; e < y.examples; ++e) {
    const nb::object object = object_of(call, e);
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

/// Scope of the user's code within a computation. A computation by that code, in the graph of
/// another thread, must not ask the check of the outer computation, which may release the GIL.
struct UsersCode {
  WithGil gil;
  InterruptScope nobody_is_asked{nullptr};
  OthersMayEnter others;
};

/// The shape of one example of the result. `xs` live.
Dim result_of(nb::handle object, std::span<const Expression> xs) {
  if (!nb::hasattr(object, "shape")) {
    return xs[0].dim().single_batch();
  }
  nb::list shapes;
  for (const Expression& x : xs) {
    shapes.append(batched_shape_tuple(x.dim().single_batch()));
  }
  const nb::object shape = object.attr("shape")(*nb::tuple(shapes));
  DimArg d;
  if (!nb::try_cast(shape, d)) {
    throw errors::ShapeError(class_name(object) + ".shape: returned " +
                             std::string(nb::repr(shape).c_str()) +
                             "; want an int or a tuple of ints");
  }
  d.dim.bd = 1;
  return d.dim;
}

/// Called for each example.
struct PythonOp {
  Dim dim;

  static constexpr ext::Info kInfo{.name = "python_operation",
                                   .args = {"xs"},
                                   .attrs = {"dim"},
                                   .payload = "object",
                                   .summary = "An operation written in Python.",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kVariadic = true;
  static constexpr bool kPartialGradient = true;  // adds, as one example's gradient may come often
  static constexpr bool kOnHost = true;
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  Dim shape(const ext::Shapes& /*in*/) const { return dim; }
  void forward(ext::Call& call) const {
    const UsersCode begun;
    call_forward(call, false);
  }
  void backward(ext::Call& call) const {
    const UsersCode begun;
    call_backward(call, false);
  }
  static std::vector<ext::Example<PythonOp>> examples() { return {}; }
};

/// Called once for the whole batch.
struct PythonBatchOp {
  Dim dim;

  static constexpr ext::Info kInfo{.name = "python_batch_operation",
                                   .args = {"xs"},
                                   .attrs = {"dim"},
                                   .payload = "object",
                                   .summary = "An operation on batches written in Python.",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kVariadic = true;
  static constexpr bool kPartialGradient = true;
  static constexpr bool kOnHost = true;
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::IndicesPer kIndicesPer = ext::IndicesPer::kNode;
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    Dim d = dim;
    for (std::size_t i = 0; i < in.size(); ++i) {
      d.bd = std::max(d.bd, in[i].bd);
    }
    return d;
  }
  void forward(ext::Call& call) const {
    const UsersCode begun;
    call_forward(call, true);
  }
  void backward(ext::Call& call) const {
    const UsersCode begun;
    call_backward(call, true);
  }
  static std::vector<ext::Example<PythonBatchOp>> examples() { return {}; }
};

template <class Op>
Expression add(const Dim& dim, const Address& address, std::span<const Expression> xs) {
  const Op op{dim};
  const std::span<const unsigned> payload = address;
  return ext::add_node(ext::kRecord<Op>, &op, nullptr, xs, ext::NodePayload::of(payload), here());
}

PyExpression apply(nb::handle operation, const nb::args& xs) {
  nb::detail::make_caster<ExprListArg> caster;
  if (!caster.from_python(xs, 0, nullptr) || caster.value.count() == 0) {
    throw TypeError("apply: want an operation and one expression or more");
  }
  for (const char* function : {"forward", "backward"}) {
    if (!nb::hasattr(operation, function)) {
      throw TypeError("apply: " + class_name(operation) + " has no " + function);
    }
  }
  const auto made = std::make_shared<Operation>(operation);
  const std::vector<Expression> nodes = caster.value.nodes();
  const std::shared_ptr<PyGraph> graph = graph_of(nodes[0]);
  const Dim dim = result_of(operation, nodes);
  const bool batched = is_batched(operation);
  return PyExpression(graph->add_keeping(made, [&] {
    const auto address = std::bit_cast<Address>(made.get());
    return batched ? add<PythonBatchOp>(dim, address, nodes) : add<PythonOp>(dim, address, nodes);
  }));
}

}  // namespace

void bind_custom(nb::module_& m) {
  m.def("apply", &apply, nb::arg("operation"), nb::arg("xs"),
        nb::sig("def apply(operation: typing.Any, *xs: Expression) -> Expression"),
        "An operation written in Python: an object with `forward(*xs)`, which returns an array, "
        "and `backward(xs, y, dy)`, which returns the gradients of the arguments as a tuple (None "
        "for no gradient). Optional: `shape(*shapes)`, the result's shape (else the shape of the "
        "first argument), and in the class `batched = True` and `attributes`, a tuple of names. "
        "Functions see one example each, or, if batched, the whole batch as last axis. The node "
        "computes with the object as it is when it computes; `attributes` count as they are now, "
        "and later changes do not.");
}

}  // namespace dynet::python
