// Parameters and lookup tables.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/ops/input.h"
#include "dynet/ops/shape.h"

#include "arrays.h"
#include "binding.h"
#include "calls.h"
#include "errors.h"
#include "graph.h"
#include "lock.h"
#include "params.h"
#include "quick.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

constexpr ops::NoBackprop kWithoutGradient;

nb::tuple shape_tuple(const Dim& d, bool rows_first) {
  nb::list extents;
  if (rows_first) {
    extents.append(d.d[d.nd - 1]);
  }
  for (unsigned i = 0; i + (rows_first ? 1U : 0U) < d.nd; ++i) {
    extents.append(d.d[i]);
  }
  return nb::tuple(extents);
}

/// The tensor after its device has finished; other threads run meanwhile.
Tensor settled(Tensor t) {
  wait_for(*t.device);
  return t;
}

// ---- parameters
// -----------------------------------------------------------------------------------------

/// Functions common to parameters and tables.
template <class Py>
void bind_common(nb::class_<Py, PyExpression>& c) {
  using nb::arg;
  c.def(
       "zero", [](Py& x) { x.p.zero(); }, texts::Parameter_zero)
      .def(
          "scale", [](Py& x, float s) { x.p.scale(s); }, arg("s"), texts::Parameter_scale)
      .def(
          "scale_gradient", [](Py& x, float s) { x.p.scale_gradient(s); }, arg("s"),
          texts::Parameter_scale_gradient)
      .def(
          "is_updated", [](const Py& x) { return x.p.is_updated(); }, texts::Parameter_is_updated)
      .def(
          "set_updated", [](Py& x, bool b) { x.p.set_updated(b); }, arg("b"),
          texts::Parameter_set_updated)
      .def("name", [](const Py& x) { return x.p.get_fullname(); }, texts::Parameter_get_fullname);
  for (const char* name : {"save", "write_to_textfile"}) {
    c.def(
        name,
        [](const Py& x, const std::string& fname, const std::string& key, bool append) {
          save_to(x.p, fname, key, append);
        },
        arg("fname"), arg("key") = "", arg("append") = false);
  }
  for (const char* name : {"populate", "populate_from_textfile"}) {
    c.def(
        name,
        [](Py& x, const std::string& fname, const std::string& key) {
          populate_from(x.p, fname, key);
        },
        arg("fname"), arg("key") = "");
  }
}

void set_values(PyParameters& x, nb::handle values) {
  const FloatArray array = read_array(values);
  const Dim d = x.p.dim();
  if (array.dim(false) != d) {
    throw errors::ShapeError("set_value: the array is " + to_string(array.dim(false)) + "; want " +
                             to_string(d));
  }
  x.p.set_value(std::vector<float>(array.data, array.data + array.size));
}

/// `update`: a node that gives the parameter gradients; else a constant of its values.
PyExpression parameter_node(const PyParameters& x, bool update) {
  if (update) {
    return PyExpression(resolve(x));
  }
  ext::NodePayload payload;
  payload.storage = &x.storage;
  const ops::Parameter op{x.p.dim(), false};
  return PyExpression(
      ext::add_node(ext::kRecord<ops::Parameter>, &op, &current_graph().cg, {}, payload, here()));
}

void bind_parameters(nb::module_& m) {
  using nb::arg;
  nb::class_<PyParameters, PyExpression> c(m, "Parameters", texts::Parameter);
  object_type<PyParameters> = reinterpret_cast<PyTypeObject*>(c.ptr());
  bind_common(c);
  c.def(
       "shape", [](const PyParameters& x) { return shape_tuple(x.p.dim(), false); },
       nb::sig("def shape(self) -> tuple[int, ...]"), texts::Parameter_dim)
      .def(
          "as_array",
          [](const PyParameters& x) {
            return to_numpy(settled(*x.p.values()),
                            static_cast<double>(x.p.current_weight_decay()));
          },
          nb::sig("def as_array(self) -> numpy.typing.NDArray[typing.Any]"), "The values.")
      .def(
          "grad_as_array",
          [](const PyParameters& x) { return to_numpy(settled(x.p.get_storage().g)); },
          nb::sig("def grad_as_array(self) -> numpy.typing.NDArray[typing.Any]"), "The gradient.")
      .def("set_value", &set_values, arg("arr"), texts::Parameter_set_value)
      .def(
          "clip_inplace",
          [](PyParameters& x, float left, float right) { x.p.clip_inplace(left, right); },
          arg("left"), arg("right"), texts::Parameter_clip_inplace)
      .def("expr", &parameter_node, arg("update") = false,
           "A node of its own in this graph; without `update` it gives no gradient.");
}

// ---- lookup tables
// --------------------------------------------------------------------------------------

/// The values, for a look only. References from get_storage() and values() may be kept or written
/// through, which costs more.
const LookupParameterStorage& shown(const PyLookupParameters& x) {
  x.p.p->settle_values();
  return *x.p.p;
}

Tensor row_of(const std::vector<Tensor>& rows, unsigned i) {
  if (i >= rows.size()) {
    throw errors::IndexError("row is " + std::to_string(i) + "; want less than " +
                             std::to_string(rows.size()));
  }
  return rows[i];
}

nb::object rows_array(const std::vector<Tensor>& rows, const std::vector<unsigned>& indices,
                      double scale) {
  nb::list arrays;
  for (const unsigned i : indices) {
    arrays.append(to_numpy(settled(row_of(rows, i)), scale));
  }
  return numpy_module().attr("stack")(arrays);
}

/// Sets the first rows, one a row of the array.
void init_rows(PyLookupParameters& x, nb::handle values) {
  const FloatArray array = read_rows_first(values);
  const LookupParameterStorage& storage = *x.p.p;
  Dim row = array.dim(true);
  const unsigned rows = row.bd;
  row.bd = 1;
  if (row != storage.dim || rows > storage.rows()) {
    throw errors::ShapeError("init_from_array: " + std::to_string(rows) + " rows " +
                             to_string(row) + "; want at most " + std::to_string(storage.rows()) +
                             " rows " + to_string(storage.dim));
  }
  const auto size = static_cast<std::size_t>(row.elements());
  for (unsigned i = 0; i < rows; ++i) {
    const float* from = array.data + i * size;
    x.p.initialize(i, std::vector<float>(from, from + size));
  }
}

/// Nodes of rows of one table, made at one place of the program.
class Rows {
 public:
  explicit Rows(const PyLookupParameters& table)
      : table_(table), op_{table.p.dim(), true}, graph_(current_graph().cg), where_(here()) {}
  PyExpression add(ext::NodePayload indices) {
    indices.storage = &table_.storage;
    return PyExpression(
        ext::add_node(ext::kRecord<ops::Lookup>, &op_, &graph_, {}, indices, where_),
        PyExpression::Settable::kIndices);
  }

 private:
  const PyLookupParameters& table_;
  const ops::Lookup op_;
  ComputationGraph& graph_;
  const Where where_;
};

PyExpression add_lookup(const PyLookupParameters& x, const ext::NodePayload& indices) {
  return Rows(x).add(indices);
}

void bind_table_arrays(nb::class_<PyLookupParameters, PyExpression>& c) {
  using nb::arg;
  const auto factor = [](const PyLookupParameters& x) {
    return static_cast<double>(x.p.current_weight_decay());
  };
  c.def(
       "as_array",
       [=](const PyLookupParameters& x) {
         return to_numpy_rows_first(settled(shown(x).all_values), factor(x));
       },
       nb::sig("def as_array(self) -> numpy.typing.NDArray[typing.Any]"),
       "The values, rows as first axis.")
      .def(
          "grad_as_array",
          [](const PyLookupParameters& x) {
            return to_numpy_rows_first(settled(x.p.get_storage().all_grads));
          },
          nb::sig("def grad_as_array(self) -> numpy.typing.NDArray[typing.Any]"))
      .def(
          "row_as_array",
          [=](const PyLookupParameters& x, const IndexArg& row) {
            return to_numpy(settled(row_of(shown(x).values, row.index)), factor(x));
          },
          arg("row"),
          nb::sig("def row_as_array(self, row: int) -> numpy.typing.NDArray[typing.Any]"))
      .def(
          "rows_as_array",
          [=](const PyLookupParameters& x, const IndexListArg& rows) {
            return rows_array(shown(x).values, rows.not_empty(), factor(x));
          },
          arg("rows"),
          nb::sig("def rows_as_array(self, rows: collections.abc.Sequence[int]) -> "
                  "numpy.typing.NDArray[typing.Any]"))
      .def(
          "row_grad_as_array",
          [](const PyLookupParameters& x, const IndexArg& row) {
            return to_numpy(settled(row_of(x.p.get_storage().grads, row.index)));
          },
          arg("row"),
          nb::sig("def row_grad_as_array(self, row: int) -> numpy.typing.NDArray[typing.Any]"))
      .def(
          "rows_grad_as_array",
          [](const PyLookupParameters& x, const IndexListArg& rows) {
            return rows_array(x.p.get_storage().grads, rows.not_empty(), 1.0);
          },
          arg("rows"),
          nb::sig("def rows_grad_as_array(self, rows: collections.abc.Sequence[int]) -> "
                  "numpy.typing.NDArray[typing.Any]"));
}

/// `E[i]`, on the hot path: called by Python directly.
PyObject* table_item(PyObject* self, PyObject* index) {
  const Entered entered;
  const CallNotes notes;
  PyObject* result = guarded([&] {
    const auto& x = instance<PyLookupParameters>(self);
    const unsigned row = read_index(index);
    return new_object(add_lookup(x, ext::NodePayload::of(row))).release().ptr();
  });
  return result != nullptr ? result : explain_slot("__getitem__", self, index);
}

/// Each of these rows.
// NOLINTNEXTLINE(performance-unnecessary-value-param): the quick way makes values of these types
nb::list table_rows(const PyLookupParameters* x, IndexListArg indices) {
  auto rows = nb::steal<nb::list>(PyList_New(static_cast<Py_ssize_t>(indices.list.size())));
  if (!rows.is_valid()) {
    throw nb::python_error();
  }
  Rows nodes(*x);
  Py_ssize_t i = 0;
  for (const unsigned row : indices.list) {
    nb::object made = new_object(nodes.add(ext::NodePayload::of(row)));
    PyList_SET_ITEM(rows.ptr(), i++, made.release().ptr());
  }
  return rows;
}

void bind_lookup_parameters(nb::module_& m) {
  using nb::arg;
  nb::class_<PyLookupParameters, PyExpression> c(m, "LookupParameters", texts::LookupParameter);
  object_type<PyLookupParameters> = reinterpret_cast<PyTypeObject*>(c.ptr());
  bind_common(c);
  bind_table_arrays(c);
  c.def(
       "__getitem__",
       [](const PyLookupParameters& x, const IndexArg& index) {
         return add_lookup(x, ext::NodePayload::of(index.index));
       },
       arg("index"), nb::sig("def __getitem__(self, index: int, /) -> Expression"),
       "Row `index`: `lookup`.")
      .def(
          "batch",
          [](const PyLookupParameters& x, const IndexListArg& indices) {
            return add_lookup(x, ext::NodePayload::of(indices.not_empty()));
          },
          arg("i"), "A batch of rows: `lookup_batch`.")
      .def("rows", &table_rows, arg("indices"),
           nb::sig("def rows(self, indices: collections.abc.Sequence[int]) -> list[Expression]"),
           "A list of rows, each an expression of its own: `[p[i] for i in indices]` in one call.")
      .def("__len__", [](const PyLookupParameters& x) { return x.p.p->rows(); })
      .def(
          "shape", [](const PyLookupParameters& x) { return shape_tuple(x.p.p->all_dim, true); },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Rows first.")
      .def("init_from_array", &init_rows, arg("arr"), "Sets the first rows.")
      .def(
          "init_row",
          [](PyLookupParameters& x, const IndexArg& i, nb::handle row) {
            x.p.initialize(i.index, read_numbers(row));
          },
          arg("i"), arg("row"), texts::LookupParameter_initialize)
      .def(
          "expr", [](nb::object self, bool) { return self; }, arg("update") = false,
          nb::sig("def expr(self, update: bool = False) -> LookupParameters"), "Itself.");
  reinterpret_cast<PyTypeObject*>(c.ptr())->tp_as_mapping->mp_subscript = &table_item;
  add_quick_way<&table_rows>(c, "rows");
}

// ---- functions
// ------------------------------------------------------------------------------------------

/// The expressions among the arguments of a function of 2.1, which are all but a graph before them.
nb::list expressions_among(const nb::args& args, std::size_t count) {
  nb::list rest;
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object arg = args[i];
    if (rest.empty() && nb::isinstance<PyGraph>(arg)) {
      continue;
    }
    if (!is_expression(arg.ptr())) {
      throw TypeError("argument " + std::to_string(nb::len(rest)) + " is " + told(arg) +
                      "; want parameters");
    }
    rest.append(arg);
  }
  if (rest.empty()) {
    throw TypeError("no argument is given; want a parameter");
  }
  return rest;
}

nb::list without_gradients(const nb::list& expressions) {
  nb::list nodes;
  for (const nb::handle one : expressions) {
    const Expression e = resolve(instance<PyExpression>(one));
    nodes.append(make_expression(ext::add_node(ext::kRecord<ops::NoBackprop>, &kWithoutGradient,
                                               nullptr, {&e, 1}, {}, here())));
  }
  return nodes;
}

/// The arguments themselves: parameters are expressions. DyNet 2.0 had `update` as second argument.
nb::object parameter_function(const nb::args& args, bool update) {
  std::size_t count = args.size();
  if (count > 1 && PyBool_Check(args[count - 1].ptr()) != 0) {
    update = args[--count].ptr() == Py_True;
  }
  nb::list found = expressions_among(args, count);
  if (!update) {
    found = without_gradients(found);
  }
  return found.size() == 1 ? nb::object(found[0]) : nb::object(nb::tuple(found));
}

}  // namespace

void bind_params(nb::module_& m) {
  bind_parameters(m);
  bind_lookup_parameters(m);
  m.def("parameter", &parameter_function, nb::arg("args"), nb::arg("update") = true,
        nb::sig("def parameter(*args: typing.Any, update: bool = True) -> typing.Any"),
        "Its argument, or a tuple of them: parameters can be used as expressions. A graph given "
        "first is passed over. Without `update` as `const_parameter`.");
  m.def(
      "const_parameter",
      [](const nb::args& args) {
        const nb::list nodes = without_gradients(expressions_among(args, args.size()));
        return nodes.size() == 1 ? nb::object(nodes[0]) : nb::object(nodes);
      },
      nb::sig("def const_parameter(*args: Expression) -> typing.Any"),
      "The values of parameters, which get no gradient through these nodes.");
}

}  // namespace dynet::python
