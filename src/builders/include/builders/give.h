#pragma once

// Gradients of arguments in backward, for operations of builders.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/op.h"

namespace dynet::builders {

/// Gives argument i the gradient `gradient`.
inline void give_gradient(const ext::Call& call, std::size_t i, const ext::Operand& gradient) {
  if (!call.d_in[i].absent()) {
    call.kernels.move(ext::whole_move(gradient.size()), gradient, call.d_in[i]);
  }
}
/// Gives the gradient of matrix i, which multiplies x, from the gradient of the product.
inline void give_weight(ext::Call& call, std::size_t i, const ext::Operand& gradient,
                        const ext::Operand& x) {
  if (!call.d_in[i].absent()) {
    ext::weight_gradient(call, i, gradient, x);
  }
}
/// Zeros, if a gradient would be stored.
inline void give_nothing(const ext::Call& call, const ext::Operand& to) {
  for (std::int64_t b = 0; b < to.block_count; ++b) {
    if (to.blocks[b].fresh) {
      call.kernels.fill(to.blocks[b].data, 0.0, to.blocks[b].examples * to.size());
    }
  }
}
/// Zeros for argument i, if its gradient would be stored.
inline void give_nothing(const ext::Call& call, std::size_t i) { give_nothing(call, call.d_in[i]); }

}  // namespace dynet::builders
