#include "memory/layout.h"

#include <algorithm>
#include <string>

#include "dynet/except.h"

#include "graph/seen.h"

namespace dynet::memory {
namespace {

using graph::NodeId;

/// As calls see them. A graph has fewer than 2^32 nodes of fewer than 2^32 examples, and a cut node
/// has fewer than 2^32 columns, so the sum fits 64 bits.
ext::Count total_examples(const graph::Graph& graph, std::span<const NodeId> members) {
  const graph::Node* const nodes = &graph[0];
  std::uint64_t n = 0;
  if (nodes[members[0]].signature->cut == 0) {
    for (const NodeId m : members) {
      n += nodes[m].examples;
    }
  } else {
    const graph::Seen seen(graph, members[0]);
    for (const NodeId m : members) {
      n += static_cast<std::uint64_t>(seen.examples(m));
    }
  }
  return static_cast<std::int64_t>(std::min<std::uint64_t>(n, ext::Count::kMost + 1));
}

[[noreturn]] void fail(const graph::Graph& graph, NodeId node, const Dim& dim, ext::Count examples,
                       ext::Count bytes, const std::string& why) {
  throw out_of_memory(why + "\n  for " + bytes.text() + " bytes: " + examples.text() + " x " +
                      to_string(dim.single_batch()) + " of " + graph.describe(node));
}

/// Memory for `examples` of `each` bytes, or out_of_memory with the node in its text; `dim()` is
/// the shape of one.
template <class DimOf>
void* block_for(const graph::Graph& graph, NodeId node, DimOf dim, ext::Count each,
                ext::Count examples, Pool& pool) {
  const ext::Count bytes = each * examples;
  if (!bytes.fits()) {
    fail(graph, node, dim(), examples, bytes, "out of memory: more bytes than can be addressed");
  }
  try {
    return pool.allocate(bytes.value());
  } catch (const out_of_memory& e) {
    fail(graph, node, dim(), examples, bytes, e.what());
  }
}

void* output_block(const graph::Graph& graph, NodeId first, std::uint32_t output,
                   ext::Count examples, Pool& pool) {
  const graph::Seen seen(graph, first);
  const NodeId of = first + output;
  return block_for(
      graph, first, [&]() -> const Dim& { return seen.dim(of); }, seen.bytes(of), examples, pool);
}

}  // namespace

void* place_output(const graph::Graph& graph, std::span<const NodeId> members, std::uint32_t output,
                   Pool& pool) {
  return output_block(graph, members[0], output, total_examples(graph, members), pool);
}

Placement place_group(const graph::Graph& graph, std::span<const NodeId> members, Pool& pool) {
  const graph::Signature& signature = *graph[members[0]].signature;
  const ext::Record& record = *signature.record;
  Placement place;
  const Pool::Mark before = pool.mark();
  try {
    const ext::Count examples = total_examples(graph, members);
    for (std::uint32_t k = 0; k < record.outputs; ++k) {
      place.outputs[k] = output_block(graph, members[0], k, examples, pool);
    }
    for (std::uint32_t k = 0; k < record.saved; ++k) {
      const Dim& dim = signature.saved[k];
      const ext::Count each =
          ext::Count(dim.elements()) * ext::saved_bytes(record.saved_as[k], signature.number);
      place.saved[k] = block_for(
          graph, members[0], [&]() -> const Dim& { return dim; }, each,
          record.has_whole ? ext::Count(static_cast<std::int64_t>(members.size())) : examples,
          pool);
    }
  } catch (const out_of_memory&) {
    pool.release(before);
    throw;
  }
  return place;
}

}  // namespace dynet::memory
