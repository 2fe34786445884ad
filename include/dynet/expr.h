#pragma once

// All operations, and with them all that programs expect from this header: the graph, collections
// of parameters, tensors, shapes, `initialize`. Plain C++17.
//
// The family headers below (and src/api/functions) are written from the operations themselves by
// tools/generate-api; leaves and compositions are written by hand.

#include "dynet/dynet.h"
#include "dynet/expr/activation.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/leaves.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/loss.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/random.h"
#include "dynet/expr/recurrent.h"
#include "dynet/expr/reduce.h"
#include "dynet/expr/shape.h"
