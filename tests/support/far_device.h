#pragma once

// A device whose memory the host cannot touch: code that runs on it needs only kernels to run on a
// GPU.
//
// Its memory is mapped twice. Addresses that it hands out have no access, so that a touch by the
// host ends the test there and then; its kernels and copies use the other mapping, and abort for an
// address that is not the device's. Its kernels are the CPU's, and they run late: a call is put in
// a queue, and runs when somebody waits or when the queue grows long. So a missing wait shows, and
// so does a part of a call that the host has forgotten by then. New memory holds NaN: a kernel that
// adds to memory without a first store gives NaN.

#include <cstddef>
#include <string>

#include "dynet/devices.h"

namespace dynet::testing {

/// Makes FAR:0, FAR:1 and FAR:0:double known to the device manager, unless they are.
void add_far_devices();
/// One of the far devices, whether it is known to the manager or not: FAR:0, FAR:1, FAR:0:double.
[[nodiscard]] Device& far_device(std::size_t i);
/// The device that a test means by the name of a CPU device, "CPU" or "CPU:double". If the tests
/// run on another device (DYNET_TEST_DEVICE), returns that device, or its form in double.
[[nodiscard]] Device* test_device(const std::string& name);
/// How many calls and copies wait in the queue of a far device.
[[nodiscard]] std::size_t far_queue_length(const Device& device);
/// How often the host waited for the queue, and copied something in, since the device was made.
struct FarCounts {
  std::size_t waits;
  std::size_t copies_in;
};
[[nodiscard]] FarCounts far_counts(const Device& device);

}  // namespace dynet::testing
