// Written by tools/generate-api from the operations in dynet/ops/activation.h. Not to be edited.

#include "dynet/ops/activation.h"

#include "dynet/expr/activation.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression tanh(const Expression& x, Where where) { return ext::add_node(ops::Tanh{}, {x, where}); }

Expression logistic(const Expression& x, Where where) {
  return ext::add_node(ops::Logistic{}, {x, where});
}

Expression rectify(const Expression& x, Where where) {
  return ext::add_node(ops::Rectify{}, {x, where});
}

Expression exp(const Expression& x, Where where) { return ext::add_node(ops::Exp{}, {x, where}); }

Expression log(const Expression& x, Where where) { return ext::add_node(ops::Log{}, {x, where}); }

Expression square(const Expression& x, Where where) {
  return ext::add_node(ops::Square{}, {x, where});
}

Expression sqrt(const Expression& x, Where where) { return ext::add_node(ops::Sqrt{}, {x, where}); }

Expression elu(const Expression& x, float alpha, Where where) {
  return ext::add_node(ops::Elu{alpha}, {x, where});
}

Expression silu(const Expression& x, float beta, Where where) {
  return ext::add_node(ops::Silu{beta}, {x, where});
}

Expression erf(const Expression& x, Where where) { return ext::add_node(ops::Erf{}, {x, where}); }

}  // namespace dynet
