#include "execute/payload.h"

#include <algorithm>
#include <cstring>

#include "params/gradient.h"
#include "params/host.h"
#include "params/random_streams.h"

namespace dynet::execute {

void CallPayload::fill(Assembled& assembled, std::span<const NodeId> members) {
  const ext::Record& record = context_.graph[members[0]].record();
  ext::Memory& memory = context_.memory(members[0]);
  ext::Call& call = assembled.call;
  if (record.payload == ext::Payload::kIndices) {
    call.indices = indices(members);
    // The rows of a lookup are read by the host alone.
    assembled.indices = record.reads_storage == ext::Storage::kNone
                            ? publish(call.indices, sizeof(unsigned), memory)
                            : call.indices.data<std::byte>();
  }
  if (record.payload == ext::Payload::kValues) {
    call.values = record.payload_is_value ? inputs(members) : values(members);
    assembled.values = publish(call.values, number_bytes(members[0]), memory);
  }
  if (record.random) {
    call.random = random_keys(members);
  }
}

const std::byte* CallPayload::publish(const ext::Operand& o, std::int64_t width,
                                      ext::Memory& memory) {
  auto& block = const_cast<ext::Block&>(o.blocks[0]);  // it was made here
  const auto* host = static_cast<const std::byte*>(block.data);
  upload_.add(memory, block, static_cast<std::size_t>(o.examples * o.size() * width));
  return host;
}

template <class Write>
ext::Operand CallPayload::lists(std::span<const NodeId> members, std::int64_t most_of_one,
                                std::uint32_t count, std::int64_t width, Write write) {
  std::int64_t examples = 0;
  for (const NodeId m : members) {
    examples += examples_of(m);
  }
  const std::int64_t list_bytes = count * width;
  const std::int64_t room = members.size() == 1 ? most_of_one : examples;
  auto* first = arena_.room<std::byte>(static_cast<std::size_t>(room * list_bytes));
  if (members.size() == 1) {
    examples = write(members[0], first);
  } else {
    std::byte* at = first;
    for (const NodeId m : members) {
      const std::int64_t own = write(m, at);
      for (std::int64_t e = own; e < examples_of(m); ++e) {  // one list for all its examples
        std::memcpy(at + e * list_bytes, at, static_cast<std::size_t>(list_bytes));
      }
      at += examples_of(m) * list_bytes;
    }
  }
  return arena_.operand(Dim({count}), list_bytes, 1,
                        [&](std::size_t) { return ext::Block{first, examples, false}; });
}

ext::Operand CallPayload::indices(std::span<const NodeId> members) {
  const graph::Node& node = context_.graph[members[0]];
  const std::uint32_t each = node.signature->indices_each;
  const std::uint32_t count = each != 0 ? each : node.signature->payload_count;
  const auto lists_of = [&](std::size_t all) {
    return each != 0 ? static_cast<std::int64_t>(all / each) : 1;
  };
  if (members.size() == 1 && node.payload->form == ext::NodePayload::kCopied) {
    const std::span<const unsigned> all = context_.graph.indices(members[0]);
    return arena_.operand(Dim({count}), count * std::int64_t{4}, 1, [&](std::size_t) {
      return ext::Block{const_cast<unsigned*>(all.data()), lists_of(all.size()), false};
    });
  }
  return lists(members, lists_of(node.payload->count), count, 4, [&](NodeId m, std::byte* to) {
    const std::span<const unsigned> all = context_.graph.indices(m);
    std::copy_n(reinterpret_cast<const std::byte*>(all.data()), all.size_bytes(), to);
    return lists_of(all.size());
  });
}

/// In the device's number type.
ext::Operand CallPayload::values(std::span<const NodeId> members) {
  const std::uint32_t count = context_.graph[members[0]].signature->payload_count;
  const ext::Number number = context_.graph[members[0]].signature->number;
  if (members.size() == 1 && number == ext::Number::kFloat &&
      context_.graph[members[0]].payload->form == ext::NodePayload::kCopied) {
    return arena_.operand(Dim({count}), count * std::int64_t{4}, 1, [&](std::size_t) {
      return ext::Block{const_cast<float*>(context_.graph.values(members[0]).data()), 1, false};
    });
  }
  return lists(members, 1, count, ext::bytes_of(number), [&](NodeId m, std::byte* to) {
    write_numbers(context_.graph.values(m).data(), count, number, to);
    return std::int64_t{1};
  });
}

std::span<const ext::Call::Random> CallPayload::random_keys(std::span<const NodeId> members) {
  auto* keys = arena_.array<ext::Call::Random>(members.size());
  for (std::size_t i = 0; i < members.size(); ++i) {
    keys[i] = {{params::random_seed(), random_stream_, context_.graph[members[i]].random_ordinal,
                evaluation_},
               examples_of(members[i])};
  }
  return {keys, members.size()};
}

template <class F>
void CallPayload::for_active(std::span<const NodeId> active, std::span<const NodeId> members,
                             F f) const {
  std::size_t next = 0;
  std::int64_t example = 0;
  for (std::size_t i = 0; i < members.size() && next < active.size(); ++i) {
    const std::int64_t examples = examples_of(members[i]);
    if (members[i] == active[next]) {
      f(i, example, examples);
      ++next;
    }
    example += examples;
  }
}

/// The lists of the active members: those of several members are one per example.
ext::Operand CallPayload::part_of(const ext::Operand& all, const std::byte* host,
                                  std::int64_t width, std::span<const NodeId> active,
                                  std::span<const NodeId> members) {
  const std::int64_t list_bytes = all.size() * width;
  auto* first = arena_.room<std::byte>(static_cast<std::size_t>(all.examples * list_bytes));
  std::byte* at = first;
  std::int64_t examples = 0;
  for_active(active, members, [&](std::size_t, std::int64_t example, std::int64_t count) {
    at = std::copy_n(host + example * list_bytes, count * list_bytes, at);
    examples += count;
  });
  return arena_.operand(all.dim, list_bytes, 1,
                        [&](std::size_t) { return ext::Block{first, examples, false}; });
}

void CallPayload::fill_part(Assembled& assembled, std::span<const NodeId> active,
                            const Assembled& from, std::span<const NodeId> members) {
  ext::Memory& memory = context_.memory(active[0]);
  ext::Call& call = assembled.call;
  if (from.indices != nullptr) {
    call.indices = part_of(from.call.indices, from.indices, sizeof(unsigned), active, members);
    assembled.indices = publish(call.indices, sizeof(unsigned), memory);
  }
  if (from.values != nullptr) {
    const std::int64_t width = number_bytes(active[0]);
    call.values = part_of(from.call.values, from.values, width, active, members);
    assembled.values = publish(call.values, width, memory);
  }
  if (!from.call.random.empty()) {
    auto* keys = arena_.array<ext::Call::Random>(active.size());
    call.random = {keys, active.size()};
    for_active(active, members,
               [&](std::size_t i, std::int64_t, std::int64_t) { *keys++ = from.call.random[i]; });
  }
}

void CallPayload::write_inputs(std::span<const NodeId> inputs, const Values& values) {
  for (const NodeId n : inputs) {
    params::copy_in(context_.device(n), context_.graph.values(n).data(), values.at(n),
                    context_.graph.elements(n));  // there may be more
  }
}

/// The examples of all members, one after the other.
ext::Operand CallPayload::inputs(std::span<const NodeId> members) {
  const ext::Number number = context_.graph[members[0]].signature->number;
  std::int64_t bytes = 0;
  std::int64_t examples = 0;
  for (const NodeId m : members) {
    bytes += context_.graph.bytes(m);
    examples += context_.graph.examples(m);
  }
  auto* first = arena_.room<std::byte>(static_cast<std::size_t>(bytes));
  std::byte* at = first;
  for (const NodeId m : members) {
    write_numbers(context_.graph.values(m).data(), context_.graph.elements(m), number, at);
    at += context_.graph.bytes(m);
  }
  return arena_.operand(context_.graph.dim(members[0]), context_.graph.example_bytes(members[0]), 1,
                        [&](std::size_t) { return ext::Block{first, examples, false}; });
}

/// `count` numbers of the program in a device's number type.
void CallPayload::write_numbers(const float* from, std::int64_t count, ext::Number number,
                                std::byte* to) {
  if (number == ext::Number::kFloat) {
    std::copy_n(from, count, reinterpret_cast<float*>(to));
  } else {
    std::copy_n(from, count, reinterpret_cast<double*>(to));
  }
}

void CallPayload::write_rows(NodeId n, const unsigned* rows, void* to) const {
  const auto& table = params::lookup_storage(context_.graph[n].payload->storage);
  auto* at = static_cast<std::byte*>(to);
  const std::int64_t row_bytes = context_.graph.example_bytes(n);
  for (std::int64_t e = 0; e < context_.graph.examples(n); ++e) {
    params::read_row(table, rows[e], at);
    at += row_bytes;
  }
}

}  // namespace dynet::execute
