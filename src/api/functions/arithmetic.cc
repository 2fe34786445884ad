// Written by tools/generate-api from the operations in dynet/ops/arithmetic.h. Not to be edited.

#include "dynet/ops/arithmetic.h"

#include "dynet/expr/arithmetic.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression operator-(const detail::Located& x) { return ext::add_node(ops::Negate{}, x); }

Expression operator+(const detail::Located& x, const Expression& y) {
  return ext::add_node(ops::Add{}, x, y);
}

Expression operator-(const detail::Located& x, const Expression& y) {
  return ext::add_node(ops::Subtract{}, x, y);
}

Expression operator+(const detail::Located& x, real a) {
  return ext::add_node(ops::AddScalar{}, x, ext::NodePayload::of(a));
}
Expression operator+(real a, const detail::Located& x) {
  return ext::add_node(ops::AddScalar{}, x, ext::NodePayload::of(a));
}

Expression operator-(const detail::Located& x, real a) {
  return ext::add_node(ops::SubtractScalar{}, x, ext::NodePayload::of(a));
}

Expression operator-(real a, const detail::Located& x) {
  return ext::add_node(ops::SubtractFrom{}, x, ext::NodePayload::of(a));
}

Expression operator*(const detail::Located& x, real a) {
  return ext::add_node(ops::MultiplyScalar{}, x, ext::NodePayload::of(a));
}
Expression operator*(real a, const detail::Located& x) {
  return ext::add_node(ops::MultiplyScalar{}, x, ext::NodePayload::of(a));
}

Expression operator/(const detail::Located& x, real a) {
  return ext::add_node(ops::DivideScalar{}, x, ext::NodePayload::of(a));
}

Expression cmult(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::CMult{}, {x, where}, y);
}

Expression cdiv(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::CDiv{}, {x, where}, y);
}

Expression max(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::Extreme<true>{}, {x, where}, y);
}

Expression min(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::Extreme<false>{}, {x, where}, y);
}

Expression sum(const std::initializer_list<Expression>& xs, Where where) {
  return ext::add_node(ops::Sum{}, {xs.begin(), xs.size()}, where);
}
Expression sum(const std::vector<Expression>& xs, Where where) {
  return ext::add_node(ops::Sum{}, xs, where);
}

Expression average(const std::initializer_list<Expression>& xs, Where where) {
  return ext::add_node(ops::Average{}, {xs.begin(), xs.size()}, where);
}
Expression average(const std::vector<Expression>& xs, Where where) {
  return ext::add_node(ops::Average{}, xs, where);
}

}  // namespace dynet
