// Written by tools/generate-api from the operations in dynet/ops/elementary.h. Not to be edited.

#include "dynet/ops/elementary.h"

#include "dynet/expr/elementary.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression exp(const Expression& x, Where where) { return ext::add_node(ops::Exp{}, {x, where}); }

template <int>
Expression expm1(const Expression& x, Where where) {
  return ext::add_node(ops::Expm1{}, {x, where});
}
template Expression expm1<>(const Expression& x, Where where);

Expression log(const Expression& x, Where where) { return ext::add_node(ops::Log{}, {x, where}); }

template <int>
Expression log1p(const Expression& x, Where where) {
  return ext::add_node(ops::Log1p{}, {x, where});
}
template Expression log1p<>(const Expression& x, Where where);

Expression square(const Expression& x, Where where) {
  return ext::add_node(ops::Square{}, {x, where});
}

Expression cube(const Expression& x, Where where) { return ext::add_node(ops::Cube{}, {x, where}); }

Expression sqrt(const Expression& x, Where where) { return ext::add_node(ops::Sqrt{}, {x, where}); }

Expression abs(const Expression& x, Where where) { return ext::add_node(ops::Abs{}, {x, where}); }

Expression erf(const Expression& x, Where where) { return ext::add_node(ops::Erf{}, {x, where}); }

Expression lgamma(const Expression& x, Where where) {
  return ext::add_node(ops::LogGamma{}, {x, where});
}

Expression pow(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::Pow{}, {x, where}, y);
}

Expression pow(const Expression& x, real a, Where where) {
  return ext::add_node(ops::PowScalar{}, {x, where}, ext::NodePayload::of(a));
}

template <int>
Expression clip(const Expression& x, float lo, float hi, Where where) {
  return ext::add_node(ops::Clip{lo, hi}, {x, where});
}
template Expression clip<>(const Expression& x, float lo, float hi, Where where);

template <int>
Expression where(const Expression& cond, const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::Choose{}, {cond, where}, x, y);
}
template Expression where<>(const Expression& cond, const Expression& x, const Expression& y,
                            Where where);

Expression round(const Expression& x, GradientMode gradient_mode, Where where) {
  return ext::add_node(ops::Rounded<dynet::ops::Rounding::kNearest>{gradient_mode}, {x, where});
}

Expression ceil(const Expression& x, GradientMode gradient_mode, Where where) {
  return ext::add_node(ops::Rounded<dynet::ops::Rounding::kUp>{gradient_mode}, {x, where});
}

Expression floor(const Expression& x, GradientMode gradient_mode, Where where) {
  return ext::add_node(ops::Rounded<dynet::ops::Rounding::kDown>{gradient_mode}, {x, where});
}

Expression argmax(const Expression& x, GradientMode gradient_mode, Where where) {
  return ext::add_node(ops::Argmax{gradient_mode}, {x, where});
}

Expression flip_gradient(const Expression& x, Where where) {
  return ext::add_node(ops::FlipGradient{}, {x, where});
}

Expression scale_gradient(const Expression& x, float lambd, Where where) {
  return ext::add_node(ops::ScaleGradient{lambd}, {x, where});
}

}  // namespace dynet
