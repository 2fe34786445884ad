#pragma once

#include <cstdint>
#include <span>

#include "dynet/ext/op.h"

#include "execute/context.h"
#include "execute/operand_arena.h"

namespace dynet::execute {

/// What varies from node to node and is no value of a node: indices, numbers, keys of random draws,
/// input values, rows of tables. This is the only part of an executor that reads numbers which come
/// from the host, so it is where they are uploaded to a device that is none.
///
/// Everything is read once in an evaluation, when the forward call is assembled: what backward
/// works with is what forward worked with, whatever has become of the memory behind a pointer
/// since. Not thread-safe.
class Payload {
 public:
  Payload(const Context& context, OperandArena& arena) : context_(context), arena_(arena) {}

  void set_random_stream(std::uint64_t stream) { random_stream_ = stream; }
  /// Random nodes draw anew from now on.
  void next_evaluation() { ++evaluation_; }
  void restart_evaluations() { evaluation_ = 0; }

  /// What a call of `members` needs beside its operands; `examples` in all.
  void fill(ext::Call& call, std::span<const NodeId> members, std::int64_t examples);
  /// The part of `from`'s payload, a call of `members`, that belongs to the `active` of them.
  void fill_part(ext::Call& call, std::span<const NodeId> active, const ext::Call& from,
                 std::span<const NodeId> members);
  /// Writes the values of an input node.
  void write_input(NodeId n, void* to) const;
  /// Writes the rows of a lookup node.
  void write_rows(NodeId n, const unsigned* rows, void* to) const;

 private:
  const unsigned* indices(std::span<const NodeId> members, std::int64_t examples);
  ext::Operand values(std::span<const NodeId> members, std::int64_t examples);
  std::span<const ext::Call::Random> random_keys(std::span<const NodeId> members);
  /// Calls `f(example, examples)` with where each of the `active` members lies among `members`.
  template <class F>
  void for_active(std::span<const NodeId> active, std::span<const NodeId> members, F f) const;

  const Context& context_;
  OperandArena& arena_;
  std::uint64_t random_stream_ = 0;
  std::uint64_t evaluation_ = 0;
};

}  // namespace dynet::execute
