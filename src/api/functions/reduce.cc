// Written by tools/generate-api from the operations in dynet/ops/reduce.h. Not to be edited.

#include "dynet/ops/reduce.h"

#include "dynet/expr/reduce.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression sum_elems(const Expression& x, Where where) {
  return ext::add_node(ops::SumElems{}, {x, where});
}

Expression sum_batches(const Expression& x, Where where) {
  return ext::add_node(ops::SumBatches{}, {x, where});
}

Expression max_dim(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::ExtremeDim<true>{d}, {x, where});
}

Expression min_dim(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::ExtremeDim<false>{d}, {x, where});
}

Expression logsumexp_dim(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::LogSumExpDim{d}, {x, where});
}

Expression layer_norm(const Expression& x, const Expression& g, const Expression& b, float epsilon,
                      Where where) {
  return ext::add_node(ops::LayerNorm{epsilon}, {x, where}, g, b);
}

}  // namespace dynet
