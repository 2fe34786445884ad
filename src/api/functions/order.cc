// Written by tools/generate-api from the operations in dynet/ops/order.h. Not to be edited.

#include "dynet/ops/order.h"

#include "dynet/expr/order.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression cumsum(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::CumSum{d}, {x, where});
}

Expression kmax_pooling(const Expression& x, unsigned k, unsigned d, Where where) {
  return ext::add_node(ops::KMaxPooling{k, d}, {x, where});
}

template <int>
std::array<Expression, 2> topk(const Expression& x, unsigned k, unsigned d, Where where) {
  return api::outputs<2>(ext::add_node(ops::TopK{k, d}, {x, where}));
}
template std::array<Expression, 2> topk<>(const Expression& x, unsigned k, unsigned d, Where where);

}  // namespace dynet
