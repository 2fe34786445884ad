#pragma once

// Gradients of a model against differences, for tests of programs.

#include "dynet/dynet.h"

namespace dynet {

/// Whether the gradients of `expr`, a scalar, agree with central differences: of every number of
/// the parameters of `m`, and of the rows of its lookup tables that have a gradient. Frozen
/// parameters, which have no gradient, are left out. Empties the gradients of `m` first and leaves
/// the gradients of `expr` there.
///
/// The step is 0.005. A number is wrong if gradient and difference are NaN, or more than 0.01
/// apart, also relative to the larger of the two. That suits float; with parameters and graph on
/// the device "CPU:double" the differences are exact to six digits. The graph is computed anew for
/// each difference: a graph with random nodes, such as dropout, fails.
///
/// `verbosity`: 0 prints nothing, 1 the wrong numbers and a last line to stderr, 2 all numbers.
/// ShapeError unless `expr` has one element; StaleExpression. Values of parameters are restored,
/// also after an error.
bool check_grad(ParameterCollection& m, const Expression& expr, int verbosity = 1);

}  // namespace dynet
