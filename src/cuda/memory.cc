#include "memory.h"

#include <algorithm>
#include <cstring>

#include "dynet/errors.h"
#include "dynet/except.h"

#include "cuda/plugin.h"
#include "util/fork.h"

namespace dynet::cuda {

CudaMemory::CudaMemory(int device, int count)
    : Memory(false), device_(device), is_one_of_several_(count > 1), forks_(util::fork_count()) {
  use();
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "the first use");
  // What is freed stays with the pool: no call of the driver in a step.
  cudaMemPool_t pool = nullptr;
  std::uint64_t all = UINT64_MAX;
  check(cudaDeviceGetDefaultMemPool(&pool, device_), "the pool of memory");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "the pool of memory");
  void* ring = nullptr;
  check(cudaMallocHost(&ring, kSlots * kSlotBytes), "pinned memory");
  for (std::size_t k = 0; k < kSlots; ++k) {
    slots_[k] = {static_cast<std::byte*>(ring) + k * kSlotBytes, make_event(), false};
  }
  void* out = nullptr;
  check(cudaMallocHost(&out, kOutBytes), "pinned memory");
  out_ = static_cast<std::byte*>(out);
  out_copied_ = make_event();
}

cudaEvent_t CudaMemory::make_event() const {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
        "an event");
  return event;
}

void CudaMemory::check(cudaError_t error, std::string_view what) const {
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // else the next launch would be blamed
    throw cuda_exception("GPU:" + std::to_string(device_) + " failed (" + std::string(what) + ": " +
                         cudaGetErrorString(error) +
                         "); if every later call fails too, restart the process");
  }
}

void CudaMemory::use() const {
  if (util::fork_count() != forks_) {
    throw errors::DeviceError("GPU:" + std::to_string(device_) + kOpenedByParent);
  }
  if (is_one_of_several_) {
    check(cudaSetDevice(device_), "the choice of the device");
  }
}

std::uint64_t CudaMemory::free_bytes() const {
  use();
  std::size_t free = 0;
  std::size_t total = 0;
  check(cudaMemGetInfo(&free, &total), "the size of the memory");
  return free;
}

cudaError_t CudaMemory::take(void** data, std::size_t bytes) const {
  const cudaError_t error = cudaMallocAsync(data, std::max<std::size_t>(bytes, 1), stream_);
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
  }
  return error;
}

void* CudaMemory::allocate(std::size_t bytes, ext::Contents contents) {
  use();
  void* data = nullptr;
  cudaError_t error = take(&data, bytes);
  if (error == cudaErrorMemoryAllocation) {  // freed memory may wait for its turn in the stream
    wait();
    error = take(&data, bytes);
  }
  if (error == cudaErrorMemoryAllocation) {
    return nullptr;
  }
  check(error, "new memory");
  if (contents == ext::Contents::kZeros && bytes != 0) {
    check(cudaMemsetAsync(data, 0, bytes, stream_), "new memory");
  }
  return data;
}

void CudaMemory::free(void* data, std::size_t /*bytes*/) noexcept {
  if (data == nullptr || util::fork_count() != forks_) {
    return;
  }
  if (is_one_of_several_) {
    static_cast<void>(cudaSetDevice(device_));
  }
  static_cast<void>(cudaFreeAsync(data, stream_));  // may fail at the end of the process
}

void CudaMemory::copy_in(const void* from, void* to, std::size_t bytes) {
  use();
  const std::lock_guard lock(in_mutex_);
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  while (bytes != 0) {
    Slot& slot = slots_[next_slot_];
    next_slot_ = (next_slot_ + 1) % kSlots;
    if (slot.is_used) {
      check(cudaEventSynchronize(slot.copied), "a copy to the device");
    }
    const std::size_t part = std::min(bytes, kSlotBytes);
    std::memcpy(slot.data, source, part);
    check(cudaMemcpyAsync(target, slot.data, part, cudaMemcpyHostToDevice, stream_),
          "a copy to the device");
    check(cudaEventRecord(slot.copied, stream_), "a copy to the device");
    slot.is_used = true;
    source += part;
    target += part;
    bytes -= part;
  }
}

void CudaMemory::copy_out(const void* from, void* to, std::size_t bytes) {
  use();
  const std::lock_guard lock(out_mutex_);
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  do {
    const std::size_t part = std::min(bytes, kOutBytes);
    if (part != 0) {
      check(cudaMemcpyAsync(out_, source, part, cudaMemcpyDeviceToHost, stream_),
            "a copy from the device");
    }
    check(cudaEventRecord(out_copied_, stream_), "a copy from the device");
    check(cudaEventSynchronize(out_copied_), "a copy from the device, or the work before it");
    std::memcpy(target, out_, part);
    source += part;
    target += part;
    bytes -= part;
  } while (bytes != 0);
}

void CudaMemory::copy_to(const void* from, ext::Memory& other, void* to, std::size_t bytes) {
  auto* const target = dynamic_cast<CudaMemory*>(&other);
  if (target == nullptr) {
    Memory::copy_to(from, other, to, bytes);
    return;
  }
  if (bytes == 0) {
    return;
  }
  // The copy waits for the work of both, and later work here for the copy. An event may go as soon
  // as it is waited for.
  const auto meet = [&](const CudaMemory& first, const CudaMemory& then) {
    first.use();
    cudaEvent_t event = first.make_event();
    check(cudaEventRecord(event, first.stream_), "a copy to another device");
    then.use();
    check(cudaStreamWaitEvent(then.stream_, event, 0), "a copy to another device");
    check(cudaEventDestroy(event), "a copy to another device");
  };
  meet(*this, *target);
  check(cudaMemcpyPeerAsync(to, target->device_, from, device_, bytes, target->stream_),
        "a copy to another device");
  meet(*target, *this);
}

void CudaMemory::wait() {
  use();
  check(cudaStreamSynchronize(stream_), "work on the device");
}

}  // namespace dynet::cuda
