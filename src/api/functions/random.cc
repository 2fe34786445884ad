// Written by tools/generate-api from the operations in dynet/ops/random.h. Not to be edited.

#include "dynet/ops/random.h"

#include "dynet/expr/random.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression dropout(const Expression& x, float p, const char* file, unsigned line) {
  return ext::add_node(ops::Dropout{p}, {x, file, line});
}

Expression noise(const Expression& x, float stddev, const char* file, unsigned line) {
  return ext::add_node(ops::Noise{stddev}, {x, file, line});
}

}  // namespace dynet
