#include "memory.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "dynet/errors.h"
#include "dynet/except.h"

#include "api/graph_state.h"
#include "cuda/plugin.h"
#include "kernels/cuda_error.h"
#include "util/fork.h"

namespace dynet::cuda {

using kernels::check_cuda;

CudaMemory::CudaMemory(int device, int count)
    : Memory(false), device_(device), is_one_of_several_(count > 1), forks_(util::fork_count()) {
  use();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "the first use");
  // What is freed stays with the pool: no call of the driver in a step.
  cudaMemPool_t pool = nullptr;
  std::uint64_t all = UINT64_MAX;
  check_cuda(cudaDeviceGetDefaultMemPool(&pool, device_), "the pool of memory");
  check_cuda(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all),
             "the pool of memory");
  void* ring = nullptr;
  check_cuda(cudaMallocHost(&ring, kSlots * kSlotBytes), "pinned memory");
  for (std::size_t k = 0; k < kSlots; ++k) {
    slots_[k] = {static_cast<std::byte*>(ring) + k * kSlotBytes, make_event(), false};
  }
  void* out = nullptr;
  check_cuda(cudaMallocHost(&out, kOutBytes), "pinned memory");
  out_ = static_cast<std::byte*>(out);
  out_copied_ = make_event();
}

cudaEvent_t CudaMemory::make_event() const {
  cudaEvent_t event = nullptr;
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync),
             "an event");
  return event;
}

void CudaMemory::use() const {
  if (util::fork_count() != forks_) {
    throw errors::DeviceError("GPU:" + std::to_string(device_) + kOpenedByParent);
  }
  if (is_one_of_several_) {
    check_cuda(cudaSetDevice(device_), "the choice of the device");
  }
}

CudaMemory::Bytes CudaMemory::bytes() const {
  use();
  Bytes now{};
  check_cuda(cudaMemGetInfo(&now.free, &now.all), "the size of the memory");
  return now;
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
  if (error == cudaErrorMemoryAllocation) {
    api::drop_resting_states();  // graphs that ended keep memory for later graphs
    wait();                      // freed memory waits for its turn in the stream
    error = take(&data, bytes);
  }
  if (error == cudaErrorMemoryAllocation) {
    const Bytes now = this->bytes();
    throw out_of_memory("GPU:" + std::to_string(device_) + " refused " + std::to_string(bytes) +
                        " bytes (" + std::to_string(now.free) + " of " + std::to_string(now.all) +
                        " bytes are free)");
  }
  check_cuda(error, "new memory");
  if (contents == ext::Contents::kZeros && bytes != 0) {
    check_cuda(cudaMemsetAsync(data, 0, bytes, stream_), "new memory");
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
      check_cuda(cudaEventSynchronize(slot.copied), "a copy to the device");
    }
    const std::size_t part = std::min(bytes, kSlotBytes);
    std::memcpy(slot.data, source, part);
    check_cuda(cudaMemcpyAsync(target, slot.data, part, cudaMemcpyHostToDevice, stream_),
               "a copy to the device");
    check_cuda(cudaEventRecord(slot.copied, stream_), "a copy to the device");
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
      check_cuda(cudaMemcpyAsync(out_, source, part, cudaMemcpyDeviceToHost, stream_),
                 "a copy from the device");
    }
    check_cuda(cudaEventRecord(out_copied_, stream_), "a copy from the device");
    check_cuda(cudaEventSynchronize(out_copied_), "a copy from the device, or the work before it");
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
    check_cuda(cudaEventRecord(event, first.stream_), "a copy to another device");
    then.use();
    check_cuda(cudaStreamWaitEvent(then.stream_, event, 0), "a copy to another device");
    check_cuda(cudaEventDestroy(event), "a copy to another device");
  };
  meet(*this, *target);
  check_cuda(cudaMemcpyPeerAsync(to, target->device_, from, device_, bytes, target->stream_),
             "a copy to another device");
  meet(*target, *this);
}

void CudaMemory::wait() {
  use();
  check_cuda(cudaStreamSynchronize(stream_), "work on the device");
}

}  // namespace dynet::cuda
