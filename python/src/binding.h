#pragma once

// The Python module: the same library, seen from Python.
//
// bind_family.h makes the functions of all operations by a loop over each family's list; it has no
// line for any one of them. The other bind_*.cc bind everything else, a file a topic. module.cc
// puts them together, in the order in which types must exist. arguments.h reads arguments, calls.h
// writes the errors for arguments that do not fit.
//
// A thread has one graph, the default graph (graph.h), and all expressions of a thread are nodes of
// it. Parameters are expressions too: the node of a parameter is made at the first use in a graph
// and is remembered there. So every function of expressions takes an `ExprArg` and calls `resolve`.
// Example: `W * x` with a parameter W adds W's node at its first use, then the product's.
//
// Each node gets the code object and the offset of the Python line that made it (where.h), which
// are turned into text only when an error is printed.
//
// Surprising: the operators of Expression are bound twice, by nanobind for signatures and
// documentation, and as raw slots (operators.cc) because they are on the hottest path. Everything
// here runs with the GIL held, or with the module's own lock if Python has no GIL (lock.h), except
// forward and backward above a cost (graph.cc).

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/except.h"

#include "arguments.h"

namespace nb = nanobind;

namespace dynet::python {

/// The C++ object of Python's `Expression`. Thread rule: as the graph; the GIL covers the object
/// itself.
struct PyExpression {
  enum class Kind : unsigned char { kNode, kParameter, kTable, kUninitialised };
  /// Places are indices in the argument; a negative one counts from the end.
  enum class Settable : unsigned char { kNot, kNumbers, kIndices, kPlaces };
  Expression e;  ///< unset for parameters: see resolve
  Kind kind = Kind::kNode;
  Settable settable = Settable::kNot;  ///< the data that `set` replaces

  unsigned version = 0;  ///< of its graph, when it was made

  PyExpression() = default;
  explicit PyExpression(Expression expression, Settable what = Settable::kNot);

 protected:
  explicit PyExpression(Kind k) : kind(k) {}
};

/// A parameter, which keeps its collection alive. Invariant: `storage` is the storage of `p`.
struct PyParameters : PyExpression {
  PyParameters(const Parameter& parameter, const ParameterCollection& collection)
      : PyExpression(Kind::kParameter), p(parameter), storage(parameter.p), owner(collection) {}
  Parameter p;
  std::shared_ptr<void> storage;
  ParameterCollection owner;
};

/// A lookup table, likewise.
struct PyLookupParameters : PyExpression {
  PyLookupParameters(const LookupParameter& table, const ParameterCollection& collection)
      : PyExpression(Kind::kTable), p(table), storage(table.p), owner(collection) {}
  LookupParameter p;
  std::shared_ptr<void> storage;
  ParameterCollection owner;
};

/// The type objects of the bound classes with NewObjectCaster, and of others that quick.h reads.
/// Set when the class is bound.
template <class T>
inline PyTypeObject* object_type = nullptr;

/// A new object of a class that has its `object_type`, around `value`.
template <class T>
[[nodiscard]] nb::object new_object(T value) {
  nb::object made = nb::inst_alloc(reinterpret_cast<PyObject*>(object_type<T>));
  new (nb::inst_ptr<T>(made)) T(std::move(value));
  nb::inst_mark_ready(made);
  return made;
}

[[nodiscard]] nb::object new_object(const PyExpression& value);

/// Sets how objects of expressions are made and destroyed; once both classes are bound.
void install_expression_objects();
/// The offset of the C++ object in an object of these classes. Written at import only.
inline std::ptrdiff_t expression_offset = 0;

[[noreturn]] void fail_uninitialised(nb::handle object);
/// Notes the misfit of an object that is no expression, or is not initialised. Returns false.
bool refuse_expression(PyObject* o) noexcept;

/// The type of parameters is derived from the type of expressions.
inline bool is_expression(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  return type == object_type<PyExpression> || type == object_type<PyParameters> ||
         PyType_IsSubtype(type, object_type<PyExpression>) != 0;
}

/// The C++ object of a Python object of its type. TypeError if there is none: a subclass that does
/// not call `super().__init__()`, or an object that only `__new__` made.
template <class T>
T& instance(nb::handle object) {
  if (!nb::inst_ready(object)) {
    fail_uninitialised(object);
  }
  return *nb::inst_ptr<T>(object);
}

/// The C++ object of an object of these classes, without asking nanobind.
inline PyExpression* expression_in(PyObject* o) noexcept {
  return reinterpret_cast<PyExpression*>(reinterpret_cast<char*>(o) + expression_offset);
}
/// Null for an object of another class, of a class that a program derived, or not initialised.
inline PyExpression* plain_expression(PyObject* o) noexcept {
  PyTypeObject* const type = Py_TYPE(o);
  if (type != object_type<PyExpression> && type != object_type<PyParameters>) {
    return nullptr;
  }
  PyExpression* const x = expression_in(o);
  return x->kind == PyExpression::Kind::kUninitialised ? nullptr : x;
}
template <>
inline PyExpression& instance<PyExpression>(nb::handle object) {
  if (PyExpression* const x = plain_expression(object.ptr())) [[likely]] {
    return *x;
  }
  if (!nb::inst_ready(object)) {
    fail_uninitialised(object);
  }
  return *nb::inst_ptr<PyExpression>(object);
}

/// `e`, read word by word. A compiler reads all 16 bytes at once, and if they were just written as
/// two words the processor waits with the read until the cache has them: 5 ns, which shows if each
/// node is the argument of the next node.
inline Expression by_words(const Expression& e) {
  ComputationGraph* const graph = static_cast<ComputationGraph* const volatile&>(e.pg);
  return {graph, e.i, e.graph_id};
}

/// The node of an expression; of a parameter, its node in this thread's graph.
Expression resolve_parameter(const PyExpression& x);
inline Expression resolve(const PyExpression& x) {
  return x.kind == PyExpression::Kind::kNode ? by_words(x.e) : resolve_parameter(x);
}

/// An argument that is an expression or a parameter.
struct ExprArg {
  const PyExpression* x = nullptr;
  [[nodiscard]] Expression node() const { return resolve(*x); }
};

inline Expression node_of(const ExprArg& arg) { return arg.node(); }
/// None is an argument that is absent.
inline Expression node_of(const std::optional<ExprArg>& arg) {
  return arg.has_value() ? arg->node() : Expression();
}

/// A list of expressions: any sequence or iterable. Keeps its entries alive.
struct ExprListArg {
  nb::object owner;  ///< a list or tuple
  [[nodiscard]] std::size_t count() const {
    return static_cast<std::size_t>(PySequence_Fast_GET_SIZE(owner.ptr()));
  }
  /// The nodes, in memory that the next call of this thread reuses. TypeError if code of the user's
  /// has since put other objects into the list.
  [[nodiscard]] std::vector<Expression>& nodes() const;
  /// The nodes, at least one: EmptyListError.
  [[nodiscard]] std::vector<Expression>& some_nodes() const;
};

/// The place of the first entry of a list or tuple that is no expression; their number if all are.
inline Py_ssize_t first_other(PyObject* list) noexcept {
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(list);
  Py_ssize_t i = 0;
  while (i < count && is_expression(entry_of(list, i).ptr())) {
    ++i;
  }
  return i;
}

template <>
struct QuickArg<ExprArg> {
  static bool read(PyObject* o, ExprArg& arg) noexcept {
    arg.x = plain_expression(o);
    if (arg.x == nullptr && is_expression(o) && nb::inst_ready(o)) {
      arg.x = nb::inst_ptr<PyExpression>(o);
    }
    return arg.x != nullptr;
  }
};
template <>
struct QuickArg<ExprListArg> {
  static bool read(PyObject* o, ExprListArg& arg) noexcept {
    if ((!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) ||
        first_other(o) != PySequence_Fast_GET_SIZE(o)) {
      return false;
    }
    arg.owner = nb::borrow(o);
    return true;
  }
};

/// A shape: an int, or a sequence of ints.
struct DimArg {
  Dim dim;
  /// This shape with a batch. ValueError for a batch of 0.
  [[nodiscard]] Dim with_batch(unsigned batch_size) const;
};

/// A shape, of which one extent may be -1: the rest of another shape.
struct RestDimArg : DimArg {
  static constexpr unsigned kNone = DYNET_MAX_TENSOR_DIM;
  unsigned rest = kNone;  ///< which extent that is
  /// For an expression of the shape `from`, in `batch_size` examples. ShapeError if the rest is no
  /// whole number.
  [[nodiscard]] Dim of(const Dim& from, unsigned batch_size) const;
};

/// The extents of one example.
nb::tuple shape_tuple(const Dim& d);

/// The name of an object's class.
std::string class_name(nb::handle object);
/// A number as briefly as it can be read back: "0.1", "100".
std::string short_text(double number);
std::string short_text(float number);
/// A value and its type, for errors: "[1, 2], of type list".
std::string told(nb::handle value);

inline unsigned axis_of(const ExprArg& x, const AxisArg& d) {
  return d.axis >= 0 ? static_cast<unsigned>(d.axis) : d.in(x.node().dim());
}
inline std::vector<unsigned> axes_of(const ExprArg& x, const AxesArg& d) {
  return d.in(x.node().dim());
}

// Each binds one topic.
void bind_errors(nb::module_& m);
void bind_expression(nb::module_& m);
void bind_graph(nb::module_& m);
void bind_inputs(nb::module_& m);
void bind_ops(nb::module_& m);
void bind_compositions(nb::module_& m);
void bind_selections(nb::module_& m);
void bind_cell(nb::module_& m);
void bind_chains(nb::module_& m);
void bind_collection(nb::module_& m);
void bind_params(nb::module_& m);
void bind_initializers(nb::module_& m);
void bind_trainers(nb::module_& m);
void bind_builders(nb::module_& m);
void bind_files(nb::module_& m);
void bind_tree_builders(nb::module_& m);
void bind_softmax_builders(nb::module_& m);
void bind_attention_builders(nb::module_& m);
void bind_beam(nb::module_& m);
void bind_tasks(nb::module_& m);
void bind_sequence(nb::module_& m);
void bind_structured(nb::module_& m);
void bind_text(nb::module_& m);
void bind_custom(nb::module_& m);
void bind_debug(nb::module_& m);
void bind_start(nb::module_& m);
void bind_workers(nb::module_& m);
void bind_views(nb::module_& m);
void bind_old_names(nb::module_& m);
void bind_repr(nb::module_& m);

}  // namespace dynet::python

namespace nanobind::detail {

/// The caster of objects that programs make at every node: always a new object. (nanobind looks
/// first for an object at the same address, and for the class of the C++ type.)
template <class T>
struct NewObjectCaster : type_caster_base<T> {
  static handle from_cpp(T value, rv_policy /*policy*/, cleanup_list* /*cleanup*/) noexcept {
    try {
      return dynet::python::new_object(std::move(value)).release();
    } catch (python_error& e) {
      e.restore();
      return {};
    }
  }
};
template <>
struct type_caster<dynet::python::PyExpression> : NewObjectCaster<dynet::python::PyExpression> {};

template <>
struct type_caster<dynet::python::ExprArg> {
  NB_TYPE_CASTER(dynet::python::ExprArg, make_caster<dynet::python::PyExpression>::Name)
  bool from_python(handle src, uint32_t flags, cleanup_list* /*cleanup*/) noexcept {
    if (dynet::python::QuickArg<dynet::python::ExprArg>::read(src.ptr(), value)) {
      return true;
    }
    dynet::python::refuse_expression(src.ptr());
    return dynet::python::refused(flags);
  }
};

template <>
struct type_caster<dynet::python::ExprListArg> {
  NB_TYPE_CASTER(dynet::python::ExprListArg, const_name("collections.abc.Iterable[") +
                                                 make_caster<dynet::python::PyExpression>::Name +
                                                 const_name("]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
};

template <>
struct type_caster<dynet::python::RestDimArg> {
  NB_TYPE_CASTER(dynet::python::RestDimArg, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
};

template <>
struct type_caster<dynet::python::DimArg> {
  NB_TYPE_CASTER(dynet::python::DimArg, const_name("int | collections.abc.Sequence[int]"))
  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept;
};

}  // namespace nanobind::detail
