// One forward and one backward kernel for each rule of AllOps.

#include <algorithm>
#include <tuple>
#include <utility>

#include "dynet/ops/all.h"

#include "kernels/device_rule.h"
#include "kernels/launch.h"
#include "ops/device_rules.h"

namespace dynet::ops {
namespace {

constexpr int kThreads = 256;

/// Streams by value, as a kernel's parameters.
template <std::size_t kN>
struct Streams {
  ext::Stream s[kN];
};

/// The directions of a rule, called with symbols.
template <class Op>
struct Forward {
  static constexpr std::size_t kIn = ext::RuleArity<Op>::inputs();
  static constexpr std::size_t kOut = ext::RuleArity<Op>::results();
  template <std::size_t... kI>
  static auto expressions(const Op& op, std::index_sequence<kI...> /*inputs*/) {
    return ext::forward_rule(op, rule::In<static_cast<int>(kI)>{}...);
  }
};
template <class Op>
struct Backward {
  static constexpr std::size_t kIn = ext::RuleArity<Op>::backward_inputs();
  static constexpr std::size_t kOut = ext::RuleArity<Op>::gradients();
  template <std::size_t... kI>
  static auto expressions(const Op& op, std::index_sequence<kI...> /*inputs*/) {
    return ext::backward_rule(op, rule::In<static_cast<int>(kI)>{}...);
  }
};
template <class Direction, class Op>
using Results = decltype(Direction::expressions(std::declval<const Op&>(),
                                                std::make_index_sequence<Direction::kIn>()));
/// The attributes and literals of a rule, by value.
template <class Results>
struct Numbers {
  float of[kernels::kNumbersIn<Results> + 1];
};

__device__ float read(const ext::Stream& s, std::int64_t i) {
  return static_cast<const float*>(s.data)[s.mode == ext::Stream::kRepeat ? 0 : i];
}
/// The `value` of a thread beyond the end counts as 0 in a sum; otherwise that thread writes
/// nothing.
__device__ void write(const ext::Stream& s, std::int64_t i, bool is_inside, float value) {
  auto* y = static_cast<float*>(s.data);
  if (s.mode == ext::Stream::kSum) {
    float sum = is_inside ? value : 0.0F;
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      sum += __shfl_down_sync(0xffffffffU, sum, lanes);
    }
    if (threadIdx.x % 32 == 0) {
      atomicAdd(y, sum);
    }
  } else if (is_inside && s.mode == ext::Stream::kStore) {
    y[i] = value;
  } else if (is_inside && s.mode == ext::Stream::kAdd) {
    y[i] += value;
  }
}

/// All results of an element are computed before the first is written.
template <std::size_t kIn, class... E, std::size_t... kI, std::size_t... kJ>
__device__ void run_element(const Numbers<std::tuple<E...>>& numbers, const Streams<kIn>& in,
                            const Streams<sizeof...(E)>& out, std::int64_t i, bool is_inside,
                            std::index_sequence<kI...> /*inputs*/,
                            std::index_sequence<kJ...> /*results*/) {
  const std::int64_t at = is_inside ? i : 0;
  const float x[] = {read(in.s[kI], at)...};
  const float results[] = {
      kernels::Evaluate<E, kernels::numbers_before<E...>(kJ)>::of(numbers.of, x)...};
  (write(out.s[kJ], i, is_inside, results[kJ]), ...);
}

/// All threads of a block make the same number of rounds, because a warp sums together.
template <class Direction, class Op>
__global__ void run_rule(Numbers<Results<Direction, Op>> numbers, Streams<Direction::kIn> in,
                         Streams<Direction::kOut> out, std::int64_t n) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x; first < n;
       first += step) {
    const std::int64_t i = first + threadIdx.x;
    run_element(numbers, in, out, i, i < n, std::make_index_sequence<Direction::kIn>{},
                std::make_index_sequence<Direction::kOut>{});
  }
}

template <class Direction, class Op>
void start(const void* op, const ext::Stream* in, const ext::Stream* out, std::int64_t n,
           void* cuda_stream) {
  if (n == 0) {
    return;
  }
  Numbers<Results<Direction, Op>> numbers{};
  float* to = numbers.of;
  kernels::write_numbers(
      Direction::expressions(ext::rule_at<Op>(op), std::make_index_sequence<Direction::kIn>()), to);
  Streams<Direction::kIn> read_from{};
  Streams<Direction::kOut> write_to{};
  std::copy_n(in, Direction::kIn, read_from.s);
  std::copy_n(out, Direction::kOut, write_to.s);
  kernels::launch("a rule's kernel", run_rule<Direction, Op>, kernels::blocks_for(n, kThreads),
                  kThreads, cuda_stream, numbers, read_from, write_to, n);
}

template <class Op>
constexpr DeviceLoops kDeviceLoops{start<Forward<Op>, Op>, start<Backward<Op>, Op>};

template <class Op>
void find(const ext::RuleInfo* rule, const DeviceLoops*& found, std::int64_t& count) {
  if constexpr (ext::Rule<Op>) {
    ext::for_each_form<Op>([&]<class Form>() {
      if (rule == &ext::kRuleInfo<Form>) {
        found = &kDeviceLoops<Form>;
      }
      ++count;
    });
  }
}
template <class... Ops>
std::pair<const DeviceLoops*, std::int64_t> search(const ext::RuleInfo* rule, ext::OpList<Ops...>) {
  const DeviceLoops* found = nullptr;
  std::int64_t count = 0;
  (find<Ops>(rule, found, count), ...);
  return {found, count};
}

}  // namespace

const DeviceLoops* device_loops(const ext::RuleInfo* rule) { return search(rule, AllOps{}).first; }
std::int64_t device_loop_count() { return search(nullptr, AllOps{}).second; }

}  // namespace dynet::ops
