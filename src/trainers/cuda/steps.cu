// One kernel for each rule of an update: a thread takes an element at a time. A rule with
// reductions takes all elements as one row, which the threads of one block share.

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "dynet/trainers/all.h"

#include "kernels/device_rule.h"
#include "kernels/launch.h"
#include "trainers/device_steps.h"

namespace dynet::trainers {
namespace {

constexpr int kThreads = 256;

/// The operands of a kernel, by value.
template <std::size_t kIn, std::size_t kOut>
struct Places {
  const float* in[kIn];
  float* out[kOut];
};

/// The numbers of a step, by value.
template <class Number, class Rule>
struct Constants {
  Number values[ext::detail::Numbering<Rule>::kCount + 1];
};

/// All results of an element are computed before the first is written, over an operand perhaps. In
/// the expressions of a step, constants stand as inputs behind the operands.
template <class Rule, std::size_t kIn, std::size_t kOut, class... E, std::size_t... kI,
          std::size_t... kJ, std::size_t... kC>
__device__ void run_element(const Constants<float, Rule>& constants,
                            const Places<kIn, kOut>& places, std::int64_t i,
                            rule::Types<E...> /*results*/, std::index_sequence<kI...> /*inputs*/,
                            std::index_sequence<kJ...> /*results*/,
                            std::index_sequence<kC...> /*constants*/) {
  const float x[] = {places.in[kI][i]..., constants.values[kC]...};
  const float results[] = {kernels::Evaluate<E, 0>::of(nullptr, x)...};
  ((places.out[kJ][i] = results[kJ]), ...);
}

template <class Rule, std::size_t kIn, std::size_t kOut>
__global__ void run_step(Constants<float, Rule> constants, Places<kIn, kOut> places,
                         std::int64_t n) {
  using Numbers = ext::detail::Numbering<Rule>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    run_element(constants, places, i, typename Numbers::Expressions(),
                std::make_index_sequence<kIn>{}, std::make_index_sequence<kOut>{},
                std::make_index_sequence<Numbers::kCount>{});
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

template <class Rule, std::size_t kIn, std::size_t kOut>
__global__ void __launch_bounds__(Block::kSize)
    run_reducing_step(Constants<double, Rule> constants, Places<kIn, kOut> places, std::int64_t n) {
  ext::detail::reducing_step<Block, Rule, float>(constants.values, places.in, places.out, n);
}

template <class Rule>
void start(const void* prepared, const ext::Stream* in, const ext::Stream* out, std::int64_t n,
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
  const auto& step = *static_cast<const ext::detail::Prepared<Rule>*>(prepared);
  if constexpr (ext::detail::kStepReduces<Rule>) {
    Constants<double, Rule> constants{};
    Numbers::write_values(step.rule, static_cast<double*>(constants.values));
    kernels::launch("a trainer's update",
                    run_reducing_step<Rule, Numbers::kInputs, Numbers::kResults>, 1, Block::kSize,
                    cuda_stream, constants, places, n);
  } else {
    Constants<float, Rule> constants{};
    std::copy_n(step.constants, Numbers::kCount, constants.values);
    kernels::launch("a trainer's update", run_step<Rule, Numbers::kInputs, Numbers::kResults>,
                    kernels::blocks_for(n, kThreads), kThreads, cuda_stream, constants, places, n);
  }
}

/// In the order of loops_of_updates().
template <class... T>
DeviceStep start_of(std::size_t number, TrainerList<T...> /*list*/) {
  static constexpr DeviceStep kAll[] = {
      start<typename T::Rule>...,
      start<std::conditional_t<std::is_same_v<typename T::CatchUp, NoCatchUp>, typename T::Rule,
                               typename T::CatchUp>>...};
  return kAll[number];
}

}  // namespace

DeviceStep device_step(const ext::RuleInfo* rule) {
  const auto all = loops_of_updates();
  const auto found = rule == nullptr ? all.end() : std::find(all.begin(), all.end(), rule->loops);
  return found == all.end() ? nullptr
                            : start_of(static_cast<std::size_t>(found - all.begin()), AllUpdates{});
}

}  // namespace dynet::trainers
