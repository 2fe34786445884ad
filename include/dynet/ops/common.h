#pragma once

// Helpers of several families of operations: shape checks and walks over operands. Part of no
// contract; an operation from outside the tree may use it or not.

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "dynet/ext/op.h"

namespace dynet::ops {

/// Shape of an elementwise result if all arguments may broadcast: each dimension equal, or 1 (or
/// missing) in some of them.
inline Dim broadcast_shape(const ext::Shapes& in) {
  Dim r = in[0];
  for (std::size_t k = 1; k < in.size(); ++k) {
    r.nd = std::max(r.nd, in[k].nd);
    for (unsigned i = 0; i < r.nd; ++i) {
      const unsigned a = r.d[i];
      const unsigned b = in[k][i];
      if (a != b && a != 1 && b != 1) {
        in.fail("each dimension equal, or 1 in one of them");
      }
      r.d[i] = a == 1 ? b : a;
    }
  }
  return r;
}

/// Examples of a function of each element: several ranks up to the highest, more elements than a
/// vector has lanes, one element, and none.
template <class Op>
std::vector<ext::Example<Op>> elementwise_examples(double low = -2.0, double high = 2.0,
                                                   const Op& op = {}) {
  std::vector<ext::Example<Op>> all;
  for (const Dim& d : {Dim({4, 3}), Dim({1}), Dim({7}), Dim({2, 3, 2}), Dim({1, 1, 3}), Dim({17}),
                       Dim({3, 0}), Dim({1, 2, 1, 2, 1, 2, 2})}) {
    all.push_back({op, {d}, low, high});
  }
  return all;
}
/// Examples of a function of each element and one number.
template <class Op>
std::vector<ext::Example<Op>> scalar_examples(float number, double low = -2.0, double high = 2.0) {
  std::vector<ext::Example<Op>> all;
  for (const ext::Example<Op>& e : elementwise_examples<Op>(low, high)) {
    all.push_back(ext::Example<Op>(e).with_values({number}));
  }
  return all;
}
/// Examples of a function of a list of arguments of one shape.
template <class Op>
std::vector<ext::Example<Op>> list_examples() {
  return {{{}, {{4, 3}, {4, 3}, {4, 3}}},
          {{}, {{1}}},
          {{}, {{7}, {7}}},
          {{}, {{2, 3, 2}, {2, 3, 2}, {2, 3, 2}, {2, 3, 2}}},
          {{}, {{17}, {17}, {17}, {17}, {17}}},
          {{}, {{3, 0}, {3, 0}}},
          {{}, {{1, 1}, {1, 1}}},
          {{}, {{1, 2, 1, 2, 1, 2, 2}, {1, 2, 1, 2, 1, 2, 2}}}};
}
/// Examples of a function of two elements whose arguments broadcast.
template <class Op>
std::vector<ext::Example<Op>> broadcast_examples(double low = -2.0, double high = 2.0,
                                                 const Op& op = {}) {
  return {{op, {{4, 3}, {4, 3}}, low, high},
          {op, {{4, 3}, {4}}, low, high},
          {op, {{1, 3}, {4, 1}}, low, high},
          {op, {{1}, {5}}, low, high},
          {op, {{2, 1, 3}, {2, 5}}, low, high},
          {op, {{1}, {1}}, low, high},
          {op, {{3, 0}, {3, 1}}, low, high},
          {op, {{17}, {17}}, low, high},
          {op, {{1, 2, 1, 2, 1, 2, 2}, {2, 2, 1, 1, 1, 2, 1}}, low, high}};
}
/// Examples of a function of two arguments of one shape.
template <class Op>
std::vector<ext::Example<Op>> same_shape_examples(double low = -2.0, double high = 2.0,
                                                  const Op& op = {}) {
  std::vector<ext::Example<Op>> all = elementwise_examples<Op>(low, high, op);
  for (ext::Example<Op>& e : all) {
    e.inputs.push_back(e.inputs[0]);
  }
  return all;
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

inline void check_epsilon(const ext::Shapes& in, float epsilon) {
  if (!(epsilon >= 0.0F)) {
    in.fail_value("epsilon of at least 0, not " +
                  ext::detail::text_of(static_cast<double>(epsilon)));
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

/// Positions are numbers of the device's type, in float exact up to ext::kMostPositions. `what` is
/// counted by them.
inline void check_positions(const ext::Shapes& in, std::uint64_t length,
                            std::string_view what = "elements to choose from") {
  if (length > std::uint64_t{ext::kMostPositions}) {
    in.fail("at most " + std::to_string(ext::kMostPositions) + ' ' + std::string(what));
  }
}

/// Two numbers of a row x: the one that is subtracted before exponentials are taken, and the sum of
/// the exponentials of the rest. The first is the maximum, so that nothing overflows, and 0 if the
/// maximum is infinite, as inf - inf is NaN. The sum is 0 if all of x is -inf.
///
/// Whoever needs ln(sum exp(x)) in a difference adds to the difference first: the sum of both loses
/// the digits of a small logarithm beside a large part that all of x have in common.
DYNET_DEVICE_FN constexpr auto shift_and_sum(auto x) {
  const auto top = over::max(x);
  const auto shift = select(top - top == 0.0, top, 0.0);
  return rule::each(shift, over::sum(exp(x - shift)));
}

/// a / b, and 0 if b is 0. Derivatives are taken branch by branch, so the quotient that is not
/// chosen is finite, too.
DYNET_DEVICE_FN constexpr auto quotient_or_zero(auto a, auto b) {
  const auto is_none = b == 0.0;
  return select(is_none, 0.0, a / select(is_none, 1.0, b));
}

/// -1, 0 or 1.
DYNET_DEVICE_FN auto sign_of(auto x) {
  using rule::select;
  return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0));
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
