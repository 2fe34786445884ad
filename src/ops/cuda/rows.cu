// One forward and one backward kernel for each rule over rows of AllOps and of the operations'
// steps. A warp takes a row. The evaluator is dynet/ext/plain_rows.h.

#include <algorithm>
#include <utility>

#include "dynet/ops/all.h"

#include "kernels/launch.h"
#include "ops/device_rules.h"

namespace dynet::ops {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = 8;  // of a block

/// The threads of a warp share a row.
struct Warp {
  static constexpr std::int64_t kSize = kLanes;
  __device__ static std::int64_t rank() { return threadIdx.x % kLanes; }
  template <class State, class Merge>
  __device__ static State merge(State s, Merge merge) {
    for (int lanes = kLanes / 2; lanes > 0; lanes /= 2) {
      const State other{__shfl_xor_sync(0xffffffffU, s.value, lanes),
                        __shfl_xor_sync(0xffffffffU, s.index, lanes)};
      s = merge(s, other);
    }
    return s;
  }
  /// Atomic, because several rows may add to the same number. The order is not fixed.
  template <class T>
  __device__ static void add(T* to, T value) {
    atomicAdd(to, value);
  }
};

/// A call by value, as a kernel's parameter.
template <class Direction, class Op>
struct Parameters {
  using Numbered = rule::Numbered<Direction, Op>;
  double constants[Numbered::kCount + 1];
  ext::RowStream in[Numbered::kInputs], out[Numbered::kResults];
  ext::Rows rows;
};

template <class Direction, class Op>
__global__ void run_rows(Parameters<Direction, Op> p) {
  const ext::RowCall call{p.constants, p.in, p.out, p.rows};
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kWarps;
  const std::int64_t count = p.rows.inner * p.rows.outer;
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / kLanes;
       r < count; r += step) {
    ext::plain::run_row<Warp, float, Direction, Op>(call, r / p.rows.inner, r % p.rows.inner);
  }
}

template <class Direction, class Op>
void start(const ext::RowCall& call, void* cuda_stream) {
  using P = Parameters<Direction, Op>;
  const std::int64_t rows = call.rows.inner * call.rows.outer;
  if (rows == 0) {
    return;
  }
  P p{};
  std::copy_n(call.constants, P::Numbered::kCount, p.constants);
  std::copy_n(call.in, P::Numbered::kInputs, p.in);
  std::copy_n(call.out, P::Numbered::kResults, p.out);
  p.rows = call.rows;
  kernels::launch(Op::kInfo.name, run_rows<Direction, Op>, kernels::blocks_for(rows, kWarps),
                  kWarps * kLanes, cuda_stream, p);
}

template <class Op>
constexpr DeviceRowLoops kDeviceRowLoops{start<rule::ForwardRule, Op>,
                                         start<rule::BackwardRule, Op>};

template <class Op>
void find(const ext::RowRule* rule, const DeviceRowLoops*& found, std::int64_t& count) {
  if constexpr (ext::RowOperation<Op>) {
    if (rule == &ext::kRowRule<Op>) {
      found = &kDeviceRowLoops<Op>;
    }
    ++count;
  }
}
template <class... Ops>
std::pair<const DeviceRowLoops*, std::int64_t> search(const ext::RowRule* rule,
                                                      ext::OpList<Ops...>) {
  const DeviceRowLoops* found = nullptr;
  std::int64_t count = 0;
  (find<Ops>(rule, found, count), ...);
  return {found, count};
}

}  // namespace

const DeviceRowLoops* device_row_loops(const ext::RowRule* rule) {
  return search(rule, ext::WithSteps<AllOps>{}).first;
}
std::int64_t device_row_loop_count() { return search(nullptr, ext::WithSteps<AllOps>{}).second; }

}  // namespace dynet::ops
