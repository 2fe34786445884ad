// Names of DyNet 2.1 that programs seldom use: inputs made by a graph. (Names that need no C++ are
// in dynet/_old_names.py.)

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "dynet/expr/leaves.h"
#include "dynet/init.h"

#include "arrays.h"
#include "binding.h"
#include "graph.h"
#include "where.h"

namespace dynet::python {
namespace {

using GraphPointer = std::shared_ptr<PyGraph>;

void bind_graph_inputs(nb::module_& m) {
  using nb::arg;
  auto c = nb::borrow<nb::class_<PyGraph>>(m.attr("ComputationGraph"));
  c.def(
       "inputMatrixLiteral",
       [](const GraphPointer& graph, nb::handle v, const DimArg& d, unsigned batch_size,
          const std::string& device) {
         return PyExpression(input({graph->cg, here()}, d.with_batch(batch_size), read_numbers(v),
                                   device_named(device)),
                             PyExpression::Settable::kNumbers);
       },
       arg("v"), arg("d"), arg("batch_size") = 1U, arg("device") = "",
       "Numbers as they lie in memory, column by column: `inputTensorTranspose`.")
      .def(
          "inputSparseTensor",
          [](const GraphPointer& graph, nb::handle idxs, nb::handle v, const DimArg& dim,
             unsigned batch_size, float defval, const std::string& device) {
            const std::vector<float> values = read_numbers(v);
            return PyExpression(input({graph->cg, here()}, dim.with_batch(batch_size),
                                      read_indices(idxs), values, defval, device_named(device)));
          },
          arg("idxs"), arg("v"), arg("dim"), arg("batch_size") = 1U, arg("defval") = 0.0F,
          arg("device") = "",
          "`v` at the places `idxs`, counted in memory order over the whole batch; `defval` "
          "elsewhere.");
}

}  // namespace

void bind_old_names(nb::module_& m) { bind_graph_inputs(m); }

}  // namespace dynet::python
