#pragma once

#include "dynet/devices.h"

namespace dynet::testing {

/// A second device of the host, in double, with other memory than the CPU's: for graphs over
/// several devices in tests that count allocations, as the queue of a far device takes memory from
/// the heap.
[[nodiscard]] Device& second_device();

}  // namespace dynet::testing
