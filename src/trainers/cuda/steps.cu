// One kernel for each rule of an update, over any number of runs: a thread takes an element at a
// time. A rule with reductions takes all elements of a run as one row, which the threads of a block
// share.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/trainers/all.h"

#include "kernels/device_operands.h"
#include "kernels/device_rule.h"
#include "kernels/launch.h"
#include "trainers/device_steps.h"

namespace dynet::trainers {
namespace {

constexpr int kThreads = 256;

/// The operands of a run.
template <std::size_t kIn, std::size_t kOut>
struct Places {
  const float* in[kIn];
  float* out[kOut];
};
/// Several runs, by value. The table: the end of each run among all elements, unless all have `n`;
/// then the bytes from the first run to each, or, if the operands lie at different distances,
/// the addresses of each run.
template <std::size_t kIn, std::size_t kOut>
struct Runs {
  std::int64_t count, n;  ///< n: 0 if they differ
  std::int64_t elements;
  bool is_even;  ///< all operands of a run lie as far from the first run
  Places<kIn, kOut> first;
  kernels::DeviceWords words;
};
template <std::size_t kIn, std::size_t kOut>
__device__ Places<kIn, kOut> places_of(const Runs<kIn, kOut>& runs, std::int64_t run) {
  Places<kIn, kOut> p = runs.first;
  if (run == 0) {
    return p;
  }
  const std::int64_t table = runs.n != 0 ? 0 : runs.count;
  if (runs.is_even) {
    const auto distance = static_cast<std::int64_t>(runs.words[table + run]);
    for (std::size_t k = 0; k < kIn; ++k) {
      p.in[k] += distance / std::int64_t{sizeof(float)};
    }
    for (std::size_t j = 0; j < kOut; ++j) {
      p.out[j] += distance / std::int64_t{sizeof(float)};
    }
    return p;
  }
  const std::int64_t row = table + run * static_cast<std::int64_t>(kIn + kOut);
  for (std::size_t k = 0; k < kIn; ++k) {
    p.in[k] = reinterpret_cast<const float*>(runs.words[row + static_cast<std::int64_t>(k)]);
  }
  for (std::size_t j = 0; j < kOut; ++j) {
    p.out[j] = reinterpret_cast<float*>(runs.words[row + static_cast<std::int64_t>(kIn + j)]);
  }
  return p;
}
/// The elements of runs before `run`.
template <class R>
__device__ std::int64_t elements_before(const R& runs, std::int64_t run) {
  return runs.n != 0 ? run * runs.n : run == 0 ? 0 : static_cast<std::int64_t>(runs.words[run - 1]);
}
/// The run of an element of all.
template <class R>
__device__ std::int64_t run_of(const R& runs, std::int64_t element) {
  if (runs.n != 0) {
    return element / runs.n;
  }
  std::int64_t low = 0;
  for (std::int64_t high = runs.count; high - low > 1;) {
    const std::int64_t middle = (low + high) / 2;
    (elements_before(runs, middle) <= element ? low : high) = middle;
  }
  return low;
}

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
__global__ void run_steps(Constants<float, Rule> constants,
                          const __grid_constant__ Runs<kIn, kOut> runs) {
  using Numbers = ext::detail::Numbering<Rule>;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       i < runs.elements; i += step) {
    const std::int64_t run = run_of(runs, i);
    run_element(constants, places_of(runs, run), i - elements_before(runs, run),
                typename Numbers::Expressions(), std::make_index_sequence<kIn>{},
                std::make_index_sequence<kOut>{}, std::make_index_sequence<Numbers::kCount>{});
  }
}

/// The threads of a block share a row.
struct Block {
  static constexpr int kWarp = 32;
  static constexpr int kWarps = 32;
  static constexpr std::int64_t kSize = kWarp * kWarps;
  static constexpr bool kKeepsErrors = true;
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

/// A block has a run at a time.
template <class Rule, std::size_t kIn, std::size_t kOut>
__global__ void __launch_bounds__(Block::kSize)
    run_reducing_steps(Constants<double, Rule> constants,
                       const __grid_constant__ Runs<kIn, kOut> runs) {
  for (std::int64_t run = blockIdx.x; run < runs.count; run += gridDim.x) {
    const Places<kIn, kOut> places = places_of(runs, run);
    ext::detail::reducing_step<Block, Rule, float>(
        constants.values, places.in, places.out,
        elements_before(runs, run + 1) - elements_before(runs, run));
  }
}

std::uint64_t address_of(const ext::Stream& s) { return reinterpret_cast<std::uint64_t>(s.data); }

/// The table of `runs`, but for the words: written to `words`.
template <std::size_t kIn, std::size_t kOut>
Runs<kIn, kOut> table_of(const std::vector<ext::RuleRun>& all, std::vector<std::uint64_t>& words) {
  Runs<kIn, kOut> runs{};
  runs.count = static_cast<std::int64_t>(all.size());
  runs.n = all[0].n;
  runs.is_even = true;
  for (std::size_t k = 0; k < kIn; ++k) {
    runs.first.in[k] = static_cast<const float*>(all[0].in[k].data);
  }
  for (std::size_t j = 0; j < kOut; ++j) {
    runs.first.out[j] = static_cast<float*>(all[0].out[j].data);
  }
  std::vector<std::uint64_t> ends;
  std::vector<std::uint64_t> distances;
  std::vector<std::uint64_t> addresses;
  for (const ext::RuleRun& run : all) {
    runs.n = run.n == runs.n ? runs.n : 0;
    runs.elements += run.n;
    ends.push_back(static_cast<std::uint64_t>(runs.elements));
    distances.push_back(address_of(run.in[0]) - address_of(all[0].in[0]));
    const auto add = [&](const ext::Stream& s, const ext::Stream& first) {
      addresses.push_back(address_of(s));
      runs.is_even = runs.is_even && address_of(s) - address_of(first) == distances.back();
    };
    for (std::size_t k = 0; k < kIn; ++k) {
      add(run.in[k], all[0].in[k]);
    }
    for (std::size_t j = 0; j < kOut; ++j) {
      add(run.out[j], all[0].out[j]);
    }
  }
  if (all.size() > 1) {
    words = runs.n == 0 ? ends : std::vector<std::uint64_t>();
    const std::vector<std::uint64_t>& there = runs.is_even ? distances : addresses;
    words.insert(words.end(), there.begin(), there.end());
  }
  return runs;
}

template <class Rule>
void start(const void* prepared, std::span<const ext::RuleRun> given, void* cuda_stream) {
  using Numbers = ext::detail::Numbering<Rule>;
  std::vector<ext::RuleRun> all;
  std::copy_if(given.begin(), given.end(), std::back_inserter(all),
               [](const ext::RuleRun& run) { return run.n != 0; });
  if (all.empty()) {
    return;
  }
  std::vector<std::uint64_t> table;
  auto runs = table_of<Numbers::kInputs, Numbers::kResults>(all, table);
  const kernels::WordsOnDevice words(table, cuda_stream);
  runs.words = words.get();
  const auto& step = *static_cast<const ext::detail::Prepared<Rule>*>(prepared);
  if constexpr (ext::detail::kStepReduces<Rule>) {
    Constants<double, Rule> constants{};
    Numbers::write_values(step.rule, static_cast<double*>(constants.values));
    kernels::launch("a trainer's update",
                    run_reducing_steps<Rule, Numbers::kInputs, Numbers::kResults>,
                    kernels::blocks_for(runs.count, 1), Block::kSize, cuda_stream, constants, runs);
  } else {
    Constants<float, Rule> constants{};
    std::copy_n(step.constants, Numbers::kCount, constants.values);
    kernels::launch("a trainer's update", run_steps<Rule, Numbers::kInputs, Numbers::kResults>,
                    kernels::blocks_for(runs.elements, kThreads), kThreads, cuda_stream, constants,
                    runs);
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
