#pragma once

// Gradients as nodes of the graph. Its comment has the form of the generated headers: the reference
// page is printed from it.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// The gradients of a loss as nodes of the same graph: they can be part of another loss, which
/// `backward` or `gradient` differentiates again. xs may be any nodes of the graph; a parameter
/// stands for all nodes that are this parameter, a lookup for itself. Of a batch of losses the sum
/// counts, as in `backward`. A value that an operation was given, such as an index, counts as it is
/// now.
/// `y_k = d (sum over the batch of loss) / d xs[k]`
/// Shapes: {1}xb, a list of any shapes -> a list of the same shapes.
/// Results: zeros for an x on which the loss does not depend.
/// Errors: ShapeError unless the loss has one element, UsageError if an operation between xs and
///   the loss has no backward in operations; then no node was added.
/// C++: a value behind a pointer is read again at every run.
template <int = 0>
std::vector<Expression> gradient(const Expression& loss, const std::vector<Expression>& xs,
                                 Where where = Where::here());

}  // namespace dynet
