#pragma once

// Why CUDA does not work on a machine, in words for an error that begins with the name of a GPU.

#include <string>

namespace dynet::cuda {

/// Codes of the runtime's first error on a machine without a driver or a GPU.
inline constexpr int kStubLibrary = 34;
inline constexpr int kInsufficientDriver = 35;
inline constexpr int kNoDevice = 100;

/// "12.2" for 12020, as the runtime counts.
inline std::string version_text(int version) {
  return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
}

/// The reason for the runtime's first error: its code, its name, and the versions of CUDA that the
/// driver supports (0: there is no driver) and that the runtime needs. A missing driver and an old
/// one have the same code; only the version tells them apart.
inline std::string reason_of(int code, const std::string& name, int driver, int runtime) {
  const std::string both = name + ", code " + std::to_string(code);
  if (code == kStubLibrary || (code == kInsufficientDriver && driver == 0)) {
    return "the NVIDIA driver is not loaded (" + both + ")";
  }
  if (code == kInsufficientDriver) {
    return "the NVIDIA driver is too old (" + both + "): it supports CUDA " + version_text(driver) +
           "; want CUDA " + version_text(runtime) + " or later";
  }
  if (code == kNoDevice) {
    return "CUDA sees no GPU (" + both + ")";
  }
  return "CUDA does not start (" + both + ")";
}

/// The reason why a GPU of compute capability `major`.`minor` cannot be used.
inline std::string no_code_for(int major, int minor) {
  return "this build of DyNet has no code for compute capability " + std::to_string(major) + '.' +
         std::to_string(minor);
}

}  // namespace dynet::cuda
