#include "execute/payload.h"

#include <algorithm>
#include <cstring>

#include "params/gradient.h"
#include "params/random_streams.h"

namespace dynet::execute {

void Payload::fill(ext::Call& call, std::span<const NodeId> members, std::int64_t examples) {
  const ext::Record& record = context_.graph[members[0]].record();
  if (record.payload == ext::Payload::kIndices) {
    call.indices = indices(members, examples);
  }
  if (record.payload == ext::Payload::kValues) {
    call.values = values(members, examples);
  }
  if (record.random) {
    call.random = random_keys(members);
  }
}

/// One index for each example; a single one given for a batch is repeated.
const unsigned* Payload::indices(std::span<const NodeId> members, std::int64_t examples) {
  if (members.size() == 1) {
    const std::span<const unsigned> all = context_.graph.indices(members[0]);
    const bool is_own = context_.graph[members[0]].payload->form == ext::NodePayload::kCopied;
    if (is_own && static_cast<std::int64_t>(all.size()) == examples) {
      return all.data();
    }
  }
  auto* expanded = arena_.room<unsigned>(static_cast<std::size_t>(examples));
  unsigned* at = expanded;
  for (const NodeId m : members) {
    const std::span<const unsigned> all = context_.graph.indices(m);
    const auto count = static_cast<std::size_t>(context_.graph.examples(m));
    at = all.size() == 1 ? std::fill_n(at, count, all[0]) : std::copy_n(all.data(), count, at);
  }
  return expanded;
}

/// One scalar {1} for each example, in the device's number type; one for all where there is one
/// member.
ext::Operand Payload::values(std::span<const NodeId> members, std::int64_t examples) {
  const std::int64_t width = context_.bytes(1);
  const std::int64_t count = members.size() == 1 ? 1 : examples;
  // Room for either number type.
  auto* numbers = arena_.room<double>(static_cast<std::size_t>(count));
  auto* at = reinterpret_cast<std::byte*>(numbers);
  for (const NodeId m : members) {
    context_.kernels().from_floats(context_.graph.values(m).data(), at, 1);
    const std::byte* first = at;
    at += width;
    // A member with several examples repeats its scalar.
    for (std::int64_t e = 1; members.size() > 1 && e < context_.graph.examples(m); ++e) {
      std::memcpy(at, first, static_cast<std::size_t>(width));
      at += width;
    }
  }
  return arena_.operand({1}, width, 1,
                        [&](std::size_t) { return ext::Block{numbers, count, false}; });
}

std::span<const ext::Call::Random> Payload::random_keys(std::span<const NodeId> members) {
  auto* keys = arena_.array<ext::Call::Random>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    keys[i] = {{params::random_seed(), random_stream_, context_.graph[members[i]].random_ordinal,
                evaluation_},
               context_.graph.examples(members[i])};
  }
  return {keys, members.size()};
}

template <class F>
void Payload::for_active(std::span<const NodeId> active, std::span<const NodeId> members,
                         F f) const {
  std::size_t next = 0;
  std::int64_t example = 0;
  for (std::size_t i = 0; i < members.size() && next < active.size(); ++i) {
    const std::int64_t examples = context_.graph.examples(members[i]);
    if (members[i] == active[next]) {
      f(i, example, examples);
      ++next;
    }
    example += examples;
  }
}

void Payload::fill_part(ext::Call& call, std::span<const NodeId> active, const ext::Call& from,
                        std::span<const NodeId> members) {
  const auto examples = static_cast<std::size_t>(call.examples);
  if (from.indices != nullptr) {
    auto* some = arena_.room<unsigned>(examples);
    call.indices = some;
    for_active(active, members, [&](std::size_t, std::int64_t example, std::int64_t count) {
      some = std::copy_n(from.indices + example, count, some);
    });
  }
  if (!from.values.absent()) {
    const auto width = static_cast<std::size_t>(context_.bytes(1));
    const auto* all = static_cast<const std::byte*>(from.values.blocks[0].data);
    auto* numbers = arena_.room<double>(examples);
    auto* at = reinterpret_cast<std::byte*>(numbers);
    for_active(active, members, [&](std::size_t, std::int64_t example, std::int64_t count) {
      at = std::copy_n(all + static_cast<std::size_t>(example) * width,
                       static_cast<std::size_t>(count) * width, at);
    });
    call.values = arena_.operand({1}, context_.bytes(1), 1, [&](std::size_t) {
      return ext::Block{numbers, call.examples, false};
    });
  }
  if (!from.random.empty()) {
    auto* keys = arena_.array<ext::Call::Random>(active.size());
    call.random = {keys, active.size()};
    for_active(active, members,
               [&](std::size_t i, std::int64_t, std::int64_t) { *keys++ = from.random[i]; });
  }
}

void Payload::write_input(NodeId n, void* to) const {
  const std::span<const float> from = context_.graph.values(n);
  context_.kernels().from_floats(from.data(), to, context_.graph.elements(n));  // there may be more
}

void Payload::write_rows(NodeId n, const unsigned* rows, void* to) const {
  const auto& table = params::lookup_storage(context_.graph[n].payload->storage);
  auto* at = static_cast<std::byte*>(to);
  const std::int64_t row_bytes = context_.example_bytes(n);
  for (std::int64_t e = 0; e < context_.graph.examples(n); ++e) {
    params::read_row(table, rows[e], at);
    at += row_bytes;
  }
}

}  // namespace dynet::execute
