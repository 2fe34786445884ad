// The numbers of a GPU by which docs/gpus.md estimates: what a launch, a copy and a barrier cost,
// and how fast memory and arithmetic are. Prints a table in Markdown. Medians of several runs.

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) {
    std::printf("| %s | failed: %s |\n", what, cudaGetErrorString(error));
    std::exit(1);
  }
}

__global__ void nothing() {}
__global__ void add_one(const float* from, float* to, long long n) {
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < n;
       i += static_cast<long long>(gridDim.x) * blockDim.x) {
    to[i] = from[i] + 1.0F;
  }
}
constexpr int kMultiplyAdds = 1 << 14;
__global__ void multiply_add(float* out, float a, float b) {
  float x[8] = {};
  for (int k = 0; k < kMultiplyAdds / 8; ++k) {
    for (float& v : x) {
      v = fmaf(v, a, b);
    }
  }
  float sum = 0.0F;
  for (const float v : x) {
    sum += v;
  }
  if (sum == -1.0F) {  // never, as the compiler does not know
    *out = sum;
  }
}
constexpr int kMeetings = 1000;
__global__ void meet() {
  const cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  for (int k = 0; k < kMeetings; ++k) {
    grid.sync();
  }
}

/// Median seconds of a run of `work`, waits included.
double seconds(const std::function<void()>& work) {
  std::vector<double> all;
  for (int run = 0; run < 7; ++run) {
    check(cudaDeviceSynchronize(), "the wait before a measurement");
    const auto begin = std::chrono::steady_clock::now();
    work();
    check(cudaDeviceSynchronize(), "a measurement");
    all.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}
void row(const char* name, double value, const char* unit) {
  std::printf("| %s | %.3g %s |\n", name, value, unit);
  std::fflush(stdout);
}

void launches(cudaStream_t stream) {
  constexpr int kLaunches = 2000;
  row("launch, queued", 1e6 / kLaunches * seconds([&] {
                          for (int k = 0; k < kLaunches; ++k) {
                            nothing<<<1, 32, 0, stream>>>();
                          }
                        }),
      "µs");
  row("launch and wait", 1e6 * seconds([&] {
                           nothing<<<1, 32, 0, stream>>>();
                           check(cudaStreamSynchronize(stream), "a wait");
                         }),
      "µs");
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "a captured graph");
  for (int k = 0; k < kLaunches; ++k) {
    nothing<<<1, 32, 0, stream>>>();
  }
  check(cudaStreamEndCapture(stream, &graph), "a captured graph");
  check(cudaGraphInstantiate(&ready, graph, 0), "a captured graph");
  row("launch in a captured graph",
      1e6 / kLaunches * seconds([&] { check(cudaGraphLaunch(ready, stream), "a captured graph"); }),
      "µs");
}

void copies(cudaStream_t stream) {
  constexpr std::size_t kBytes = 4096;
  void* host = nullptr;
  void* there = nullptr;
  check(cudaMallocHost(&host, kBytes), "pinned memory");
  check(cudaMalloc(&there, kBytes), "memory");
  constexpr int kCopies = 500;
  row("copy 4 KB in, queued",
      1e6 / kCopies * seconds([&] {
        for (int k = 0; k < kCopies; ++k) {
          check(cudaMemcpyAsync(there, host, kBytes, cudaMemcpyHostToDevice, stream), "a copy in");
        }
      }),
      "µs");
  row("copy 4 bytes out and wait",
      1e6 * seconds([&] {
        check(cudaMemcpyAsync(host, there, 4, cudaMemcpyDeviceToHost, stream), "a copy out");
        check(cudaStreamSynchronize(stream), "a wait");
      }),
      "µs");
}

void barrier(int multiprocessors) {
  void* no_arguments[] = {nullptr};
  row("barrier of all blocks",
      1e6 / kMeetings * seconds([&] {
        check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(meet), dim3(multiprocessors),
                                          dim3(256), no_arguments),
              "a cooperative launch");
      }),
      "µs");
}

void speeds(int multiprocessors) {
  constexpr long long kNumbers = 1LL << 27;
  float* from = nullptr;
  float* to = nullptr;
  check(cudaMalloc(&from, kNumbers * sizeof(float)), "memory");
  check(cudaMalloc(&to, kNumbers * sizeof(float)), "memory");
  const double pass = seconds([&] { add_one<<<multiprocessors * 16, 256>>>(from, to, kNumbers); });
  row("memory, read and write", 2.0 * kNumbers * sizeof(float) / pass / 1e12, "TB/s");
  const int blocks = multiprocessors * 32;
  const double work = seconds([&] { multiply_add<<<blocks, 256>>>(to, 0.5F, 1.0F); });
  row("arithmetic in floats", 2.0 * blocks * 256 * kMultiplyAdds / work / 1e12, "TFLOP/s");
}

}  // namespace

int main() {
  cudaDeviceProp properties{};
  int driver = 0;
  check(cudaGetDeviceProperties(&properties, 0), "the GPU");
  check(cudaDriverGetVersion(&driver), "the driver");
  std::printf("| number | value |\n| --- | --- |\n");
  std::printf("| GPU | %s, %d.%d, %d multiprocessors, %zu MiB |\n| driver | CUDA %d.%d |\n",
              properties.name, properties.major, properties.minor, properties.multiProcessorCount,
              properties.totalGlobalMem >> 20, driver / 1000, driver % 1000 / 10);
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream");
  launches(stream);
  copies(stream);
  barrier(properties.multiProcessorCount);
  speeds(properties.multiProcessorCount);
  return 0;
}
