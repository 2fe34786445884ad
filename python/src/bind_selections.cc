// Parts of tensors, and sums and products over their dimensions: the C++ functions of
// dynet/expr/selections.h.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "dynet/expr/einsum.h"
#include "dynet/expr/selections.h"

#include "binding.h"
#include "graph.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

void bind_convolutions(nb::module_& m) {
  using nb::arg;
  using Stride = std::vector<unsigned>;
  m.def(
      "conv2d",
      [](const ExprArg& x, const ExprArg& f, const Stride& stride, bool is_valid) {
        return PyExpression(conv2d(x.node(), f.node(), stride, is_valid, here()));
      },
      arg("x"), arg("f"), arg("stride"), arg("is_valid") = true, texts::conv2d);
  m.def(
      "conv2d_bias",
      [](const ExprArg& x, const ExprArg& f, const ExprArg& b, const Stride& stride,
         bool is_valid) {
        return PyExpression(conv2d(x.node(), f.node(), b.node(), stride, is_valid, here()));
      },
      arg("x"), arg("f"), arg("b"), arg("stride"), arg("is_valid") = true, texts::conv2d);
  m.attr("contract3d_1d_bias") = m.attr("contract3d_1d");
  m.def(
      "contract3d_1d_1d",
      [](const ExprArg& x, const ExprArg& y, const ExprArg& z) {
        return PyExpression(contract3d_1d_1d(x.node(), y.node(), z.node(), here()));
      },
      arg("x"), arg("y"), arg("z"), texts::contract3d_1d_1d);
  m.def(
      "contract3d_1d_1d_bias",
      [](const ExprArg& x, const ExprArg& y, const ExprArg& z, const ExprArg& b) {
        return PyExpression(contract3d_1d_1d(x.node(), y.node(), z.node(), b.node(), here()));
      },
      arg("x"), arg("y"), arg("z"), arg("b"), texts::contract3d_1d_1d);
}

using Indices = std::vector<unsigned>;
using OverSegments = Expression (*)(const Expression&, const Indices&, unsigned, unsigned, Where);

void bind_segments(nb::module_& m) {
  // A function that makes one node may get other indices later.
  const auto bind = [&m](const char* name, OverSegments f, PyExpression::Settable settable,
                         const char* doc) {
    m.def(
        name,
        [f, settable](const ExprArg& x, const IndexListArg& indices, unsigned segments,
                      const AxisArg& d) {
          return PyExpression(f(x.node(), indices.list, segments, axis_of(x, d), here()), settable);
        },
        nb::arg("x"), nb::arg("indices"), nb::arg("segments"), nb::arg("d") = 1U, doc);
  };
  bind("segment_sum", &segment_sum, PyExpression::Settable::kIndices, texts::segment_sum);
  bind("segment_mean", &segment_mean, PyExpression::Settable::kNot, texts::segment_mean);
  bind("segment_max", &segment_max, PyExpression::Settable::kIndices, texts::segment_max);
  bind("segment_softmax", &segment_softmax, PyExpression::Settable::kIndices,
       texts::segment_softmax);
}

}  // namespace

void bind_selections(nb::module_& m) {
  using nb::arg;
  using Entries = std::vector<int>;
  m.def(
      "strided_select",
      [](const ExprArg& x, const Entries& strides, const Entries& from, const Entries& to) {
        return PyExpression(strided_select(x.node(), strides, from, to, here()));
      },
      arg("x"), arg("strides"), arg("range_from"), arg("range_to"), texts::strided_select);
  m.def(
      "scatter_add",
      [](const ExprArg& x, const IndexListArg& indices, unsigned rows, const AxisArg& d) {
        return PyExpression(scatter_add(x.node(), indices.list, rows, axis_of(x, d), here()),
                            PyExpression::Settable::kIndices);
      },
      arg("x"), arg("indices"), arg("rows"), arg("d") = 0U, texts::scatter_add);
  m.def(
      "colwise_add",
      [](const ExprArg& x, const ExprArg& y) {
        return PyExpression(colwise_add(x.node(), y.node(), here()));
      },
      arg("x"), arg("y"), texts::colwise_add);
  m.def(
      "trace_of_product",
      [](const ExprArg& x, const ExprArg& y) {
        return PyExpression(trace_of_product(x.node(), y.node(), here()));
      },
      arg("x"), arg("y"), texts::trace_of_product);
  m.def(
      "einsum",
      [](const std::string& spec, const ExprListArg& xs) {
        return PyExpression(einsum(spec, xs.nodes(), here()));
      },
      arg("spec"), arg("xs"), texts::einsum);
  bind_segments(m);
  bind_convolutions(m);
}

}  // namespace dynet::python
