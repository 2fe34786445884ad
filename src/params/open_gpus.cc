// Finds, opens and asks the library that has the GPU devices.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <system_error>

#include "dynet/except.h"
#include "dynet/gpus.h"

#include "cuda/plugin.h"
#include "params/gpus.h"
#include "params/settings.h"
#include "util/env.h"
#include "util/fork.h"

namespace dynet {
namespace {

constexpr const char* kLibrary = "libdynet_cuda.so";
constexpr const char* kPythonPackage = "dynet_cuda13";

bool is_readable(const std::filesystem::path& path) { return ::access(path.c_str(), R_OK) == 0; }

/// The folder of this library; empty if the loader knows no absolute path.
std::filesystem::path own_folder() {
  static const char marker = 0;
  Dl_info info{};
  if (::dladdr(&marker, &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  const std::filesystem::path named(info.dli_fname);
  if (!named.is_absolute()) {  // by a path that had its meaning where the process began
    return {};
  }
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(named, error);
  return error ? std::filesystem::path() : real.parent_path();
}

}  // namespace

template <int>
std::string gpu_library() {
  if (const std::string named = util::gpu_library(); !named.empty()) {
    return named;
  }
  const std::filesystem::path folder = own_folder();
  if (folder.empty()) {
    return "";
  }
  for (const auto& path : {folder / kLibrary, folder.parent_path() / kPythonPackage / kLibrary}) {
    if (is_readable(path)) {
      return path.string();
    }
  }
  return "";
}
template std::string gpu_library<>();

namespace params {
namespace {

std::string there_are(std::size_t count) {
  return count == 1 ? "there is 1 GPU" : "there are " + std::to_string(count) + " GPUs";
}

/// Asks the library at `path` for its devices, for an error that begins with `subject`. The library
/// stays open: the driver's threads may run code of it.
const cuda::DeviceTable* table_of(const std::string& path, const std::string& subject) {
  if (!std::filesystem::path(path).is_absolute()) {
    throw errors::ValueError("DYNET_GPU_LIBRARY: the value is '" + path +
                             "'; want an absolute path");
  }
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw errors::DeviceError(subject + ": the library of GPUs does not load: " + ::dlerror() +
                              "; want a library of release " DYNET_PLUGIN_RELEASE);
  }
  const auto find = reinterpret_cast<cuda::FindDevices>(::dlsym(library, cuda::kTableFunction));
  if (find == nullptr) {
    throw errors::DeviceError(subject + ": " + path + " has no function " + cuda::kTableFunction +
                              "; want a library of GPUs");
  }
  const cuda::DeviceTable* const table = find();
  if (table->layout != cuda::kTableLayout) {  // then no other member has its place
    throw errors::DeviceError(
        subject + ": " + path + " has a table of layout " + std::to_string(table->layout) +
        "; want " + std::to_string(cuda::kTableLayout) + ", of the same release as this library");
  }
  if (std::string_view(table->release) != DYNET_PLUGIN_RELEASE) {
    throw errors::DeviceError(subject + ": " + path + " is of release " + table->release +
                              "; want " DYNET_PLUGIN_RELEASE ", the release of this library");
  }
  if (table->error != nullptr) {
    throw errors::DeviceError(subject + ": " + table->error);
  }
  return table;
}

/// The GPUs of this process. Invariant: an opened device is never closed, and belongs to the
/// process that asked for the table. Thread-safe.
class OpenedGpus {
 public:
  struct Opened {
    Device* device;
    std::string description;
  };
  std::vector<Opened> open(const WantedGpus& wanted) {
    const std::lock_guard lock(mutex_);
    if (table_ == nullptr) {
      table_ = table_of(gpu_library(), wanted.subject());
      process_ = util::fork_count();
    }
    if (process_ != util::fork_count()) {
      throw errors::DeviceError(
          (wanted.ids.empty() ? std::string("the library of GPUs") : gpu_name(wanted.ids[0])) +
          cuda::kOpenedByParent);
    }
    std::vector<Opened> opened;
    for (const std::uint32_t i : wanted.ids.empty() ? most_free(wanted) : named(wanted)) {
      const cuda::DeviceEntry& entry = table_->devices[i];
      opened.push_back({&device(i), gpu_name(entry.id) + ": " + entry.name + ", " +
                                        std::to_string(entry.memory_bytes >> 20U) + " MiB"});
    }
    return opened;
  }

 private:
  [[noreturn]] void refuse(std::uint32_t i) const {
    const cuda::DeviceEntry& entry = table_->devices[i];
    throw errors::DeviceError(gpu_name(entry.id) + " (" + entry.name + "): " + entry.error);
  }

  [[nodiscard]] std::vector<std::uint32_t> named(const WantedGpus& wanted) const {
    std::vector<std::uint32_t> places;
    for (const int id : wanted.ids) {
      std::uint32_t i = 0;
      while (i < table_->device_count && table_->devices[i].id != id) {
        ++i;
      }
      if (i == table_->device_count) {
        throw errors::DeviceError(gpu_name(id) + ": " + there_are(table_->device_count));
      }
      if (table_->devices[i].error != nullptr) {
        refuse(i);
      }
      places.push_back(i);
    }
    return places;
  }

  /// Asks for free memory only if there is a choice: the question starts CUDA on each device.
  [[nodiscard]] std::vector<std::uint32_t> most_free(const WantedGpus& wanted) const {
    if (wanted.count > table_->device_count) {
      throw errors::DeviceError(wanted.subject() + ": " + there_are(table_->device_count));
    }
    std::vector<std::uint32_t> usable;
    std::vector<std::uint64_t> free(table_->device_count);
    for (std::uint32_t i = 0; i < table_->device_count; ++i) {
      if (table_->devices[i].error == nullptr) {
        usable.push_back(i);
      }
    }
    if (usable.size() < wanted.count) {
      const auto* const unusable =
          std::find_if(table_->devices, table_->devices + table_->device_count,
                       [](const cuda::DeviceEntry& entry) { return entry.error != nullptr; });
      refuse(static_cast<std::uint32_t>(unusable - table_->devices));
    }
    if (usable.size() > wanted.count) {
      for (const std::uint32_t i : usable) {
        free[i] = table_->free_bytes(i);
      }
      std::stable_sort(usable.begin(), usable.end(),
                       [&](std::uint32_t a, std::uint32_t b) { return free[a] > free[b]; });
      usable.resize(wanted.count);
      std::sort(usable.begin(), usable.end());
    }
    return usable;
  }

  Device& device(std::uint32_t i) {
    std::unique_ptr<Device>& made = devices_[i];
    if (made == nullptr) {
      const cuda::OpenedDevice halves = table_->open(i);
      const int id = table_->devices[i].id;
      made = std::make_unique<Device>(id, DeviceType::GPU, gpu_name(id), *halves.kernels,
                                      *halves.memory);
    }
    return *made;
  }

  util::ForkMutex mutex_;
  const cuda::DeviceTable* table_ = nullptr;  ///< null: no library was opened
  std::uint32_t process_ = 0;                 ///< that asked for the table, by fork_count()
  std::map<std::uint32_t, std::unique_ptr<Device>> devices_;  ///< by their place in the table
};

OpenedGpus& opened_gpus() {
  static auto& all = *new OpenedGpus;  // never destroyed: parameters may outlive main()
  return all;
}

}  // namespace

void require_gpu_library(const WantedGpus& wanted) {
  if (wanted.any() && gpu_library().empty()) {
    throw errors::NoGpuLibrary(wanted.subject() +
                               ": this build of DyNet has no CUDA; install dynet-cuda13");
  }
}

std::vector<Device*> open_gpus(const WantedGpus& wanted) {
  if (!wanted.any()) {
    return {};
  }
  require_gpu_library(wanted);
  log("initializing CUDA");
  std::vector<Device*> devices;
  // Without the lock: a sink is code of the program's, and may call `initialize`.
  for (const auto& [device, description] : opened_gpus().open(wanted)) {
    log(description);
    devices.push_back(device);
  }
  return devices;
}

}  // namespace params
}  // namespace dynet
