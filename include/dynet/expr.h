#pragma once

// All operations, and with them all that programs expect from this header: the graph, collections
// of parameters, tensors, shapes, `initialize`. Plain C++17.
//
// dynet/expr/all.h and the headers that it includes (and src/api/functions) are written from the
// operations themselves by tools/generate-api; leaves and compositions are written by hand.

#include "dynet/dynet.h"
#include "dynet/expr/all.h"
#include "dynet/expr/chains.h"
#include "dynet/expr/compositions.h"
#include "dynet/expr/einsum.h"
#include "dynet/expr/gradient.h"
#include "dynet/expr/leaves.h"
#include "dynet/expr/selections.h"
#include "dynet/expr/to_device.h"
