// One kernel for each rule of an update: a thread takes an element at a time. A rule with
// reductions takes all elements as one row, which the threads of one block share.

#include <cuda_runtime.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/except.h"
#include "dynet/trainers/all.h"

#include "trainers/device_steps.h"

namespace dynet::trainers {
namespace {

constexpr int kThreads = 256;
constexpr std::int64_t kMaxBlocks = 1 << 16;

/// The operands of a kernel, by value.
template <std::size_t kIn, std::size_t kOut>
struct Places {
  const float* in[kIn];
  float* out[kOut];
};

template <class Rule, std::size_t kIn, std::size_t kOut, std::size_t... kI, std::size_t... kJ>
__device__ void run_element(const Rule& rule, const Places<kIn, kOut>& places, std::int64_t i,
                            std::index_sequence<kI...>, std::index_sequence<kJ...>) {
  const auto results = rule.step(places.in[kI][i]...);
  ((places.out[kJ][i] = static_cast<float>(std::get<kJ>(results))), ...);
}

template <class Rule, std::size_t kIn, std::size_t kOut>
__global__ void run_step(Rule rule, Places<kIn, kOut> places, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    run_element(rule, places, i, std::make_index_sequence<kIn>{}, std::make_index_sequence<kOut>{});
  }
}

/// The threads of a block share a row.
struct Block {
  static constexpr int kWarp = 32;
  static constexpr int kWarps = 32;
  static constexpr std::int64_t kSize = kWarp * kWarps;
  __device__ static std::int64_t rank() { return threadIdx.x; }
  template <class State, class Merge>
  __device__ static State merge(State s, Merge merge) {
    for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
      const State other{__shfl_xor_sync(0xffffffffU, s.value, lanes),
                        __shfl_xor_sync(0xffffffffU, s.index, lanes)};
      s = merge(s, other);
    }
    __shared__ State of_warp[kWarps];
    __syncthreads();  // all have read the last merged values
    if (threadIdx.x % kWarp == 0) {
      of_warp[threadIdx.x / kWarp] = s;
    }
    __syncthreads();
    s = of_warp[0];
    for (int w = 1; w < kWarps; ++w) {
      s = merge(s, of_warp[w]);
    }
    return s;
  }
};

template <class Rule>
struct Constants {
  double values[ext::detail::Numbering<Rule>::kCount + 1];
};

template <class Rule, std::size_t kIn, std::size_t kOut>
__global__ void __launch_bounds__(Block::kSize)
    run_reducing_step(Constants<Rule> constants, Places<kIn, kOut> places, std::int64_t n) {
  ext::detail::reducing_step<Block, Rule, float>(constants.values, places.in, places.out, n);
}

template <class Rule>
void launch(const void* prepared, const ext::Stream* in, const ext::Stream* out, std::int64_t n,
            void* cuda_stream) {
  if (n == 0) {
    return;
  }
  using Numbers = ext::detail::Numbering<Rule>;
  Places<Numbers::kInputs, Numbers::kResults> places;
  for (std::size_t k = 0; k < Numbers::kInputs; ++k) {
    places.in[k] = static_cast<const float*>(in[k].data);
  }
  for (std::size_t j = 0; j < Numbers::kResults; ++j) {
    places.out[j] = static_cast<float*>(out[j].data);
  }
  const auto stream = static_cast<cudaStream_t>(cuda_stream);
  const Rule& rule = *static_cast<const Rule*>(prepared);
  if constexpr (ext::detail::kStepReduces<Rule>) {
    Constants<Rule> constants;
    Numbers::write_values(rule, static_cast<double*>(constants.values));
    run_reducing_step<Rule><<<1, Block::kSize, 0, stream>>>(constants, places, n);
  } else {
    const auto blocks = static_cast<unsigned>(std::min(kMaxBlocks, (n + kThreads - 1) / kThreads));
    run_step<<<blocks, kThreads, 0, stream>>>(rule, places, n);
  }
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) {
    throw cuda_exception(std::string("a trainer's update: ") + cudaGetErrorString(error));
  }
}

template <class Rule>
void find(const ext::UpdateInfo* rule, DeviceStep& found) {
  if constexpr (!std::is_same_v<Rule, NoCatchUp>) {
    if (rule == &ext::update_info<Rule>()) {
      found = launch<Rule>;
    }
  }
}
template <class... T>
DeviceStep search(const ext::UpdateInfo* rule, TrainerList<T...> /*list*/) {
  DeviceStep found = nullptr;
  (find<typename T::Rule>(rule, found), ...);
  (find<typename T::CatchUp>(rule, found), ...);
  return found;
}

}  // namespace

DeviceStep device_step(const ext::UpdateInfo* rule) { return search(rule, AllUpdates{}); }

}  // namespace dynet::trainers
