#pragma once

// Operands in several blocks: a launch for each piece of memory.

#include <algorithm>
#include <cstdint>

#include "../operands.h"

namespace dynet::kernels {

/// Calls f(m) for pieces of m examples, of n in all, that lie in one block of every operand; the
/// cursors stand at the first of them. Blocks with the same memory are different pieces, and
/// kernels of one stream run in order.
template <class F, class... Cursors>
void for_each_piece(std::int64_t n, F f, Cursor& first, Cursors&... others) {
  while (n > 0) {
    const std::int64_t m = std::min({n, first.run(), others.run()...});
    f(m);
    n -= m;
    first.advance(m, n);
    (others.advance(m, n), ...);
  }
}

}  // namespace dynet::kernels
