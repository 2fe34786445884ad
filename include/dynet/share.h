#pragma once

// Values that outlast their graph, without a copy.

#include <memory>

#include "dynet/expression.h"
#include "dynet/tensor.h"

namespace dynet {

/// A view of numbers, and a share of their memory: null if there are no numbers.
struct SharedValue {
  Tensor tensor;
  std::shared_ptr<const void> memory;
};

/// The value of `e`, computed if missing. As long as `memory` or a copy of it lives, nothing
/// overwrites or frees the numbers: not clear(), not a new value, not the end of the graph. The
/// numbers must not be written. The value of a parameter is the parameter's own memory, which its
/// trainer changes.
///
/// The shared memory is the whole chunk of the value in the graph's pool, 1 MiB or more; the graph
/// takes another chunk when it is cleared. So copy a few numbers that are kept for long: 10 shared
/// losses of 10 graphs hold 10 MiB or more. StaleExpression. Thread rule: as the graph for the
/// call; `memory` may be dropped in any thread.
[[nodiscard]] SharedValue share_value(const Expression& e);

}  // namespace dynet
