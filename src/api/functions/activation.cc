// Written by tools/generate-api from the operations in dynet/ops/activation.h. Not to be edited.

#include "dynet/ops/activation.h"

#include "dynet/expr/activation.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression tanh(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Tanh{}, {x, file, line});
}

Expression logistic(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Logistic{}, {x, file, line});
}

Expression rectify(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Rectify{}, {x, file, line});
}

Expression exp(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Exp{}, {x, file, line});
}

Expression log(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Log{}, {x, file, line});
}

Expression square(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Square{}, {x, file, line});
}

Expression sqrt(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Sqrt{}, {x, file, line});
}

Expression elu(const Expression& x, float alpha, const char* file, unsigned line) {
  return ext::add_node(ops::Elu{alpha}, {x, file, line});
}

Expression silu(const Expression& x, float beta, const char* file, unsigned line) {
  return ext::add_node(ops::Silu{beta}, {x, file, line});
}

Expression erf(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::Erf{}, {x, file, line});
}

}  // namespace dynet
