// Loops along the lines of a tensor on CUDA: running sums, and the largest elements.

#include <cstdint>

#include "../lines.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"

namespace dynet::kernels {
namespace {

constexpr int kLineThreads = 128;

/// Examples of lines: element k of line l of example e. Lines are numbered inner first.
struct LinePiece {
  std::int64_t inner, length, outer, stride, examples;

  LinePiece(const Lines& lines, std::int64_t examples_stride, std::int64_t count)
      : inner(lines.inner),
        length(lines.length),
        outer(lines.outer),
        stride(examples_stride),
        examples(count) {}
  [[nodiscard]] __host__ __device__ std::int64_t lines() const { return inner * outer * examples; }
  /// The first element of line number l of all examples.
  [[nodiscard]] __device__ std::int64_t begin(std::int64_t l) const {
    return l / (inner * outer) * stride + l / inner % outer * inner * length + l % inner;
  }
};

__device__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::int64_t thread_count() { return static_cast<std::int64_t>(gridDim.x) * blockDim.x; }

/// A thread has a line.
__global__ void run_scan(LinePiece in, LinePiece out, ext::ScanFrom from, const float* x, float* y,
                         bool stores) {
  const bool is_forward = from == ext::ScanFrom::kStart;
  for (std::int64_t l = thread_number(); l < in.lines(); l += thread_count()) {
    DeviceSum sum;
    for (std::int64_t k = 0; k < in.length; ++k) {
      const std::int64_t at = (is_forward ? k : in.length - 1 - k) * in.inner;
      sum.add(x[in.begin(l) + at]);
      float& to = y[out.begin(l) + at];
      to = stores ? sum.get() : to + sum.get();
    }
  }
}

/// Whether element i, a, comes before element j, b: NaN first, then the larger, then the first.
__device__ bool comes_before(float a, std::int64_t i, float b, std::int64_t j) {
  const bool a_is_nan = a != a;
  const bool b_is_nan = b != b;
  if (a_is_nan != b_is_nan) {
    return a_is_nan;
  }
  return !a_is_nan && a != b ? a > b : i < j;
}
/// A thread has an element. `ranks` gets the number of elements that come before it.
__global__ void run_rank(LinePiece in, const float* x, std::uint32_t* ranks) {
  const std::int64_t count = in.lines() * in.length;
  for (std::int64_t t = thread_number(); t < count; t += thread_count()) {
    const float* const line = x + in.begin(t / in.length);
    const std::int64_t i = t % in.length;
    std::uint32_t rank = 0;
    for (std::int64_t j = 0; j < in.length; ++j) {
      rank += comes_before(line[j * in.inner], j, line[i * in.inner], i) ? 1U : 0U;
    }
    ranks[t] = rank;
  }
}
/// Writes the positions of the elements of the first ranks: by rank, or as they stand.
__global__ void run_select(LinePiece in, LinePiece out, ext::Order order,
                           const std::uint32_t* ranks, std::uint32_t* places) {
  const std::int64_t count = in.lines() * in.length;
  for (std::int64_t t = thread_number(); t < count; t += thread_count()) {
    const std::uint32_t* const line = ranks + t / in.length * in.length;
    const std::int64_t i = t % in.length;
    if (line[i] >= out.length) {
      continue;
    }
    std::int64_t to = line[i];
    if (order == ext::Order::kAsTheyStand) {
      to = 0;
      for (std::int64_t j = 0; j < i; ++j) {
        to += line[j] < out.length ? 1 : 0;
      }
    }
    places[out.begin(t / in.length) + to * out.inner] = static_cast<std::uint32_t>(i);
  }
}

}  // namespace

void start_scan(unsigned axis, ext::ScanFrom from, const Operand& x, const Operand& y,
                void* cuda_stream) {
  const std::int64_t n = common_examples(x, y);
  const Lines lines(x.dim, axis);
  Cursor in(x, n);
  Cursor out(y, n);
  for_each_run(
      n, out,
      [&](std::int64_t m) {
        const LinePiece from_lines(lines, in.stride(), m);
        const LinePiece to_lines(lines, out.stride(), m);
        if (from_lines.lines() != 0) {
          launch("scan", run_scan, blocks_for(from_lines.lines(), kLineThreads), kLineThreads,
                 cuda_stream, from_lines, to_lines, from, in.at<const float>(), out.at<float>(),
                 out.stores(Write::kAsBlocks));
        }
      },
      in);
}

void start_select(unsigned axis, ext::Order order, const Operand& x, const Operand& places,
                  void* cuda_stream) {
  const std::int64_t n = common_examples(x, places);
  const Lines lines(x.dim, axis);
  const Lines selected(places.dim, axis);
  Cursor in(x, n);
  Cursor out(places, n);
  for_each_run(
      n, out,
      [&](std::int64_t m) {
        const LinePiece from(lines, in.stride(), m);
        const LinePiece to(selected, out.stride(), m);
        const std::int64_t elements = from.lines() * from.length;
        if (elements == 0 || to.length == 0) {
          return;
        }
        const DeviceScratch ranks(elements * 4, cuda_stream);
        auto* const all = static_cast<std::uint32_t*>(ranks.data());
        const unsigned blocks = blocks_for(elements, kLineThreads);
        launch("select", run_rank, blocks, kLineThreads, cuda_stream, from, in.at<const float>(),
               all);
        launch("select", run_select, blocks, kLineThreads, cuda_stream, from, to, order, all,
               out.at<std::uint32_t>());
      },
      in);
}

}  // namespace dynet::kernels
