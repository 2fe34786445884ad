#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include "dynet/globals.h"

namespace dynet::params {

/// Seed of random operations. Set by initialize() and reset_rng().
[[nodiscard]] std::uint64_t random_seed();
/// Number of the next graph with random nodes since seeding; starts at 0. Any thread.
[[nodiscard]] std::uint64_t next_random_stream();
/// Gives a stream back, for a call that failed: the repeated call gets it again, unless other
/// streams were given meanwhile. Any thread.
void return_random_stream(std::uint64_t stream);
/// Sets the seed and starts the streams anew.
void seed_random_streams(std::uint64_t seed);

/// How many streams were given since seeding, which is the number of the next one.
[[nodiscard]] std::uint64_t random_streams_given();
/// Goes on with a seed as after so many streams.
void restore_random_streams(std::uint64_t seed, std::uint64_t given);

/// All random numbers of the process: seed and streams of random operations, and `*rndeng`.
struct RandomState {
  std::uint64_t seed = 0;
  std::uint64_t given = 0;  ///< streams
  std::mt19937 generator;
};
/// The present state as text, in files and between ranks.
[[nodiscard]] std::string random_state_text();
/// The state of such a text; none for another text.
[[nodiscard]] std::optional<RandomState> random_state_from(const std::string& text);
void restore_random_state(const RandomState& state);

/// Runs `f`, which draws from `*rndeng`. If `f` throws, the generator is as before, so that the
/// repeated call draws the same numbers. The copy of the generator takes 0.1 us.
template <class F>
decltype(auto) draw_repeatably(F f) {
  const std::mt19937 before = *rndeng;
  try {
    return f();
  } catch (...) {
    *rndeng = before;
    throw;
  }
}

}  // namespace dynet::params
