// Functions that are other operations put together, and reductions: the C++ functions of
// dynet/expr/compositions.h.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <vector>

#include "dynet/expr/attention.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/elementary.h"
#include "dynet/expr/gradient.h"
#include "dynet/expr/loss.h"
#include "dynet/expr/to_device.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"

#include "binding.h"
#include "graph.h"
#include "op_names.h"
#include "operators.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

void bind_reductions_over_dimensions(nb::module_& m) {
  using nb::arg;
  m.def(
      "sum_dim",
      [](const ExprArg& x, const AxesArg& d, bool b, unsigned /*n*/) {
        return PyExpression(sum_dim(x.node(), axes_of(x, d), b, here()));
      },
      arg("x"), arg("d"), arg("b") = false, arg("n") = 0U, texts::sum_dim);
  m.def(
      "moment_dim",
      [](const ExprArg& x, const AxesArg& d, unsigned r, bool b, unsigned n) {
        return PyExpression(moment_dim(x.node(), axes_of(x, d), r, b, n, here()));
      },
      arg("x"), arg("d"), arg("r"), arg("b"), arg("n") = 0U, texts::moment_dim);
  m.def(
      "mean_dim",
      [](const ExprArg& x, const AxesArg& d, bool b, unsigned n) {
        return PyExpression(mean_dim(x.node(), axes_of(x, d), b, n, here()));
      },
      arg("x"), arg("d"), arg("b"), arg("n") = 0U, texts::mean_dim);
  m.def(
      "std_dim",
      [](const ExprArg& x, const AxesArg& d, bool b, unsigned n) {
        return PyExpression(std_dim(x.node(), axes_of(x, d), b, n, here()));
      },
      arg("x"), arg("d"), arg("b"), arg("n") = 0U, texts::std_dim);
}

using Reduction = Expression (*)(const Expression&, Where);
using Moment = Expression (*)(const Expression&, unsigned, Where);

void bind_reduction(nb::module_& m, const char* name, Reduction f, const char* doc) {
  m.def(
      name, [f](const ExprArg& x) { return PyExpression(f(x.node(), here())); }, nb::arg("x"), doc);
}
void bind_moment(nb::module_& m, const char* name, Moment f, const char* doc) {
  m.def(
      name, [f](const ExprArg& x, unsigned r) { return PyExpression(f(x.node(), r, here())); },
      nb::arg("x"), nb::arg("r"), doc);
}

/// Reductions over whole examples, and over the batch.
void bind_reductions_over_all(nb::module_& m) {
  bind_moment(m, "moment_elems", &moment_elems, texts::moment_elems);
  bind_reduction(m, "mean_elems", &mean_elems, texts::mean_elems);
  bind_reduction(m, "std_elems", &std_elems, texts::std_elems);
  bind_moment(m, "moment_batches", &moment_batches, texts::moment_batches);
  bind_reduction(m, "mean_batches", &mean_batches, texts::mean_batches);
  bind_reduction(m, "std_batches", &std_batches, texts::std_batches);
}

void bind_lists_and_draws(nb::module_& m) {
  using nb::arg;
  m.def(
      "emin", [](const ExprListArg& xs) { return PyExpression(min(xs.some_nodes(), here())); },
      arg("xs"), texts::min);
  m.def(
      "logsumexp",
      [](const ExprListArg& xs) { return PyExpression(logsumexp(xs.some_nodes(), here())); },
      arg("xs"), texts::logsumexp);
  m.def(
      "hinge_dim",
      [](const ExprArg& x, const IndexListArg& v, const AxisArg& d, float margin) {
        return PyExpression(hinge_dim(x.node(), v.list, axis_of(x, d), margin, here()),
                            PyExpression::Settable::kIndices);
      },
      arg("x"), arg("v"), arg("d") = 0U, arg("m") = 1.0F, texts::hinge_dim);
  m.def(
      "sample_categorical",
      [](const ExprArg& x, const std::string& mode) {
        return PyExpression(
            sample_categorical(x.node(), AttrParam<GradientMode>::read(mode), here()));
      },
      arg("x"), arg("gradient_mode") = "zero_gradient", texts::sample_categorical);
}

void bind_functions(nb::module_& m) {
  using nb::arg;
  m.def(
      "emax", [](const ExprListArg& xs) { return PyExpression(max(xs.some_nodes(), here())); },
      arg("xs"), texts::max);
  m.def(
      "log_softmax",
      [](const ExprArg& x, const std::optional<std::vector<unsigned>>& restriction,
         const AxisArg& d) {
        const unsigned axis = axis_of(x, d);
        return PyExpression(restriction ? log_softmax(x.node(), *restriction, axis, here())
                                        : log_softmax(x.node(), axis, here()));
      },
      arg("x"), arg("restrict") = nb::none(), arg("d") = 0U, texts::log_softmax);
  m.def(
      "concatenate_cols",
      [](const ExprListArg& xs) { return PyExpression(concatenate_cols(xs.some_nodes(), here())); },
      arg("xs"), texts::concatenate_cols);
  m.def(
      "pickrange",
      [](const ExprArg& x, const PlaceArg& s, const PlaceArg& e) {
        const Expression node = x.node();
        const unsigned rows = node.dim()[0];
        return PyExpression(
            pickrange(node, s.in("pick_range", rows), e.in("pick_range", rows), here()));
      },
      arg("x"), arg("s"), arg("e"), texts::pickrange);
  m.def(
      "attention",
      [](const ExprArg& q, const ExprArg& k, const ExprArg& v,
         const std::optional<std::vector<unsigned>>& lengths, unsigned heads, bool causal) {
        return lengths
                   ? PyExpression(
                         attention(q.node(), k.node(), v.node(), *lengths, heads, causal, here()),
                         PyExpression::Settable::kIndices)
                   : PyExpression(attention(q.node(), k.node(), v.node(), heads, causal, here()));
      },
      arg("q"), arg("k"), arg("v"), arg("lengths").none() = nb::none(), arg("heads") = 1U,
      arg("causal") = false, texts::attention);
  m.def(
      "to_device",
      [](const ExprArg& e, const std::string& device_str) {
        const Device* device = get_device_manager()->get_global_device(device_str);
        return PyExpression(to_device(e.node(), device, here()));
      },
      arg("e"), arg("device_str"), texts::to_device);
}

nb::list gradients(const ExprArg& loss, const ExprListArg& xs) {
  nb::list list;
  for (const Expression& g : gradient(loss.node(), xs.nodes(), here())) {
    list.append(make_expression(g));
  }
  return list;
}

void bind_gradient(nb::module_& m) {
  using nb::arg;
  m.def("gradient", &gradients, arg("loss"), arg("xs"),
        nb::sig("def gradient(loss: Expression, xs: collections.abc.Iterable[Expression]) -> "
                "list[Expression]"),
        texts::gradient);
}

void bind_lstm_gates(nb::module_& m) {
  using nb::arg;
  m.def(
      "vanilla_lstm_gates",
      [](const ExprArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
         const ExprArg& b, float stddev) {
        return PyExpression(vanilla_lstm_gates(x.node(), h.node(), w_x.node(), w_h.node(), b.node(),
                                               stddev, here()));
      },
      arg("x_t"), arg("h_tm1"), arg("Wx"), arg("Wh"), arg("b"), arg("weightnoise_std") = 0.0F,
      texts::vanilla_lstm_gates);
  m.def(
      "vanilla_lstm_gates_concat",
      [](const ExprListArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
         const ExprArg& b, float stddev) {
        return PyExpression(vanilla_lstm_gates_concat(x.nodes(), h.node(), w_x.node(), w_h.node(),
                                                      b.node(), stddev, here()));
      },
      arg("x_t"), arg("h_tm1"), arg("Wx"), arg("Wh"), arg("b"), arg("weightnoise_std") = 0.0F,
      texts::vanilla_lstm_gates_concat);
  m.def(
      "vanilla_lstm_gates_dropout",
      [](const ExprArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
         const ExprArg& b, const ExprArg& mask_x, const ExprArg& mask_h, float stddev) {
        return PyExpression(vanilla_lstm_gates_dropout(x.node(), h.node(), w_x.node(), w_h.node(),
                                                       b.node(), mask_x.node(), mask_h.node(),
                                                       stddev, here()));
      },
      arg("x_t"), arg("h_tm1"), arg("Wx"), arg("Wh"), arg("b"), arg("dropout_mask_x"),
      arg("dropout_mask_h"), arg("weightnoise_std") = 0.0F, texts::vanilla_lstm_gates_dropout);
  m.def(
      "vanilla_lstm_gates_dropout_concat",
      [](const ExprListArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
         const ExprArg& b, const ExprArg& mask_x, const ExprArg& mask_h, float stddev) {
        return PyExpression(vanilla_lstm_gates_dropout_concat(x.nodes(), h.node(), w_x.node(),
                                                              w_h.node(), b.node(), mask_x.node(),
                                                              mask_h.node(), stddev, here()));
      },
      arg("x_t"), arg("h_tm1"), arg("Wx"), arg("Wh"), arg("b"), arg("dropout_mask_x"),
      arg("dropout_mask_h"), arg("weightnoise_std") = 0.0F,
      texts::vanilla_lstm_gates_dropout_concat);
}

void bind_operators(nb::module_& m) {
  nb::borrow<nb::class_<PyExpression>>(m.attr("Expression"))
      .def(
          "__truediv__",
          [](const ExprArg& x, const ExprArg& y) {
            return PyExpression(detail::Located(x.node(), here()) / y.node());
          },
          nb::is_operator(), "Elementwise quotient: `cdiv`.");
  enter_operator("__truediv__", ext::kRecord<ops::CDiv>);
  nb::borrow<nb::class_<PyExpression>>(m.attr("Expression"))
      .def(
          "__pow__",
          [](const ExprArg& x, const ExprArg& y) {
            return PyExpression(pow(x.node(), y.node(), here()));
          },
          nb::is_operator(), "Elements to the power of one element: `pow`.");
  enter_operator("__pow__", ext::kRecord<ops::Pow>);
}

}  // namespace

void bind_compositions(nb::module_& m) {
  bind_functions(m);
  bind_gradient(m);
  bind_lstm_gates(m);
  bind_lists_and_draws(m);
  bind_reductions_over_dimensions(m);
  bind_reductions_over_all(m);
  m.attr("cwise_multiply") = m.attr("cmult");
  bind_operators(m);
}

}  // namespace dynet::python
