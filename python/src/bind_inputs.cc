// Functions that put numbers, constants, random numbers and rows of tables into this thread's
// graph.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "dynet/expr/leaves.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/input.h"

#include "arrays.h"
#include "binding.h"
#include "errors.h"
#include "graph.h"
#include "inputs.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

using Settable = PyExpression::Settable;

/// This thread's graph and the user's line: the first argument of C++'s inputs and constants.
detail::LocatedGraph graph_here() { return {current_graph().cg, here()}; }

template <class Op>
PyExpression add_source(const Op& op, const ext::NodePayload& payload = {},
                        Settable settable = Settable::kNot, const std::string& device = "") {
  return PyExpression(ext::add_node(ext::kRecord<Op>, &op, &current_graph().cg, {}, payload, here(),
                                    device_named(device)),
                      settable);
}

PyExpression add_numbers(const Dim& d, const float* data, std::size_t count, Settable settable,
                         const std::string& device) {
  return add_source(ops::Input{d}, ext::NodePayload::of(std::span<const float>(data, count)),
                    settable, device);
}

PyExpression input_vector(const NumbersArg& v, const std::string& device) {
  const std::vector<float>& numbers = read_numbers(v.values);
  const unsigned n = to_extent(static_cast<std::int64_t>(numbers.size()), "inputVector");
  return add_numbers(Dim({n}), numbers.data(), numbers.size(), Settable::kNumbers, device);
}

bool is_array(nb::handle o) { return nb::hasattr(o, "__array__") || nb::hasattr(o, "__dlpack__"); }

/// Whether an element is one number: NumPy's numbers, and arrays without an axis of other
/// libraries. A NumPy array without an axis is an array, as in DyNet 2.1.
bool is_scalar(nb::handle element, const nb::object& array) {
  return nb::cast<int>(array.attr("ndim")) == 0 &&
         !nb::isinstance(element, numpy_module().attr("ndarray"));
}

/// A list of arrays is a batch of them. None if an element is a number, of NumPy too, or a list.
nb::object stack_arrays(nb::handle list) {
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
    if (is_expression(entry_of(list.ptr(), i).ptr())) {
      throw TypeError("inputTensor: element [" + std::to_string(i) +
                      "] is an expression; concatenate, concatenate_cols and "
                      "concatenate_to_batch put expressions together");
    }
  }
  nb::list arrays;
  for (const nb::handle element : nb::iter(list)) {
    if (!is_array(element)) {
      return nb::none();
    }
    const nb::object array = array_of_numbers(element);
    if (is_scalar(element, array)) {
      return nb::none();
    }
    arrays.append(array);
  }
  const std::size_t count = nb::len(arrays);
  for (std::size_t i = 1; i < count; ++i) {
    const nb::object first = arrays[0].attr("shape");
    const nb::object shape = arrays[i].attr("shape");
    if (!shape.equal(first)) {
      throw errors::ShapeError("inputTensor: arr[0] is an array of shape " +
                               std::string(nb::str(first).c_str()) + " and arr[" +
                               std::to_string(i) + "] is one of " + nb::str(shape).c_str() +
                               "; want equal shapes");
    }
  }
  return count == 0 ? nb::none() : numpy_module().attr("stack")(arrays, nb::arg("axis") = -1);
}

PyExpression input_tensor(nb::handle values, bool batched, const std::string& device,
                          bool reusable_expr) {
  nb::object source = nb::borrow(values);
  if (PyList_Check(values.ptr()) || PyTuple_Check(values.ptr())) {
    const nb::object batch = stack_arrays(values);
    if (!batch.is_none()) {
      source = batch;
      batched = true;
    }
  } else if (!is_array(values)) {
    throw TypeError("inputTensor: want an array, a list of numbers (nested), or a list of arrays");
  }
  const FloatArray array = read_array(source);
  if (array.shape.empty()) {
    throw errors::ValueError("inputTensor: the array has no axis; want at least one");
  }
  return add_numbers(array.dim(batched), array.data, array.size,
                     reusable_expr ? Settable::kNumbers : Settable::kNot, device);
}

PyExpression input_tensor_transpose(const NumbersArg& val, const nb::object& dim,
                                    unsigned batch_size, const std::string& device) {
  const std::vector<float>& numbers = read_numbers(val.values);
  DimArg d;
  if (dim.is_none()) {
    d.dim = Dim({static_cast<unsigned>(numbers.size() / std::max(1U, batch_size))});
  } else {
    d = nb::cast<DimArg>(dim);
  }
  const Dim full = d.with_batch(batch_size);
  if (full.elements() != static_cast<std::int64_t>(numbers.size())) {
    throw errors::ShapeError("inputTensorTranspose: " + std::to_string(numbers.size()) +
                             " numbers for " + to_string(full));
  }
  return add_numbers(full, numbers.data(), numbers.size(), Settable::kNumbers, device);
}

/// Flat positions from one list of indices an axis.
std::vector<std::size_t> flat_positions(nb::handle given, const Dim& d, std::size_t axes) {
  const nb::object idxs = listed(given, "a list of lists of whole numbers, one for each axis");
  if (nb::len(idxs) != axes) {
    throw errors::ValueError("sparse_inputTensor: " + std::to_string(nb::len(idxs)) +
                             " lists of indices; want one for each of the " + std::to_string(axes) +
                             " axes");
  }
  std::vector<std::size_t> flat;
  std::size_t stride = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::size_t extent = axis < d.nd ? d.d[axis] : d.bd;
    std::size_t count = 0;
    for (const nb::handle index : nb::iter(nb::object(idxs[axis]))) {
      const std::size_t at = read_index(index);
      if (at >= extent) {
        throw errors::IndexError("sparse_inputTensor: index " + std::to_string(at) + " of axis " +
                                 std::to_string(axis) + "; want less than " +
                                 std::to_string(extent));
      }
      if (axis == 0) {
        flat.push_back(0);
      }
      if (count == flat.size()) {
        throw errors::ValueError("sparse_inputTensor: lists of different lengths");
      }
      flat[count++] += at * stride;
    }
    if (count != flat.size()) {
      throw errors::ValueError("sparse_inputTensor: lists of different lengths");
    }
    stride *= extent;
  }
  return flat;
}

PyExpression sparse_input(nb::handle idxs, const NumbersArg& values, const DimArg& shape,
                          bool batched, float defval, const std::string& device) {
  Dim d = shape.dim;
  const std::size_t axes = d.nd;
  if (batched) {
    const unsigned batch = d.d[d.nd - 1];
    d.d[--d.nd] = 1;
    if (d.nd == 0) {
      d.nd = 1;
    }
    d.bd = batch;
  }
  const std::vector<std::size_t> flat = flat_positions(idxs, d, axes);
  const std::vector<float>& given = read_numbers(values.values);
  if (given.size() != flat.size()) {
    throw errors::ValueError("sparse_inputTensor: " + std::to_string(given.size()) +
                             " values for " + std::to_string(flat.size()) + " positions");
  }
  std::vector<float> all(static_cast<std::size_t>(d.elements()), defval);
  for (std::size_t i = 0; i < flat.size(); ++i) {
    all[flat[i]] = given[i];
  }
  return add_numbers(d, all.data(), all.size(), Settable::kNot, device);
}

PyExpression one_hot(unsigned d, nb::handle idx, const std::string& device) {
  std::vector<unsigned> ids;
  if (is_one_number(idx)) {
    ids.push_back(read_index(idx));
  } else {
    ids = read_indices(idx);
  }
  return PyExpression(dynet::one_hot(graph_here(), d, ids, device_named(device)));
}

PyExpression add_lookup(const PyLookupParameters& p, ext::NodePayload payload, bool update) {
  payload.storage = &p.storage;
  return add_source(ops::Lookup{p.p.dim(), update}, payload, Settable::kIndices);
}

void bind_numbers(nb::module_& m) {
  using nb::arg;
  m.def(
      "scalarInput",
      [](float s, const std::string& device) {
        return add_numbers(Dim({1}), &s, 1, Settable::kNumbers, device);
      },
      arg("s"), arg("device") = "",
      "A number.\n\nShapes: -> {1}.\n\n`set` gives the node another number.");
  m.def(
      "vecInput",
      [](unsigned dim, const std::string& device) {
        const std::vector<float> zeros(dim, 0.0F);
        return add_numbers(Dim({dim}), zeros.data(), zeros.size(), Settable::kNumbers, device);
      },
      arg("dim"), arg("device") = "",
      "A vector of zeros.\n\nShapes: -> {dim}.\n\n`set` gives the node a list of numbers.");
  m.def(
      "inputVector", &input_vector, arg("v"), arg("device") = "",
      "A vector from a list of numbers.\n\nShapes: -> {n} for n numbers.\n\nErrors: TypeError for "
      "another list.\n\n`set` gives the node another list of the same length.");
  m.attr("vectorInput") = m.attr("inputVector");
  m.def("inputTensor", &input_tensor, arg("arr"), arg("batched") = false, arg("device") = "",
        arg("reusable_expr") = false,
        "The numbers of an array or nested list, index for index. A list of arrays, of NumPy's or "
        "of others with one axis or more, is a batch of them.\n\n"
        "Shapes: (a,b) -> {a,b}; with `batched` the last axis is the batch: (a,b) -> {a}xb.\n\n"
        "Errors: TypeError for anything else, ShapeError for arrays of different shapes, "
        "ValueError for an array without an axis.\n\nWith `reusable_expr` it can be `set`.");
  m.def("inputTensorTranspose", &input_tensor_transpose, arg("val"), arg("dim") = nb::none(),
        arg("batch_size") = 1U, arg("device") = "",
        "Numbers as they lie in memory, column by column, the examples of a batch one after the "
        "other.\n\nShapes: -> dim, with `batch_size` examples; {n} without `dim`.\n\n"
        "Errors: ShapeError if there are more or fewer numbers.");
  m.def(
      "sparse_inputTensor", &sparse_input, arg("idxs"), arg("values"), arg("shape"),
      arg("batched") = false, arg("defval") = 0.0F, arg("device") = "",
      "`values` at the positions that `idxs` says, `defval` elsewhere. If a position stands twice, "
      "the last one counts. `idxs` has a list of indices for each axis.\n\n"
      "Shapes: -> shape; with `batched` its last axis is the batch.\n\n"
      "Errors: ValueError if the lengths differ, IndexError for a position outside the shape.");
  m.def("one_hot", &one_hot, arg("d"), arg("idx"), arg("device") = "", texts::one_hot);
}

void bind_lookups(nb::module_& m) {
  using nb::arg;
  m.def(
      "lookup",
      [](const PyLookupParameters& p, const IndexArg& index, bool update) {
        return add_lookup(p, ext::NodePayload::of(index.index), update);
      },
      arg("p"), arg("index") = 0U, arg("update") = true, texts::lookup);
  m.def(
      "lookup_batch",
      [](const PyLookupParameters& p, const IndexListArg& indices, bool update) {
        return add_lookup(p, ext::NodePayload::of(indices.not_empty()), update);
      },
      arg("p"), arg("indices"), arg("update") = true, texts::lookup);
}

void bind_constants(nb::module_& m) {
  using nb::arg;
  for (const char* name : {"zeros", "zeroes"}) {
    m.def(
        name,
        [](const DimArg& dim, unsigned batch_size, const std::string& device) {
          return PyExpression(
              zeros(graph_here(), dim.with_batch(batch_size), device_named(device)));
        },
        arg("dim"), arg("batch_size") = 1U, arg("device") = "", texts::zeros);
  }
  m.def(
      "ones",
      [](const DimArg& dim, unsigned batch_size, const std::string& device) {
        return PyExpression(ones(graph_here(), dim.with_batch(batch_size), device_named(device)));
      },
      arg("dim"), arg("batch_size") = 1U, arg("device") = "", texts::ones);
  m.def(
      "constant",
      [](const DimArg& dim, float val, unsigned batch_size, const std::string& device) {
        return PyExpression(
            constant(graph_here(), dim.with_batch(batch_size), val, device_named(device)));
      },
      arg("dim"), arg("val"), arg("batch_size") = 1U, arg("device") = "", texts::constant);
  m.def(
      "random_normal",
      [](const DimArg& dim, float mean, float stddev, unsigned batch_size,
         const std::string& device) {
        return PyExpression(random_normal(graph_here(), dim.with_batch(batch_size), mean, stddev,
                                          device_named(device)));
      },
      arg("dim"), arg("mean") = 0.0F, arg("stddev") = 1.0F, arg("batch_size") = 1U,
      arg("device") = "", texts::random_normal);
  m.def(
      "random_bernoulli",
      [](const DimArg& dim, float p, float scale, unsigned batch_size, const std::string& device) {
        return PyExpression(random_bernoulli(graph_here(), dim.with_batch(batch_size), p, scale,
                                             device_named(device)));
      },
      arg("dim"), arg("p"), arg("scale") = 1.0F, arg("batch_size") = 1U, arg("device") = "",
      texts::random_bernoulli);
  m.def(
      "random_gumbel",
      [](const DimArg& dim, float mu, float beta, unsigned batch_size, const std::string& device) {
        return PyExpression(random_gumbel(graph_here(), dim.with_batch(batch_size), mu, beta,
                                          device_named(device)));
      },
      arg("dim"), arg("mu") = 0.0F, arg("beta") = 1.0F, arg("batch_size") = 1U, arg("device") = "",
      texts::random_gumbel);
  m.def(
      "random_uniform",
      [](const DimArg& dim, float left, float right, unsigned batch_size,
         const std::string& device) {
        return PyExpression(random_uniform(graph_here(), dim.with_batch(batch_size), left, right,
                                           device_named(device)));
      },
      arg("dim"), arg("left"), arg("right"), arg("batch_size") = 1U, arg("device") = "",
      texts::random_uniform);
}

}  // namespace

std::vector<Expression> inputs_of(nb::handle arrays) {
  const nb::object all = listed(arrays, "a list of arrays");
  std::vector<Expression> inputs;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(all.ptr()); ++i) {
    const nb::object entry = nb::borrow(entry_of(all.ptr(), i));
    const nb::object numbers = is_array(entry) ? entry : read_sequence(entry.ptr(), "an array");
    if (!numbers.is_valid()) {
      refuse_entry(arrays.ptr(), i);
      throw Refused();
    }
    inputs.push_back(input_tensor(numbers, false, "", false).e);
  }
  return inputs;
}

void bind_inputs(nb::module_& m) {
  bind_numbers(m);
  bind_constants(m);
  bind_lookups(m);
}

}  // namespace dynet::python
