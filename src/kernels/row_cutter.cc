// Rules over rows as loops: cuts a call into boxes of rows and hands them to the device.
//
// In:  a call whose operands are lists of blocks, with broadcasting, repeated examples, sums.
// Out: a sequence of ext::RowCall: `outer * inner` rows of `length` elements, and the place of each
//      operand.
//
// The box is the shape of the arguments that have one number per element. Its dimensions fall into
// two parts: the dimensions along the row, and the others, which count rows; the examples are the
// last of the others. Neighbours are joined if no operand jumps between them. Usually two or three
// axes are left: the row, the rows, and the rows that lie side by side (`inner`), unless the row is
// the first dimension. A loop counts through any further axes, with one call each.
//
// Example: a softmax over the first dimension of {4,3}x2 is one call, of `outer` = 6 rows.
//
// Start reading at RowCutter::run. Surprising: `inner` has dimensions only, never examples, so that
// the order in which a row is summed does not depend on the batch.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/ext/op.h"
#include "dynet/ext/operand.h"

#include "kernels/long_sum.h"
#include "util/join_axes.h"

namespace dynet::ext {
namespace {

using rule::Along;

constexpr std::size_t kMostCutAxes = DYNET_MAX_TENSOR_DIM + 1;  // one more for the examples

/// One operand of the call, on its way through its blocks.
struct RowTrack {
  const Operand* operand;  ///< null: reads zero, or is not wanted
  Along along;
  bool writes, adds, steps, is_index;
  std::int64_t size;  ///< numbers of one example
  std::int64_t stride[kMostCutAxes];
  std::int64_t block, used;  ///< the track's position: `used` examples of `block` are done
};
struct Axis {
  std::int64_t extent;
  std::size_t at;  ///< in the strides of the tracks
  bool is_before;  ///< the first dimension of the row
};
struct Axes {
  Axis axis[kMostCutAxes];
  std::size_t count = 0;
};

/// One call being cut. Lives on the stack, allocates nothing.
class RowCutter {
 public:
  RowCutter(const RowRule& rule, const Call& call, std::uint32_t row_axes);
  void read(const Operand& o, Along along) { add(o, along, false); }
  void read_indices(const Operand& indices);
  /// Requires that all inputs were added before.
  void write(const Operand& o, Along along) {
    if (inputs_ == 0) {
      inputs_ = count_;
    }
    add(o, along, true);
  }
  void run(Direction direction, const void* op);

 private:
  void add(const Operand& o, Along along, bool writes);
  [[nodiscard]] std::int64_t bytes_of_number(const RowTrack& track) const {
    return track.is_index ? static_cast<std::int64_t>(sizeof(unsigned)) : bytes_;
  }
  [[nodiscard]] bool is_in_row(std::size_t axis) const { return (row_axes_ >> axis & 1) != 0; }
  void set_strides(RowTrack& track, const Operand& o) const;
  [[nodiscard]] bool is_summed(const RowTrack& track) const;
  void clear(const Operand& o, std::int64_t size) const;
  void join(Axes& axes) const;
  [[nodiscard]] std::int64_t next_segment(std::int64_t left);
  /// The axes that count rows.
  struct Parted {
    Axis inner, outer;
    Axes rest;
  };
  [[nodiscard]] Parted part(std::int64_t examples) const;
  void run_segment(Direction direction, std::int64_t examples, const double* constants);
  [[nodiscard]] std::int64_t additions(const RowTrack& track) const;
  void run_segments(Direction direction, const double* constants);
  void run_with_sums(Direction direction, const double* constants);
  [[nodiscard]] std::int64_t span_of(const Rows& rows, const RowStream& to, Along along) const;
  void run_pieces(Direction direction, const RowCall& call);
  bool step(const Axes& axes, std::int64_t* counter, RowStream* streams) const;
  [[nodiscard]] RowStream stream(const RowTrack& track) const;

  const RowRule& rule_;
  const Call& call_;
  std::uint32_t row_axes_;
  std::int64_t bytes_;  ///< of a number
  Dim box_;
  std::int64_t rows_per_example_ = 1;
  std::int64_t length_ = 1;
  std::size_t count_ = 0;  ///< of tracks; the first `inputs_` are read
  std::size_t inputs_ = 0;
  Axes along_;   ///< the axes of a row
  Axes across_;  ///< the others; the examples are the last
  std::size_t examples_axis_ = 0;
  RowTrack tracks_[kMaxRowStreams];
  TrackSum* sums_ = nullptr;  ///< of the results that are added to often
  TrackSum* sums_end_ = nullptr;
};

/// The common shape of the arguments with one number per element.
Dim box_of(const RowRule& rule, const Call& call) {
  Dim box;
  box.nd = 1;
  box.d[0] = 1;
  bool is_first = true;
  for (std::size_t i = 0; i < rule.args; ++i) {
    if (rule.along[i] != Along::kElements) {
      continue;
    }
    const Dim& d = call.in[i].dim;
    if (is_first) {
      box = d;
      is_first = false;
      continue;
    }
    for (unsigned k = 0; k < d.nd; ++k) {
      if (k >= box.nd || box.d[k] == 1) {
        box.d[k] = d.d[k];
      }
    }
    box.nd = std::max(box.nd, d.nd);
  }
  return box;
}

RowCutter::RowCutter(const RowRule& rule, const Call& call, std::uint32_t row_axes)
    : rule_(rule),
      call_(call),
      row_axes_(row_axes),
      bytes_(bytes_of(call.kernels.number())),
      box_(box_of(rule, call)),
      examples_axis_(box_.nd) {
  for (std::size_t k = 0; k < box_.nd; ++k) {
    (is_in_row(k) ? length_ : rows_per_example_) *= box_.d[k];
  }
  if (rule.uses_positions && length_ > kMostPositions && call.kernels.number() == Number::kFloat) {
    throw errors::ShapeError("a rule over rows that uses positions, which are exact up to " +
                             std::to_string(kMostPositions) + " in float, has rows of " +
                             std::to_string(length_) + " elements");
  }
}

/// Strides over the dimensions of the box and, last, the examples.
void RowCutter::set_strides(RowTrack& track, const Operand& o) const {
  std::int64_t step = 1;
  for (std::size_t k = 0; k < box_.nd; ++k) {
    std::int64_t extent = box_.d[k];
    if (track.along == Along::kElements) {
      extent = k < o.dim.nd ? o.dim.d[k] : 1;
    } else if (is_in_row(k) != (track.along == Along::kPositions) || track.size == 1) {
      extent = 1;
    }
    track.stride[k] = extent == 1 ? 0 : step;
    step *= extent;
  }
  track.stride[examples_axis_] = track.steps ? track.size : 0;
}

/// Are several rows or elements written to one number? Or none, which makes the number 0?
bool RowCutter::is_summed(const RowTrack& track) const {
  for (std::size_t k = 0; k < box_.nd; ++k) {
    const bool is_once = track.along == Along::kOnce && is_in_row(k);
    if (box_.d[k] != 1 && track.stride[k] == 0 && !is_once) {
      return true;
    }
  }
  return call_.examples > 1 && !track.steps;
}

void RowCutter::add(const Operand& o, Along along, bool writes) {
  RowTrack& track = tracks_[count_++];
  track = RowTrack{};
  track.along = along;
  track.writes = writes;
  if (o.absent()) {
    return;
  }
  track.operand = &o;
  track.size = o.size();
  track.steps = o.examples != 1;
  set_strides(track, o);
  track.adds = writes && is_summed(track);
  if (track.adds) {
    clear(o, track.size);
  }
}

/// One index per row.
void RowCutter::read_indices(const Operand& indices) {
  add(indices, Along::kOnce, false);
  tracks_[count_ - 1].is_index = true;
}

void RowCutter::clear(const Operand& o, std::int64_t size) const {
  for (std::int64_t b = 0; b < o.block_count; ++b) {
    if (o.blocks[b].fresh) {
      call_.kernels.fill(o.blocks[b].data, 0.0, o.blocks[b].examples * size);
    }
  }
}

/// Drops axes of one element, and joins neighbours if no track jumps between them. The strides of
/// the first neighbour hold for the joined axis.
void RowCutter::join(Axes& axes) const {
  const auto goes_on = [&](const Axis& last, const Axis& next) {
    return last.is_before == next.is_before && next.at != examples_axis_ &&
           std::all_of(tracks_, tracks_ + count_, [&](const RowTrack& track) {
             return track.stride[next.at] == track.stride[last.at] * last.extent;
           });
  };
  Axis* const axis = axes.axis;
  axes.count = util::join_axes(
      axes.count,
      [&](std::size_t k) { return axis[k].extent == 1 && axis[k].at != examples_axis_; },
      [&](std::size_t last, std::size_t k) { return goes_on(axis[last], axis[k]); },
      [&](std::size_t last, std::size_t k) { axis[last].extent *= axis[k].extent; },
      [&](std::size_t to, std::size_t k) { axis[to] = axis[k]; });
}

/// The number of next examples that lie in one block of every operand.
std::int64_t RowCutter::next_segment(std::int64_t left) {
  std::int64_t n = left;
  for (std::size_t l = 0; l < count_; ++l) {
    RowTrack& track = tracks_[l];
    if (!track.steps) {
      continue;
    }
    const Block* blocks = track.operand->blocks;
    while (blocks[track.block].examples == track.used) {
      ++track.block;
      track.used = 0;
    }
    n = std::min(n, blocks[track.block].examples - track.used);
  }
  return n;
}

RowStream RowCutter::stream(const RowTrack& track) const {
  RowStream s{};
  s.is_index = track.is_index;
  if (track.operand != nullptr) {
    const Block& block = track.operand->blocks[track.block];
    s.data = static_cast<std::byte*>(block.data) + track.used * track.size * bytes_of_number(track);
    s.adds = track.writes && (track.adds || !block.fresh);
  }
  for (std::size_t k = 0; k < along_.count; ++k) {
    s.step[k] = track.stride[along_.axis[k].at];
  }
  return s;
}

/// The first axis across that comes before the row is `inner`; the last one, with the examples, is
/// `outer`; a loop counts through the remaining axes.
RowCutter::Parted RowCutter::part(std::int64_t examples) const {
  Parted p{{1, examples_axis_, false}, {examples, examples_axis_, false}, {}};
  Axes& rest = p.rest;
  for (std::size_t k = 0; k + 1 < across_.count; ++k) {
    const Axis& axis = across_.axis[k];
    if (axis.is_before && p.inner.extent == 1) {
      p.inner = axis;
    } else {
      rest.axis[rest.count++] = axis;
    }
  }
  if (rest.count > 0) {
    const Axis& last = rest.axis[rest.count - 1];
    const bool goes_on = std::all_of(tracks_, tracks_ + count_, [&](const RowTrack& track) {
      return track.stride[examples_axis_] == track.stride[last.at] * last.extent;
    });
    if (examples == 1 || goes_on) {
      p.outer = {last.extent * examples, last.at, false};
      --rest.count;
    }
  }
  return p;
}

void RowCutter::run_segment(Direction direction, std::int64_t examples, const double* constants) {
  const Parted p = part(examples);
  RowStream streams[kMaxRowStreams];
  for (std::size_t l = 0; l < count_; ++l) {
    streams[l] = stream(tracks_[l]);
    streams[l].row_step = p.inner.extent == 1 ? 0 : tracks_[l].stride[p.inner.at];
    streams[l].outer_step = tracks_[l].stride[p.outer.at];
  }
  RowCall call{constants, streams, streams + inputs_,
               Rows{.length = length_, .inner = p.inner.extent, .outer = p.outer.extent}};
  if (along_.count > 1) {
    call.rows.axes = static_cast<int>(along_.count);
    for (std::size_t k = 0; k < along_.count; ++k) {
      call.rows.extent[k] = along_.axis[k].extent;
    }
  }
  std::int64_t counter[kMostCutAxes] = {};
  do {
    if (sums_ == sums_end_) {
      call_.kernels.run_rows(rule_, direction, call);
    } else {
      run_pieces(direction, call);
    }
  } while (step(p.rest, counter, streams));
}

/// The distance from the first number to the last one in `rows` of a result, plus one.
std::int64_t RowCutter::span_of(const Rows& rows, const RowStream& to, Along along) const {
  std::int64_t last = (rows.outer - 1) * to.outer_step + (rows.inner - 1) * to.row_step;
  for (int a = 0; a < rows.axes && along != Along::kOnce; ++a) {
    last += ((rows.axes == 1 ? length_ : rows.extent[a]) - 1) * to.step[a];
  }
  return last + 1;
}

/// Runs a few rows at a time, so that few rows add to a number before the sum is carried over.
void RowCutter::run_pieces(Direction direction, const RowCall& call) {
  constexpr std::int64_t kMost = LongSum::kMostAdded;
  std::int64_t inner = call.rows.inner;
  std::int64_t outer = call.rows.outer;
  for (const TrackSum* s = sums_; s < sums_end_; ++s) {
    const RowStream& to = call.out[s->track - inputs_];
    inner = to.row_step == 0 ? std::min(inner, kMost) : inner;
    outer = to.outer_step == 0 ? std::min(outer, std::max<std::int64_t>(1, kMost / inner)) : outer;
  }
  RowStream streams[kMaxRowStreams];
  RowCall piece{call.constants, streams, streams + inputs_, call.rows};
  for (std::int64_t o = 0; o < call.rows.outer; o += outer) {
    for (std::int64_t i = 0; i < call.rows.inner; i += inner) {
      piece.rows.outer = std::min(outer, call.rows.outer - o);
      piece.rows.inner = std::min(inner, call.rows.inner - i);
      for (std::size_t l = 0; l < count_; ++l) {
        streams[l] = call.in[l];  // `out` follows `in`
        if (streams[l].data != nullptr) {
          streams[l].data =
              static_cast<std::byte*>(streams[l].data) +
              (o * streams[l].outer_step + i * streams[l].row_step) * bytes_of_number(tracks_[l]);
        }
      }
      call_.kernels.run_rows(rule_, direction, piece);
      for (TrackSum* s = sums_; s < sums_end_; ++s) {
        const RowStream& to = streams[s->track];
        s->sum.added(to.data, span_of(piece.rows, to, tracks_[s->track].along), kMost);
      }
    }
  }
}

/// Moves the streams to the next combination of the axes; false after the last one.
bool RowCutter::step(const Axes& axes, std::int64_t* counter, RowStream* streams) const {
  for (std::size_t k = 0; k < axes.count; ++k) {
    const Axis& axis = axes.axis[k];
    const bool wraps = ++counter[k] == axis.extent;
    counter[k] = wraps ? 0 : counter[k];
    const std::int64_t steps = wraps ? 1 - axis.extent : 1;
    for (std::size_t l = 0; l < count_; ++l) {
      const std::int64_t bytes = bytes_of_number(tracks_[l]);
      if (streams[l].data != nullptr) {
        streams[l].data =
            static_cast<std::byte*>(streams[l].data) + steps * tracks_[l].stride[axis.at] * bytes;
      }
    }
    if (!wraps) {
      return true;
    }
  }
  return false;
}

void RowCutter::run(Direction direction, const void* op) {
  if (rows_per_example_ == 0 || call_.examples == 0) {
    return;
  }
  bool is_before = true;
  for (std::size_t k = 0; k < box_.nd; ++k) {
    is_before = is_before && !is_in_row(k);
    Axes& axes = is_in_row(k) ? along_ : across_;
    axes.axis[axes.count++] = {box_.d[k], k, is_before};
  }
  across_.axis[across_.count++] = {1, examples_axis_, false};
  join(along_);
  join(across_);
  double constants[kMaxRowConstants];
  rule_.constants(op, direction, constants);
  const bool is_long =
      length_ > 0 && std::any_of(tracks_ + inputs_, tracks_ + count_, [&](const RowTrack& t) {
        return t.adds && additions(t) > LongSum::kMostAdded;
      });
  is_long ? run_with_sums(direction, constants) : run_segments(direction, constants);
}

void RowCutter::run_segments(Direction direction, const double* constants) {
  for (std::int64_t left = call_.examples; left > 0;) {
    const std::int64_t n = next_segment(left);
    run_segment(direction, n, constants);
    for (std::size_t l = 0; l < count_; ++l) {
      tracks_[l].used += tracks_[l].steps ? n : 0;
    }
    left -= n;
  }
}

/// The number of rows that add to one number of a result.
std::int64_t RowCutter::additions(const RowTrack& track) const {
  const std::int64_t numbers = std::max<std::int64_t>(1, track.size * track.operand->examples);
  const std::int64_t each = track.along == Along::kOnce ? 1 : length_;
  return rows_per_example_ * call_.examples * each / numbers;
}

/// A function of its own, because few calls need the memory.
void RowCutter::run_with_sums(Direction direction, const double* constants) {
  TrackSum sums[kMaxRowStreams];
  sums_ = sums_end_ = sums;
  for (std::size_t l = inputs_; l < count_; ++l) {
    if (tracks_[l].adds) {
      *sums_end_ = {l, LongSum(call_, *tracks_[l].operand, additions(tracks_[l]))};
      sums_end_ += sums_end_->sum.is_long() ? 1 : 0;
    }
  }
  run_segments(direction, constants);
  for (TrackSum* s = sums_; s < sums_end_; ++s) {
    s->sum.settle();
  }
  sums_ = sums_end_ = nullptr;
}

void read_arguments(RowCutter& cutter, const RowRule& rule, const Call& call) {
  for (std::size_t i = 0; i < rule.args; ++i) {
    cutter.read(call.in[i], rule.along[i]);
  }
  if (rule.has_payload && !call.indices.absent()) {
    cutter.read_indices(call.indices);
  } else if (rule.has_payload) {
    cutter.read(call.values, Along::kOnce);
  }
}

Along result_along(const RowRule& rule, std::size_t j) {
  return rule.once[j] ? Along::kOnce : Along::kElements;
}
/// f for each output and saved output.
template <class F>
void for_each_result(const RowRule& rule, const Call& call, F f) {
  for (std::size_t j = 0; j < call.out.size(); ++j) {
    f(call.out[j], result_along(rule, j));
  }
  for (std::size_t j = 0; j < call.saved.size(); ++j) {
    f(call.saved[j], result_along(rule, rule.outputs + j));
  }
}

}  // namespace

void Kernels::run_rows_call(const RowRule& rule, Direction direction, const void* op,
                            const Call& call) const {
  RowCutter cutter(rule, call, rule.row_axes(op));
  read_arguments(cutter, rule, call);
  if (direction == Direction::kForward) {
    for_each_result(rule, call, [&](const Operand& o, Along along) { cutter.write(o, along); });
  } else {
    for_each_result(rule, call, [&](const Operand& o, Along along) { cutter.read(o, along); });
    for (std::size_t j = 0; j < call.d_out.size(); ++j) {
      cutter.read(call.d_out[j], result_along(rule, j));
    }
    for (std::size_t i = 0; i < call.d_in.size(); ++i) {
      cutter.write(call.d_in[i], rule.along[i]);
    }
  }
  cutter.run(direction, op);
}

}  // namespace dynet::ext
