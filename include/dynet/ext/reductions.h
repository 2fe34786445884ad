#pragma once

// Reductions over dimensions and over the batch, for the functions of C++ and Python: compositions
// where the batch is reduced, as a node of a merged call does not see the whole batch.

#include <cstdint>
#include <span>

#include "dynet/expression.h"
#include "dynet/ext/payload.h"

namespace dynet::ext {

enum class Reduction : std::uint8_t { kSum, kMoment, kDeviation };

/// Over `dims`, or every dimension where `all` is set, and over the batch where `batch` is set.
struct ReductionSpan {
  std::span<const unsigned> dims = {};
  bool batch = false;
  unsigned n = 0;  ///< what means divide by; 0: the number of elements
  bool all = false;
};
/// `r`: which moment. `name` is the function that errors name. ValueError where nothing is reduced.
Expression reduce(Reduction kind, const char* name, const Expression& x, const ReductionSpan& over,
                  unsigned r, const Where& where);

}  // namespace dynet::ext
