#pragma once

// Two macros of DyNet 2.1's scalar functors, which programs use in their tests. A program's own
// functions of numbers are rules of operations (dynet/ext/rule.h).

/// The mark of functions that run on devices too: empty here.
#define DYNET_DEVICE_FUNC
/// The smallest normal float: binary_log_loss takes no logarithm of less.
#define DYNET_DEVICE_MIN 1.175494351e-38F
