#pragma once

#include <span>

#include "execute/computed_weights.h"
#include "execute/gradients.h"
#include "execute/operand_arena.h"
#include "execute/segment.h"
#include "execute/weight_gradients.h"

namespace dynet::execute {

/// Makes the gradient operands of a call, and notes what calls have written. The first writer of a
/// gradient stores, later ones add (`fresh`). Not thread-safe.
class GradientOperands {
 public:
  GradientOperands(Gradients& gradients, WeightGradients& weights, ComputedWeights& computed,
                   OperandArena& arena)
      : gradients_(gradients),
        weights_(weights),
        computed_(computed),
        arena_(arena),
        context_(gradients.context()) {}

  /// dy of all outputs and dx of all operands. `has_sinks`: gradients of weights may be left for
  /// later.
  void attach(Assembled& assembled, std::span<const NodeId> members, std::uint64_t shared,
              bool has_sinks);
  /// Notes what the call did with the gradients of weights.
  void settle(const Assembled& assembled);

 private:
  ext::Operand of_output(std::span<const NodeId> members, std::uint32_t output);
  ext::Operand of_nodes(std::span<const NodeId> nodes);
  [[nodiscard]] bool is_computed_weight(const Argument& argument, ext::Role role) const;
  ext::Operand of_weight(NodeId n, bool is_stored);
  Gradients::Target make_target(NodeId n);
  void zero_shared(bool partial, std::span<const Argument> arguments);

  Gradients& gradients_;
  WeightGradients& weights_;
  ComputedWeights& computed_;
  OperandArena& arena_;
  const Context& context_;
};

}  // namespace dynet::execute
