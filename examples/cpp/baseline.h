#pragma once

// What a model of the whole tree is compared with: the most frequent answer, and a linear softmax
// over how often each word occurs. Plain loops in double, without the library.

#include <vector>

#include "trees.h"

namespace examples {

/// Shares of trees of `test` whose root label is answered rightly, 0 to 1.
struct Baselines {
  double most_frequent = 0;
  double bag_of_symbols = 0;
};

/// Learns both from `train`: `passes` passes of AdaGrad over it for the bag. Labels of all roots
/// are in [0, classes).
Baselines measure_baselines(const std::vector<Tree>& train, const std::vector<Tree>& test,
                            unsigned symbols, unsigned classes, unsigned passes);

}  // namespace examples
