// Written by tools/generate-api from the operations in dynet/ops/pick.h. Not to be edited.

#include "dynet/ops/pick.h"

#include "dynet/expr/pick.h"
#include "dynet/ext/add_node.h"

#include "api/functions.h"

namespace dynet {

Expression pick(const Expression& x, unsigned v, unsigned d, Where where) {
  return ext::add_node(ops::Pick{d}, {x, where}, ext::NodePayload::of(v));
}
Expression pick(const Expression& x, detail::Pointer<unsigned> v, unsigned d, Where where) {
  return ext::add_node(ops::Pick{d}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick", "v")));
}
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d, Where where) {
  return ext::add_node(ops::Pick{d}, {x, where}, ext::NodePayload::of(v));
}
Expression pick(const Expression& x, detail::Pointer<std::vector<unsigned>> v, unsigned d,
                Where where) {
  return ext::add_node(ops::Pick{d}, {x, where},
                       ext::NodePayload::of(api::pointee(v, "pick", "v")));
}

Expression pick_range(const Expression& x, unsigned s, unsigned e, unsigned d, Where where) {
  return ext::add_node(ops::PickRange{s, e, d}, {x, where});
}

}  // namespace dynet
