// Functions that are other functions put together; C++ has them in dynet/expr/compositions.h.

#include <nanobind/stl/vector.h>

#include <vector>

#include "dynet/ext/add_node.h"
#include "dynet/ext/reductions.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/shape.h"

#include "binding.h"
#include "graph.h"
#include "operators.h"
#include "where.h"

namespace dynet::python {
namespace {

template <class Op>
Expression add(const Op& op, std::span<const Expression> args) {
  return ext::add_node(ext::kRecord<Op>, &op, nullptr, args, {}, here());
}

Expression largest(const ExprListArg& xs) {
  const std::vector<Expression>& nodes = xs.nodes();
  if (nodes.empty()) {
    throw ValueError("emax: the list of arguments is empty; want at least one");
  }
  Expression result = nodes[0];
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Expression pair[] = {result, nodes[i]};
    result = add(ops::Max{}, pair);
  }
  return result;
}

Expression noisy(const Expression& w, float stddev) {
  return stddev == 0.0F ? w : add(ops::Noise{stddev}, {&w, 1});
}

Expression lstm_gates(const ExprArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
                      const ExprArg& b, float stddev) {
  const Expression args[] = {b.node(), noisy(w_x.node(), stddev), x.node(),
                             noisy(w_h.node(), stddev), h.node()};
  const Expression a = add(ops::AffineTransform{}, args);
  return add(ops::LstmGates{}, {&a, 1});
}

using Dims = std::vector<unsigned>;

PyExpression reduced(ext::Reduction kind, const char* name, const ExprArg& x,
                     const ext::ReductionSpan& over, unsigned r = 1) {
  return PyExpression(ext::reduce(kind, name, x.node(), over, r, here()));
}

void bind_reductions_over_dimensions(nb::module_& m) {
  using nb::arg;
  using enum ext::Reduction;
  m.def(
      "sum_dim",
      [](const ExprArg& x, const Dims& d, bool b, unsigned /*n*/) {
        return reduced(kSum, "sum_dim", x, {d, b});
      },
      arg("x"), arg("d"), arg("b") = false, arg("n") = 0U,
      "Sum over the dimensions `d`, which are removed, and, with `b`, over the batch. `n` means "
      "nothing.");
  m.def(
      "moment_dim",
      [](const ExprArg& x, const Dims& d, unsigned r, bool b, unsigned n) {
        return reduced(kMoment, "moment_dim", x, {d, b, n}, r);
      },
      arg("x"), arg("d"), arg("r"), arg("b"), arg("n") = 0U,
      "Raw moment (1/n) sum x^r over the dimensions `d` and, with `b`, over the batch. With n = 0 "
      "the mean is over as many numbers as there are.");
  m.def(
      "mean_dim",
      [](const ExprArg& x, const Dims& d, bool b, unsigned n) {
        return reduced(kMoment, "mean_dim", x, {d, b, n});
      },
      arg("x"), arg("d"), arg("b"), arg("n") = 0U,
      "Mean over the dimensions `d` and, with `b`, over the batch. With n = 0 it is over as many "
      "numbers as there are.");
  m.def(
      "std_dim",
      [](const ExprArg& x, const Dims& d, bool b, unsigned n) {
        return reduced(kDeviation, "std_dim", x, {d, b, n});
      },
      arg("x"), arg("d"), arg("b"), arg("n") = 0U,
      "Standard deviation of a population over the dimensions `d` and, with `b`, over the batch.");
}

/// Reductions over whole examples, and over the batch.
void bind_reductions_over_all(nb::module_& m) {
  using nb::arg;
  using enum ext::Reduction;
  m.def(
      "moment_elems",
      [](const ExprArg& x, unsigned r) {
        return reduced(kMoment, "moment_elems", x, {.all = true}, r);
      },
      arg("x"), arg("r"), "Mean of the r-th powers of all elements of each example.");
  m.def(
      "mean_elems",
      [](const ExprArg& x) { return reduced(kMoment, "mean_elems", x, {.all = true}); }, arg("x"),
      "Mean of all elements of each example.");
  m.def(
      "std_elems",
      [](const ExprArg& x) { return reduced(kDeviation, "std_elems", x, {.all = true}); }, arg("x"),
      "Standard deviation of all elements of each example.");
  m.def(
      "moment_batches",
      [](const ExprArg& x, unsigned r) {
        return reduced(kMoment, "moment_batches", x, {.batch = true}, r);
      },
      arg("x"), arg("r"), "Mean of the r-th powers over the batch.");
  m.def(
      "mean_batches",
      [](const ExprArg& x) { return reduced(kMoment, "mean_batches", x, {.batch = true}); },
      arg("x"), "Mean over the batch.");
  m.def(
      "std_batches",
      [](const ExprArg& x) { return reduced(kDeviation, "std_batches", x, {.batch = true}); },
      arg("x"), "Standard deviation over the batch.");
}

}  // namespace

void bind_compositions(nb::module_& m) {
  using nb::arg;
  m.def(
      "emax", [](const ExprListArg& xs) { return PyExpression(largest(xs)); }, arg("xs"),
      "The largest of a list, element by element.");
  m.def(
      "concatenate_cols",
      [](const ExprListArg& xs) { return PyExpression(add(ops::Concatenate{1}, xs.nodes())); },
      arg("xs"), "Lays matrices side by side: `concatenate` along dimension 1.");
  m.def(
      "pickrange",
      [](const ExprArg& x, unsigned s, unsigned e) {
        const Expression node = x.node();
        return PyExpression(add(ops::PickRange{s, e, 0}, {&node, 1}));
      },
      arg("x"), arg("s"), arg("e"), "`pick_range` of dimension 0, by its old name.");
  m.def(
      "vanilla_lstm_gates",
      [](const ExprArg& x, const ExprArg& h, const ExprArg& w_x, const ExprArg& w_h,
         const ExprArg& b,
         float stddev) { return PyExpression(lstm_gates(x, h, w_x, w_h, b, stddev)); },
      arg("x_t"), arg("h_tm1"), arg("Wx"), arg("Wh"), arg("b"), arg("weightnoise_std") = 0.0F,
      "The gates of an LSTM step, in the order i, f, o, g, from a = b + Wx x_t + Wh h_tm1: "
      "[logistic(a_i); logistic(a_f + 1); logistic(a_o); tanh(a_g)]. With `weightnoise_std` above "
      "0 "
      "each matrix gets normal noise.");
  bind_reductions_over_dimensions(m);
  bind_reductions_over_all(m);
  m.attr("cwise_multiply") = m.attr("cmult");
  nb::borrow<nb::class_<PyExpression>>(m.attr("Expression"))
      .def(
          "__truediv__",
          [](const ExprArg& x, const ExprArg& y) {
            const Expression args[] = {x.node(), y.node()};
            return PyExpression(add(ops::CDiv{}, args));
          },
          nb::is_operator(), "Elementwise quotient: `cdiv`.");
  enter_operator("__truediv__", ext::kRecord<ops::CDiv>);
}

}  // namespace dynet::python
