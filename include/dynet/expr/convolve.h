#pragma once

// Written by tools/generate-api from the operations in dynet/ops/convolve.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// The largest element of each window, in each channel. Windows have ksize elements and lie as in
///   conv2d; elements outside count as -inf. Of equal elements the first gets the gradient, row by
///   row.
/// `y[i, j, q] = max_rc x[i stride[0] + r - p0, j stride[1] + c - p1, q]`
/// Shapes: {h,w,c} or {h,w} -> {(h - ksize[0]) / stride[0] + 1, .., c}, or not valid {h /
///   stride[0], .., c} rounded up.
/// Errors: ShapeError for other shapes, windows larger than x if they must lie inside, or of more
///   than 2^24 elements, or a ksize or stride that is not two numbers above 0.
Expression maxpooling2d(const Expression& x, const std::vector<unsigned>& ksize,
                        const std::vector<unsigned>& stride, bool is_valid = true,
                        Where where = Where::here());

}  // namespace dynet
