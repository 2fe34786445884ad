// Python objects of expressions. A program makes and drops one object for every node, so the
// object's cost is a good part of the node's cost: unused objects are kept for the next nodes,
// ready for use, and are read without nanobind's check.
//
// nanobind keeps unused objects too (nb::pooled), but takes them apart and together each time.

#include <cstddef>
#include <type_traits>
#include <vector>

#include "binding.h"
#include "graph.h"

namespace dynet::python {
namespace {

/// Without its lock Python would need a lock here, which takes as long as nanobind does.
#ifdef Py_GIL_DISABLED
constexpr std::size_t kMostSpare = 0;
#else
constexpr std::size_t kMostSpare = 1024;
#endif

/// Objects of nodes without references. They stay initialised for nanobind, and keep the reference
/// to their class. GIL held.
struct Spare {
  PyObject* objects[kMostSpare + 1];  // no array is empty
  std::size_t count = 0;
};
Spare spare;

destructor usual_destruction = nullptr;  // nanobind's
newfunc usual_new = nullptr;

/// Keeps an expression without references. (Objects of a program's own classes come here too, and
/// objects that only `__new__` made. No expression keeps another object alive by nb::keep_alive,
/// which this code would not see.)
void retire(PyObject* object) {
  static_assert(std::is_trivially_destructible_v<PyExpression>);
  if (spare.count < kMostSpare && Py_TYPE(object) == object_type<PyExpression> &&
      expression_in(object)->kind == PyExpression::Kind::kNode) [[likely]] {
    spare.objects[spare.count++] = object;
  } else {
    usual_destruction(object);
  }
}

/// `__new__` alone makes an object that is not initialised, which plain_expression has to see.
PyObject* make_uninitialised(PyTypeObject* type, PyObject* args, PyObject* names) {
  PyObject* const made = usual_new(type, args, names);
  if (made != nullptr) {
    nb::inst_ptr<PyExpression>(made)->kind = PyExpression::Kind::kUninitialised;
  }
  return made;
}

/// Makes the first reference to it again. Python's count of all objects is right in its debug
/// builds.
void refer_to(PyObject* spare_object) {
#ifdef Py_DEBUG
  _Py_NewReference(spare_object);
#else
  Py_SET_REFCNT(spare_object, 1);
#endif
}

/// An object of `value`, which is a node.
inline nb::object object_of(const PyExpression& value) {
  if (spare.count != 0) [[likely]] {
    PyObject* const object = spare.objects[--spare.count];
    refer_to(object);
    PyExpression& x = *expression_in(object);
    x.e = by_words(value.e);
    x.settable = value.settable;
    x.version = value.version;
    return nb::steal(object);
  }
  nb::object made = nb::inst_alloc(reinterpret_cast<PyObject*>(object_type<PyExpression>));
  new (nb::inst_ptr<PyExpression>(made)) PyExpression(value);
  nb::inst_mark_ready(made);
  return made;
}

}  // namespace

nb::object new_object(const PyExpression& value) { return object_of(value); }

nb::object make_expression(Expression e, PyExpression::Settable settable) {
  return object_of(PyExpression(e, settable));
}

nb::list list_of(const std::vector<Expression>& es) {
  const nb::object list = nb::steal(PyList_New(static_cast<Py_ssize_t>(es.size())));
  if (!list.is_valid()) {
    throw nb::python_error();
  }
  Py_ssize_t i = 0;
  for (const Expression& e : es) {
    PyList_SET_ITEM(list.ptr(), i++, make_expression(by_words(e)).release().ptr());
  }
  return nb::borrow<nb::list>(list);
}

void install_expression_objects() {
  static_assert(alignof(PyParameters) == alignof(PyExpression));  // so both have the same offset
  PyTypeObject* const type = object_type<PyExpression>;
  usual_destruction = type->tp_dealloc;
  usual_new = type->tp_new;
  const nb::object one = new_object(PyExpression());
  expression_offset =
      reinterpret_cast<char*>(nb::inst_ptr<PyExpression>(one)) - reinterpret_cast<char*>(one.ptr());
  type->tp_dealloc = &retire;
  for (PyTypeObject* const of : {type, object_type<PyParameters>}) {
    of->tp_new = &make_uninitialised;
    of->tp_vectorcall = nullptr;  // a call, which is refused, does not go round tp_new
    PyType_Modified(of);
  }
}

}  // namespace dynet::python
