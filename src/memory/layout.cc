#include "memory/layout.h"

#include <string>

#include "dynet/except.h"

namespace dynet::memory {
namespace {

using graph::NodeId;

ext::Count total_examples(const graph::Graph& graph, std::span<const NodeId> members) {
  ext::Count n = 0;
  for (const NodeId m : members) {
    n = n + graph.examples(m);
  }
  return n;
}

/// Memory for `examples` of `dim`, or out_of_memory that says for what.
void* block_for(const graph::Graph& graph, NodeId node, const Dim& dim, ext::Count examples,
                std::int64_t element_bytes, Pool& pool) {
  const ext::Count bytes = ext::Count(dim.elements()) * examples * element_bytes;
  try {
    if (!bytes.fits()) {
      throw out_of_memory("more bytes than can be addressed");
    }
    return pool.allocate(bytes.value());
  } catch (const out_of_memory& e) {
    throw out_of_memory(std::string(e.what()) + "\n  for " + bytes.text() +
                        " bytes: " + examples.text() + " x " + to_string(dim.single_batch()) +
                        " of " + graph.describe(node));
  }
}

}  // namespace

void* place_output(const graph::Graph& graph, std::span<const NodeId> members, std::uint32_t output,
                   ext::Number number, Pool& pool) {
  const Dim dim = graph.dim(members[0] + output).single_batch();
  return block_for(graph, members[0], dim, total_examples(graph, members), ext::bytes_of(number),
                   pool);
}

Placement place_group(const graph::Graph& graph, std::span<const NodeId> members,
                      ext::Number number, Pool& pool) {
  const graph::Signature& signature = *graph[members[0]].signature;
  Placement place;
  const Pool::Mark before = pool.mark();
  try {
    for (std::uint32_t k = 0; k < signature.record->outputs; ++k) {
      place.outputs[k] = place_output(graph, members, k, number, pool);
    }
    const ext::Count examples = signature.record->has_whole
                                    ? ext::Count(static_cast<std::int64_t>(members.size()))
                                    : total_examples(graph, members);
    for (std::uint32_t k = 0; k < signature.record->saved; ++k) {
      place.saved[k] = block_for(graph, members[0], signature.saved[k], examples,
                                 ext::saved_bytes(signature.record->saved_as[k], number), pool);
    }
  } catch (const out_of_memory&) {
    pool.release(before);
    throw;
  }
  return place;
}

}  // namespace dynet::memory
