#pragma once

// Values that outlast their graph, without a copy.

#include <memory>

#include "dynet/expression.h"
#include "dynet/tensor.h"

namespace dynet {

/// A view of numbers, and a share of the memory they lie in: null if there are no numbers.
struct SharedValue {
  Tensor tensor;
  std::shared_ptr<const void> memory;
};

/// The value of `e`, computed if it is missing. As long as `memory` or a copy of it lives, nothing
/// overwrites or frees the numbers: not clear(), not a value that is computed anew, not the end of
/// the graph. They are to be read only. The value of a parameter is the parameter's own memory,
/// which its trainer changes.
///
/// What is shared is the whole chunk of memory that the graph put the value into, 1 MiB or more;
/// the graph takes another one when it is cleared. So copy a few numbers that are to be kept for
/// long. StaleExpression. Thread rule: that of the graph for the call; `memory` may be dropped in
/// any thread.
[[nodiscard]] SharedValue share_value(const Expression& e);

}  // namespace dynet
