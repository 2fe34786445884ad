// Written by tools/generate-api from the operations in dynet/ops/contract.h. Not to be edited.

#include "dynet/ops/contract.h"

#include "dynet/expr/contract.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression contract3d_1d(const Expression& x, const Expression& y, const Expression& b,
                         Where where) {
  return ext::add_node(ops::Contract3d1d{}, {x, where}, y, b);
}

template <int>
Expression batch_matmul(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::BatchMatmul{}, {x, where}, y);
}
template Expression batch_matmul<>(const Expression& x, const Expression& y, Where where);

}  // namespace dynet
