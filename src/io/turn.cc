// Between the order of parameters (first axis fastest) and the order of files (last axis fastest).
// Example: {2,3} in memory is a0 b0 a1 b1 a2 b2, in a file a0 a1 a2 b0 b1 b2.

#include <algorithm>
#include <cstring>

#include "io/safetensors_file.h"

namespace dynet::io {
namespace {

constexpr std::int64_t kTile = 16;  // so many floats are a cache line

/// from[i * from_stride + j] becomes to[j * to_stride + i], for m and n of them. Tile by tile
/// through a small array, so that each cache line on either side is touched once.
template <class T>
void transpose(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride,
               std::int64_t m, std::int64_t n) {
  T tile[kTile][kTile];
  for (std::int64_t i = 0; i < m; i += kTile) {
    const std::int64_t rows = std::min(kTile, m - i);
    for (std::int64_t j = 0; j < n; j += kTile) {
      const std::int64_t cols = std::min(kTile, n - j);
      for (std::int64_t a = 0; a < rows; ++a) {
        const T* line = from + (i + a) * from_stride + j;
        for (std::int64_t b = 0; b < cols; ++b) {
          tile[b][a] = line[b];
        }
      }
      for (std::int64_t b = 0; b < cols; ++b) {
        std::memcpy(to + (j + b) * to_stride + i, tile[b],
                    static_cast<std::size_t>(rows) * sizeof(T));
      }
    }
  }
}

/// One tensor with axes d[0..nd), or its part with `count` indices of the first axis from `begin`
/// on; the array in the file's order has only that part. For fixed first and last axes, the other
/// axes count through all places; a transposition turns these two.
template <class T>
void turn_part(Order order, const unsigned* d, unsigned nd, std::int64_t begin, std::int64_t count,
               const T* from, T* to) {
  const std::int64_t first = d[0];
  const std::int64_t last = d[nd - 1];
  std::int64_t between = 1;
  for (unsigned k = 1; k + 1 < nd; ++k) {
    between *= d[k];
  }
  for (std::int64_t place = 0; place < between; ++place) {
    std::int64_t in_file = 0;  // the place with its axes in the other order
    std::int64_t rest = place;
    for (unsigned k = 1; k + 1 < nd; ++k) {
      in_file = in_file * d[k] + rest % d[k];
      rest /= d[k];
    }
    // In memory: a + first * (place + between * z).
    // In the file: ((a - begin) * between + in_file) * last + z.
    const std::int64_t in_memory = first * place + begin;
    if (order == Order::kToFile) {
      transpose(from + in_memory, first * between, to + in_file * last, between * last, last,
                count);
    } else {
      transpose(from + in_file * last, between * last, to + in_memory, first * between, count,
                last);
    }
  }
}

template <class T>
void turn_numbers(Order order, const Dim& all, bool is_table, std::int64_t begin,
                  std::int64_t count, const T* from, T* to) {
  if (!is_table) {
    turn_part(order, all.d, all.nd, begin, count, from, to);
    return;
  }
  const unsigned nd = all.nd - 1;
  const std::int64_t each = all.elements() / all.d[nd];
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t in_memory = (begin + i) * each;
    const std::int64_t in_file = i * each;
    const bool is_to_file = order == Order::kToFile;
    turn_part(order, all.d, nd, 0, all.d[0], from + (is_to_file ? in_memory : in_file),
              to + (is_to_file ? in_file : in_memory));
  }
}

}  // namespace

bool is_same_order(const Dim& all, bool is_table) {
  const unsigned nd = is_table && all.nd > 0 ? all.nd - 1 : all.nd;
  return std::count_if(all.d, all.d + nd, [](unsigned n) { return n != 1; }) <= 1;
}

void turn(Order order, const Dim& all, bool is_table, std::size_t bytes_each, std::int64_t begin,
          std::int64_t count, const void* from, void* to) {
  if (all.elements() == 0) {
    return;
  }
  if (bytes_each == sizeof(double)) {
    turn_numbers(order, all, is_table, begin, count, static_cast<const double*>(from),
                 static_cast<double*>(to));
  } else {
    turn_numbers(order, all, is_table, begin, count, static_cast<const float*>(from),
                 static_cast<float*>(to));
  }
}

}  // namespace dynet::io
