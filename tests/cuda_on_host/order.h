#pragma once

// The order in which threads, blocks and streams go on: CUDA promises none.

#include <algorithm>
#include <random>
#include <vector>

#include "fail.h"

namespace cuda_on_host {

/// DYNET_CUDA_SEED: 0 as they stand, 1 the last first, any other number shuffles.
class Order {
 public:
  void arrange(std::vector<unsigned>& all, unsigned count) {
    all.resize(count);
    for (unsigned i = 0; i < count; ++i) {
      all[i] = seed_ == 1 ? count - 1 - i : i;
    }
    if (seed_ > 1) {
      std::shuffle(all.begin(), all.end(), random_);
    }
  }
  /// Which of `count` is next.
  std::size_t pick(std::size_t count) {
    return seed_ == 0 ? 0 : seed_ == 1 ? count - 1 : random_() % count;
  }
  /// A number from 1 to `most`, whatever the seed.
  unsigned up_to(unsigned most) { return 1 + static_cast<unsigned>(random_() % most); }

 private:
  long seed_ = setting("DYNET_CUDA_SEED", 2);
  std::mt19937 random_{static_cast<unsigned>(seed_)};
};

}  // namespace cuda_on_host
