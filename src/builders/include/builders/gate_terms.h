#pragma once

// Terms of the sums of a cell's gates, for operations that compute gates. A term has a matrix for
// each gate, and the vector that all matrices multiply. A vector in place of a matrix is not read:
// the gate has no matrix there.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dynet/ext/op.h"

#include "builders/give.h"
#include "kernels/starts_cost.h"

namespace dynet::builders {

inline bool is_placeholder(const ext::Operand& w) { return w.dim.nd == 1; }

/// Memory for vectors like x side by side; without it every gate would go through the blocks of x,
/// which costs nothing where starts cost (kernels/starts_cost.h).
inline ext::Operand make_room(const ext::Call& call, const ext::Operand& x, ext::Block& block) {
  const std::int64_t bytes = x.examples * x.size() * ext::bytes_of(call.kernels.number());
  block = {call.scratch(bytes), x.examples, true};
  return {.dim = x.dim, .examples = x.examples, .blocks = &block, .block_count = 1};
}
inline ext::Operand in_one_block(const ext::Call& call, const ext::Operand& x, ext::Block& block) {
  if (x.one_block() || kernels::starts_cost(call)) {
    return x;
  }
  const ext::Operand to = make_room(call, x, block);
  call.kernels.move(ext::whole_move(x.size()), x, to, ext::Write::kStore);
  return to;
}

/// Adds the products of the term that begins at argument i to the sums. A sum that is not begun
/// starts with its bias, argument g.
template <unsigned kGates>
void add_term(const ext::Call& call, std::size_t i, std::span<const ext::Operand> sums,
              std::array<bool, kGates>& is_begun) {
  using ext::Transposed;
  ext::Block room;
  const ext::Operand x = in_one_block(call, call.in[i + kGates], room);
  for (std::size_t g = 0; g < kGates; ++g) {
    const ext::Operand& w = call.in[i + g];
    if (is_placeholder(w)) {
      continue;
    }
    if (is_begun[g]) {
      call.kernels.product(w, Transposed::kNo, x, Transposed::kNo, sums[g], ext::Write::kAdd);
    } else {
      call.kernels.product_plus(call.in[g], w, x, sums[g]);
    }
    is_begun[g] = true;
  }
}
/// Makes each sum without a product its bias.
template <unsigned kGates>
void begin_others(const ext::Call& call, std::span<const ext::Operand> sums,
                  const std::array<bool, kGates>& is_begun) {
  for (std::size_t g = 0; g < kGates; ++g) {
    if (!is_begun[g]) {
      call.kernels.move(ext::whole_move(sums[g].size()), call.in[g], sums[g], ext::Write::kStore);
    }
  }
}

/// From the gradients of the sums: gives the gradients of the matrices of the term that begins at
/// argument i, and writes the gradient of its vector to dx.
template <unsigned kGates>
void back_through_term(ext::Call& call, std::size_t i, std::span<const ext::Operand> d_sums,
                       const ext::Operand& dx) {
  const bool has_room = !dx.absent() && !dx.one_block() && !kernels::starts_cost(call);
  ext::Block room;
  const ext::Operand sum = has_room ? make_room(call, dx, room) : dx;
  std::array<ext::Factors, kGates> factors;
  std::size_t count = 0;
  for (std::size_t g = 0; g < kGates; ++g) {
    const ext::Operand& dy = d_sums[g];
    if (dy.absent() || is_placeholder(call.in[i + g])) {
      give_nothing(call, i + g);
      continue;
    }
    give_weight(call, i + g, dy, call.in[i + kGates]);
    factors[count++] = {&call.in[i + g], &dy};
  }
  if (dx.absent()) {
    return;
  }
  if (count == 0) {
    give_nothing(call, dx);
    return;
  }
  call.kernels.transposed_products({factors.data(), count}, sum);
  if (has_room) {
    call.kernels.move(ext::whole_move(dx.size()), sum, dx);
  }
}

/// Gives the gradients of a term, in nodes.
template <unsigned kGates>
void give_term(auto& to, std::size_t i, const auto& d_sums) {
  for (std::size_t g = 0; g < kGates; ++g) {
    if (to.dim(to.in(i + g)).nd == 1) {
      continue;
    }
    to.give_weight(i + g, d_sums[g], to.in(i + kGates));
    if (to.wants(i + kGates)) {
      to.give(i + kGates, to.product(to.transposed(to.in(i + g)), d_sums[g]));
    }
  }
}

}  // namespace dynet::builders
