#pragma once

// Arithmetic on elements: operators, with broadcasting if the operation allows it, and the sum and
// average of a list.

#include "dynet/ops/common.h"

namespace dynet::ops {

struct Negate {
  static constexpr ext::Info kInfo{.name = "negate",
                                   .args = {"x"},
                                   .formula = "y = -x",
                                   .summary = "Negation.",
                                   .shapes = "any -> the same",
                                   .cpp = "operator-",
                                   .python = "__neg__"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const { return -x; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*y*/) const { return -1.0; }
  static std::vector<ext::Example<Negate>> examples() { return elementwise_examples<Negate>(); }
};

struct Add {
  static constexpr ext::Info kInfo{
      .name = "add",
      .args = {"x", "y"},
      .formula = "z = x + y",
      .summary =
          "Elementwise sum. Both sides broadcast: a dimension of 1, or a missing one, is "
          "repeated.",
      .shapes = "x, y with each dimension equal or 1 -> the larger of each",
      .errors = "ShapeError if a dimension differs and neither is 1",
      .cpp = "operator+",
      .python = "__add__"};
  Dim shape(const ext::Shapes& in) const { return broadcast_shape(in); }
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x + y; }
  DYNET_DEVICE_FN auto slopes(auto /*x*/, auto /*y*/, auto /*z*/) const {
    return rule::each(1.0, 1.0);
  }
  static std::vector<ext::Example<Add>> examples() { return broadcast_examples<Add>(); }
};

/// One node; DyNet 2.1 builds `x + (-y)`.
struct Subtract {
  static constexpr ext::Info kInfo{
      .name = "subtract",
      .args = {"x", "y"},
      .formula = "z = x - y",
      .summary =
          "Elementwise difference. Both sides broadcast: a dimension of 1, or a missing one, "
          "is repeated.",
      .shapes = "x, y with each dimension equal or 1 -> the larger of each",
      .errors = "ShapeError if a dimension differs and neither is 1",
      .cpp = "operator-",
      .python = "__sub__"};
  Dim shape(const ext::Shapes& in) const { return broadcast_shape(in); }
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x - y; }
  DYNET_DEVICE_FN auto slopes(auto /*x*/, auto /*y*/, auto /*z*/) const {
    return rule::each(1.0, -1.0);
  }
  static std::vector<ext::Example<Subtract>> examples() { return broadcast_examples<Subtract>(); }
};

struct AddScalar {
  static constexpr ext::Info kInfo{.name = "add_scalar",
                                   .args = {"x"},
                                   .payload = "a",
                                   .formula = "y = x + a",
                                   .summary = "Adds a number to each element.",
                                   .shapes = "any -> the same",
                                   .cpp = "operator+",
                                   .python = "__add__",
                                   .mirrored = "__radd__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return x + a; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*a*/, auto /*y*/) const { return 1.0; }
  static std::vector<ext::Example<AddScalar>> examples() {
    return scalar_examples<AddScalar>(2.5F);
  }
};

struct SubtractScalar {
  static constexpr ext::Info kInfo{.name = "subtract_scalar",
                                   .args = {"x"},
                                   .payload = "a",
                                   .formula = "y = x - a",
                                   .summary = "Subtracts a number from each element.",
                                   .shapes = "any -> the same",
                                   .cpp = "operator-",
                                   .python = "__sub__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return x - a; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*a*/, auto /*y*/) const { return 1.0; }
  static std::vector<ext::Example<SubtractScalar>> examples() {
    return scalar_examples<SubtractScalar>(0.75F);
  }
};

/// The number stands on the left: only the mirrored function exists.
struct SubtractFrom {
  static constexpr ext::Info kInfo{.name = "subtract_from",
                                   .args = {"x"},
                                   .payload = "a",
                                   .formula = "y = a - x",
                                   .summary = "Subtracts each element from a number.",
                                   .shapes = "any -> the same",
                                   .cpp = "-",
                                   .python = "-",
                                   .mirrored = "__rsub__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return a - x; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto /*a*/, auto /*y*/) const { return -1.0; }
  static std::vector<ext::Example<SubtractFrom>> examples() {
    return scalar_examples<SubtractFrom>(1.0F);
  }
};

struct MultiplyScalar {
  static constexpr ext::Info kInfo{.name = "multiply_scalar",
                                   .args = {"x"},
                                   .payload = "a",
                                   .formula = "y = x * a",
                                   .summary = "Multiplies each element by a number.",
                                   .shapes = "any -> the same",
                                   .cpp = "operator*",
                                   .python = "__mul__",
                                   .mirrored = "__rmul__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return x * a; }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto a, auto /*y*/) const { return a; }
  static std::vector<ext::Example<MultiplyScalar>> examples() {
    return scalar_examples<MultiplyScalar>(2.5F);
  }
};

struct DivideScalar {
  static constexpr ext::Info kInfo{.name = "divide_scalar",
                                   .args = {"x"},
                                   .payload = "a",
                                   .formula = "y = x * (1 / a)",
                                   .summary =
                                       "Divides each element by a number: a product with its "
                                       "reciprocal.",
                                   .shapes = "any -> the same",
                                   .cpp = "operator/",
                                   .python = "__truediv__"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  Dim shape(const ext::Shapes& in) const {
    check_one_payload(in, "one number a");
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto a) const { return x * (1.0 / a); }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto a, auto /*y*/) const { return 1.0 / a; }
  static std::vector<ext::Example<DivideScalar>> examples() {
    return scalar_examples<DivideScalar>(3.0F);
  }
};

struct CMult {
  static constexpr ext::Info kInfo{
      .name = "cmult",
      .args = {"x", "y"},
      .formula = "z = x * y",
      .summary =
          "Elementwise product. Both sides broadcast: a dimension of 1, or a missing one, is "
          "repeated.",
      .shapes = "x, y with each dimension equal or 1 -> the larger of each",
      .errors = "ShapeError if a dimension differs and neither is 1"};
  Dim shape(const ext::Shapes& in) const { return broadcast_shape(in); }
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x * y; }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const { return rule::each(y, x); }
  static std::vector<ext::Example<CMult>> examples() { return broadcast_examples<CMult>(); }
};

struct CDiv {
  static constexpr ext::Info kInfo{
      .name = "cdiv",
      .args = {"x", "y"},
      .formula = "z = x / y",
      .summary =
          "Elementwise quotient. The right side broadcasts: a dimension of 1, or a missing "
          "one, is repeated.",
      .shapes = "x, y with each dimension 1 or as in x -> the shape of x",
      .errors = "ShapeError if a dimension of y is neither 1 nor as in x"};
  Dim shape(const ext::Shapes& in) const {
    bool fits = in[1].nd <= in[0].nd;
    for (unsigned i = 0; i < in[1].nd; ++i) {
      fits = fits && (in[1][i] == in[0][i] || in[1][i] == 1);
    }
    if (!fits) {
      in.fail("each dimension of y equal to that of x, or 1");
    }
    return in[0];
  }
  DYNET_DEVICE_FN auto value(auto x, auto y) const { return x / y; }
  DYNET_DEVICE_FN auto slopes(auto /*x*/, auto y, auto z) const {
    const auto r = 1.0 / y;
    return rule::each(r, -z * r);
  }
  static std::vector<ext::Example<CDiv>> examples() {
    return {{{}, {{4, 3}, {4, 3}}, 0.5, 2.0},
            {{}, {{4, 3}, {4}}, 0.5, 2.0},
            {{}, {{4, 3}, {1, 3}}, -2.0, -0.5},
            {{}, {{7}, {1}}, 0.5, 2.0},
            {{}, {{1}, {1}}, 0.5, 2.0},
            {{}, {{17}, {17}}, 0.5, 2.0},
            {{}, {{3, 0}, {3}}, 0.5, 2.0},
            {{}, {{1, 2, 1, 2, 1, 2, 2}, {1, 2, 1, 1, 1, 2, 1}}, 0.5, 2.0}};
  }
};

/// The larger or the smaller of each two elements.
template <bool kLargest>
struct Extreme {
  static constexpr ext::Info kInfo{
      .name = kLargest ? "max" : "min",
      .args = {"x", "y"},
      .formula = kLargest ? "z = max(x, y)" : "z = min(x, y)",
      .summary = kLargest ? "The larger of each two elements; NaN if one of them is NaN. On "
                            "ties the gradient goes to y."
                          : "The smaller of each two elements; NaN if one of them is NaN. On "
                            "ties the gradient goes to y.",
      .shapes = "two equal shapes -> the same",
      .errors = "ShapeError if the shapes differ",
      .python = kLargest ? "bmax" : "bmin"};
  Dim shape(const ext::Shapes& in) const { return same_shape(in); }
  DYNET_DEVICE_FN auto value(auto x, auto y) const {
    using rule::max, rule::min, rule::select;
    if constexpr (kLargest) {
      return select(y == y, max(x, y), y);  // max alone passes over NaN in y
    } else {
      return select(y == y, min(x, y), y);
    }
  }
  DYNET_DEVICE_FN auto slopes(auto x, auto y, auto /*z*/) const {
    using rule::select;
    if constexpr (kLargest) {
      return rule::each(select(y < x, 1.0, 0.0), select(y < x, 0.0, 1.0));
    } else {
      return rule::each(select(x < y, 1.0, 0.0), select(x < y, 0.0, 1.0));
    }
  }
  static std::vector<ext::Example<Extreme>> examples() { return same_shape_examples<Extreme>(); }
};
using Max = Extreme<true>;
using Min = Extreme<false>;

/// Computes out = scale * the sum of all arguments, each of the shape of the result. The sum of a
/// long list is as exact as the sum of a short one.
void sum_arguments(const ext::Call& call, double scale);
/// The gradients of all arguments, from scale * the gradient of the sum, in one call. False, and
/// nothing is done, on devices that the host sees, and if examples of an argument get a sum.
[[nodiscard]] bool spread_to_arguments(const ext::Call& call, double scale);

struct Sum {
  static constexpr ext::Info kInfo{
      .name = "sum",
      .args = {"xs"},
      .formula = "y = x1 + x2 + ...",
      .summary = "Sum of a list, element by element.",
      .shapes = "equal shapes (up to dimensions of 1 at the end) -> the shape of the first",
      .errors = "ShapeError if the shapes differ, ValueError if the list is empty",
      .python = "esum"};
  static constexpr bool kVariadic = true;
  static constexpr bool kAddsArguments = true;
  Dim shape(const ext::Shapes& in) const {
    for (std::size_t i = 1; i < in.size(); ++i) {
      if (in[i].truncate() != in[0].truncate()) {
        in.fail("equal shapes");
      }
    }
    return in[0];
  }
  void forward(ext::Call& call) const { sum_arguments(call, 1.0); }
  void gradient(auto& to) const {
    for (std::size_t i = 0; i < to.args(); ++i) {
      to.give(i, to.d_out());
    }
  }
  /// One start of a kernel on a GPU; gradient(to) takes one for each argument.
  void backward(ext::Call& call) const {
    if (!spread_to_arguments(call, 1.0)) {
      ext::GradientRun<Sum> run(call);
      gradient(run);
    }
  }
  static std::vector<ext::Example<Sum>> examples() {
    auto all = list_examples<Sum>();
    all.push_back({{}, {{5}, {5, 1}}});
    return all;
  }
};

struct Average {
  static constexpr ext::Info kInfo{
      .name = "average",
      .args = {"xs"},
      .formula = "y = (x1 + x2 + ... + xn) / n",
      .summary = "Mean of a list, element by element.",
      .shapes = "equal shapes -> the same",
      .errors = "ShapeError if the shapes differ, ValueError if the list is empty"};
  static constexpr bool kVariadic = true;
  Dim shape(const ext::Shapes& in) const { return same_shape(in); }
  void forward(ext::Call& call) const { sum_arguments(call, part_of(call)); }
  void gradient(auto& to) const {
    const auto part = to.scaled(to.d_out(), 1.0 / static_cast<double>(to.args()));
    for (std::size_t i = 0; i < to.args(); ++i) {
      to.give(i, part);
    }
  }
  void backward(ext::Call& call) const {
    if (!spread_to_arguments(call, part_of(call))) {
      ext::GradientRun<Average> run(call);
      gradient(run);
    }
  }
  static std::vector<ext::Example<Average>> examples() { return list_examples<Average>(); }

 private:
  static double part_of(const ext::Call& call) { return 1.0 / static_cast<double>(call.in.size()); }
};

using ArithmeticOps =
    ext::OpList<Negate, Add, Subtract, AddScalar, SubtractScalar, SubtractFrom, MultiplyScalar,
                DivideScalar, CMult, CDiv, Max, Min, Sum, Average>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::ArithmeticOps)
