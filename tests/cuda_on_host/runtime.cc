// CUDA's functions, in terms of the device.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "cuda_runtime.h"
#include "device.h"
#include "fail.h"

namespace cuda_on_host {
namespace {

constexpr int kMultiprocessors = 4;
constexpr int kDriver = 13000;  ///< 13.0
constexpr int kNotANumber = 0xFF;

using Lock = std::lock_guard<std::recursive_mutex>;

cudaError_t failed(cudaError_t error) { return Device::get().last = error; }

struct Event {
  const Device* device;
  std::shared_ptr<Mark> mark = nullptr;
  Stream* stream = nullptr;
};
Event* event_of(cudaEvent_t e) { return reinterpret_cast<Event*>(e); }

/// The memory that copies use for an address: one side of a copy of device `d`.
void* side(Device& d, const void* p, std::size_t bytes, bool is_of_device, const char* what) {
  if (const Device* const other = Device::owner(p); other != nullptr && other != &d) {
    fail("%s at %p is memory of GPU %d; want GPU %d", what, p, other->id(), d.id());
  }
  const bool is_managed = d.managed.contains(p);
  if (d.memory.contains(p) != is_of_device && !is_managed) {
    fail("%s at %p is memory of the %s", what, p, is_of_device ? "host" : "device");
  }
  if ((is_managed && !d.managed.is_allocated(p, bytes)) ||
      (d.memory.contains(p) && !d.memory.is_allocated(p, bytes))) {
    fail("%s: %zu bytes at %p are not in one allocation", what, bytes, p);
  }
  return d.memory.open(p);
}

bool is_possible(const cudaLaunchConfig_t& c) {
  constexpr unsigned kMostBlocks = 0x7fffffff, kMostOfAxis = 65535;
  const std::uint64_t threads = std::uint64_t{c.blockDim.x} * c.blockDim.y * c.blockDim.z;
  const std::uint64_t blocks = std::uint64_t{c.gridDim.x} * c.gridDim.y * c.gridDim.z;
  return threads > 0 && threads <= kMostThreads && blocks > 0 && c.gridDim.x <= kMostBlocks &&
         c.gridDim.y <= kMostOfAxis && c.gridDim.z <= kMostOfAxis && c.dynamicSmemBytes == 0;
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t& config, const Kernel& kernel) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  if (!is_possible(config)) {
    return failed(cudaErrorInvalidConfiguration);
  }
  if (d.stream(config.stream)->device != &d) {
    return failed(cudaErrorInvalidResourceHandle);
  }
  static long refusals = 0;
  if (Device::is_past("DYNET_CUDA_FAIL_LAUNCH", refusals)) {
    return failed(cudaErrorLaunchOutOfResources);
  }
  static long illegal = 0;
  if (Device::is_past("DYNET_CUDA_ILLEGAL", illegal)) {  // found when the kernel runs
    d.enqueue(d.stream(config.stream), {.run = [&d] { d.stop(); }});
    return cudaSuccess;
  }
  auto kept = std::make_shared<Launch>(Launch{config, kernel, {}});
  if (kernel.is_padding_clear) {
    d.check_arguments(*kept);
  }
  kept->arguments.resize((kernel.bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t));
  std::memcpy(kept->arguments.data(), kernel.arguments, kernel.bytes);
  kept->kernel.arguments = nullptr;  // the caller's, which are gone when the kernel runs
  ++d.counts.launches;
  d.enqueue(d.stream(config.stream),
            {.run = [&d, kept] { d.runner.run(*kept); }, .is_kernel = true});
  return cudaSuccess;
}

Counts counts() {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  return d.counts;
}

void barrier() { runner->barrier(); }
unsigned lane() { return runner->lane(); }
std::uint64_t exchange(unsigned mask, std::uint64_t given, int from, const char* what) {
  return runner->exchange(mask, given, from, what);
}
void touch_atomically(void* at, std::size_t bytes) { runner->touch(at, bytes, Access::kAtomic); }

}  // namespace cuda_on_host

using cuda_on_host::Device;
using cuda_on_host::event_of;
using cuda_on_host::failed;
using cuda_on_host::Lock;

// ---- devices and memory -------------------------------------------------------------------------

static bool is_device(int id) { return id >= 0 && id < Device::count(); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = Device::count();
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = Device::get().id();
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  if (!is_device(device)) {
    return failed(cudaErrorInvalidDevice);
  }
  Device::choose(device);
  return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (!is_device(device)) {
    return failed(cudaErrorInvalidDevice);
  }
  constexpr int kCapability = 90, kTen = 10;
  const auto capability =
      static_cast<int>(cuda_on_host::setting("DYNET_CUDA_CAPABILITY", kCapability));
  *properties = {"a GPU on the host", Device::at(device).memory.size(), capability / kTen,
                 capability % kTen};
  return cudaSuccess;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = cuda_on_host::kDriver;
  return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }
/// The pool has all memory of the device, and gives nothing back to a driver.
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  *pool = nullptr;
  return is_device(device) ? cudaSuccess : failed(cudaErrorInvalidDevice);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t /*pool*/, cudaMemPoolAttr /*attribute*/,
                                    void* /*value*/) {
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (attribute != cudaDevAttrMultiProcessorCount || !is_device(device)) {
    return failed(cudaErrorInvalidValue);
  }
  *value = cuda_on_host::kMultiprocessors;
  return cudaSuccess;
}

static cudaError_t allocate(const Device& d, cuda_on_host::Region& region, void** data,
                            std::size_t bytes) {
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  static long refusals = 0;
  if (Device::is_past("DYNET_CUDA_FAIL_MEMORY", refusals)) {
    return failed(cudaErrorMemoryAllocation);
  }
  *data = region.allocate(bytes);
  return *data == nullptr ? failed(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  return allocate(d, d.memory, data, bytes);
}
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream) {
  Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  return allocate(d, d.memory, data, bytes);  // memory is freed in the order of a stream: free now
}
cudaError_t cudaMallocManaged(void** data, std::size_t bytes, unsigned /*flags*/) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  return allocate(d, d.managed, data, bytes);
}
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  Device& d = Device::get();
  const Lock lock(d.mutex);
  *data = std::aligned_alloc(kAlignment, (bytes / kAlignment + 1) * kAlignment);
  if (*data == nullptr) {
    return failed(cudaErrorMemoryAllocation);
  }
  std::memset(*data, cuda_on_host::kNotANumber, bytes);
  d.pinned[*data] = bytes;
  return cudaSuccess;
}
cudaError_t cudaFree(void* data) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  Device::drain_each();
  Device* const owner = Device::owner(data);
  return data == nullptr || (owner != nullptr && owner->memory.free(data)) || d.managed.free(data)
             ? cudaSuccess
             : failed(cudaErrorInvalidValue);
}
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  d.enqueue(d.stream(stream), {.run = [&d, data] {
              if (!d.memory.free(data)) {
                cuda_on_host::fail("cudaFreeAsync: %p is no allocation", data);
              }
            }});
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  Device::drain_each();
  if (d.pinned.erase(data) == 0) {
    return failed(cudaErrorInvalidValue);
  }
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  *total = d.memory.size();
  *free = *total - d.memory.in_use();
  return cudaSuccess;
}

// ---- copies -------------------------------------------------------------------------------------

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind);
  return error == cudaSuccess ? cudaStreamSynchronize(nullptr) : error;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t s) {
  Device& d = *Device::get().stream(s)->device;
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  void* const target = cuda_on_host::side(d, to, bytes, to_device, "the target of a copy");
  const void* source = cuda_on_host::side(d, from, bytes, from_device, "the source of a copy");
  cuda_on_host::Stream* const stream = d.stream(s);
  std::shared_ptr<char[]> staged;
  if (!from_device && !d.is_pinned(from)) {  // pageable memory is read before the call returns
    staged = std::make_shared<char[]>(bytes);
    std::memcpy(staged.get(), from, bytes);
    source = staged.get();
  }
  if (!to_device) {  // whoever reads the target without a wait finds NaN
    std::memset(target, cuda_on_host::kNotANumber, bytes);
  }
  if (!from_device) {
    ++d.counts.copies_in;
    d.counts.bytes_in += bytes;
  }
  d.counts.copies_out += to_device ? 0 : 1;
  d.enqueue(stream, {.run = [=, kept = staged] { std::memmove(target, source, bytes); }});
  if (!to_device && !d.is_pinned(to)) {  // to pageable memory: the call returns when it is done
    d.drain(stream);
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t s) {
  if (!is_device(to_device) || !is_device(from_device)) {
    return failed(cudaErrorInvalidDevice);
  }
  Device& there = Device::at(to_device);
  Device& here = Device::at(from_device);
  const Lock lock(there.mutex);
  for (const Device* d : {&there, &here}) {
    if (d->error() != cudaSuccess) {
      return failed(d->error());
    }
  }
  void* const target = cuda_on_host::side(there, to, bytes, true, "the target of a copy");
  const void* const source = cuda_on_host::side(here, from, bytes, true, "the source of a copy");
  Device::get().enqueue(Device::get().stream(s),
                        {.run = [=] { std::memmove(target, source, bytes); }});
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t s) {
  Device& d = *Device::get().stream(s)->device;
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  void* const target = cuda_on_host::side(d, to, bytes, true, "the target of cudaMemsetAsync");
  d.enqueue(d.stream(s), {.run = [=] { std::memset(target, value, bytes); }});
  return cudaSuccess;
}

// ---- streams and events -------------------------------------------------------------------------

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  *stream = d.make_stream((flags & cudaStreamNonBlocking) == 0);
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  d.stream(stream)->device->end_stream(d.stream(stream));
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  d.counts.waits += d.stream(stream)->queue.empty() ? 0 : 1;
  if (d.error() == cudaSuccess) {
    d.drain(d.stream(stream));
  }
  return d.error() == cudaSuccess ? cudaSuccess : failed(d.error());
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  const Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  return d.error() != cudaSuccess                      ? failed(d.error())
         : Device::get().stream(stream)->queue.empty() ? cudaSuccess
                                                       : cudaErrorNotReady;
}
cudaError_t cudaDeviceSynchronize() {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  d.drain_all();
  return d.error() == cudaSuccess ? cudaSuccess : failed(d.error());
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned /*flags*/) {
  *event = reinterpret_cast<cudaEvent_t>(new cuda_on_host::Event{&Device::get()});
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  if (event_of(event)->device != &d) {
    return failed(cudaErrorInvalidResourceHandle);
  }
  const auto mark = std::make_shared<cuda_on_host::Mark>();
  *event_of(event) = {&d, mark, d.stream(stream)};
  d.enqueue(d.stream(stream), {.run = [mark] { mark->is_done = true; }});
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned /*flags*/) {
  Device& d = *Device::get().stream(stream)->device;
  const Lock lock(d.mutex);
  if (d.error() != cudaSuccess) {
    return failed(d.error());
  }
  const cuda_on_host::Event& e = *event_of(event);
  if (e.mark != nullptr) {
    d.enqueue(d.stream(stream), {.run = {}, .after = e.mark, .of_after = e.stream});
  }
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  Device& d = Device::get();
  const Lock lock(d.mutex);
  const cuda_on_host::Event& e = *event_of(event);
  d.counts.waits += e.mark != nullptr && !e.mark->is_done ? 1 : 0;
  while (e.mark != nullptr && !e.mark->is_done && e.device->error() == cudaSuccess) {
    d.run(e.stream, 1);
  }
  return e.device->error() == cudaSuccess ? cudaSuccess : failed(e.device->error());
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event_of(event);
  return cudaSuccess;
}

// ---- errors -------------------------------------------------------------------------------------

cudaError_t cudaGetLastError() {
  const Lock lock(Device::get().mutex);
  return std::exchange(Device::get().last, cudaSuccess);
}
cudaError_t cudaPeekAtLastError() {
  const Lock lock(Device::get().mutex);
  return Device::get().last;
}
const char* cudaGetErrorName(cudaError_t error) { return cudaGetErrorString(error); }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInitializationError:
      return "initialization error";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorLaunchOutOfResources:
      return "too many resources requested for launch";
    case cudaErrorIllegalAddress:
      return "an illegal memory access was encountered";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorNotReady:
      return "device not ready";
  }
  return "unrecognized error code";
}
