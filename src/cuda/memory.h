#pragma once

// The memory of a GPU, and its queue.

#include <cuda_runtime.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "dynet/ext/memory.h"

namespace dynet::cuda {

/// A GPU's memory behind one stream, in which kernels and copies keep their order. Memory is taken
/// from CUDA's pool of the device and given back to it in the order of the stream; nothing goes
/// back to the driver. Copies from the host go through a ring of pinned memory, so that the host
/// waits for a copy only when the ring has gone round.
///
/// A child process may not use the memory: every call throws a DeviceError there, but free() and
/// the destructor of a tensor do nothing. Never destroyed. Thread rule: any number of threads.
class CudaMemory final : public ext::Memory {
 public:
  /// `device`: CUDA's number; `count` GPUs are visible. Throws cuda_exception.
  CudaMemory(int device, int count);

  [[nodiscard]] int device() const { return device_; }
  /// The stream of kernels and copies.
  [[nodiscard]] cudaStream_t stream() const { return stream_; }
  /// Before CUDA's functions are called: makes this GPU the one of the calling thread.
  void use() const;
  struct Bytes {
    std::size_t free, all;
  };
  [[nodiscard]] Bytes bytes() const;

  /// Throws out_of_memory with both numbers of bytes().
  void* allocate(std::size_t bytes, ext::Contents contents) override;
  void free(void* data, std::size_t bytes) noexcept override;
  void copy_in(const void* from, void* to, std::size_t bytes) override;
  void copy_out(const void* from, void* to, std::size_t bytes) override;
  void copy_to(const void* from, ext::Memory& other, void* to, std::size_t bytes) override;
  void wait() override;

 private:
  static constexpr std::size_t kSlotBytes = std::size_t{64} << 10;
  static constexpr std::size_t kSlots = 64;
  static constexpr std::size_t kOutBytes = std::size_t{256} << 10;

  struct Slot {
    std::byte* data;
    cudaEvent_t copied;
    bool is_used;
  };
  [[nodiscard]] cudaEvent_t make_event() const;
  [[nodiscard]] cudaError_t take(void** data, std::size_t bytes) const;

  int device_;
  bool is_one_of_several_;
  std::uint32_t forks_;  ///< util::fork_count() of the process that opened the device
  cudaStream_t stream_ = nullptr;
  std::mutex in_mutex_;
  std::array<Slot, kSlots> slots_{};
  std::size_t next_slot_ = 0;
  std::mutex out_mutex_;
  std::byte* out_ = nullptr;
  cudaEvent_t out_copied_ = nullptr;
};

}  // namespace dynet::cuda
