#pragma once

// Appending a node: what every operation's function does, in the library and outside it.
//
//   Expression softplus(detail::Located x) { return ext::add_node(Softplus{}, x); }

#include <cstdint>
#include <span>
#include <vector>

#include "dynet/expression.h"
#include "dynet/ext/op.h"

namespace dynet::ext {

/// Where a node was built. C++: file and line. Python: `code` is the frame's code object and `line`
/// the offset in it, resolved when an error is printed (set_location_resolver).
struct Where {
  const char* file = nullptr;
  const void* code = nullptr;
  unsigned line = 0;
};
/// Turns a Where with a code object into "file.py:42 in function".
using LocationResolver = std::string (*)(const void* code, unsigned offset);
void set_location_resolver(LocationResolver resolver);

/// What varies per node: indices or values, copied into the graph or re-read through a pointer at
/// each run. For parameters and lookups also the storage (kept alive by the graph).
struct NodePayload {
  enum Form : std::uint8_t { kNone, kCopied, kPointer, kVector };
  Form form = kNone;
  const void* data = nullptr;  ///< unsigned or float; kVector: std::vector of them
  std::uint32_t count = 0;
  const std::shared_ptr<void>* storage = nullptr;  ///< parameter or lookup storage

  NodePayload() = default;
  // Each refers to the caller's data for the duration of the call; copied ones are copied then.
  static NodePayload of(const unsigned& v) { return {kCopied, &v, 1}; }
  static NodePayload of(const float& v) { return {kCopied, &v, 1}; }
  static NodePayload of(const unsigned* v) { return {kPointer, v, 1}; }
  static NodePayload of(const float* v) { return {kPointer, v, 1}; }
  static NodePayload of(const std::vector<unsigned>& v) { return {kCopied, v.data(), static_cast<std::uint32_t>(v.size())}; }
  static NodePayload of(const std::vector<float>& v) { return {kCopied, v.data(), static_cast<std::uint32_t>(v.size())}; }
  static NodePayload of(const std::vector<unsigned>* v) { return {kVector, v, static_cast<std::uint32_t>(v->size())}; }
  static NodePayload of(const std::vector<float>* v) { return {kVector, v, static_cast<std::uint32_t>(v->size())}; }
  static NodePayload of(std::span<const unsigned> v) { return {kCopied, v.data(), static_cast<std::uint32_t>(v.size())}; }
  static NodePayload of(std::span<const float> v) { return {kCopied, v.data(), static_cast<std::uint32_t>(v.size())}; }

 private:
  NodePayload(Form f, const void* d, std::uint32_t n) : form(f), data(d), count(n) {}
};

/// The general form. `graph` may be null where there are arguments. Checks staleness, that all
/// arguments belong to one graph, shapes and indices given by value; throws before the graph is
/// changed. Returns the first output; output k is the expression with index i + k.
Expression add_node(const Record& record, const void* op, ComputationGraph* graph,
                    std::span<const Expression> args, const NodePayload& payload, const Where& where);

/// One expression argument.
template <Operation Op>
Expression add_node(const Op& op, const dynet::detail::Located& x, const NodePayload& payload = {}) {
  return add_node(kRecord<Op>, &op, nullptr, {&x.e, 1}, payload, {x.file, nullptr, x.line});
}
/// Two or more.
template <Operation Op, std::same_as<Expression>... Rest>
Expression add_node(const Op& op, const dynet::detail::Located& x, const Expression& y, const Rest&... rest) {
  const Expression args[] = {x.e, y, rest...};
  return add_node(kRecord<Op>, &op, nullptr, args, {}, {x.file, nullptr, x.line});
}
/// A list.
template <Operation Op>
Expression add_node(const Op& op, std::span<const Expression> xs, const char* file, unsigned line) {
  return add_node(kRecord<Op>, &op, nullptr, xs, {}, {file, nullptr, line});
}
/// No expression argument: inputs and constants.
template <Operation Op>
Expression add_node(const Op& op, const dynet::detail::LocatedGraph& g, const NodePayload& payload = {}) {
  return add_node(kRecord<Op>, &op, &g.graph, {}, payload, {g.file, nullptr, g.line});
}

}  // namespace dynet::ext
