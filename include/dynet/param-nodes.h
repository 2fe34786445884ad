#pragma once

// Kept so that programs that include it compile: inputs and parameters are functions of expr.h.

#include "dynet/nodes.h"
