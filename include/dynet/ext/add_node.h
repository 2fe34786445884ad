#pragma once

// Appending a node, as the function of every operation does, in the library and outside. Example:
//
//   Expression softplus(detail::Located x) { return ext::add_node(Softplus{}, x); }

#include <span>

#include "dynet/devices.h"
#include "dynet/expression.h"
#include "dynet/ext/op.h"
#include "dynet/ext/payload.h"

namespace dynet::ext {

/// The general form. `graph` may be null if there are arguments. Checks staleness, that all
/// arguments belong to one graph and are on one device, shapes and indices given by value; throws
/// before the graph is changed. `device`: the device of a node without arguments and without a
/// storage; null: the graph's own. Returns the first output; output k is the expression with index
/// i + k.
Expression add_node(const Record& record, const void* op, ComputationGraph* graph,
                    std::span<const Expression> args, const NodePayload& payload,
                    const Where& where, const Device* device = nullptr);

/// Replaces the indices or numbers that were given by value when the node of `e` was built, by the
/// same number of new ones, and forgets computed values. ValueError for other nodes or counts,
/// IndexError.
void set_payload(const Expression& e, std::span<const unsigned> indices);
void set_payload(const Expression& e, std::span<const float> values);
/// The exclusive bound of the indices of a node whose operation has index_limit(); ValueError for
/// other nodes.
[[nodiscard]] unsigned index_limit(const Expression& e);

/// One expression argument.
template <class Op>
Expression add_node(const Op& op, const dynet::detail::Located& x,
                    const NodePayload& payload = {}) {
  return add_node(kRecord<Op>, &op, nullptr, {&x.e, 1}, payload, x.where);
}
/// Two or more.
template <class Op, std::same_as<Expression>... Rest>
Expression add_node(const Op& op, const dynet::detail::Located& x, const Expression& y,
                    const Rest&... rest) {
  const Expression args[] = {x.e, y, rest...};
  return add_node(kRecord<Op>, &op, nullptr, args, {}, x.where);
}
/// Two, and a payload.
template <class Op>
Expression add_node(const Op& op, const dynet::detail::Located& x, const Expression& y,
                    const NodePayload& payload) {
  const Expression args[] = {x.e, y};
  return add_node(kRecord<Op>, &op, nullptr, args, payload, x.where);
}
/// A list.
template <class Op>
Expression add_node(const Op& op, std::span<const Expression> xs, Where where) {
  return add_node(kRecord<Op>, &op, nullptr, xs, {}, where);
}
/// No expression argument: inputs and constants.
template <class Op>
Expression add_node(const Op& op, const dynet::detail::LocatedGraph& g,
                    const NodePayload& payload = {}, const Device* device = nullptr) {
  return add_node(kRecord<Op>, &op, &g.graph, {}, payload, g.where, device);
}

}  // namespace dynet::ext
