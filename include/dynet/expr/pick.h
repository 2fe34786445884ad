#pragma once

// Written by tools/generate-api from the operations in dynet/ops/pick.h. Not to be edited.

#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// The elements with index v in dimension d. With a list of indices, example e takes index v[e]; x
///   may then be one example, of which each takes its part.
/// `y = x[.., v, ..], v standing for dimension d`
/// Shapes: {a,b,c} -> {b,c} for d = 0, {a,c} for d = 1, ...; {n} -> {1}.
/// `v`: one index for all examples, or one for each; by pointer it is read again at every run.
/// Errors: ShapeError if x has no dimension d or another number of examples than indices,
///   IndexError if v is too large.
Expression pick(const Expression& x, unsigned v, unsigned d = 0, Where where = Where::here());
Expression pick(const Expression& x, detail::Pointer<unsigned> v, unsigned d = 0,
                Where where = Where::here());
Expression pick(const Expression& x, const std::vector<unsigned>& v, unsigned d = 0,
                Where where = Where::here());
Expression pick(const Expression& x, detail::Pointer<std::vector<unsigned>> v, unsigned d = 0,
                Where where = Where::here());

/// The elements with indices from s up to, not including, e in dimension d.
/// `y = x[.., s:e, ..], the range standing for dimension d`
/// Shapes: {a,b} -> {e-s,b} for d = 0, {a,e-s} for d = 1, ...
/// Errors: ShapeError if x has no dimension d, or not s < e <= its extent.
Expression pick_range(const Expression& x, unsigned s, unsigned e, unsigned d = 0,
                      Where where = Where::here());

}  // namespace dynet
