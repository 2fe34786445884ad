#pragma once

#include "dynet/devices.h"
#include "dynet/expr/arguments.h"

namespace dynet {

/// A copy of x on another device, in that device's numbers; the gradient is copied back. On the
/// device of x the result is x itself. Operations want all their arguments on one device, which is
/// then the device of their result.
/// `y = x`
/// Shapes: any -> the same.
/// C++: ValueError if `device` is null.
/// Python: DeviceError if there is no device of that name.
Expression to_device(const Expression& x, const Device* device, Where where = Where::here());

}  // namespace dynet
