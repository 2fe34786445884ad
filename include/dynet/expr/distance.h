#pragma once

// Written by tools/generate-api from the operations in dynet/ops/distance.h. Not to be edited.

#include "dynet/expr/arguments.h"

namespace dynet {

/// Sum of the absolute differences. The gradient of a difference of 0 is 0.
/// `z = sum_i |x_i - y_i|`
/// Shapes: two equal shapes, or two vectors of equal length -> {1}.
/// Errors: ShapeError if the shapes differ.
Expression l1_distance(const Expression& x, const Expression& y, Where where = Where::here());

/// Huber's distance: squares of small differences, and large ones as they are.
/// `z = sum_i L(x_i - y_i), L(e) = |e| < c ? e^2 / 2 : c * |e| - c^2 / 2`
/// Shapes: two equal shapes, or two vectors of equal length -> {1}.
/// Errors: ShapeError if the shapes differ, ValueError if c is negative.
/// Source: Huber, 1964.
Expression huber_distance(const Expression& x, const Expression& y, float c = 1.345F,
                          Where where = Where::here());

/// Cosine of the angle between two tensors, as vectors of all their elements.
/// `z = sum_i x_i * y_i / (max(|x|, 1e-8) * max(|y|, 1e-8)), |.| Euclidean norms`
/// Shapes: two equal shapes, or two vectors of equal length -> {1}.
/// Errors: ShapeError if the shapes differ.
template <int = 0>
Expression cosine_similarity(const Expression& x, const Expression& y, Where where = Where::here());

}  // namespace dynet
