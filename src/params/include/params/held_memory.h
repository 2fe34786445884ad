#pragma once

// The memory that all graphs of the process hold for numbers, and its cap (--dynet-mem-cap).

#include <cstddef>

#include "util/arena.h"

namespace dynet::params {

/// Thread-safe. To be called before memory is taken for graphs, and after it is given back.
[[nodiscard]] std::size_t held_bytes();
/// Would so many bytes more stay within the cap?
[[nodiscard]] bool may_hold(std::size_t bytes);
/// Counts the bytes. out_of_memory, without counting, beyond the cap.
void hold(std::size_t bytes);
void let_go(std::size_t bytes) noexcept;
/// The budget of arenas that hold numbers.
inline constexpr util::Budget kHeldMemory{&may_hold, &hold, &let_go};

}  // namespace dynet::params
