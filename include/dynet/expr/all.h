#pragma once

// Written by tools/generate-api from the operations in dynet/ops/all.h. Not to be edited.

#include "dynet/expr/activation.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/contract.h"
#include "dynet/expr/convolve.h"
#include "dynet/expr/distance.h"
#include "dynet/expr/elementary.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/loss.h"
#include "dynet/expr/margin.h"
#include "dynet/expr/norm.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/random.h"
#include "dynet/expr/recurrent.h"
#include "dynet/expr/reduce.h"
#include "dynet/expr/select.h"
#include "dynet/expr/shape.h"
#include "dynet/expr/sliding.h"
#include "dynet/expr/trigonometry.h"
