// One forward and one backward kernel for each rule of AllOps.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dynet/ops/all.h"

#include "kernels/device_rule.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "ops/device_rules.h"

namespace dynet::ops {
namespace {

constexpr unsigned kThreads = kMostOfTeam;
constexpr int kWarp = 32;

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
  float of[(kernels::kNumbersIn<Results> + 2) / 2 * 2];  // no padding behind it
};

/// A call by value, as a kernel's parameter.
template <class Direction, class Op>
struct RuleParameters {
  Numbers<Results<Direction, Op>> numbers;
  RuleBox box;
  DeviceStream in[Direction::kIn], out[Direction::kOut];
  kernels::DeviceWords words;
};

/// Where an element of the box lies.
struct Element {
  std::int64_t at[kMostRuleAxes];
  kernels::DeviceExample example;
};
__device__ void find_axes(const RuleBox& box, int first, int end, std::int64_t number,
                          Element& element) {
  for (int k = first; k < end; ++k) {
    element.at[k] = number % box.extent[k];
    number /= box.extent[k];
  }
}
template <class T, class P>
__device__ kernels::DevicePlace<T> place(const P& p, const DeviceStream& s, const Element& e) {
  std::int64_t numbers = 0;
  for (int k = 0; k < p.box.axes; ++k) {
    numbers += e.at[k] * s.stride[k];
  }
  return kernels::place_of<T>(s.operand, p.box.segments, p.words, e.example,
                              s.offset + numbers * std::int64_t{sizeof(float)});
}
__device__ void put(const kernels::DevicePlace<float>& to, float value) {
  *to.at = to.adds ? *to.at + value : value;
}

/// All results of an element are computed before the first is written. Sums stay with the thread.
template <class P, class... E, std::size_t... kI, std::size_t... kJ>
__device__ void run_element(const P& p, const Numbers<std::tuple<E...>>& numbers, const Element& e,
                            kernels::DeviceSum* sums, std::index_sequence<kI...> /*inputs*/,
                            std::index_sequence<kJ...> /*results*/) {
  const float x[] = {*place<const float>(p, p.in[kI], e).at...};
  const float results[] = {
      kernels::Evaluate<E, kernels::numbers_before<E...>(kJ)>::of(numbers.of, x)...};
  const auto write = [&](const DeviceStream& s, float value, kernels::DeviceSum& sum) {
    if (s.is_summed != 0) {
      sum.add(value);
    } else if (s.is_wanted != 0) {
      put(place<float>(p, s, e), value);
    }
  };
  (write(p.out[kJ], results[kJ], sums[kJ]), ...);
}

/// The sum of a team, for its first thread.
__device__ float sum_of_team(float sum, unsigned team) {
  if (team == 1) {
    return sum;
  }
  if (team == kThreads) {
    return kernels::sum_of_block<kThreads>(sum);
  }
  for (int lanes = kWarp / 2; lanes > 0; lanes /= 2) {
    sum += __shfl_xor_sync(0xffffffffU, sum, lanes);
  }
  return sum;
}

/// A team of threads has a place, and goes through its terms.
template <class Direction, class Op>
__global__ void run_rule(const __grid_constant__ RuleParameters<Direction, Op> p) {
  const RuleBox& box = p.box;
  const std::int64_t places = box.places * (box.examples_are_terms != 0 ? 1 : box.examples);
  const std::int64_t terms = box.terms * (box.examples_are_terms != 0 ? box.examples : 1);
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x / box.team;
  for (std::int64_t t = thread / box.team; t < places; t += step) {
    kernels::DeviceSum sums[Direction::kOut];
    Element e;
    find_axes(box, 0, box.place_axes, t % box.places, e);
    e.example = kernels::example_at(box.segments, p.words, t / box.places);
    for (std::int64_t s = thread % box.team; s < terms; s += box.team) {
      find_axes(box, box.place_axes, box.axes, s % box.terms, e);
      if (box.examples_are_terms != 0) {
        e.example = kernels::example_at(box.segments, p.words, s / box.terms);
      }
      run_element(p, p.numbers, e, sums, std::make_index_sequence<Direction::kIn>{},
                  std::make_index_sequence<Direction::kOut>{});
    }
    for (int k = box.place_axes; k < box.axes; ++k) {
      e.at[k] = 0;
    }
    for (std::size_t j = 0; j < Direction::kOut; ++j) {
      if (p.out[j].is_summed != 0) {
        const float all = sum_of_team(sums[j].get(), box.team);
        if (thread % box.team == 0) {
          put(place<float>(p, p.out[j], e), all);
        }
      }
    }
  }
}

template <class Direction, class Op>
void start(const void* op, const DeviceRuleCall& call, void* cuda_stream) {
  RuleParameters<Direction, Op> p{};
  float* to = p.numbers.of;
  kernels::write_numbers(
      Direction::expressions(ext::rule_at<Op>(op), std::make_index_sequence<Direction::kIn>()), to);
  p.box = call.box;
  std::copy_n(call.in, Direction::kIn, p.in);
  std::copy_n(call.out, Direction::kOut, p.out);
  p.words = *call.words;
  const RuleBox& box = p.box;
  const std::int64_t threads =
      box.places * (box.examples_are_terms != 0 ? 1 : box.examples) * std::int64_t{box.team};
  if (threads != 0) {
    kernels::launch(
        "a rule's kernel", run_rule<Direction, Op>, kernels::blocks_for(threads, kThreads),
        box.team == kThreads ? kThreads : kernels::threads_for(threads, kThreads), cuda_stream, p);
  }
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

void start_run(DeviceLoop loop, const void* op, const ext::Stream* in, std::size_t in_count,
               const ext::Stream* out, std::size_t out_count, std::int64_t n, void* cuda_stream) {
  using ext::Stream;
  if (n == 0) {
    return;
  }
  std::vector<DeviceStream> streams;
  bool sums = false;
  const auto add = [&](const Stream& s) {
    const bool is_one = s.mode == Stream::kRepeat || s.mode == Stream::kSum;
    sums = sums || s.mode == Stream::kSum;
    DeviceStream& to = streams.emplace_back();
    to.operand = {reinterpret_cast<std::uint64_t>(s.data), 0, -1,
                  s.mode == Stream::kAdd || s.mode == Stream::kSum ? 1U : 0U};
    to.stride[0] = is_one ? 0 : 1;
    to.is_wanted = s.mode != Stream::kSkip ? 1 : 0;
    to.is_summed = s.mode == Stream::kSum ? 1 : 0;
  };
  std::for_each(in, in + in_count, add);
  std::for_each(out, out + out_count, add);
  DeviceRuleCall call{streams.data(), streams.data() + in_count, {}, nullptr};
  call.box.extent[0] = n;
  call.box.axes = 1;
  call.box.place_axes = sums ? 0 : 1;
  call.box.places = sums ? 1 : n;
  call.box.terms = sums ? n : 1;
  call.box.examples = 1;
  call.box.team = sums ? kMostOfTeam : 1;
  call.box.segments = {1, 1};
  const kernels::WordsOnDevice none({}, cuda_stream);
  call.words = &none.get();
  loop(op, call, cuda_stream);
}

const DeviceLoops* device_loops(const ext::RuleInfo* rule) {
  const auto found = rule == nullptr ? all_loops().end() : all_loops().find(rule->loops);
  return found == all_loops().end() ? nullptr : found->second;
}
std::int64_t device_loop_count() { return static_cast<std::int64_t>(all_loops().size()); }

}  // namespace dynet::ops
