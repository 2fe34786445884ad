#pragma once

#include <string>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// A contraction of one to three arguments by the names of their dimensions: those that the result
/// does not have are summed over. "ij,jk->ik" is the product of two matrices, "ij->ji" transposes,
/// "bqd,bkd->bqk" multiplies matrices for every b. The batch of the examples has no name.
/// It is put together of transpose, reshape, sum_dim, cmult, products and batch_matmul; of three
/// arguments those two are contracted first with which there is the least to multiply. Dimensions
/// whose order suits the products are not transposed: for two arguments that is what only the first
/// one has, what is summed over, what both keep; and what is summed over, what only the second one
/// has, what both keep.
/// Shapes: each argument has one dimension per letter; the result has those behind the arrow, {1}
/// where there are none.
/// Errors: ValueError where the text is no contraction: letters and commas, an arrow, and letters
///   of the arguments, none twice in one place, and one to three arguments, as many as there are
///   between the commas. ShapeError where an argument has not one dimension per letter, or a letter
///   has two extents.
template <int = 0>
Expression einsum(const std::string& spec, const std::vector<Expression>& xs,
                  Where where = Where::here());

}  // namespace dynet
