#pragma once

// What tests of programs for DyNet 2.1 take from its scalar functors: two macros. A program's own
// functions of numbers are rules of operations (dynet/ext/rule.h).

/// What stands before functions that run on devices too: nothing.
#define DYNET_DEVICE_FUNC
/// The smallest normal float: binary_log_loss takes no logarithm of less.
#define DYNET_DEVICE_MIN 1.175494351e-38F
