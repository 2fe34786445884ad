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

}  // namespace dynet
