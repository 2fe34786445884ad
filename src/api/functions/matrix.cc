// Written by tools/generate-api from the operations in dynet/ops/matrix.h. Not to be edited.

#include "dynet/ops/matrix.h"

#include "dynet/expr/matrix.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression inverse(const Expression& x, Where where) {
  return ext::add_node(ops::Inverse{}, {x, where});
}

Expression logdet(const Expression& x, Where where) {
  return ext::add_node(ops::LogDet{}, {x, where});
}

}  // namespace dynet
