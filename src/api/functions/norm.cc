// Written by tools/generate-api from the operations in dynet/ops/norm.h. Not to be edited.

#include "dynet/ops/norm.h"

#include "dynet/expr/norm.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression l2_norm(const Expression& x, Where where) {
  return ext::add_node(ops::L2Norm{}, {x, where});
}

Expression weight_norm(const Expression& w, const Expression& g, Where where) {
  return ext::add_node(ops::WeightNorm{}, {w, where}, g);
}

template <int>
Expression rms_norm(const Expression& x, const Expression& g, float epsilon, Where where) {
  return ext::add_node(ops::RmsNorm{epsilon}, {x, where}, g);
}
template Expression rms_norm<>(const Expression& x, const Expression& g, float epsilon,
                               Where where);

}  // namespace dynet
