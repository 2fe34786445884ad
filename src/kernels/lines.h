#pragma once

// Loops along the lines of a tensor: all elements of an example that differ in one index. Written
// for any type of number, as both devices of the CPU use the loops.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "dynet/ext/kernels.h"

#include "operands.h"
#include "scratch.h"

namespace dynet::kernels {

/// Element k of line (o, i) lies at i + inner * (k + length * o).
struct Lines {
  std::int64_t inner = 1, length = 1, outer = 1;

  Lines(const Dim& d, unsigned axis) {
    for (unsigned k = 0; k < d.nd; ++k) {
      (k < axis ? inner : k == axis ? length : outer) *= d.d[k];
    }
  }
};

// ---- running sums ------------------------------------------------------------------------------

/// Running sums of one example, kept in double. Lines that lie side by side go together.
template <class T>
void scan_example(const Lines& lines, ext::ScanFrom from, const T* x, T* y, bool store) {
  constexpr std::int64_t kTogether = 64;
  const bool is_forward = from == ext::ScanFrom::kStart;
  const std::int64_t first = is_forward ? 0 : (lines.length - 1) * lines.inner;
  const std::int64_t step = is_forward ? lines.inner : -lines.inner;
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t i = 0; i < lines.inner; i += kTogether) {
      const std::int64_t width = std::min(kTogether, lines.inner - i);
      double sums[kTogether] = {};
      std::int64_t at = o * lines.length * lines.inner + i + first;
      for (std::int64_t k = 0; k < lines.length; ++k, at += step) {
        for (std::int64_t j = 0; j < width; ++j) {
          sums[j] += static_cast<double>(x[at + j]);
          const T sum = static_cast<T>(sums[j]);
          y[at + j] = store ? sum : y[at + j] + sum;
        }
      }
    }
  }
}

/// Running sums of lines whose elements lie side by side, some lines at a time: each sum waits for
/// the sum before in its line, not for sums of other lines.
template <class T>
void scan_even_lines(std::int64_t count, std::int64_t length, ext::ScanFrom from, const T* x, T* y,
                     bool store) {
  constexpr std::int64_t kTogether = 8;
  const bool is_forward = from == ext::ScanFrom::kStart;
  const std::int64_t first = is_forward ? 0 : length - 1;
  const std::int64_t step = is_forward ? 1 : -1;
  const auto scan = [&]<std::int64_t kLines>(std::integral_constant<std::int64_t, kLines>,
                                             std::int64_t line) {
    double sums[kLines] = {};
    std::int64_t at = line * length + first;
    for (std::int64_t k = 0; k < length; ++k, at += step) {
      for (std::int64_t j = 0; j < kLines; ++j) {
        sums[j] += static_cast<double>(x[at + j * length]);
        const T sum = static_cast<T>(sums[j]);
        T& to = y[at + j * length];
        to = store ? sum : to + sum;
      }
    }
  };
  std::int64_t line = 0;
  for (; line + kTogether <= count; line += kTogether) {
    scan(std::integral_constant<std::int64_t, kTogether>(), line);
  }
  for (; line < count; ++line) {
    scan(std::integral_constant<std::int64_t, 1>(), line);
  }
}

/// ext::Kernels::scan.
template <class T>
void scan_lines(unsigned axis, ext::ScanFrom from, const Operand& x, const Operand& y) {
  const std::int64_t n = common_examples(x, y);
  const Lines lines(x.dim, axis);
  Cursor in(x, n);
  Cursor out(y, n);
  for (std::int64_t left = n; left > 0;) {
    const bool store = out.stores(Write::kAsBlocks);
    std::int64_t run = 1;
    if (lines.inner == 1) {
      run = in.steps() && out.steps() ? std::min({left, in.run(), out.run()}) : 1;
      scan_even_lines(run * lines.outer, lines.length, from, in.at<const T>(), out.at<T>(), store);
    } else {
      scan_example(lines, from, in.at<const T>(), out.at<T>(), store);
    }
    left -= run;
    in.advance(run, left);
    out.advance(run, left);
  }
}

// ---- the largest -------------------------------------------------------------------------------

/// The sort key: elements with smaller ranks come earlier. NaN comes first; zeros of both signs are
/// equal; of equal elements the first comes first.
template <class T>
struct Rank;
template <>
struct Rank<float> {
  using Type = std::uint64_t;
  static Type of(float v, std::uint32_t index) {
    const auto bits = std::bit_cast<std::uint32_t>(v + 0.0F);  // -0 + 0 is 0
    const std::uint32_t ascending = bits >> 31 != 0 ? ~bits : bits | 0x80000000U;
    return static_cast<std::uint64_t>(v == v ? ~ascending : 0) << 32 | index;
  }
  static std::uint32_t index(Type rank) { return static_cast<std::uint32_t>(rank); }
};
template <>
struct Rank<double> {
  using Type = std::pair<std::uint64_t, std::uint32_t>;
  static Type of(double v, std::uint32_t index) {
    const auto bits = std::bit_cast<std::uint64_t>(v + 0.0);
    const std::uint64_t ascending = bits >> 63 != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
    return {v == v ? ~ascending : 0, index};
  }
  static std::uint32_t index(const Type& rank) { return rank.second; }
};

/// The ranks of the elements from 0 to `count`.
template <class T>
void rank_all(const T* x, std::int64_t step, std::int64_t count, typename Rank<T>::Type* ranks) {
  for (std::int64_t k = 0; k < count; ++k) {
    ranks[k] = Rank<T>::of(x[k * step], static_cast<std::uint32_t>(k));
  }
}

/// The first ranks of a line, `end` - `ranks` of them, in some order. A heap has the last of them
/// at its top: for nearly all elements one comparison shows that they come later.
template <class T>
void select_few(const T* x, std::int64_t step, std::int64_t length, typename Rank<T>::Type* ranks,
                typename Rank<T>::Type* end) {
  const std::int64_t count = end - ranks;
  rank_all(x, step, count, ranks);
  std::make_heap(ranks, end);
  T last = x[Rank<T>::index(*ranks) * step];
  for (std::int64_t k = count; k < length; ++k) {
    const T v = x[k * step];
    if (v <= last) {  // of equal ones the first stays; NaN comes before
      continue;
    }
    const auto rank = Rank<T>::of(v, static_cast<std::uint32_t>(k));
    if (rank < *ranks) {
      std::pop_heap(ranks, end);
      end[-1] = rank;
      std::push_heap(ranks, end);
      last = x[Rank<T>::index(*ranks) * step];
    }
  }
}

/// The places of the `count` first ranks of one line, in this order.
template <class T>
void select_line(const T* x, std::int64_t step, std::int64_t length, std::int64_t count,
                 ext::Order order, std::uint32_t* places) {
  using R = typename Rank<T>::Type;
  thread_local Scratch memory;
  const auto n = static_cast<std::size_t>(length);
  auto* const ranks = reinterpret_cast<R*>(memory.get(n * sizeof(R) / sizeof(float)));
  R* const end = ranks + count;
  if (count <= length / 16) {
    select_few(x, step, length, ranks, end);
  } else {
    rank_all(x, step, length, ranks);
    if (count < length) {
      std::nth_element(ranks, end, ranks + length);
    }
  }
  if (order == ext::Order::kDescending) {
    std::sort(ranks, end);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    places[k * step] = Rank<T>::index(ranks[k]);
  }
  if (order == ext::Order::kAsTheyStand && step == 1) {
    std::sort(places, places + count);
  } else if (order == ext::Order::kAsTheyStand) {
    std::sort(ranks, end,
              [](const R& a, const R& b) { return Rank<T>::index(a) < Rank<T>::index(b); });
    for (std::int64_t k = 0; k < count; ++k) {
      places[k * step] = Rank<T>::index(ranks[k]);
    }
  }
}

/// ext::Kernels::select.
template <class T>
void select_lines(unsigned axis, ext::Order order, const Operand& x, const Operand& places) {
  const std::int64_t n = common_examples(x, places);
  const Lines lines(x.dim, axis);
  const std::int64_t count = places.dim[axis];
  Cursor in(x, n);
  Cursor out(places, n);
  for (std::int64_t e = 0; e < n && count > 0; ++e) {
    for (std::int64_t o = 0; o < lines.outer; ++o) {
      for (std::int64_t i = 0; i < lines.inner; ++i) {
        select_line(in.at<const T>() + i + o * lines.length * lines.inner, lines.inner,
                    lines.length, count, order,
                    out.at<std::uint32_t>() + i + o * count * lines.inner);
      }
    }
    in.advance(1, n - e - 1);
    out.advance(1, n - e - 1);
  }
}

}  // namespace dynet::kernels
