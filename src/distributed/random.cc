#include "distributed/random.h"

#include <cstdint>
#include <mutex>
#include <random>

#include "dynet/errors.h"

#include "params/random_streams.h"

namespace dynet::distributed {
namespace {
std::mutex generator_lock;  // ranks may be threads of one process, as in tests
}  // namespace

std::string random_state() {
  const std::lock_guard lock(generator_lock);
  return params::random_state_text();
}

void take_random_state(const std::string& text) {
  const auto state = params::random_state_from(text);
  if (!state) {
    throw errors::IoError(
        "distributed: the random state of a rank is damaged; want a seed, a number of streams and "
        "a generator");
  }
  const std::lock_guard lock(generator_lock);
  params::restore_random_state(*state);
}

void take_first_random_state(const std::string& text, unsigned rank) {
  take_random_state(text);
  if (rank == 0) {
    return;
  }
  const std::uint64_t seed = params::random_seed();
  std::seed_seq mixed{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32),
                      static_cast<std::uint32_t>(params::random_streams_given()), rank};
  std::uint32_t words[2];
  mixed.generate(words, words + 2);
  params::restore_random_streams(std::uint64_t{words[0]} << 32 | words[1], 0);
}

}  // namespace dynet::distributed
