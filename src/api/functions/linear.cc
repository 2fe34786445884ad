// Written by tools/generate-api from the operations in dynet/ops/linear.h. Not to be edited.

#include "dynet/ops/linear.h"

#include "dynet/expr/linear.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression operator*(const detail::Located& x, const Expression& y) {
  return ext::add_node(ops::MatMul{}, x, y);
}

Expression affine_transform(const std::initializer_list<Expression>& exprs, Where where) {
  return ext::add_node(ops::AffineTransform{}, {exprs.begin(), exprs.size()}, where);
}
Expression affine_transform(const std::vector<Expression>& exprs, Where where) {
  return ext::add_node(ops::AffineTransform{}, exprs, where);
}

Expression transpose(const detail::Located& x) { return ext::add_node(ops::Transpose{}, x); }
Expression transpose(const Expression& x, const std::vector<unsigned>& dims, Where where) {
  return ext::add_node(
      ops::Transpose{api::to_list<ext::List<unsigned, 7>>(dims, "transpose", "dims")}, {x, where});
}

Expression dot_product(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::DotProduct{}, {x, where}, y);
}

Expression squared_norm(const Expression& x, Where where) {
  return ext::add_node(ops::SquaredNorm{}, {x, where});
}

Expression squared_distance(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::SquaredDistance{}, {x, where}, y);
}

}  // namespace dynet
