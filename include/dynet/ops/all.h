#pragma once

// Every operation of the library, in one list. Python's functions, the C++ headers, the reference
// page, SIMD and CUDA kernels, tests and benches are loops over it.

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/loss.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/shape.h"

namespace dynet::ops {

using AllOps = ext::JoinLists<InputOps, ArithmeticOps, ActivationOps, LinearOps, ReduceOps,
                              ShapeOps, PickOps, LossOps, RandomOps, RecurrentOps>;

}  // namespace dynet::ops
