#pragma once

#include <cstdint>
#include <span>

#include "dynet/ext/op.h"

#include "execute/context.h"
#include "execute/operand_arena.h"
#include "execute/segment.h"
#include "execute/upload.h"
#include "execute/values.h"

namespace dynet::execute {

/// What varies from node to node and is no value of a node: indices, numbers, keys of random draws,
/// input values, rows of tables. This is the only part of an executor that reads numbers which come
/// from the host, so it is where they are uploaded to a device that is none.
///
/// Everything is read once in an evaluation, when the forward call is assembled: what backward
/// works with is what forward worked with, whatever has become of the memory behind a pointer
/// since. Not thread-safe.
class CallPayload {
 public:
  CallPayload(const Context& context, OperandArena& arena, Upload& upload)
      : context_(context), arena_(arena), upload_(upload) {}

  void set_random_stream(std::uint64_t stream) { random_stream_ = stream; }
  /// Random nodes draw anew from now on.
  void next_evaluation() { ++evaluation_; }
  [[nodiscard]] std::uint64_t evaluation() const { return evaluation_; }
  void go_back_to(std::uint64_t evaluation) { evaluation_ = evaluation; }
  void restart_evaluations() { evaluation_ = 0; }

  /// What a call of `members` needs beside its operands.
  void fill(Assembled& assembled, std::span<const NodeId> members);
  /// The part of `from`'s payload, a call of `members`, that belongs to the `active` of them.
  void fill_part(Assembled& assembled, std::span<const NodeId> active, const Assembled& from,
                 std::span<const NodeId> members);
  /// Writes the values of input nodes where the host can. Elsewhere they are the `values` of a
  /// call.
  void write_inputs(std::span<const NodeId> inputs, const Values& values);
  /// Writes the rows of a lookup node.
  void write_rows(NodeId n, const unsigned* rows, void* to) const;

 private:
  ext::Operand indices(std::span<const NodeId> members);
  ext::Operand values(std::span<const NodeId> members);
  ext::Operand inputs(std::span<const NodeId> members);
  static void write_numbers(const float* from, std::int64_t count, ext::Number number,
                            std::byte* to);
  /// Bytes of one number on the device of a node.
  [[nodiscard]] std::int64_t number_bytes(NodeId n) const {
    return ext::bytes_of(context_.graph[n].signature->number);
  }
  /// Examples that a node has in a call: an operation of whole batches counts nodes.
  [[nodiscard]] std::int64_t examples_of(NodeId n) const {
    return context_.graph[n].record().has_whole ? 1 : graph::Seen(context_.graph, n).examples(n);
  }
  /// Lists of `count` elements of `width` bytes each: of one member as many as it has, of several
  /// one per example. `write(m, to)` writes the lists of a member and returns how many it has.
  template <class Write>
  ext::Operand lists(std::span<const NodeId> members, std::int64_t most_of_one, std::uint32_t count,
                     std::int64_t width, Write write);
  /// The lists of the active members among `all`, which the host reads at `host`.
  ext::Operand part_of(const ext::Operand& all, const std::byte* host, std::int64_t width,
                       std::span<const NodeId> active, std::span<const NodeId> members);
  /// Has an operand of the host brought to the device; returns where the host reads it.
  const std::byte* publish(const ext::Operand& o, std::int64_t width, ext::Memory& memory);
  std::span<const ext::Call::Random> random_keys(std::span<const NodeId> members);
  /// Calls `f(example, examples)` with where each of the `active` members lies among `members`.
  template <class F>
  void for_active(std::span<const NodeId> active, std::span<const NodeId> members, F f) const;

  const Context& context_;
  OperandArena& arena_;
  Upload& upload_;
  std::uint64_t random_stream_ = 0;
  std::uint64_t evaluation_ = 0;
};

}  // namespace dynet::execute
