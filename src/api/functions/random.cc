// Written by tools/generate-api from the operations in dynet/ops/random.h. Not to be edited.

#include "dynet/ops/random.h"

#include "dynet/expr/random.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression dropout(const Expression& x, float p, Where where) {
  return ext::add_node(ops::Dropout{p}, {x, where});
}

Expression dropout_dim(const Expression& x, unsigned d, float p, Where where) {
  return ext::add_node(ops::DropoutDim{d, p}, {x, where});
}

Expression dropout_batch(const Expression& x, float p, Where where) {
  return ext::add_node(ops::DropoutBatch{p}, {x, where});
}

Expression block_dropout(const Expression& x, float p, Where where) {
  return ext::add_node(ops::BlockDropout{p}, {x, where});
}

Expression noise(const Expression& x, float stddev, Where where) {
  return ext::add_node(ops::Noise{stddev}, {x, where});
}

}  // namespace dynet
