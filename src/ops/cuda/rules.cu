// One forward and one backward kernel for each rule of AllOps.

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "dynet/ops/all.h"

#include "kernels/device_rule.h"
#include "kernels/device_sum.h"
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
/// Numbers of a sum stay with the thread until the end.
__device__ void write(const ext::Stream& s, std::int64_t i, float value, kernels::DeviceSum& sum) {
  auto* y = static_cast<float*>(s.data);
  if (s.mode == ext::Stream::kSum) {
    sum.add(value);
  } else if (s.mode == ext::Stream::kStore) {
    y[i] = value;
  } else if (s.mode == ext::Stream::kAdd) {
    y[i] += value;
  }
}
/// There is one block if there is a sum.
__device__ void finish(const ext::Stream& s, const kernels::DeviceSum& sum) {
  if (s.mode == ext::Stream::kSum) {
    const float all = kernels::sum_of_block<kThreads>(sum.get());
    if (threadIdx.x == 0) {
      *static_cast<float*>(s.data) += all;
    }
  }
}

/// All results of an element are computed before the first is written.
template <std::size_t kIn, class... E, std::size_t... kI, std::size_t... kJ>
__device__ void run_element(const Numbers<std::tuple<E...>>& numbers, const Streams<kIn>& in,
                            const Streams<sizeof...(E)>& out, std::int64_t i,
                            kernels::DeviceSum* sums, std::index_sequence<kI...> /*inputs*/,
                            std::index_sequence<kJ...> /*results*/) {
  const float x[] = {read(in.s[kI], i)...};
  const float results[] = {
      kernels::Evaluate<E, kernels::numbers_before<E...>(kJ)>::of(numbers.of, x)...};
  (write(out.s[kJ], i, results[kJ], sums[kJ]), ...);
}

template <class Direction, class Op>
__global__ void run_rule(Numbers<Results<Direction, Op>> numbers, Streams<Direction::kIn> in,
                         Streams<Direction::kOut> out, std::int64_t n) {
  kernels::DeviceSum sums[Direction::kOut];
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    run_element(numbers, in, out, i, sums, std::make_index_sequence<Direction::kIn>{},
                std::make_index_sequence<Direction::kOut>{});
  }
  for (std::size_t j = 0; j < Direction::kOut; ++j) {
    finish(out.s[j], sums[j]);
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
  const bool sums = std::any_of(out, out + Direction::kOut,
                                [](const ext::Stream& s) { return s.mode == ext::Stream::kSum; });
  kernels::launch("a rule's kernel", run_rule<Direction, Op>,
                  sums ? 1 : kernels::blocks_for(n, kThreads), kernels::threads_for(n, kThreads),
                  cuda_stream, numbers, read_from, write_to, n);
}

template <class Op>
constexpr DeviceLoops kDeviceLoops{start<Forward<Op>, Op>, start<Backward<Op>, Op>};

/// The loops of a rule are its identity: a library that is opened at run time has copies of the
/// constants in headers, but finds the loops by their symbol, in libdynet.
using Found = std::unordered_map<const ext::RuleLoops*, const DeviceLoops*>;
template <class Op>
void note(Found& all) {
  if constexpr (ext::Rule<Op>) {
    ext::for_each_form<Op>(
        [&]<class Form>() { all[&ext::rule_loops<Form>()] = &kDeviceLoops<Form>; });
  }
}
template <class... Ops>
Found note_all(ext::OpList<Ops...> /*list*/) {
  Found all;
  (note<Ops>(all), ...);
  return all;
}
const Found& all_loops() {
  static const auto& all = *new Found(note_all(AllOps{}));  // programs compute until their end
  return all;
}

}  // namespace

const DeviceLoops* device_loops(const ext::RuleInfo* rule) {
  const auto found = rule == nullptr ? all_loops().end() : all_loops().find(rule->loops);
  return found == all_loops().end() ? nullptr : found->second;
}
std::int64_t device_loop_count() { return static_cast<std::int64_t>(all_loops().size()); }

}  // namespace dynet::ops
