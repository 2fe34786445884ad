#pragma once

// Why CUDA does not work on a machine, in words for an error that begins with the name of a GPU.

#include <algorithm>
#include <string>
#include <string_view>

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

/// Whether a library that was built for `architectures`, in CMake's words
/// ("75-real,90,120-virtual"), has code for compute capability `major`.`minor`. Machine code of 8.0
/// runs on 8.6 and not on 9.0, of 9.0a on no other; code of a virtual architecture runs on each
/// later GPU, but again for one of its letter. "all" and "native" leave the question to the first
/// kernel.
inline bool has_code_for(std::string_view architectures, int major, int minor) {
  constexpr int kTen = 10;
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find(','), architectures.size());
    const std::string_view word = architectures.substr(0, end);
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
    int number = 0;
    std::size_t k = 0;
    for (; k < word.size() && word[k] >= '0' && word[k] <= '9'; ++k) {
      number = number * kTen + (word[k] - '0');
    }
    if (k == 0) {
      return true;
    }
    const bool has_letter = k < word.size() && word[k] != '-';
    const bool is_real = !word.ends_with("-virtual");
    const bool is_virtual = !word.ends_with("-real");
    const int asked = major * kTen + minor;
    if (asked == number || (is_real && !has_letter && number / kTen == major && number <= asked) ||
        (is_virtual && !has_letter && number <= asked)) {
      return true;
    }
  }
  return false;
}

/// The reason why a GPU of compute capability `major`.`minor` cannot be used.
inline std::string no_code_for(int major, int minor) {
  return "this build of DyNet has no code for compute capability " + std::to_string(major) + '.' +
         std::to_string(minor);
}

}  // namespace dynet::cuda
