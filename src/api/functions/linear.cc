// Written by tools/generate-api from the operations in dynet/ops/linear.h. Not to be edited.

#include "dynet/ops/linear.h"

#include "dynet/expr/linear.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression operator*(const detail::Located& x, const Expression& y) {
  return ext::add_node(ops::MatMul{}, x, y);
}

Expression affine_transform(const std::initializer_list<Expression>& exprs, const char* file,
                            unsigned line) {
  return ext::add_node(ops::AffineTransform{}, {exprs.begin(), exprs.size()}, file, line);
}
Expression affine_transform(const std::vector<Expression>& exprs, const char* file, unsigned line) {
  return ext::add_node(ops::AffineTransform{}, exprs, file, line);
}

Expression transpose(const detail::Located& x) { return ext::add_node(ops::Transpose{}, x); }
Expression transpose(const Expression& x, const std::vector<unsigned>& dims, const char* file,
                     unsigned line) {
  return ext::add_node(
      ops::Transpose{api::to_list<ext::List<unsigned, 7>>(dims, "transpose", "dims")},
      {x, file, line});
}

Expression dot_product(const Expression& x, const Expression& y, const char* file, unsigned line) {
  return ext::add_node(ops::DotProduct{}, {x, file, line}, y);
}

Expression squared_norm(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::SquaredNorm{}, {x, file, line});
}

Expression squared_distance(const Expression& x, const Expression& y, const char* file,
                            unsigned line) {
  return ext::add_node(ops::SquaredDistance{}, {x, file, line}, y);
}

}  // namespace dynet
