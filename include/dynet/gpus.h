#pragma once

// The library of GPU devices, which is installed beside DyNet or not at all (docs/gpus.md).

#include <string>

#include "dynet/errors.h"

namespace dynet {

namespace errors {
/// A GPU is asked for, and no library of GPUs is installed. In Python a DeviceError, as 2.1 has it.
struct NoGpuLibrary : ValueError {
  using ValueError::ValueError;
};
}  // namespace errors

/// The path of the library with the GPU devices; empty if none is installed. The library is not
/// opened: whether the machine has a GPU is known when `initialize` is asked for one.
template <int = 0>
[[nodiscard]] std::string gpu_library();

}  // namespace dynet
