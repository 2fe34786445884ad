#pragma once

// Written by tools/generate-api from the operations in dynet/ops/reduce.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sum of all elements of each example.
/// `y = sum_i x_i`
/// Shapes: any -> {1}.
Expression sum_elems(const Expression& x, const char* file = __builtin_FILE(),
                     unsigned line = __builtin_LINE());

/// Sum over the batch.
/// `y = sum_e x[e] over the examples e`
/// Shapes: {..}xb -> {..}.
Expression sum_batches(const Expression& x, const char* file = __builtin_FILE(),
                       unsigned line = __builtin_LINE());

}  // namespace dynet
