#pragma once

// What all graphs of the process hold for numbers, and its cap (--dynet-mem-cap).

#include <cstddef>

#include "util/arena.h"

namespace dynet::params {

/// Thread-safe. Whoever takes memory for graphs asks before, and says when it is given back.
[[nodiscard]] std::size_t held_bytes();
/// Would so many bytes more stay within the cap?
[[nodiscard]] bool may_hold(std::size_t bytes);
/// Counts them. out_of_memory if that would pass the cap; then nothing is counted.
void hold(std::size_t bytes);
void let_go(std::size_t bytes) noexcept;
/// What chunks of an arena that holds numbers count against.
inline constexpr util::Budget kHeldMemory{&may_hold, &hold, &let_go};

}  // namespace dynet::params
