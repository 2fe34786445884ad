// Rules as loops: cuts a call into runs, each a row of streams that the device's loop of a rule
// (Kernels::run) eats.
//
// In:  a call whose operands are lists of blocks, with broadcasting, repeated examples, pieces of
//      cells, sums.                Out: a sequence of runs in memory order.
//
// Every operand, or every piece of a cell's operand, is a *lane*: where its element (i0, i1, ...)
// of example e lies. All lanes see one box of elements, with the examples as its last axis; axes
// over which every lane goes on without a jump are joined. Usually one axis is left, and the whole
// call is one run a block. A lane with stride 0 on the first axis becomes a repeated number (read)
// or a sum (written).
//
// Start reading at Cutter::run. Surprising: a result that is smaller than the box (the gradient of
// a broadcast operand, a summed value) is visited several times; it is filled with zeros first and
// then only added to.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/ext/op.h"
#include "dynet/ext/operand.h"

#include "util/join_axes.h"

namespace dynet::ext {
namespace {

constexpr std::size_t kMaxLanes = 64;
constexpr std::size_t kMaxAxes =
    DYNET_MAX_TENSOR_DIM + 2;  // examples, and one for runs of length 1

/// Elements of one example; shapes were checked when the node was built.
std::int64_t size_of(const Dim& d) {
  std::int64_t n = 1;
  for (unsigned i = 0; i < d.nd; ++i) {
    n *= d.d[i];
  }
  return n;
}

/// One stream of the call. No member has an initialiser: only the lanes in use are ever written.
struct Lane {
  const Operand* operand;  ///< null: reads zero, or is not wanted
  std::int64_t size;       ///< elements of one example of the operand
  std::int64_t part;       ///< elements of one piece of it
  std::int64_t offset;     ///< of this piece in the example
  std::int64_t stride[kMaxAxes];
  const Block* block;  ///< where the lane stands: `used` examples of it are done
  std::int64_t used;
  bool writes;
  bool adds;   ///< filled with zeros before, as it is visited several times
  bool steps;  ///< has an example of its own for each of the call's
};

/// One call being cut. Lives on the stack, allocates nothing.
class Cutter {
 public:
  Cutter(const RuleInfo& rule, Direction direction, const Call& call, const Dim& box)
      : rule_(rule),
        direction_(direction),
        call_(call),
        box_(box),
        bytes_(bytes_of(call.kernels.number())),
        elements_(size_of(box)) {}

  /// Adds the streams of an operand, all that is read before all that is written.
  void read(const Operand& o, unsigned parts = 1) { add(o, parts, false); }
  void write(const Operand& o, unsigned parts = 1) {
    if (inputs_ == 0) {
      inputs_ = count_;
    }
    add(o, parts, true);
  }
  void run(const void* op);

 private:
  void add(const Operand& o, unsigned parts, bool writes);
  void clear(const Operand& o, std::int64_t size) const;
  void set_strides(Lane& lane) const;
  void join_axes();
  void start_with_runs();
  [[nodiscard]] std::int64_t start_segment(std::int64_t left, Stream* streams);
  void end_segment(std::int64_t examples);
  void run_segment(const void* op, Stream* streams) const;
  void run_flat(const void* op);
  [[nodiscard]] Stream stream(const Lane& lane) const;
  void run_loop(const void* op, const Stream* streams, std::int64_t n) const {
    call_.kernels.run(rule_, direction_, op, streams, streams + inputs_, n);
  }
  [[nodiscard]] bool every_lane(auto holds) const {
    return std::all_of(lanes_, lanes_ + count_,
                       [&](const Lane& lane) { return lane.operand == nullptr || holds(lane); });
  }

  const RuleInfo& rule_;
  Direction direction_;
  const Call& call_;
  const Dim& box_;
  std::int64_t bytes_;     ///< of a number
  std::int64_t elements_;  ///< of the box
  bool is_flat_ = true;    ///< no lane needs the dimensions of the box
  std::size_t count_ = 0;  ///< of lanes; the first `inputs_` are read
  std::size_t inputs_ = 0;
  std::size_t axes_ = 0;
  std::int64_t per_example_ = 1;  ///< extent of the last axis, for one example
  std::int64_t extent_[kMaxAxes];
  Lane lanes_[kMaxLanes];
};

void Cutter::add(const Operand& o, unsigned parts, bool writes) {
  if (count_ + parts > kMaxLanes) {
    throw SizeError("a rule has more than 64 operands and pieces");
  }
  const bool is_absent = o.absent();
  const std::int64_t size = is_absent ? 0 : size_of(o.dim);
  const bool is_box = size == elements_ * parts;  // mostly: divisions are slow
  const std::int64_t part = is_box ? elements_ : size / parts;
  const bool is_reduced = size * o.examples != elements_ * call_.examples * parts;
  if (!is_absent && writes && is_reduced) {
    clear(o, size);
  }
  if (!is_absent && part != elements_ && part != 1) {
    is_flat_ = false;
  }
  for (unsigned p = 0; p < parts; ++p) {
    Lane& lane = lanes_[count_++];
    lane.operand = is_absent ? nullptr : &o;
    lane.size = size;
    lane.part = part;
    lane.offset = p * part;
    lane.block = o.blocks;
    lane.used = 0;
    lane.writes = writes;
    lane.adds = is_reduced;
    lane.steps = !is_absent && o.examples != 1;
  }
}

void Cutter::clear(const Operand& o, std::int64_t size) const {
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    if (o.blocks[b].fresh) {
      call_.kernels.fill(o.blocks[b].data, 0.0, o.blocks[b].examples * size);
    }
  }
}

/// Strides over the axes of the box and, last, the examples.
void Cutter::set_strides(Lane& lane) const {
  if (lane.operand == nullptr) {
    std::fill_n(lane.stride, axes_, 0);
    return;
  }
  const std::size_t last = axes_ - 1;
  lane.stride[last] = lane.steps ? lane.size : 0;
  if (is_flat_) {
    lane.stride[0] = lane.part == elements_ ? 1 : 0;
    return;
  }
  if (lane.part != lane.size) {
    throw ShapeError("the pieces of a cell's operands differ in length");
  }
  std::int64_t step = 1;
  for (std::size_t k = 0; k < last; ++k) {
    const std::int64_t n = lane.operand->dim.d[k];
    lane.stride[k] = n == 1 ? 0 : step;
    step *= n;
  }
}

/// Drops axes of one element and joins neighbours over which every lane goes on evenly. The last
/// axis counts examples; what joins it is kept in `per_example_`, as their number is not yet known.
void Cutter::join_axes() {
  const std::size_t examples = axes_ - 1;
  axes_ = util::join_axes(
      axes_, [&](std::size_t k) { return extent_[k] == 1 && k != examples; },
      [&](std::size_t last, std::size_t k) {
        return every_lane(
            [&](const Lane& lane) { return lane.stride[k] == lane.stride[last] * extent_[last]; });
      },
      [&](std::size_t last, std::size_t k) {
        extent_[last] *= extent_[k];
        if (k == examples) {
          per_example_ = extent_[last];
        }
      },
      [&](std::size_t to, std::size_t k) {
        extent_[to] = extent_[k];
        for (std::size_t l = 0; l < count_; ++l) {
          lanes_[l].stride[to] = lanes_[l].stride[k];
        }
      });
}

/// Where the first axis has other strides than 0 and 1 (pieces of one element each), the runs have
/// length 1.
void Cutter::start_with_runs() {
  if (every_lane([](const Lane& lane) { return lane.stride[0] == 0 || lane.stride[0] == 1; })) {
    return;
  }
  std::copy_backward(extent_, extent_ + axes_, extent_ + axes_ + 1);
  extent_[0] = 1;
  for (std::size_t l = 0; l < count_; ++l) {
    std::int64_t* stride = lanes_[l].stride;
    std::copy_backward(stride, stride + axes_, stride + axes_ + 1);
    stride[0] = 1;
  }
  ++axes_;
}

/// The streams of the next examples that lie in one block of every operand, and their number.
std::int64_t Cutter::start_segment(std::int64_t left, Stream* streams) {
  std::int64_t n = left;
  for (std::size_t l = 0; l < count_; ++l) {
    Lane& lane = lanes_[l];
    if (lane.steps) {
      while (lane.block->examples == lane.used) {
        ++lane.block;
        lane.used = 0;
      }
      n = std::min(n, lane.block->examples - lane.used);
    }
    streams[l] = stream(lane);
  }
  return n;
}

void Cutter::end_segment(std::int64_t examples) {
  for (std::size_t l = 0; l < count_; ++l) {
    lanes_[l].used += lanes_[l].steps ? examples : 0;
  }
}

Stream Cutter::stream(const Lane& lane) const {
  if (lane.operand == nullptr) {
    return lane.writes ? Stream{nullptr, Stream::kSkip}
                       : Stream{const_cast<void*>(call_.kernels.zero()), Stream::kRepeat};
  }
  void* at =
      static_cast<std::byte*>(lane.block->data) + (lane.used * lane.size + lane.offset) * bytes_;
  if (!lane.writes) {
    return {at, lane.stride[0] == 0 ? Stream::kRepeat : Stream::kRun};
  }
  if (lane.adds) {
    return {at, lane.stride[0] == 0 ? Stream::kSum : Stream::kAdd};
  }
  return {at, lane.block->fresh ? Stream::kStore : Stream::kAdd};
}

/// The runs of a segment, by counting through all axes but the first.
void Cutter::run_segment(const void* op, Stream* streams) const {
  std::int64_t counter[kMaxAxes] = {};
  std::size_t k = 1;
  do {
    run_loop(op, streams, extent_[0]);
    for (k = 1; k < axes_; ++k) {
      const bool wraps = ++counter[k] == extent_[k];
      if (wraps) {
        counter[k] = 0;
      }
      const std::int64_t steps = wraps ? 1 - extent_[k] : 1;
      for (std::size_t l = 0; l < count_; ++l) {
        if (lanes_[l].operand == nullptr) {
          continue;
        }
        streams[l].data =
            static_cast<std::byte*>(streams[l].data) + steps * lanes_[l].stride[k] * bytes_;
      }
      if (!wraps) {
        break;
      }
    }
  } while (k < axes_);
}

/// The common case, without axes: no lane needs the dimensions of the box, so the examples of a
/// block are one run, or one each.
void Cutter::run_flat(const void* op) {
  Stream streams[kMaxLanes];
  std::int64_t step[kMaxLanes];  // bytes from one example to the next
  bool is_dense = true;
  for (std::size_t l = 0; l < count_; ++l) {
    Lane& lane = lanes_[l];
    lane.stride[0] = lane.part == elements_ ? 1 : 0;
    step[l] = lane.steps ? lane.size * bytes_ : 0;
    const bool goes_on = lane.size == elements_ && (lane.steps || call_.examples == 1);
    is_dense = is_dense && (lane.operand == nullptr || goes_on);
  }
  for (std::int64_t left = call_.examples; left > 0;) {
    const std::int64_t n = start_segment(left, streams);
    left -= n;
    if (left > 0) {
      end_segment(n);
    }
    if (is_dense) {
      run_loop(op, streams, elements_ * n);
      continue;
    }
    for (std::int64_t e = n; e > 0; --e) {
      run_loop(op, streams, elements_);
      for (std::size_t l = 0; l < count_; ++l) {
        streams[l].data = static_cast<std::byte*>(streams[l].data) + step[l];
      }
    }
  }
}

void Cutter::run(const void* op) {
  if (elements_ == 0 || call_.examples == 0) {
    return;
  }
  if (is_flat_ && elements_ > 1) {
    run_flat(op);
    return;
  }
  axes_ = is_flat_ ? 2 : box_.nd + 1;
  if (is_flat_) {
    extent_[0] = elements_;
  } else {
    std::copy_n(box_.d, box_.nd, extent_);
  }
  extent_[axes_ - 1] = 1;
  for (std::size_t l = 0; l < count_; ++l) {
    set_strides(lanes_[l]);
  }
  join_axes();
  start_with_runs();
  Stream streams[kMaxLanes];
  for (std::int64_t left = call_.examples; left > 0;) {
    const std::int64_t n = start_segment(left, streams);
    extent_[axes_ - 1] = n * per_example_;
    run_segment(op, streams);
    end_segment(n);
    left -= n;
  }
}

/// The elements that the rule is evaluated on: the arguments' common shape, or one piece of a cell.
Dim box_of(const RuleInfo& rule, const Call& call) {
  const Dim& first = call.in[0].dim;
  const std::size_t n = call.in.size();
  const bool has_pieces = std::any_of(rule.parts, rule.parts + n, [](auto p) { return p > 1; });
  if (has_pieces) {
    return {static_cast<unsigned>(size_of(first) / rule.parts[0])};
  }
  Dim box = first;
  for (std::size_t i = 1; i < n; ++i) {
    const Dim& d = call.in[i].dim;
    box.nd = std::max(box.nd, d.nd);
    for (unsigned k = 0; k < d.nd; ++k) {
      if (box.d[k] == 1) {
        box.d[k] = d.d[k];
      }
    }
  }
  return box;
}

void read_arguments(Cutter& cutter, const RuleInfo& rule, const Call& call) {
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    cutter.read(call.in[i], rule.parts[i]);
  }
  if (rule.has_scalar) {
    cutter.read(call.values);
  }
}

}  // namespace

void run_rule_forward(const RuleInfo& rule, const void* op, Call& call) {
  const Dim box = box_of(rule, call);
  Cutter cutter(rule, Direction::kForward, call, box);
  read_arguments(cutter, rule, call);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    cutter.write(call.out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.saved.size(); ++i) {
    cutter.write(call.saved[i], rule.saved_parts[i]);
  }
  cutter.run(op);
}

void run_rule_backward(const RuleInfo& rule, const void* op, Call& call) {
  const Dim box = box_of(rule, call);
  Cutter cutter(rule, Direction::kBackward, call, box);
  read_arguments(cutter, rule, call);
  for (std::size_t i = 0; i < call.out.size(); ++i) {
    cutter.read(call.out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.saved.size(); ++i) {
    cutter.read(call.saved[i], rule.saved_parts[i]);
  }
  for (std::size_t i = 0; i < call.d_out.size(); ++i) {
    cutter.read(call.d_out[i], rule.out_parts[i]);
  }
  for (std::size_t i = 0; i < call.d_in.size(); ++i) {
    cutter.write(call.d_in[i], rule.parts[i]);
  }
  cutter.run(op);
}

}  // namespace dynet::ext
