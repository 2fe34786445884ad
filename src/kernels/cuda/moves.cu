// Moves on CUDA. In most moves each place of the result is one number of the box, or the sum of
// some axes of the box: a thread has a place and adds up its terms. In the others, terms of one
// place stand anywhere (indices that shift the place, windows that overlap): a thread has all of a
// result, and goes through the box in order.

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "../operands.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "kernels/long_sums.h"
#include "pieces.h"

namespace dynet::kernels {
namespace {

constexpr int kMoveThreads = 128;
constexpr int kWalkThreads = 32;

/// An axis of the box. `index` is its stride in the list of indices of an example.
struct BoxAxis {
  std::int64_t extent, from, to, index;
};
struct BoxAxes {
  BoxAxis axis[DYNET_MAX_TENSOR_DIM] = {};
  int count = 0;
  std::int64_t elements = 1;

  /// Joins the axis to the last, if no stride jumps between them.
  void add(const BoxAxis& a) {
    elements *= a.extent;
    if (a.extent == 1) {
      return;
    }
    BoxAxis* const last = count == 0 ? nullptr : axis + count - 1;
    if (last != nullptr && a.from == last->from * last->extent && a.to == last->to * last->extent &&
        a.index == last->index * last->extent) {
      last->extent *= a.extent;
    } else {
      axis[count++] = a;
    }
  }
};
/// Where an element of the box is read, written, and in the list of indices.
struct Place {
  std::int64_t from = 0, to = 0, index = 0;
};
enum class Then : std::uint8_t { kStore, kAdd, kMax };

/// A piece of a move, as a kernel's parameter.
struct MovePiece {
  BoxAxes kept;    ///< of which each element has a place of its own, or all
  BoxAxes summed;  ///< of which all elements have one place
  const float* x;
  float* y;
  const std::uint32_t* index;  ///< null: there are none
  std::int64_t x_stride, y_stride, index_stride;
  std::int64_t from_index, to_index;
  std::int64_t examples;
  float scale;
  Then then;
};

/// Adds the place of element `number` of some axes; returns the number divided by their elements.
__device__ std::int64_t add_place(const BoxAxes& axes, std::int64_t number, Place& place) {
  for (int k = 0; k < axes.count; ++k) {
    const BoxAxis& a = axes.axis[k];
    const std::int64_t i = number % a.extent;
    number /= a.extent;
    place.from += i * a.from;
    place.to += i * a.to;
    place.index += i * a.index;
  }
  return number;
}
/// With the shift by index.
__device__ Place shifted(const MovePiece& p, std::int64_t e, Place place) {
  if (p.index != nullptr) {
    const std::int64_t i = p.index[e * p.index_stride + place.index];
    place.from += i * p.from_index;
    place.to += i * p.to_index;
  }
  return place;
}
__device__ float value_at(const MovePiece& p, std::int64_t e, const Place& place) {
  return p.scale * p.x[e * p.x_stride + place.from];
}

/// A thread has a place.
__global__ void run_places(MovePiece p) {
  const bool steps = p.y_stride != 0;
  const std::int64_t places = p.kept.elements * (steps ? p.examples : 1);
  const std::int64_t terms = p.summed.elements * (steps ? 1 : p.examples);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       t < places; t += step) {
    Place first;
    const std::int64_t of_place = add_place(p.kept, t, first);
    float* y = nullptr;
    DeviceSum sum;
    float largest = 0.0F;
    for (std::int64_t s = 0; s < terms; ++s) {
      Place at = first;
      const std::int64_t e = add_place(p.summed, s, at) + of_place;
      at = shifted(p, e, at);
      y = p.y + e * p.y_stride + at.to;
      const float v = value_at(p, e, at);
      largest = s == 0 ? v : larger_on_device(largest, v);
      sum.add(v);
    }
    if (terms == 0) {
      y = p.y + of_place * p.y_stride + first.to;
    }
    const float all = terms == 1 ? largest : sum.get();
    if (p.then == Then::kStore) {
      *y = all;
    } else if (p.then == Then::kAdd) {
      *y += all;
    } else if (terms != 0) {
      *y = larger_on_device(*y, largest);
    }
  }
}

enum class Walk : std::uint8_t { kClear, kMove, kSettle };

/// A thread has an example of the result, or all of a result that does not step. `rest` has the
/// rounding errors of y's sums; null: there are few terms.
__global__ void run_walk(MovePiece p, Walk walk, float* rest) {
  const bool steps = p.y_stride != 0;
  const std::int64_t threads = steps ? p.examples : 1;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       t < threads; t += step) {
    const std::int64_t terms = p.kept.elements * (steps ? 1 : p.examples);
    for (std::int64_t s = 0; s < terms; ++s) {
      Place at;
      const std::int64_t e = add_place(p.kept, s, at) + t;
      at = shifted(p, e, at);
      const std::int64_t place = e * p.y_stride + at.to;
      float& y = p.y[place];
      if (walk == Walk::kClear) {
        y = 0.0F;
      } else if (walk == Walk::kSettle) {
        y += rest[place];
        rest[place] = 0.0F;
      } else if (p.then == Then::kMax) {
        y = larger_on_device(y, value_at(p, e, at));
      } else if (rest == nullptr) {
        y += value_at(p, e, at);
      } else {
        const float v = value_at(p, e, at);
        const float sum = y + v;
        rest[place] += std::isfinite(sum) ? error_of_sum(y, v, sum) : 0.0F;
        y = sum;
      }
    }
  }
}

/// Whether elements of the box with different indices have different places.
bool have_own_places(BoxAxes axes) {
  BoxAxis* const end = axes.axis + axes.count;
  std::sort(axes.axis, end,
            [](const BoxAxis& a, const BoxAxis& b) { return std::llabs(a.to) < std::llabs(b.to); });
  std::int64_t reach = 0;
  return std::all_of(axes.axis, end, [&](const BoxAxis& a) {
    const bool is_beyond = std::llabs(a.to) > reach;
    reach += std::llabs(a.to) * (a.extent - 1);
    return is_beyond;
  });
}

/// One call of move: the parameters that all its pieces share.
class DeviceMove {
 public:
  DeviceMove(const ext::Move& m, const Operand& x, const Operand& y, Write write, void* stream)
      : x_(x), y_(y), index_(m.index), write_(write), stream_(stream) {
    n_ = common_examples(x, y);
    steps_ = y.examples != 1 || n_ == 1;
    has_index_ = !m.index.absent();
    const bool shifts = has_index_ && m.to_index_stride != 0;
    BoxAxes all;
    add_axes(m, shifts, all);
    // One shift of a whole example keeps places apart, if examples have results of their own.
    const bool is_free = !shifts || (m.index_axis == ext::Move::kPerExample && steps_);
    walks_ = !is_free || !have_own_places(p_.kept);
    if (walks_) {
      p_.kept = all;
      p_.summed = BoxAxes();
    }
    from_offset_ = m.from_offset;
    to_offset_ = m.to_offset;
    p_.from_index = has_index_ ? m.from_index_stride : 0;
    p_.to_index = has_index_ ? m.to_index_stride : 0;
    p_.scale = static_cast<float>(m.scale);
  }

  void run() {
    if (!walks_) {
      each_piece([&](const MovePiece& p) {
        const std::int64_t places = p.kept.elements * (steps_ ? p.examples : 1);
        if (places != 0) {
          launch("move", run_places, blocks_for(places, kMoveThreads),
                 threads_for(places, kMoveThreads), stream_, p);
        }
      });
      return;
    }
    // Terms of all pieces may meet, so that all places are cleared before the first is added to.
    const bool clears_all = !steps_ && Cursor(y_, n_).stores(write_);
    each_piece([&](const MovePiece& p) {
      if (clears_all || p.then == Then::kStore) {
        start_walk(p, Walk::kClear, nullptr);
      }
    });
    const bool is_long = write_ != Write::kMax && p_.kept.elements * (steps_ ? 1 : n_) > kMostTerms;
    if (!is_long) {
      each_piece([&](const MovePiece& p) { start_walk(p, Walk::kMove, nullptr); });
      return;
    }
    each_piece_with_rests();
  }

 private:
  void add_axes(const ext::Move& m, bool shifts, BoxAxes& all) {
    std::int64_t number = 1;
    for (unsigned k = 0; k < m.box.nd; ++k) {
      const bool by_element = m.index_axis == ext::Move::kPerElement;
      const bool is_index = has_index_ && (by_element || m.index_axis == k);
      const BoxAxis a{m.box.d[k], m.from_stride[k], m.to_stride[k],
                      is_index ? (by_element ? number : 1) : 0};
      number *= m.box.d[k];
      all.add(a);
      (a.to == 0 && !(is_index && shifts) ? p_.summed : p_.kept).add(a);
    }
  }
  template <class F>
  void each_piece(F f) {
    Cursor x(x_, n_);
    Cursor y(y_, n_);
    Cursor index(has_index_ ? index_ : x_, n_);
    for_each_piece(
        n_,
        [&](std::int64_t m) {
          MovePiece p = p_;
          p.examples = m;
          p.x = x.at<const float>() + from_offset_;
          p.y = y.at<float>() + to_offset_;
          p.index = has_index_ ? index.at<const std::uint32_t>() : nullptr;
          p.x_stride = x.stride();
          p.y_stride = steps_ ? y.stride() : 0;
          p.index_stride = index.stride();
          p.then = write_ == Write::kMax ? Then::kMax
                   : y.stores(write_)    ? Then::kStore
                                         : Then::kAdd;
          f(p);
        },
        x, y, index);
  }
  void start_walk(const MovePiece& p, Walk walk, float* rest) {
    const std::int64_t threads = steps_ ? p.examples : 1;
    if (p.kept.elements != 0) {
      launch("move", run_walk, blocks_for(threads, kWalkThreads), kWalkThreads, stream_, p, walk,
             rest);
    }
  }
  /// `rest` stands beside the result: number k has the errors of y[k] of the piece.
  void each_piece_with_rests() {
    const std::int64_t size = elements_of(y_.dim);
    if (!steps_) {
      const DeviceScratch rest(size * 4, stream_);
      start_fill(rest.data(), 0.0, size, stream_);
      each_piece(
          [&](const MovePiece& p) { start_walk(p, Walk::kMove, rest.numbers() + to_offset_); });
      each_piece(
          [&](const MovePiece& p) { start_walk(p, Walk::kSettle, rest.numbers() + to_offset_); });
      return;
    }
    each_piece([&](const MovePiece& p) {
      const DeviceScratch rest(p.examples * size * 4, stream_);
      start_fill(rest.data(), 0.0, p.examples * size, stream_);
      start_walk(p, Walk::kMove, rest.numbers() + to_offset_);
      start_walk(p, Walk::kSettle, rest.numbers() + to_offset_);
    });
  }

  const Operand& x_;
  const Operand& y_;
  const Operand& index_;
  Write write_;
  void* stream_;
  std::int64_t n_ = 0, from_offset_ = 0, to_offset_ = 0;
  bool steps_ = false, has_index_ = false, walks_ = false;
  MovePiece p_{};
};

}  // namespace

void start_move(const ext::Move& m, const Operand& x, const Operand& y, Write write,
                void* cuda_stream) {
  DeviceMove(m, x, y, write, cuda_stream).run();
}

}  // namespace dynet::kernels
