#include "operators.h"

#include <array>

#include "dynet/ext/add_node.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

/// The operations behind one operator; null where there is none.
struct Operator {
  std::string_view dunder, mirrored_dunder;
  const ext::Record* on_expressions = nullptr;  // x op y, or op x
  const ext::Record* on_number = nullptr;       // x op number
  const ext::Record* mirrored = nullptr;        // number op x
};
enum Slot : std::size_t { kAdd, kSubtract, kMultiply, kDivide, kPower, kNegative, kSlots };
std::array<Operator, kSlots> operators{
    {{.dunder = "__add__", .mirrored_dunder = "__radd__"},
     {.dunder = "__sub__", .mirrored_dunder = "__rsub__"},
     {.dunder = "__mul__", .mirrored_dunder = "__rmul__"},
     {.dunder = "__truediv__", .mirrored_dunder = "__rtruediv__"},
     {.dunder = "__pow__", .mirrored_dunder = "__rpow__"},
     {.dunder = "__neg__", .mirrored_dunder = ""}}};

// Operations behind operators have no attributes, so one object serves as the struct of them all.
constexpr char kNoAttributes = 0;

PyObject* add(const ext::Record& record, std::span<const Expression> args,
              const ext::NodePayload& payload = {}) {
  return make_expression(ext::add_node(record, &kNoAttributes, nullptr, args, payload, here()))
      .release()
      .ptr();
}

Expression node(PyObject* o) { return resolve(instance<PyExpression>(o)); }

/// False, without an error, where `o` is no number. What its own `__float__` raises goes to the
/// user.
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

template <Slot kSlot>
PyObject* binary(PyObject* a, PyObject* b) {
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
    return Py_NewRef(Py_NotImplemented);
  });
}

/// x ** y; with a third argument, pow(x, y, modulus), it means nothing.
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  return modulus == Py_None ? binary<kPower>(a, b) : Py_NewRef(Py_NotImplemented);
}

template <Slot kSlot>
PyObject* unary(PyObject* a) {
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
  PyType_Modified(type);
}

}  // namespace dynet::python
