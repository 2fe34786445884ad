// Written by tools/generate-api from the operations in dynet/ops/shape.h. Not to be edited.

#include "dynet/ops/shape.h"

#include "dynet/expr/shape.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression reshape(const Expression& x, const Dim& d, Where where) {
  return ext::add_node(ops::Reshape{d}, {x, where});
}

Expression concatenate(const std::initializer_list<Expression>& xs, unsigned d, Where where) {
  return ext::add_node(ops::Concatenate{d}, {xs.begin(), xs.size()}, where);
}
Expression concatenate(const std::vector<Expression>& xs, unsigned d, Where where) {
  return ext::add_node(ops::Concatenate{d}, xs, where);
}

Expression pick_batch_elem(const Expression& x, unsigned v, Where where) {
  return ext::add_node(ops::PickBatchElem{}, {x, where}, ext::NodePayload::of(v));
}
Expression pick_batch_elem(const Expression& x, detail::Pointer<unsigned> v, Where where) {
  return ext::add_node(ops::PickBatchElem{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elem", "v")));
}
Expression pick_batch_elem(const Expression& x, const std::vector<unsigned>& v, Where where) {
  return ext::add_node(ops::PickBatchElem{}, {x, where}, ext::NodePayload::of(v));
}
Expression pick_batch_elem(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                           Where where) {
  return ext::add_node(ops::PickBatchElem{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elem", "v")));
}

Expression concatenate_to_batch(const std::initializer_list<Expression>& xs, Where where) {
  return ext::add_node(ops::ConcatenateToBatch{}, {xs.begin(), xs.size()}, where);
}
Expression concatenate_to_batch(const std::vector<Expression>& xs, Where where) {
  return ext::add_node(ops::ConcatenateToBatch{}, xs, where);
}

Expression nobackprop(const Expression& x, Where where) {
  return ext::add_node(ops::NoBackprop{}, {x, where});
}

}  // namespace dynet
