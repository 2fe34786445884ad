#pragma once

#include <string>
#include <vector>

#include "dynet/expr/arguments.h"

namespace dynet {

/// A contraction of one to three arguments by the names of their dimensions: dimensions that the
/// result does not have are summed over. "ij,jk->ik" is the product of two matrices, "ij->ji"
/// transposes, "bqd,bkd->bqk" multiplies matrices for every b. The batch of the examples has no
/// name. It is put together of transpose, reshape, sum_dim, cmult, products and batch_matmul; of
/// three arguments the two with the fewest multiplications are contracted first. An argument is not
/// transposed if its order suits the products. This order is, in the first of two arguments, its
/// own dimensions, the dimensions that are summed over, the dimensions that both keep; in the
/// second argument, the dimensions that are summed over, its own, the dimensions that both keep.
/// Shapes: each argument has one dimension per letter; the result has the dimensions behind the
/// arrow, {1} if there are none.
/// Errors: ValueError unless the text is a contraction: letters for each of one to three arguments,
///   with commas between them, an arrow, and letters of the arguments, none twice in one place;
///   ValueError for another number of arguments than the text has. ShapeError unless each argument
///   has one dimension per letter and each letter one extent.
template <int = 0>
Expression einsum(const std::string& spec, const std::vector<Expression>& xs,
                  Where where = Where::here());

}  // namespace dynet
