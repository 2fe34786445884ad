// Written by tools/generate-api from the operations in dynet/ops/reduce.h. Not to be edited.

#include "dynet/ops/reduce.h"

#include "dynet/expr/reduce.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression sum_elems(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::SumElems{}, {x, file, line});
}

Expression sum_batches(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::SumBatches{}, {x, file, line});
}

Expression max_dim(const Expression& x, unsigned d, const char* file, unsigned line) {
  return ext::add_node(ops::MaxDim{d}, {x, file, line});
}

Expression min_dim(const Expression& x, unsigned d, const char* file, unsigned line) {
  return ext::add_node(ops::MinDim{d}, {x, file, line});
}

Expression logsumexp_dim(const Expression& x, unsigned d, const char* file, unsigned line) {
  return ext::add_node(ops::LogSumExpDim{d}, {x, file, line});
}

Expression layer_norm(const Expression& x, const Expression& g, const Expression& b,
                      const char* file, unsigned line) {
  return ext::add_node(ops::LayerNorm{}, {x, file, line}, g, b);
}

}  // namespace dynet
