#pragma once

#include <cstdint>

namespace dynet::params {

/// Seed of random operations. Set by initialize() and reset_rng().
[[nodiscard]] std::uint64_t random_seed();
/// Number of the next graph with random nodes since seeding; starts at 0. Any thread.
[[nodiscard]] std::uint64_t next_random_stream();
/// Sets the seed and starts the streams anew.
void seed_random_streams(std::uint64_t seed);

/// How many streams were given since seeding, which is the number of the next one.
[[nodiscard]] std::uint64_t random_streams_given();
/// Goes on with a seed as after so many streams.
void restore_random_streams(std::uint64_t seed, std::uint64_t given);

}  // namespace dynet::params
