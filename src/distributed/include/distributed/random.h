#pragma once

#include <string>

namespace dynet::distributed {

/// The random numbers of this rank: seed and streams of random operations, then `*rndeng`.
[[nodiscard]] std::string random_state();
/// Goes on with a result of random_state(). IoError for another text.
void take_random_state(const std::string& text);
/// Goes on with rank 0's state, but with a seed of this rank's own for random operations: masks of
/// dropout differ between ranks, and `*rndeng`, which shuffles examples, does not.
void take_first_random_state(const std::string& text, unsigned rank);

}  // namespace dynet::distributed
