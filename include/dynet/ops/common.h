#pragma once

// What several families of operations need: shape checks and walks over operands. Part of no
// contract; an operation from outside the tree may use it or not.

#include <algorithm>
#include <cstdint>
#include <string>

#include "dynet/ext/op.h"

namespace dynet::ops {

/// Shape of an elementwise result where both sides may broadcast: each dimension equal, or 1 (or
/// missing) on one side.
inline Dim broadcast_shape(const ext::Shapes& in) {
  Dim r = in[0];
  r.nd = std::max(in[0].nd, in[1].nd);
  for (unsigned i = 0; i < r.nd; ++i) {
    const unsigned a = in[0][i];
    const unsigned b = in[1][i];
    if (a != b && a != 1 && b != 1) {
      in.fail("each dimension equal, or 1 in one of them");
    }
    r.d[i] = a == 1 ? b : a;
  }
  return r;
}

/// Where the operation wants one shape for all its arguments.
inline Dim same_shape(const ext::Shapes& in) {
  for (std::size_t i = 1; i < in.size(); ++i) {
    if (in[i] != in[0]) {
      in.fail("equal shapes");
    }
  }
  return in[0];
}

/// One dimension, or all after the first are 1.
inline bool is_vector_like(const Dim& d) { return d.rows() == d.example_elements(); }

inline void check_axis(const ext::Shapes& in, unsigned d) {
  if (d >= in[0].nd) {
    in.fail("d below " + std::to_string(in[0].nd) + ", not " + std::to_string(d));
  }
}

inline void check_one_payload(const ext::Shapes& in, const char* wanted) {
  if (in.payload() != 1) {
    in.fail_value(wanted);
  }
}

/// `shape` without dimension `d`; a vector's becomes {1}.
inline Dim without_axis(const Dim& shape, unsigned d) {
  Dim r = shape;
  if (r.nd == 1) {
    r.d[0] = 1;
    return r;
  }
  for (unsigned i = d; i + 1 < r.nd; ++i) {
    r.d[i] = r.d[i + 1];
  }
  r.d[--r.nd] = 1;
  return r;
}

/// Positions are numbers of the device's type, in float exact up to 2^24.
inline void check_positions(const ext::Shapes& in, std::uint64_t length) {
  if (length > (std::uint64_t{1} << 24)) {
    in.fail("at most 16,777,216 elements to choose from");
  }
}

/// ln(sum exp(x)) along a row, shifted by the maximum so that it does not overflow; by nothing
/// where the maximum is infinite, as inf - inf is NaN.
DYNET_DEVICE_FN constexpr auto log_sum_exp(auto x) {
  const auto top = over::max(x);
  const auto shift = select(top - top == 0.0, top, 0.0);
  return shift + log(over::sum(exp(x - shift)));
}

/// Address of element `i` of a block.
inline void* address(const ext::Kernels& k, const ext::Block& b, std::int64_t i) {
  return static_cast<char*>(b.data) + i * ext::bytes_of(k.number());
}

/// Copies or adds (as `to`'s blocks say) `n` elements in memory order, across examples and blocks:
/// from element `from_at` on, to element `to_at` on.
inline void copy_flat(const ext::Kernels& k, const ext::Operand& from, std::int64_t from_at,
                      const ext::Operand& to, std::int64_t to_at, std::int64_t n) {
  const ext::Block* a = from.blocks;
  const ext::Block* b = to.blocks;
  while (n > 0) {
    const std::int64_t a_left = a->examples * from.size() - from_at;
    const std::int64_t b_left = b->examples * to.size() - to_at;
    if (a_left <= 0) {
      from_at = -a_left;
      ++a;
    } else if (b_left <= 0) {
      to_at = -b_left;
      ++b;
    } else {
      const std::int64_t run = std::min({n, a_left, b_left});
      k.add_scaled(1.0, address(k, *a, from_at), address(k, *b, to_at), run, b->fresh);
      from_at += run;
      to_at += run;
      n -= run;
    }
  }
}

}  // namespace dynet::ops
