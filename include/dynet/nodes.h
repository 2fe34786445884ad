#pragma once

// Kept so that programs that include it compile. The node and engine classes of DyNet 2.1 are not
// part of the library; an operation of one's own is written against dynet/ext/op.h.

#include "dynet/expr.h"
