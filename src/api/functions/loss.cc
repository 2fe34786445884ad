// Written by tools/generate-api from the operations in dynet/ops/loss.h. Not to be edited.

#include "dynet/ops/loss.h"

#include "dynet/expr/loss.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression softmax(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::Softmax{d}, {x, where});
}

Expression log_softmax(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::LogSoftmax{d}, {x, where});
}

Expression pickneglogsoftmax(const Expression& x, unsigned v, Where where) {
  return ext::add_node(ops::PickNegLogSoftmax{}, {x, where}, ext::NodePayload::of(v));
}
Expression pickneglogsoftmax(const Expression& x, detail::Pointer<unsigned> v, Where where) {
  return ext::add_node(ops::PickNegLogSoftmax{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pickneglogsoftmax", "v")));
}
Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v, Where where) {
  return ext::add_node(ops::PickNegLogSoftmax{}, {x, where}, ext::NodePayload::of(v));
}
Expression pickneglogsoftmax(const Expression& x, detail::Pointer<std::vector<unsigned>> v,
                             Where where) {
  return ext::add_node(ops::PickNegLogSoftmax{}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pickneglogsoftmax", "v")));
}

Expression binary_log_loss(const Expression& x, const Expression& y, Where where) {
  return ext::add_node(ops::BinaryLogLoss{}, {x, where}, y);
}

}  // namespace dynet
