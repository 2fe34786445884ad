#pragma once

// CUDA's language and run time for the host: all that a .cu file needs to be compiled as C++ and to
// run on a CPU, slowly and strictly. The README beside this folder says which mistakes are found.
// Declares the part of CUDA's interface that the library and its tests use, and no more.
//
// Kernels are compiled with -fsanitize=thread, and the functions that the compiler calls for each
// access to memory are this library's own (hooks.cc). So code of a kernel may read four objects of
// this library, threadIdx and its relatives, and no other.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

// The names are CUDA's.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,google-explicit-constructor)

// ---- words of the language ----------------------------------------------------------------------

#define __host__
#define __device__
#define __global__
#define __grid_constant__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
// One thread of the system runs a block. The thread-local variables of the library with the kernels
// are its shared memory.
#define __shared__ static thread_local

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  // Converts from a number, as CUDA's does.
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

// ---- the run time -------------------------------------------------------------------------------

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16 };
enum cudaMemPoolAttr { cudaMemPoolAttrReleaseThreshold = 4 };
enum : unsigned {
  cudaStreamNonBlocking = 1,
  cudaEventBlockingSync = 1,
  cudaEventDisableTiming = 2,
  cudaMemAttachGlobal = 1
};
using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaMemPool_t = struct CUmemPoolHandle_st*;
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor;
};
struct cudaLaunchAttribute {
  int id;
};
struct cudaLaunchConfig_t {
  dim3 gridDim, blockDim;
  std::size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};

cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaMalloc(void** data, std::size_t bytes);
cudaError_t cudaMallocAsync(void** data, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaMallocManaged(void** data, std::size_t bytes, unsigned flags = cudaMemAttachGlobal);
cudaError_t cudaMallocHost(void** data, std::size_t bytes);
cudaError_t cudaFree(void* data);
cudaError_t cudaFreeAsync(void* data, cudaStream_t stream);
cudaError_t cudaFreeHost(void* data);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device,
                                std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorString(cudaError_t error);
const char* cudaGetErrorName(cudaError_t error);

// ---- launches -----------------------------------------------------------------------------------

namespace cuda_on_host {

/// A kernel with its arguments, as bytes: a queue keeps them, and a thread of the kernel may read
/// them.
struct Kernel {
  using Function = void (*)();
  Function function;
  void (*call)(Function function, const void* arguments);  ///< runs one thread
  const char* name;                                        ///< for messages
  const void* arguments;
  std::size_t bytes;
  bool is_padding_clear;  ///< an address in the bytes is an address that the caller gave
};
cudaError_t launch(const cudaLaunchConfig_t& config, const Kernel& kernel);

/// The process's calls until now. A wait is one in which work was left to do.
struct Counts {
  std::uint64_t launches, copies_in, bytes_in, copies_out, waits;
};
Counts counts();

/// Parameters in one piece of memory, as a kernel gets them. Bytes between and within them are 0.
template <class... P>
class Arguments {
 public:
  static_assert((std::is_trivially_copyable_v<P> && ...), "parameters are copied as bytes");

  explicit Arguments(P... p) { write(std::index_sequence_for<P...>(), p...); }
  static void call(Kernel::Function function, const void* arguments) {
    run(reinterpret_cast<void (*)(P...)>(function), static_cast<const unsigned char*>(arguments),
        std::index_sequence_for<P...>());
  }

 private:
  /// The place of each, and the end of the last.
  static constexpr std::array<std::size_t, sizeof...(P) + 1> places() {
    std::array<std::size_t, sizeof...(P) + 1> at{};
    std::size_t i = 0;
    ((at[i] = (at[i] + alignof(P) - 1) / alignof(P) * alignof(P), at[i + 1] = at[i] + sizeof(P),
      ++i),
     ...);
    return at;
  }
  static constexpr std::array kPlaces = places();
  static_assert(kPlaces.back() <= 32764, "CUDA has room for 32,764 bytes of parameters");

  template <std::size_t... kI>
  void write(std::index_sequence<kI...> /*every*/, P... p) {
#if __has_builtin(__builtin_clear_padding)
    (__builtin_clear_padding(&p), ...);
#endif
    (std::memcpy(bytes + kPlaces[kI], static_cast<const void*>(&p), sizeof p), ...);
  }
  template <std::size_t... kI>
  static void run(void (*kernel)(P...), const unsigned char* from,
                  std::index_sequence<kI...> /*every*/) {
    kernel(*reinterpret_cast<const P*>(from +
                                       std::integral_constant<std::size_t, kPlaces[kI]>::value)...);
  }

 public:
  alignas(std::max_align_t) unsigned char bytes[kPlaces.back()] = {};
};

}  // namespace cuda_on_host

template <class... P, class... A>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(P...),
                               A&&... arguments) {
  const cuda_on_host::Arguments<P...> all(static_cast<P>(arguments)...);
  return cuda_on_host::launch(*config,
                              {reinterpret_cast<cuda_on_host::Kernel::Function>(kernel),
                               cuda_on_host::Arguments<P...>::call, __PRETTY_FUNCTION__, all.bytes,
                               sizeof all.bytes, __has_builtin(__builtin_clear_padding)});
}

// ---- the calls of kernels -----------------------------------------------------------------------

namespace cuda_on_host {

void barrier();
unsigned lane();
/// Each lane of `mask`, all of the caller's warp, gives a number; the result is the number that
/// lane `from` gave.
std::uint64_t exchange(unsigned mask, std::uint64_t given, int from, const char* what);
/// Announces an atomic access of the calling thread.
void touch_atomically(void* at, std::size_t bytes);

template <class T>
std::uint64_t bits(T v) {
  static_assert(sizeof(T) <= 8 && std::is_trivially_copyable_v<T>);
  std::uint64_t b = 0;
  std::memcpy(&b, &v, sizeof v);
  return b;
}
template <class T>
T of_bits(std::uint64_t b) {
  T v;
  std::memcpy(&v, &b, sizeof v);
  return v;
}

}  // namespace cuda_on_host

// Of the thread of a kernel that runs in a thread of the system.
extern constinit thread_local uint3 threadIdx, blockIdx;
extern constinit thread_local dim3 blockDim, gridDim;

inline void __syncthreads() { ::cuda_on_host::barrier(); }
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  ::cuda_on_host::exchange(mask, 0, static_cast<int>(::cuda_on_host::lane()), "__syncwarp");
}
template <class T>
T __shfl_xor_sync(unsigned mask, T v, int other) {
  const int from = static_cast<int>(::cuda_on_host::lane()) ^ other;
  return ::cuda_on_host::of_bits<T>(
      ::cuda_on_host::exchange(mask, ::cuda_on_host::bits(v), from, "__shfl_xor_sync"));
}
template <class T>
T __shfl_down_sync(unsigned mask, T v, unsigned by) {
  const auto lane = static_cast<int>(::cuda_on_host::lane());
  const int from = lane + static_cast<int>(by);
  return ::cuda_on_host::of_bits<T>(::cuda_on_host::exchange(
      mask, ::cuda_on_host::bits(v), from < 32 ? from : lane, "__shfl_down_sync"));
}
/// One thread of the system runs all kernels, so that the sum need not be atomic here.
template <class T>
__attribute__((no_sanitize_thread)) T atomicAdd(T* at, T v) {
  ::cuda_on_host::touch_atomically(at, sizeof(T));
  const T old = *at;
  *at = old + v;
  return old;
}

// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,google-explicit-constructor)
