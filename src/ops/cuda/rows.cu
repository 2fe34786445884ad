// One forward and one backward kernel for each rule over rows of AllOps and of the operations'
// steps. A warp takes a row. The evaluator is dynet/ext/plain_rows.h.

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "dynet/ops/all.h"

#include "kernels/launch.h"
#include "ops/device_rules.h"

namespace dynet::ops {
namespace {

constexpr int kLanes = 32;
constexpr int kWarps = 8;  // of a block, if there are as many rows

/// The threads of a warp share a row.
struct Warp {
  static constexpr std::int64_t kSize = kLanes;
  static constexpr bool kKeepsErrors = true;
  /// Before a loop over the row: gradients may be written over values that no rule needs, so all
  /// lanes have to be done with what they read before.
  __device__ static std::int64_t rank() {
    __syncwarp();
    return threadIdx.x % kLanes;
  }
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
  const std::int64_t warps = blockDim.x / kLanes;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * warps;
  const std::int64_t count = p.rows.inner * p.rows.outer;
  for (std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * warps + threadIdx.x / kLanes;
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
                  kernels::threads_for(rows, kWarps * kLanes, kLanes), cuda_stream, p);
}

template <class Op>
constexpr DeviceRowLoops kDeviceRowLoops{start<rule::ForwardRule, Op>,
                                         start<rule::BackwardRule, Op>};

/// The loops of a rule are its identity, as in rules.cu.
using FoundRows = std::unordered_map<const ext::RowLoops*, const DeviceRowLoops*>;
template <class Op>
void note_rows(FoundRows& all) {
  if constexpr (ext::RowOperation<Op>) {
    all[&ext::row_loops<Op>()] = &kDeviceRowLoops<Op>;
  }
}
template <class... Ops>
FoundRows note_all_rows(ext::OpList<Ops...> /*list*/) {
  FoundRows all;
  (note_rows<Ops>(all), ...);
  return all;
}
const FoundRows& all_row_loops() {
  static const auto& all = *new FoundRows(note_all_rows(ext::WithSteps<AllOps>{}));
  return all;
}

}  // namespace

const DeviceRowLoops* device_row_loops(const ext::RowRule* rule) {
  const auto found = rule == nullptr ? all_row_loops().end() : all_row_loops().find(rule->loops);
  return found == all_row_loops().end() ? nullptr : found->second;
}
std::int64_t device_row_loop_count() { return static_cast<std::int64_t>(all_row_loops().size()); }

}  // namespace dynet::ops
