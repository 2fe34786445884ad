// Written by tools/generate-api from the operations in dynet/ops/distance.h. Not to be edited.

#include "dynet/ops/distance.h"

#include "dynet/expr/distance.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression l1_distance(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::L1Distance{}, {x, where}, y);
}

Expression huber_distance(const Expression& x, const Expression& y, float c, Where where) {
  return ext::add_node(ops::HuberDistance{c}, {x, where}, y);
}

template <int>
Expression cosine_similarity(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::CosineSimilarity{}, {x, where}, y);
}
template Expression cosine_similarity<>(const Expression& x, const Expression& y, Where where);

}  // namespace dynet
