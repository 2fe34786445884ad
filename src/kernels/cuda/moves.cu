// Moves on CUDA, one launch for a call. In most moves each place of the result is one number of the
// box, or the sum of some axes of the box: a thread has a place and adds up its terms. In the
// others, the walks, terms of one place stand anywhere (indices that shift the place, windows that
// overlap): the axes that keep places apart are divided over threads, and each thread goes through
// the other axes in order.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <optional>

#include "../operands.h"
#include "kernels/device_loops.h"
#include "kernels/device_operands.h"
#include "kernels/device_scratch.h"
#include "kernels/device_sum.h"
#include "kernels/launch.h"
#include "kernels/long_sums.h"

namespace dynet::kernels {
namespace {

constexpr int kMoveThreads = 128;
constexpr std::int64_t kWalkThreads = 32;
constexpr std::int64_t kWarpLanes = 32;
constexpr std::int64_t kFewWalks = 4096;  // more walks are as many threads as a device runs

/// An axis of the box. `index` is its stride in the list of indices of an example.
struct BoxAxis {
  std::int64_t extent, from, to, index;
};
struct BoxAxes {
  BoxAxis axis[DYNET_MAX_TENSOR_DIM] = {};
  std::int64_t count = 0;
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

/// A move, as a kernel's parameter.
struct MoveCall {
  BoxAxes kept;    ///< each element has a place of its own, or a thread of its own
  BoxAxes summed;  ///< axes of which all elements have one place, or are walked through
  DeviceOperand x, y, index;
  std::int64_t from_offset, to_offset;
  std::int64_t from_index, to_index;
  std::int64_t examples, y_size;
  DeviceSegments segments;
  float scale;
  bool has_index, takes_largest;
  bool steps;               ///< each example has a result
  bool examples_are_terms;  ///< a thread takes all examples, in order
  std::int64_t team;        ///< threads that share the terms of a place, or the places of a walk
  float* rest;              ///< of a walk with many terms: the rounding errors of y's sums
  DeviceWords words;
};

/// Adds the place of element `number` of some axes.
__device__ void add_place(const BoxAxes& axes, std::int64_t number, Place& place) {
  for (std::int64_t k = 0; k < axes.count; ++k) {
    const BoxAxis& a = axes.axis[k];
    const std::int64_t i = number % a.extent;
    number /= a.extent;
    place.from += i * a.from;
    place.to += i * a.to;
    place.index += i * a.index;
  }
}

/// An example of a move.
class MoveExample {
 public:
  __device__ MoveExample(const MoveCall& p, std::int64_t e)
      : p_(p), e_(example_at(p.segments, p.words, e)) {
    const auto y = of<float>(p.y);
    y_ = y.at;
    adds_ = y.adds;
    x_ = of<const float>(p.x).at;
    index_ = p.has_index ? of<const std::uint32_t>(p.index).at : nullptr;
    rest_ = p.rest == nullptr ? nullptr : p.rest + (p.steps ? e * p.y_size : 0);
  }
  /// With the shift by index.
  [[nodiscard]] __device__ Place shifted(Place place) const {
    if (index_ != nullptr) {
      const std::int64_t i = index_[place.index];
      place.from += i * p_.from_index;
      place.to += i * p_.to_index;
    }
    place.from += p_.from_offset;
    place.to += p_.to_offset;
    return place;
  }
  [[nodiscard]] __device__ float value_at(const Place& place) const {
    return p_.scale * x_[place.from];
  }
  [[nodiscard]] __device__ float& result_at(const Place& place) const { return y_[place.to]; }
  [[nodiscard]] __device__ float& rest_at(const Place& place) const { return rest_[place.to]; }
  [[nodiscard]] __device__ bool adds() const { return adds_; }

 private:
  template <class T>
  [[nodiscard]] __device__ DevicePlace<T> of(const DeviceOperand& o) const {
    return place_of<T>(o, p_.segments, p_.words, e_, 0);
  }

  const MoveCall& p_;
  DeviceExample e_;
  const float* x_;
  float* y_;
  bool adds_;
  const std::uint32_t* index_;
  float* rest_;
};

/// Terms of one place.
struct Terms {
  DeviceSum sum;
  float largest = 0.0F;
  std::int64_t count = 0;
  __device__ void add(float v) {
    largest = count == 0 ? v : larger_on_device(largest, v);
    sum.add(v);
    ++count;
  }
  /// Adds the terms of all lanes of a warp, each of which has some; the first lane has the result.
  __device__ void add_lanes() {
    sum.add_lanes();
    for (int lanes = 16; lanes > 0; lanes /= 2) {
      largest = larger_on_device(largest, __shfl_xor_sync(0xffffffffU, largest, lanes));
    }
    count = kWarpLanes;
  }
  __device__ void write(const MoveCall& p, const MoveExample& e, const Place& at) const {
    const float all = count == 1 ? largest : sum.get();
    float& y = e.result_at(at);
    if (!p.takes_largest) {
      y = e.adds() ? y + all : all;
    } else if (count != 0) {
      y = larger_on_device(y, largest);
    }
  }
};

/// Terms `member`, `member` + p.team and so on of a place, whose result is of all examples from
/// `begin` to `end`.
__device__ Terms terms_of(const MoveCall& p, const Place& first, std::int64_t begin,
                          std::int64_t end, std::int64_t member) {
  Terms terms;
  const std::int64_t count = (end - begin) * p.summed.elements;
  for (std::int64_t n = member; n < count; n += p.team) {
    const MoveExample example(p, begin + n / p.summed.elements);
    Place at = first;
    add_place(p.summed, n % p.summed.elements, at);
    terms.add(example.value_at(example.shifted(at)));
  }
  return terms;
}

/// The lanes of a warp have a place.
__global__ void run_places_of_warps(const __grid_constant__ MoveCall p) {
  const std::int64_t places = p.kept.elements * (p.examples_are_terms ? 1 : p.examples);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x / p.team;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t t = thread / p.team; t < places; t += step) {
    Place first;
    add_place(p.kept, t % p.kept.elements, first);
    const std::int64_t begin = p.examples_are_terms ? 0 : t / p.kept.elements;
    const std::int64_t end = p.examples_are_terms ? p.examples : begin + 1;
    Terms terms = terms_of(p, first, begin, end, thread % p.team);
    terms.add_lanes();
    if (thread % p.team == 0) {
      const MoveExample example(p, begin);
      terms.write(p, example, example.shifted(first));
    }
  }
}

/// A thread has a place.
__global__ void run_places(const __grid_constant__ MoveCall p) {
  const std::int64_t places = p.kept.elements * (p.examples_are_terms ? 1 : p.examples);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
       t < places; t += step) {
    Place first;
    add_place(p.kept, t % p.kept.elements, first);
    const std::int64_t begin = p.examples_are_terms ? 0 : t / p.kept.elements;
    const std::int64_t end = p.examples_are_terms ? p.examples : begin + 1;
    Terms terms;
    for (std::int64_t e = begin; e < end; ++e) {
      const MoveExample example(p, e);
      Place at = first;
      for (std::int64_t s = 0; s < p.summed.elements; ++s) {
        at = first;
        add_place(p.summed, s, at);
        at = example.shifted(at);
        terms.add(example.value_at(at));
      }
      if (p.steps || e + 1 == end) {
        if (p.summed.elements == 0) {
          at.to += p.to_offset;
        }
        terms.write(p, example, at);
        terms = Terms();
      }
    }
  }
}

enum class Walk : std::uint8_t { kClear, kMove };

/// Goes through the terms of examples `begin` to `end` of a walk, in order.
__device__ void walk(const MoveCall& p, Walk walk, const Place& first, std::int64_t begin,
                     std::int64_t end, std::int64_t member) {
  for (std::int64_t e = begin; e < end; ++e) {
    const MoveExample example(p, e);
    for (std::int64_t s = 0; s < p.summed.elements; ++s) {
      Place at = first;
      add_place(p.summed, s, at);
      at = example.shifted(at);
      if (at.to % p.team != member) {
        continue;
      }
      float& y = example.result_at(at);
      if (walk == Walk::kClear) {
        y = example.adds() ? y : 0.0F;
        if (p.rest != nullptr) {
          example.rest_at(at) = 0.0F;
        }
      } else if (p.takes_largest) {
        y = larger_on_device(y, example.value_at(at));
      } else {
        const float v = example.value_at(at);
        if (p.rest != nullptr) {
          add_with_rest(y, example.rest_at(at), v);
        } else {
          y += v;
        }
      }
    }
  }
}

/// A team has the places of some elements of the box. Thread 3 of a team of 32 has the places 3,
/// 35, 67 and so on; all threads read all terms.
__global__ void run_walk(const __grid_constant__ MoveCall p) {
  const std::int64_t walks = p.kept.elements * (p.examples_are_terms ? 1 : p.examples);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x / p.team;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t member = thread % p.team;
  for (std::int64_t t = thread / p.team; t < walks; t += step) {
    Place first;
    add_place(p.kept, t % p.kept.elements, first);
    const std::int64_t begin = p.examples_are_terms ? 0 : t / p.kept.elements;
    const std::int64_t end = p.examples_are_terms ? p.examples : begin + 1;
    // Terms of all examples may meet in a result that does not step.
    const std::int64_t at_once = p.steps ? 1 : end - begin;
    for (std::int64_t e = begin; e < end; e += at_once) {
      walk(p, Walk::kClear, first, e, e + at_once, member);
      walk(p, Walk::kMove, first, e, e + at_once, member);
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

/// Divides the axes of a walk: elements that differ in a kept axis have different places, whatever
/// the others are. Of the axes in the order of their strides, a row of neighbours is walked; all
/// axes before the row reach less far than the smallest step within it, and each axis behind it
/// goes beyond the reach of all before. Axes of stride 0 are walked.
class WalkAxes {
 public:
  /// `is_walked`: axes whose places depend on an index.
  WalkAxes(const BoxAxes& all, const bool* is_walked, std::int64_t index_stride,
           std::int64_t index_extent)
      : all_(all) {
    for (int k = 0; k < all.count; ++k) {
      if (all.axis[k].to != 0) {
        strides_[count_++] = {std::llabs(all.axis[k].to), all.axis[k].extent, k, is_walked[k]};
      }
    }
    if (index_stride != 0) {
      strides_[count_++] = {std::llabs(index_stride), index_extent, kIndex, true};
    }
    std::sort(strides_, strides_ + count_,
              [](const Stride& a, const Stride& b) { return a.to < b.to; });
  }
  void divide(BoxAxes& kept, BoxAxes& walked) const {
    for (int length = 0; length <= count_; ++length) {
      for (int begin = 0; begin + length <= count_; ++begin) {
        if (!is_right(begin, begin + length)) {
          continue;
        }
        for (int k = 0; k < all_.count; ++k) {
          const bool is_kept = std::any_of(strides_, strides_ + count_, [&](const Stride& s) {
            const auto at = &s - strides_;
            return s.axis == k && (at < begin || at >= begin + length);
          });
          (is_kept ? kept : walked).add(all_.axis[k]);
        }
        return;
      }
    }
  }

 private:
  static constexpr int kIndex = -1;
  struct Stride {
    std::int64_t to, extent;
    int axis;  ///< or kIndex
    bool is_walked;
  };
  [[nodiscard]] bool is_right(int begin, int end) const {
    std::int64_t reach = 0;
    for (int k = 0; k < count_; ++k) {
      const Stride& s = strides_[k];
      std::int64_t step = s.to;
      if (k == begin) {
        for (int i = begin; i < end; ++i) {
          step = std::gcd(step, strides_[i].to);
        }
      }
      const bool is_in = k >= begin && k < end;
      if ((!is_in || k == begin) && step <= reach) {
        return false;
      }
      if (!is_in && s.is_walked) {
        return false;
      }
      reach += s.to * (s.extent - 1);
    }
    return true;
  }

  const BoxAxes& all_;
  Stride strides_[DYNET_MAX_TENSOR_DIM + 1] = {};
  int count_ = 0;
};

/// One call of move.
class DeviceMove {
 public:
  DeviceMove(const ext::Move& m, const Operand& x, const Operand& y, Write write, void* stream)
      : m_(m), x_(x), y_(y), write_(write), stream_(stream), table_(common_examples(x, y)) {
    p_.examples = table_.examples();
    p_.steps = y.examples != 1 || p_.examples == 1;
    p_.has_index = !m.index.absent();
    p_.from_offset = m.from_offset;
    p_.to_offset = m.to_offset;
    p_.from_index = p_.has_index ? m.from_index_stride : 0;
    p_.to_index = p_.has_index ? m.to_index_stride : 0;
    p_.scale = static_cast<float>(m.scale);
    p_.takes_largest = write == Write::kMax;
    p_.y_size = elements_of(y.dim);
    add_axes();
  }

  void run() {
    const std::size_t x = table_.read(x_);
    const std::size_t y = table_.write(y_, write_);
    const std::size_t index = p_.has_index ? table_.read(m_.index) : x;
    table_.cut();
    const Meeting meeting = p_.examples > 1 ? table_.meeting(false) : Meeting::kNowhere;
    if (meeting == Meeting::kAnywhere) {
      run_one_by_one();
      return;
    }
    p_.x = table_.operand(x);
    p_.y = table_.operand(y);
    p_.index = table_.operand(index);
    p_.segments = table_.segments();
    p_.examples_are_terms = !p_.steps || meeting == Meeting::kInOrder;
    p_.team = 1;
    const std::int64_t units = p_.kept.elements * (p_.examples_are_terms ? 1 : p_.examples);
    if (units == 0) {
      return;
    }
    const WordsOnDevice words(table_.words(), stream_);
    p_.words = words.get();
    walks_ ? start_walk(units) : start_places(units);
  }

 private:
  /// Divides the axes of the box.
  void add_axes() {
    const bool shifts = p_.to_index != 0;
    const bool by_element = m_.index_axis == ext::Move::kPerElement;
    BoxAxes all;
    BoxAxes kept;
    BoxAxes summed;
    bool is_walked[DYNET_MAX_TENSOR_DIM] = {};
    std::int64_t number = 1;
    for (unsigned k = 0; k < m_.box.nd; ++k) {
      const bool is_index = p_.has_index && (by_element || m_.index_axis == k);
      const BoxAxis a{m_.box.d[k], m_.from_stride[k], m_.to_stride[k],
                      is_index ? (by_element ? number : 1) : 0};
      number *= m_.box.d[k];
      all.elements *= a.extent;
      if (a.extent != 1) {
        is_walked[all.count] = is_index && shifts;
        all.axis[all.count++] = a;
      }
      (a.to == 0 && !(is_index && shifts) ? summed : kept).add(a);
    }
    // One shift of a whole example keeps places apart, if examples have results of their own.
    const bool is_free = !shifts || (m_.index_axis == ext::Move::kPerExample && p_.steps);
    walks_ = all.elements != 0 && (!is_free || !have_own_places(kept));
    if (!walks_) {
      p_.kept = kept;
      p_.summed = summed;
      return;
    }
    WalkAxes(all, is_walked, p_.to_index, index_extent()).divide(p_.kept, p_.summed);
  }
  /// An index counts along a dimension of the result.
  [[nodiscard]] std::int64_t index_extent() const {
    std::int64_t stride = 1;
    for (unsigned k = 0; k < y_.dim.nd; ++k) {
      if (stride == std::llabs(p_.to_index) && y_.dim.d[k] != 1) {
        return y_.dim.d[k];
      }
      stride *= y_.dim.d[k];
    }
    return p_.y_size;
  }
  /// Few places with many terms, as the gradient of a bias, are for warps.
  void start_places(std::int64_t units) {
    const bool is_one_sum = !p_.steps || !p_.examples_are_terms;
    const std::int64_t terms = p_.summed.elements * (p_.steps ? 1 : p_.examples);
    if (is_one_sum && terms >= kWarpLanes && units < kFewWalks) {
      p_.team = kWarpLanes;
      launch("move", run_places_of_warps, blocks_for(units * p_.team, kMoveThreads),
             threads_for(units * p_.team, kMoveThreads), stream_, p_);
      return;
    }
    launch("move", run_places, blocks_for(units, kMoveThreads), threads_for(units, kMoveThreads),
           stream_, p_);
  }
  void start_walk(std::int64_t walks) {
    const std::int64_t terms = p_.summed.elements * (p_.steps ? 1 : p_.examples);
    std::optional<DeviceScratch> rest;
    if (!p_.takes_largest && terms > kMostTerms) {
      rest.emplace(p_.y_size * (p_.steps ? p_.examples : 1) * std::int64_t{sizeof(float)}, stream_);
      p_.rest = rest->numbers();
    }
    p_.team = terms >= kWalkThreads && walks < kFewWalks ? kWalkThreads : 1;
    launch("move", run_walk, blocks_for(walks * p_.team, kMoveThreads),
           threads_for(walks * p_.team, kMoveThreads), stream_, p_);
  }
  /// Examples whose memory overlaps: a launch for each.
  void run_one_by_one() {
    const auto one = [](const Operand& o, std::int64_t e, Block& block) {
      block = {o.example<float>(e), 1, true};
      return Operand{o.dim, 1, &block, 1};
    };
    Cursor cursor(y_, p_.examples);
    for (std::int64_t e = 0; e < p_.examples; ++e) {
      Block blocks[3];
      ext::Move move = m_;
      if (p_.has_index) {
        move.index = one(m_.index, e, blocks[2]);
      }
      const Write write = write_ == Write::kMax   ? Write::kMax
                          : cursor.stores(write_) ? Write::kStore
                                                  : Write::kAdd;
      start_move(move, one(x_, e, blocks[0]), one(y_, e, blocks[1]), write, stream_);
      cursor.advance(1, p_.examples - e - 1);
    }
  }

  const ext::Move& m_;
  const Operand& x_;
  const Operand& y_;
  Write write_;
  void* stream_;
  OperandTable table_;
  bool walks_ = false;
  MoveCall p_{};
};

}  // namespace

void start_move(const ext::Move& m, const Operand& x, const Operand& y, Write write,
                void* cuda_stream) {
  DeviceMove(m, x, y, write, cuda_stream).run();
}

}  // namespace dynet::kernels
