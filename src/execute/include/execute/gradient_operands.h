#pragma once

#include <span>

#include "execute/gradients.h"
#include "execute/operand_arena.h"
#include "execute/products.h"
#include "execute/segment.h"

namespace dynet::execute {

/// Makes the gradient operands of a call, and notes what calls have written. The first writer of a
/// gradient stores, later ones add (`fresh`). Not thread-safe.
class GradientOperands {
 public:
  GradientOperands(Gradients& gradients, Products& products, OperandArena& arena)
      : gradients_(gradients), products_(products), arena_(arena), context_(gradients.context()) {}

  /// dy of all outputs and dx of all operands. `has_sinks`: gradients of weights may be left for
  /// later.
  void attach(Assembled& assembled, std::span<const NodeId> members, std::uint64_t shared,
              bool has_sinks);
  /// Notes what the call did with the gradients of weights.
  void settle(const Assembled& assembled);

 private:
  ext::Operand of_output(std::span<const NodeId> members, std::uint32_t output);
  ext::Operand of_nodes(std::span<const NodeId> nodes, bool by_columns);
  ext::Operand of_weight(NodeId n);
  Gradients::Target make_target(NodeId n);
  void zero_shared(bool partial, std::span<const Argument> arguments);

  Gradients& gradients_;
  Products& products_;
  OperandArena& arena_;
  const Context& context_;
};

}  // namespace dynet::execute
