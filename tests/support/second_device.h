#pragma once

#include "dynet/devices.h"

namespace dynet::testing {

/// A second device of the host, in double, whose memory is another one than the CPU's: for graphs
/// over several devices where no far device may be, because its queue takes from the heap.
[[nodiscard]] Device& second_device();

}  // namespace dynet::testing
