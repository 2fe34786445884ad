#pragma once

// GPUs: the wish of a process for some, and the library that has them.
//
// libdynet has nothing of CUDA. The devices are in a library of their own (cuda/plugin.h), which is
// opened when `initialize` first meets a wish for a GPU, and never closed. Example:
// "--dynet-devices GPU:0,GPU:2" opens the library, makes the Devices GPU:0 and GPU:2, and
// `initialize` gives them to the device manager, in front of the CPU.

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/init.h"

namespace dynet::params {

/// GPUs that options ask for: by number, or so many. At most one of the two is not empty.
struct WantedGpus {
  std::vector<int> ids;   ///< ascending
  std::size_t count = 0;  ///< of `--dynet-gpus`: with the most free memory

  [[nodiscard]] bool any() const { return count != 0 || !ids.empty(); }
  /// The subject of an error: "GPU:0", or "--dynet-gpus 2".
  [[nodiscard]] std::string subject() const;
};

/// 2 for "GPU:2"; nothing for a text of another form. DeviceError from GPU:256 on.
[[nodiscard]] std::optional<int> gpu_number(const std::string& name);
[[nodiscard]] std::string gpu_name(int id);
/// The GPUs that the fields of `p` ask for, without devices that the program added. ValueError if
/// fields contradict each other.
[[nodiscard]] WantedGpus wanted_gpus(const DynetParams& p);
/// NoGpuLibrary if GPUs are wanted and no library is there. Opens nothing.
void require_gpu_library(const WantedGpus& wanted);
/// The devices, in ascending order. A device that was opened before is the same object again.
/// DeviceError, and no new device for anybody, if one of them cannot be had. Thread-safe.
[[nodiscard]] std::vector<Device*> open_gpus(const WantedGpus& wanted);

}  // namespace dynet::params
