#pragma once

// Every operation of the library, in one list. The functions of C++ and Python, the reference page,
// SIMD and CUDA kernels, tests and benches are loops over it.

#include "dynet/ops/activation.h"
#include "dynet/ops/arithmetic.h"
#include "dynet/ops/attention.h"
#include "dynet/ops/chain.h"
#include "dynet/ops/contract.h"
#include "dynet/ops/convolve.h"
#include "dynet/ops/distance.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/families.h"
#include "dynet/ops/input.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/loss.h"
#include "dynet/ops/margin.h"
#include "dynet/ops/matrix.h"
#include "dynet/ops/norm.h"
#include "dynet/ops/order.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/random.h"
#include "dynet/ops/recurrent.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/segment.h"
#include "dynet/ops/select.h"
#include "dynet/ops/shape.h"
#include "dynet/ops/sliding.h"
#include "dynet/ops/sparsemax.h"
#include "dynet/ops/trigonometry.h"

namespace dynet::ops {

#define DYNET_JOIN(family, Family) , Family
using AllOps = ext::JoinLists<ext::OpList<> DYNET_FAMILIES(DYNET_JOIN)>;
#undef DYNET_JOIN

}  // namespace dynet::ops
