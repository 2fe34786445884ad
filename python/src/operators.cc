#include "operators.h"

#include <nanobind/stl/string.h>

#include <array>

#include "dynet/ext/add_node.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "lock.h"
#include "where.h"

namespace dynet::python {
namespace {

/// The operations behind one operator; null if there is none.
struct Operator {
  const char* symbol;
  std::string_view dunder, mirrored_dunder;
  const ext::Record* on_expressions = nullptr;  // x op y, or op x
  const ext::Record* on_number = nullptr;       // x op number
  const ext::Record* mirrored = nullptr;        // number op x
};
enum Slot : std::size_t { kAdd, kSubtract, kMultiply, kDivide, kPower, kNegative, kSlots };
std::array<Operator, kSlots> operators{
    {{.symbol = "+", .dunder = "__add__", .mirrored_dunder = "__radd__"},
     {.symbol = "-", .dunder = "__sub__", .mirrored_dunder = "__rsub__"},
     {.symbol = "*", .dunder = "__mul__", .mirrored_dunder = "__rmul__"},
     {.symbol = "/", .dunder = "__truediv__", .mirrored_dunder = "__rtruediv__"},
     {.symbol = "**", .dunder = "__pow__", .mirrored_dunder = "__rpow__"},
     {.symbol = "-", .dunder = "__neg__", .mirrored_dunder = ""}}};
/// Python's places for a type's functions of operators; `**` has a third argument.
constexpr binaryfunc PyNumberMethods::* kPlaces[] = {
    &PyNumberMethods::nb_add, &PyNumberMethods::nb_subtract, &PyNumberMethods::nb_multiply,
    &PyNumberMethods::nb_true_divide};

// Operations behind operators have no attributes, so one object serves as the struct of them all.
constexpr char kNoAttributes = 0;

PyObject* add(const ext::Record& record, std::span<const Expression> args,
              const ext::NodePayload& payload = {}) {
  return make_expression(ext::add_node(record, &kNoAttributes, nullptr, args, payload, here()))
      .release()
      .ptr();
}

[[gnu::always_inline]] inline Expression node(PyObject* o) {
  return resolve(instance<PyExpression>(o));
}

/// False, without an error, if `o` is no number. Exceptions of its own `__float__` go to the user.
bool read_number(PyObject* o, float& number) {
  if (PyFloat_CheckExact(o)) {
    number = static_cast<float>(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (PyNumber_Check(o) == 0 || is_complex(o)) {
    return false;
  }
  const double v = PyFloat_AsDouble(o);
  if (v == -1.0 && PyErr_Occurred() != nullptr) {
    nb::python_error error;
    if (is_users_own(error.value().ptr())) {
      throw error;
    }
    return false;
  }
  number = static_cast<float>(v);
  return true;
}

/// Whether a class of the program's has the operator itself, and is asked after us. An array of
/// NumPy's would be, too, and refuses in words of its own.
bool is_asked_next(nb::handle right, bool has_slot) {
  return has_slot && !nb::hasattr(right, "__array_ufunc__") &&
         PyType_HasFeature(Py_TYPE(right.ptr()), Py_TPFLAGS_HEAPTYPE) != 0;
}

/// The end of an operator that is none of expressions, or not with the other operand.
PyObject* refuse_operands(const char* symbol, PyObject* a, PyObject* b, bool right_has_slot) {
  if (is_expression(a) && !is_expression(b) && is_asked_next(b, right_has_slot)) {
    return Py_NewRef(Py_NotImplemented);
  }
  const nb::object error = nb::module_::import_("dynet._own_calls")
                               .attr("operator_error")(symbol, nb::handle(a), nb::handle(b),
                                                       is_expression(a), line_here());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  return nullptr;
}

template <Slot kSlot>
bool has_operator(PyObject* o) {
  const PyNumberMethods* slots = Py_TYPE(o)->tp_as_number;
  if constexpr (kSlot == kPower) {
    return slots != nullptr && slots->nb_power != nullptr;
  } else {
    return slots != nullptr && slots->*kPlaces[kSlot] != nullptr;
  }
}

template <Slot kSlot>
PyObject* binary(PyObject* a, PyObject* b) {
  const Entered entered;
  return guarded([&]() -> PyObject* {
    const Operator& op = operators[kSlot];
    const bool left = is_expression(a);
    float number = 0;
    if (left && is_expression(b)) {
      if (op.on_expressions != nullptr) {
        const Expression args[] = {node(a), node(b)};
        return add(*op.on_expressions, args);
      }
    } else {
      const ext::Record* record = left ? op.on_number : op.mirrored;
      if (record != nullptr && read_number(left ? b : a, number)) {
        const Expression arg = node(left ? a : b);
        return add(*record, {&arg, 1}, ext::NodePayload::of(number));
      }
    }
    return refuse_operands(op.symbol, a, b, has_operator<kSlot>(b));
  });
}

/// x ** y; with a third argument, pow(x, y, modulus), it means nothing.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  return modulus == Py_None ? binary<kPower>(a, b) : Py_NewRef(Py_NotImplemented);
}

/// Operators that are none of expressions.
struct Absent {
  const char* symbol;
  binaryfunc PyNumberMethods::* place;
};
constexpr Absent kAbsent[] = {{"@", &PyNumberMethods::nb_matrix_multiply},
                              {"//", &PyNumberMethods::nb_floor_divide},
                              {"%", &PyNumberMethods::nb_remainder}};
template <std::size_t kI>
PyObject* absent(PyObject* a, PyObject* b) {
  const Entered entered;
  const PyNumberMethods* slots = Py_TYPE(b)->tp_as_number;
  const bool right_has_slot = slots != nullptr && slots->*kAbsent[kI].place != nullptr;
  return guarded([&] { return refuse_operands(kAbsent[kI].symbol, a, b, right_has_slot); });
}

template <Slot kSlot>
PyObject* unary(PyObject* a) {
  const Entered entered;
  return guarded([&] {
    const Expression arg = node(a);
    return add(*operators[kSlot].on_expressions, {&arg, 1});
  });
}

}  // namespace

bool enter_operator(std::string_view dunder, const ext::Record& record) {
  for (Operator& op : operators) {
    if (dunder == op.mirrored_dunder) {
      op.mirrored = &record;
      return true;
    }
    if (dunder == op.dunder) {
      (record.payload == ext::Payload::kValues ? op.on_number : op.on_expressions) = &record;
      return true;
    }
  }
  return false;
}

void install_operators() {
  PyTypeObject* const type = object_type<PyExpression>;
  PyNumberMethods& slots = *type->tp_as_number;
  slots.nb_add = &binary<kAdd>;
  slots.nb_subtract = &binary<kSubtract>;
  slots.nb_multiply = &binary<kMultiply>;
  slots.nb_true_divide = &binary<kDivide>;
  slots.nb_power = &power;
  slots.nb_negative = &unary<kNegative>;
  slots.nb_matrix_multiply = &absent<0>;
  slots.nb_floor_divide = &absent<1>;
  slots.nb_remainder = &absent<2>;
  PyType_Modified(type);
}

}  // namespace dynet::python
