// Names of GPUs, and the wish for some in the fields of DynetParams.
#include "params/gpus.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "dynet/except.h"

namespace dynet::params {
namespace {

constexpr int kMaxGpus = 256;  // as in DyNet 2.1
constexpr std::string_view kPrefix = "GPU:";

/// Whether the program added such a device.
bool is_known(const std::string& name) {
  const std::vector<Device*>& devices = get_device_manager()->get_devices();
  return std::any_of(devices.begin(), devices.end(),
                     [&](const Device* device) { return device->name == name; });
}

}  // namespace

std::string gpu_name(int id) { return std::string(kPrefix) + std::to_string(id); }

std::optional<int> gpu_number(const std::string& name) {
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) {
    return std::nullopt;
  }
  const char* const begin = name.data() + kPrefix.size();
  const char* const end = name.data() + name.size();
  unsigned id = 0;
  const auto [rest, error] = std::from_chars(begin, end, id);
  if (rest != end || error == std::errc::invalid_argument || (*begin == '0' && end - begin > 1)) {
    return std::nullopt;
  }
  if (error != std::errc() || id >= kMaxGpus) {
    throw errors::DeviceError(name + ": the number is too large; want one below " +
                              std::to_string(kMaxGpus));
  }
  return static_cast<int>(id);
}

std::string WantedGpus::subject() const {
  return ids.empty() ? "--dynet-gpus " + std::to_string(count) : gpu_name(ids.front());
}

WantedGpus wanted_gpus(const DynetParams& p) {
  if (p.gpu_mask.size() > kMaxGpus) {
    throw errors::ValueError("gpu_mask: there are " + std::to_string(p.gpu_mask.size()) +
                             " entries; want at most " + std::to_string(kMaxGpus));
  }
  const std::optional<int> default_gpu = gpu_number(p.device);
  WantedGpus wanted;
  for (int id = 0; id < kMaxGpus; ++id) {
    const auto place = static_cast<std::size_t>(id);
    const int mark = place < p.gpu_mask.size() ? p.gpu_mask[place] : 0;
    if (mark != 0 && mark != 1) {
      throw errors::ValueError("gpu_mask: entry " + std::to_string(id) + " is " +
                               std::to_string(mark) + "; want 0 or 1");
    }
    if ((mark == 1 || id == default_gpu) && !is_known(gpu_name(id))) {
      wanted.ids.push_back(id);
    }
  }
  if (p.ngpus_requested && p.requested_gpus < 0) {
    throw errors::ValueError("ngpus_requested: requested_gpus is " +
                             std::to_string(p.requested_gpus) + "; want the number of GPUs");
  }
  if (p.requested_gpus > 0 && !wanted.ids.empty()) {
    throw errors::ValueError("requested_gpus is " + std::to_string(p.requested_gpus) + ", and " +
                             gpu_name(wanted.ids[0]) +
                             " is asked for; want GPUs by count or by number");
  }
  if (p.requested_gpus > 0) {
    wanted.count = static_cast<std::size_t>(p.requested_gpus);
  }
  return wanted;
}

}  // namespace dynet::params
