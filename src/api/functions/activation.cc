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

Expression elu(const Expression& x, float alpha, Where where) {
  return ext::add_node(ops::Elu{alpha}, {x, where});
}

Expression silu(const Expression& x, float beta, Where where) {
  return ext::add_node(ops::Silu{beta}, {x, where});
}

Expression selu(const Expression& x, Where where) { return ext::add_node(ops::Selu{}, {x, where}); }

Expression softsign(const Expression& x, Where where) {
  return ext::add_node(ops::SoftSign{}, {x, where});
}

Expression log_sigmoid(const Expression& x, Where where) {
  return ext::add_node(ops::LogSigmoid{}, {x, where});
}

template <int>
Expression softplus(const Expression& x, float beta, Where where) {
  return ext::add_node(ops::Softplus{beta}, {x, where});
}
template Expression softplus<>(const Expression& x, float beta, Where where);

template <int>
Expression gelu(const Expression& x, Where where) {
  return ext::add_node(ops::Gelu{}, {x, where});
}
template Expression gelu<>(const Expression& x, Where where);

template <int>
Expression gelu_tanh(const Expression& x, Where where) {
  return ext::add_node(ops::GeluTanh{}, {x, where});
}
template Expression gelu_tanh<>(const Expression& x, Where where);

}  // namespace dynet
