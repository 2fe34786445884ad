// Chains on CUDA: a block of threads has an example and goes from step to step, a thread has some
// of the states. Scores with emissions are added up at each use, so that a block keeps only a row
// of gradients.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "../chain_step.h"
#include "kernels/device_chain.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"

namespace dynet::kernels {
namespace {

constexpr int kThreads = 128;

/// An operand in one block: its begin, and the distance of its examples. Null: absent.
template <class T>
struct Rows {
  T* data = nullptr;
  std::int64_t stride = 0;
  Rows() = default;
  explicit Rows(const ext::Operand& o)
      : data(o.absent() ? nullptr : o.data<T>()), stride(o.examples == 1 ? 0 : o.size()) {}
  __device__ T* at(std::int64_t e) const { return data == nullptr ? nullptr : data + e * stride; }
};

/// A call by value, as a kernel's parameter.
struct Parameters {
  ext::Paths paths;
  bool is_band;
  std::int64_t states, steps, sources;
  Rows<const float> emissions, transitions, start, end, lengths, d_value;
  Rows<float> before, value, d_emissions, d_transitions, d_start, d_end;
  Rows<std::uint32_t> path;
  float* scratch;
};

/// A step as in chain_step.h, of one example.
struct Arriving {
  std::int64_t states, sources;
  bool is_band;
  const float *before, *emissions, *w;  ///< of the step that is left
  float top;                            ///< the subtracted number

  __device__ float leaving(std::int64_t from) const { return before[from] + emissions[from] - top; }
  __device__ std::int64_t source(std::int64_t i, std::int64_t k) const {
    return is_band ? i - k : k;
  }
  __device__ float through(std::int64_t i, std::int64_t k) const {
    const std::int64_t from = source(i, k);
    return from < 0 ? -INFINITY : leaving(from) + w[i + k * states];
  }
  /// Which predecessor of state i a state is; below 0: none.
  __device__ std::int64_t number(std::int64_t i, std::int64_t from) const {
    const std::int64_t k = is_band ? i - from : from;
    return k < sources ? k : -1;
  }
  /// The place of the transition; below 0 if there is none.
  __device__ std::int64_t place(std::int64_t i, std::int64_t from) const {
    const std::int64_t k = number(i, from);
    return k < 0 ? -1 : i + k * states;
  }
};

/// The sum or maximum of the values of a block's threads, for all threads.
template <class Merge>
__device__ float of_block(float v, Merge merge) {
  __shared__ float all[kThreads];
  all[threadIdx.x] = v;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      all[threadIdx.x] = merge(all[threadIdx.x], all[threadIdx.x + half]);
    }
    __syncthreads();
  }
  const float result = all[0];
  __syncthreads();
  return result;
}

/// One example in the hands of a block.
class Example {
 public:
  __device__ Example(const Parameters& p, std::int64_t e) : p_(p), e_(e), length_(p.steps) {
    if (const float* const l = p.lengths.at(e);
        l != nullptr && !(*l >= static_cast<float>(p.steps))) {
      length_ = *l >= 1.0F ? static_cast<std::int64_t>(*l) : 1;
    }
  }

  __device__ void forward() const {
    if (p_.paths == ext::Paths::kGiven) {
      if (threadIdx.x == 0) {
        *p_.value.at(e_) = score();
      }
      return;
    }
    DeviceSum total;
    const float* const start = p_.start.at(e_);
    each_state([&](std::int64_t i) { row(0)[i] = start == nullptr ? 0.0F : start[i]; });
    for (std::int64_t t = 1; t < length_; ++t) {
      const Arriving step = left(t - 1);
      total.add(step.top);
      each_state([&](std::int64_t i) {
        row(t)[i] = p_.paths == ext::Paths::kSum ? sum_at<float>(step, i) : best_at<float>(step, i);
      });
    }
    for (std::int64_t t = length_; t < p_.steps; ++t) {
      each_state([&](std::int64_t i) { row(t)[i] = 0.0F; });
    }
    if (p_.paths == ext::Paths::kSum) {
      const Arriving last = left(length_ - 1);
      const float sum = of_block(share(last), Add{});
      if (threadIdx.x == 0) {
        total.add(last.top);
        total.add(std::log(sum));
        *p_.value.at(e_) = total.get();
      }
    } else if (threadIdx.x == 0) {
      trace_back();
    }
  }

  __device__ void backward() const {
    const bool is_sum = p_.paths == ext::Paths::kSum;
    if (p_.paths != ext::Paths::kGiven && *p_.value.at(e_) == -INFINITY) {
      return;
    }
    if (is_sum) {
      pull();
    } else if (threadIdx.x == 0) {
      pull_path();
    }
  }

 private:
  struct Add {
    __device__ float operator()(float a, float b) const { return a + b; }
  };
  struct Larger {
    __device__ float operator()(float a, float b) const { return a > b ? a : b; }
  };
  template <class F>
  __device__ void each_state(F f) const {
    for (std::int64_t i = threadIdx.x; i < p_.states; i += kThreads) {
      f(i);
    }
    __syncthreads();
  }
  __device__ float* row(std::int64_t t) const { return p_.before.at(e_) + t * p_.states; }
  __device__ const float* emission(std::int64_t t) const {
    return p_.emissions.at(e_) + t * p_.states;
  }
  __device__ Arriving plain(std::int64_t t) const {
    return {p_.states, p_.sources, p_.is_band, row(t), emission(t), p_.transitions.at(e_), 0.0F};
  }
  __device__ float end_of(std::int64_t i) const {
    const float* const end = p_.end.at(e_);
    return end == nullptr || i < 0 ? 0.0F : end[i];
  }
  /// Step t seen from the next step: less the largest score, and with the end after the last step.
  __device__ Arriving left(std::int64_t t) const {
    Arriving step = plain(t);
    const bool is_last = t == length_ - 1;
    float top = -INFINITY;
    for (std::int64_t i = threadIdx.x; i < p_.states; i += kThreads) {
      const float v = step.leaving(i) + (is_last ? end_of(i) : 0.0F);
      top = v > top ? v : top;
    }
    step.top = finite_or_zero(of_block(top, Larger{}));
    return step;
  }
  /// The states of this thread: their share of the sum after the last step.
  __device__ float share(const Arriving& last) const {
    float sum = 0.0F;
    for (std::int64_t i = threadIdx.x; i < p_.states; i += kThreads) {
      sum += std::exp(last.leaving(i) + end_of(i));
    }
    return sum;
  }
  __device__ void trace_back() const {
    std::uint32_t* const path = p_.path.at(e_);
    for (std::int64_t t = length_; t < p_.steps; ++t) {
      path[t] = 0;
    }
    const Arriving last = plain(length_ - 1);
    std::int64_t state = 0;
    for (std::int64_t i = 1; i < p_.states; ++i) {
      state =
          is_better(last.leaving(i) + end_of(i), last.leaving(state) + end_of(state)) ? i : state;
    }
    for (std::int64_t t = length_ - 1; t > 0; --t) {
      path[t] = static_cast<std::uint32_t>(state);
      const Arriving step = plain(t - 1);
      std::int64_t best = p_.is_band && state >= p_.sources ? state - p_.sources + 1 : 0;
      const std::int64_t end = p_.is_band ? state + 1 : p_.states;
      for (std::int64_t from = best + 1; from < end; ++from) {
        const float v = step.through(state, step.number(state, from));
        best = is_better(v, step.through(state, step.number(state, best))) ? from : best;
      }
      state = best;
    }
    path[0] = static_cast<std::uint32_t>(state);
    *p_.value.at(e_) = score();
  }
  /// Where the transition into step t of the path stands.
  __device__ std::int64_t place(const std::uint32_t* path, std::int64_t t) const {
    const Arriving step{p_.states, p_.sources, p_.is_band, nullptr, nullptr, nullptr, 0.0F};
    return step.place(path[t], path[t - 1]);
  }
  __device__ float score() const {
    const std::uint32_t* const path = p_.path.at(e_);
    const float* const start = p_.start.at(e_);
    DeviceSum sum;
    sum.add(start == nullptr ? 0.0F : start[path[0]]);
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t at = t == 0 ? 0 : place(path, t);
      sum.add(t == 0 ? 0.0F : at < 0 ? -INFINITY : p_.transitions.at(e_)[at]);
      sum.add(emission(t)[path[t]]);
    }
    sum.add(end_of(path[length_ - 1]));
    return sum.get();
  }

  /// Atomic, as examples may share a gradient.
  __device__ static void add(float* to, std::int64_t i, float v) {
    if (to != nullptr) {
      atomicAdd(to + i, v);
    }
  }
  __device__ void pull_path() const {
    const std::uint32_t* const path = p_.path.at(e_);
    const float d = *p_.d_value.at(e_);
    add(p_.d_start.at(e_), path[0], d);
    for (std::int64_t t = 0; t < length_; ++t) {
      const std::int64_t at = t == 0 ? -1 : place(path, t);
      if (at >= 0) {
        add(p_.d_transitions.at(e_), at, d);
      }
      add(p_.d_emissions.at(e_), t * p_.states + path[t], d);
    }
    add(p_.d_end.at(e_), path[length_ - 1], d);
  }
  __device__ void pull() const {
    float* g = p_.scratch + 2 * e_ * p_.states;
    float* next = g + p_.states;
    const Arriving last = left(length_ - 1);
    const float scale = *p_.d_value.at(e_) / of_block(share(last), Add{});
    each_state([&](std::int64_t i) {
      g[i] = scale * std::exp(last.leaving(i) + end_of(i));
      add(p_.d_end.at(e_), i, g[i]);
    });
    for (std::int64_t t = length_ - 1; t > 0; --t) {
      const Arriving step = left(t - 1);
      each_state([&](std::int64_t from) {
        add(p_.d_emissions.at(e_), t * p_.states + from, g[from]);
        next[from] = pull_from(step, row(t), g, from);
      });
      float* const last_g = g;
      g = next;
      next = last_g;
    }
    each_state([&](std::int64_t i) {
      add(p_.d_emissions.at(e_), i, g[i]);
      add(p_.d_start.at(e_), i, g[i]);
    });
  }
  /// The gradient of a state's score, from all states that the state goes to.
  __device__ float pull_from(const Arriving& step, const float* y, const float* g,
                             std::int64_t from) const {
    const std::int64_t end = p_.is_band ? std::min(p_.states, from + p_.sources) : p_.states;
    float sum = 0.0F;
    for (std::int64_t i = p_.is_band ? from : 0; i < end; ++i) {
      const float d = share_at(step, y[i], i, step.number(i, from)) * g[i];
      sum += d;
      add(p_.d_transitions.at(e_), step.place(i, from), d);
    }
    return sum;
  }

  const Parameters& p_;
  std::int64_t e_, length_;
};

__global__ void run_chains(Parameters p, ext::Direction direction) {
  const Example example(p, blockIdx.x);
  if (direction == ext::Direction::kForward) {
    example.forward();
  } else {
    example.backward();
  }
}

}  // namespace

void start_chain(const ext::Chain& c, ext::Direction direction, float* scratch, void* cuda_stream) {
  Parameters p{};
  p.paths = c.paths;
  p.is_band = c.is_band;
  p.states = c.emissions.dim.rows();
  p.steps = c.emissions.dim.cols();
  if (c.paths == ext::Paths::kGiven) {
    p.steps = std::min<std::int64_t>(p.steps, c.path.dim.rows());
  }
  p.sources = c.transitions.dim[1];
  p.emissions = Rows<const float>(c.emissions);
  p.transitions = Rows<const float>(c.transitions);
  p.start = Rows<const float>(c.start);
  p.end = Rows<const float>(c.end);
  p.lengths = Rows<const float>(c.lengths);
  p.d_value = Rows<const float>(c.d_value);
  p.before = Rows<float>(c.before);
  p.value = Rows<float>(c.value);
  p.d_emissions = Rows<float>(c.d_emissions);
  p.d_transitions = Rows<float>(c.d_transitions);
  p.d_start = Rows<float>(c.d_start);
  p.d_end = Rows<float>(c.d_end);
  p.path = Rows<std::uint32_t>(c.path);
  p.scratch = scratch;
  const std::int64_t examples = c.examples();
  if (examples == 0) {
    return;
  }
  launch("chain", run_chains, static_cast<unsigned>(examples), kThreads, cuda_stream, p, direction);
}

}  // namespace dynet::kernels
