#pragma once

#include <string>

#include "dynet/tensor.h"

namespace dynet {

/// Makes `x`, {dim,dim}, a random orthonormal matrix times `g`. (2.1 ignores `g`.) ShapeError for
/// another shape. ParameterInitSaxe does the same to parameters.
inline void orthonormal_random(unsigned dim, float g, Tensor& x) {
  if (x.d != Dim({dim, dim})) {
    throw errors::ShapeError("orthonormal_random of " + std::to_string(dim) + ": the tensor is " +
                             to_string(x.d));
  }
  TensorTools::randomize_orthonormal(x, g);
}

}  // namespace dynet
