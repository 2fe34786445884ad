#pragma once

// Kept so that programs that include it compile.

#include "dynet/functors.h"
