#pragma once

// What the loops of rules over rows share on all SIMD targets: scratch memory, and rows that are
// turned.

#include <cstddef>
#include <cstdint>

#include "dynet/ext/rows.h"

namespace dynet::kernels {

/// Room for n floats, 64-byte aligned, until the calling thread asks again. std::bad_alloc leaves
/// everything as it was.
[[nodiscard]] float* row_scratch(std::size_t n);

/// Copies `part` rows into a tile: number k of row r goes to tile[k * lanes + r].
void turn_in(const ext::RowStream& s, const float* from, std::size_t part, std::size_t lanes,
             std::size_t length, float* tile);
/// The way back, stored or added.
void turn_out(const ext::RowStream& s, const float* tile, std::size_t part, std::size_t lanes,
              std::size_t length, float* to);

}  // namespace dynet::kernels
