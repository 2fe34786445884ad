// Written by tools/generate-api from the operations in dynet/ops/sparsemax.h. Not to be edited.

#include "dynet/ops/sparsemax.h"

#include "dynet/expr/sparsemax.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression sparsemax(const Expression& x, unsigned d, Where where) {
  return ext::add_node(ops::Sparsemax{d}, {x, where});
}

Expression sparsemax_loss(const Expression& x, unsigned support, Where where) {
  return ext::add_node(ops::SparsemaxLoss{}, {x, where}, ext::NodePayload::of(support));
}
Expression sparsemax_loss(const Expression& x, detail::Pointer<unsigned> support, Where where) {
  return ext::add_node(ops::SparsemaxLoss{}, {x, where},
                       ext::NodePayload::of(api::pointee(support, "sparsemax_loss", "support")));
}
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& support, Where where) {
  return ext::add_node(ops::SparsemaxLoss{}, {x, where}, ext::NodePayload::of(support));
}
Expression sparsemax_loss(const Expression& x, detail::Pointer<std::vector<unsigned>> support,
                          Where where) {
  return ext::add_node(ops::SparsemaxLoss{}, {x, where},
                       ext::NodePayload::of(api::pointee(support, "sparsemax_loss", "support")));
}

Expression constrained_softmax(const Expression& x, const Expression& u, unsigned d, Where where) {
  return ext::add_node(ops::ConstrainedSoftmax{d}, {x, where}, u);
}

}  // namespace dynet
