#pragma once

// Devices of a library of GPUs (src/cuda), for tests: the library of DYNET_TEST_GPUS, which is
// opened as a program's is.

namespace dynet::testing {

/// Makes all GPUs of the library known to the device manager, and GPU:0:double, a far device for
/// tests that check themselves in double. Does nothing without a library, and at a second call.
/// Throws DeviceError if the library or CUDA cannot be used.
void add_gpu_devices();

}  // namespace dynet::testing
