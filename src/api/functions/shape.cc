// Written by tools/generate-api from the operations in dynet/ops/shape.h. Not to be edited.

#include "dynet/ops/shape.h"

#include "dynet/expr/shape.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression reshape(const Expression& x, const Dim& d, const char* file, unsigned line) {
  return ext::add_node(ops::Reshape{d}, {x, file, line});
}

Expression concatenate(const std::initializer_list<Expression>& xs, unsigned d, const char* file,
                       unsigned line) {
  return ext::add_node(ops::Concatenate{d}, {xs.begin(), xs.size()}, file, line);
}
Expression concatenate(const std::vector<Expression>& xs, unsigned d, const char* file,
                       unsigned line) {
  return ext::add_node(ops::Concatenate{d}, xs, file, line);
}

Expression pick_batch_elem(const Expression& x, unsigned v, const char* file, unsigned line) {
  return ext::add_node(ops::PickBatchElem{}, {x, file, line}, ext::NodePayload::of(v));
}
Expression pick_batch_elem(const Expression& x, detail::Pointer<unsigned> v, const char* file,
                           unsigned line) {
  return ext::add_node(ops::PickBatchElem{}, {x, file, line},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elem", "v")));
}
Expression pick_batch_elem(const Expression& x, const std::vector<unsigned>& v, const char* file,
                           unsigned line) {
  return ext::add_node(ops::PickBatchElem{}, {x, file, line}, ext::NodePayload::of(v));
}
Expression pick_batch_elem(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                           const char* file, unsigned line) {
  return ext::add_node(ops::PickBatchElem{}, {x, file, line},
                       ext::NodePayload::of(api::pointee(v, "pick_batch_elem", "v")));
}

Expression concatenate_to_batch(const std::initializer_list<Expression>& xs, const char* file,
                                unsigned line) {
  return ext::add_node(ops::ConcatenateToBatch{}, {xs.begin(), xs.size()}, file, line);
}
Expression concatenate_to_batch(const std::vector<Expression>& xs, const char* file,
                                unsigned line) {
  return ext::add_node(ops::ConcatenateToBatch{}, xs, file, line);
}

Expression nobackprop(const Expression& x, const char* file, unsigned line) {
  return ext::add_node(ops::NoBackprop{}, {x, file, line});
}

}  // namespace dynet
