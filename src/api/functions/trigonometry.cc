// Written by tools/generate-api from the operations in dynet/ops/trigonometry.h. Not to be edited.

#include "dynet/ops/trigonometry.h"

#include "dynet/expr/trigonometry.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression sin(const Expression& x, Where where) { return ext::add_node(ops::Sin{}, {x, where}); }

Expression cos(const Expression& x, Where where) { return ext::add_node(ops::Cos{}, {x, where}); }

Expression tan(const Expression& x, Where where) { return ext::add_node(ops::Tan{}, {x, where}); }

Expression asin(const Expression& x, Where where) { return ext::add_node(ops::Asin{}, {x, where}); }

Expression acos(const Expression& x, Where where) { return ext::add_node(ops::Acos{}, {x, where}); }

Expression atan(const Expression& x, Where where) { return ext::add_node(ops::Atan{}, {x, where}); }

Expression sinh(const Expression& x, Where where) { return ext::add_node(ops::Sinh{}, {x, where}); }

Expression cosh(const Expression& x, Where where) { return ext::add_node(ops::Cosh{}, {x, where}); }

Expression asinh(const Expression& x, Where where) {
  return ext::add_node(ops::Asinh{}, {x, where});
}

Expression acosh(const Expression& x, Where where) {
  return ext::add_node(ops::Acosh{}, {x, where});
}

Expression atanh(const Expression& x, Where where) {
  return ext::add_node(ops::Atanh{}, {x, where});
}

}  // namespace dynet
