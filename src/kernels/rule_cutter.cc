// Rules as loops: cuts a call into runs. A run is a row of streams, the input of the device's loop
// of a rule (Kernels::run).
//
// In:  a call whose operands are lists of blocks, with broadcasting, repeated examples, parts of
//      cells, sums.                Out: a sequence of runs in memory order.
//
// Every operand, or every part of a cell's operand, is a *track*, which knows the address of
// element (i0, i1, ...) of example e. All tracks see one box of elements, with the examples as its
// last axis. Neighbouring axes are joined if no track jumps between them. Usually one axis is left,
// and the whole call is one run a block. A track with stride 0 on the first axis becomes a repeated
// number (read) or a sum (written).
//
// A call that is one run already (OneRun) is not cut.
//
// Start reading at Kernels::run_call, then Cutter::run. Surprising: a result that is smaller than
// the box (the gradient of a broadcast operand, a summed value) is visited several times. Such a
// result is first filled with zeros, and then only added to.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dynet/dim.h"
#include "dynet/except.h"
#include "dynet/ext/op.h"
#include "dynet/ext/operand.h"

#include "kernels/call_shares.h"
#include "kernels/long_sum.h"
#include "kernels/one_run.h"
#include "kernels/rule_streams.h"
#include "operands.h"
#include "util/join_axes.h"

namespace dynet::ext {
namespace {

using kernels::elements_of;

constexpr std::size_t kMaxTracks = 64;
constexpr std::size_t kMaxAxes =
    DYNET_MAX_TENSOR_DIM + 2;  // examples, and one for runs of length 1

/// One stream of the call. No member has an initialiser: only the tracks in use are ever written.
struct Track {
  const Operand* operand;  ///< null: reads zero, or is not wanted
  std::int64_t size;       ///< elements of one example of the operand
  std::int64_t part;       ///< elements of one part of it
  std::int64_t offset;     ///< of this part in the example
  std::int64_t stride[kMaxAxes];
  const Block* block;  ///< the track's position: `used` examples of it are done
  std::int64_t used;
  bool writes;
  bool adds;   ///< filled with zeros before, as it is visited several times
  bool steps;  ///< an example for each example of the call
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
        elements_(elements_of(box)) {}

  /// Adds the streams of an operand. All inputs come before all results.
  void read(const Operand& o, unsigned parts) { add(o, parts, false); }
  void write(const Operand& o, unsigned parts) {
    if (inputs_ == 0) {
      inputs_ = count_;
    }
    add(o, parts, true);
  }
  void run(const void* op);

 private:
  void add(const Operand& o, unsigned parts, bool writes);
  void clear(const Operand& o, std::int64_t size) const;
  void set_strides(Track& track) const;
  void join_axes();
  void start_with_runs();
  [[nodiscard]] std::int64_t start_segment(std::int64_t left, Stream* streams);
  void end_segment(std::int64_t examples);
  void arrange();
  void run_arranged(const void* op);
  [[nodiscard]] std::int64_t additions(const Track& track) const;
  void run_with_sums(const void* op);
  void run_segment(const void* op, Stream* streams);
  void run_flat(const void* op);
  [[nodiscard]] Stream stream(const Track& track) const;
  void run_loop(const void* op, const Stream* streams, std::int64_t n) {
    call_.kernels.run(rule_, direction_, op, streams, streams + inputs_, n);
    for (TrackSum* s = sums_; s < sums_end_; ++s) {
      const Stream& to = streams[s->track];
      s->sum.added(to.data, to.mode == Stream::kSum ? 1 : n);
    }
  }
  [[nodiscard]] bool every_track(auto holds) const {
    return std::all_of(tracks_, tracks_ + count_, [&](const Track& track) {
      return track.operand == nullptr || holds(track);
    });
  }

  const RuleInfo& rule_;
  Direction direction_;
  const Call& call_;
  const Dim& box_;
  std::int64_t bytes_;     ///< of a number
  std::int64_t elements_;  ///< of the box
  bool is_flat_ = true;    ///< no track needs the dimensions of the box
  bool adds_ = false;      ///< a result is visited several times
  std::size_t count_ = 0;  ///< of tracks; the first `inputs_` are read
  std::size_t inputs_ = 0;
  std::size_t axes_ = 0;
  std::int64_t per_example_ = 1;  ///< extent of the last axis, for one example
  std::int64_t extent_[kMaxAxes];
  Track tracks_[kMaxTracks];
  TrackSum* sums_ = nullptr;  ///< of the results with many additions
  TrackSum* sums_end_ = nullptr;
};

void Cutter::add(const Operand& o, unsigned parts, bool writes) {
  if (count_ + parts > kMaxTracks) {
    throw errors::SizeError("a rule has more than 64 operands and parts");
  }
  const bool is_absent = o.absent();
  const std::int64_t size = is_absent ? 0 : elements_of(o.dim);
  const bool is_box = size == elements_ * parts;  // mostly, and divisions are slow
  const std::int64_t part = is_box ? elements_ : size / parts;
  const bool is_reduced = size * o.examples != elements_ * call_.examples * parts;
  if (!is_absent && writes && is_reduced) {
    clear(o, size);
  }
  if (!is_absent && part != elements_ && part != 1) {
    is_flat_ = false;
  }
  for (unsigned p = 0; p < parts; ++p) {
    Track& track = tracks_[count_++];
    track.operand = is_absent ? nullptr : &o;
    track.size = size;
    track.part = part;
    track.offset = p * part;
    track.block = o.blocks;
    track.used = 0;
    track.writes = writes;
    track.adds = is_reduced;
    adds_ = adds_ || (writes && is_reduced && !is_absent);
    track.steps = !is_absent && o.examples != 1;
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
void Cutter::set_strides(Track& track) const {
  if (track.operand == nullptr) {
    std::fill_n(track.stride, axes_, 0);
    return;
  }
  const std::size_t last = axes_ - 1;
  track.stride[last] = track.steps ? track.size : 0;
  if (is_flat_) {
    track.stride[0] = track.part == elements_ ? 1 : 0;
    return;
  }
  if (track.part != track.size) {
    throw errors::ShapeError("the parts of a cell's operands differ in length");
  }
  std::int64_t step = 1;
  for (std::size_t k = 0; k < last; ++k) {
    const std::int64_t n = track.operand->dim.d[k];
    track.stride[k] = n == 1 ? 0 : step;
    step *= n;
  }
}

/// Drops axes of one element, and joins neighbours if no track jumps between them. The last axis
/// counts examples; `per_example_` keeps the extent of axes joined to it, because the number of
/// examples is not yet known.
void Cutter::join_axes() {
  const std::size_t examples = axes_ - 1;
  axes_ = util::join_axes(
      axes_, [&](std::size_t k) { return extent_[k] == 1 && k != examples; },
      [&](std::size_t last, std::size_t k) {
        return every_track([&](const Track& track) {
          return track.stride[k] == track.stride[last] * extent_[last];
        });
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
          tracks_[l].stride[to] = tracks_[l].stride[k];
        }
      });
}

/// Gives the runs length 1 if the first axis has other strides than 0 and 1 (parts of one element
/// each).
void Cutter::start_with_runs() {
  if (every_track(
          [](const Track& track) { return track.stride[0] == 0 || track.stride[0] == 1; })) {
    return;
  }
  std::copy_backward(extent_, extent_ + axes_, extent_ + axes_ + 1);
  extent_[0] = 1;
  for (std::size_t l = 0; l < count_; ++l) {
    std::int64_t* stride = tracks_[l].stride;
    std::copy_backward(stride, stride + axes_, stride + axes_ + 1);
    stride[0] = 1;
  }
  ++axes_;
}

/// The streams of the next examples that lie in one block of every operand, and the number of these
/// examples.
std::int64_t Cutter::start_segment(std::int64_t left, Stream* streams) {
  std::int64_t n = left;
  for (std::size_t l = 0; l < count_; ++l) {
    Track& track = tracks_[l];
    if (track.steps) {
      while (track.block->examples == track.used) {
        ++track.block;
        track.used = 0;
      }
      n = std::min(n, track.block->examples - track.used);
    }
    streams[l] = stream(track);
  }
  return n;
}

void Cutter::end_segment(std::int64_t examples) {
  for (std::size_t l = 0; l < count_; ++l) {
    tracks_[l].used += tracks_[l].steps ? examples : 0;
  }
}

Stream Cutter::stream(const Track& track) const {
  if (track.operand == nullptr) {
    return track.writes ? Stream{nullptr, Stream::kSkip}
                        : Stream{const_cast<void*>(call_.kernels.zero()), Stream::kRepeat};
  }
  void* at = static_cast<std::byte*>(track.block->data) +
             (track.used * track.size + track.offset) * bytes_;
  if (!track.writes) {
    return {at, track.stride[0] == 0 ? Stream::kRepeat : Stream::kRun};
  }
  if (track.adds) {
    return {at, track.stride[0] == 0 ? Stream::kSum : Stream::kAdd};
  }
  return {at, track.block->fresh ? Stream::kStore : Stream::kAdd};
}

/// The runs of a segment, by counting through all axes but the first.
void Cutter::run_segment(const void* op, Stream* streams) {
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
        if (tracks_[l].operand == nullptr) {
          continue;
        }
        streams[l].data =
            static_cast<std::byte*>(streams[l].data) + steps * tracks_[l].stride[k] * bytes_;
      }
      if (!wraps) {
        break;
      }
    }
  } while (k < axes_);
}

/// The common case, without axes: no track needs the dimensions of the box, so a block is one run,
/// or one run an example.
void Cutter::run_flat(const void* op) {
  Stream streams[kMaxTracks];
  std::int64_t step[kMaxTracks];  // bytes from one example to the next
  bool is_dense = true;
  for (std::size_t l = 0; l < count_; ++l) {
    Track& track = tracks_[l];
    track.stride[0] = track.part == elements_ ? 1 : 0;
    step[l] = track.steps ? track.size * bytes_ : 0;
    const bool goes_on = track.size == elements_ && (track.steps || call_.examples == 1);
    is_dense = is_dense && (track.operand == nullptr || goes_on);
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

/// Finds the axes, unless the call is flat.
void Cutter::arrange() {
  if (is_flat_ && (elements_ > 1 || call_.examples == 1)) {
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
    set_strides(tracks_[l]);
  }
  join_axes();
  start_with_runs();
}

void Cutter::run_arranged(const void* op) {
  if (axes_ == 0) {
    run_flat(op);
    return;
  }
  Stream streams[kMaxTracks];
  for (std::int64_t left = call_.examples; left > 0;) {
    const std::int64_t n = start_segment(left, streams);
    extent_[axes_ - 1] = n * per_example_;
    run_segment(op, streams);
    end_segment(n);
    left -= n;
  }
}

/// The number of runs that add to one number of a result.
std::int64_t Cutter::additions(const Track& track) const {
  if (axes_ <= 1) {
    return track.steps ? 1 : call_.examples;
  }
  const std::size_t last = axes_ - 1;
  std::int64_t n = track.stride[last] == 0 ? call_.examples * per_example_ : 1;
  for (std::size_t k = 1; k < last; ++k) {
    n *= track.stride[k] == 0 ? extent_[k] : 1;
  }
  return n;
}

/// A function of its own, because few calls need the memory.
void Cutter::run_with_sums(const void* op) {
  constexpr std::size_t kMost = 16;  // the last results of a rule with more have no long sums
  TrackSum sums[kMost];
  sums_ = sums_end_ = sums;
  for (std::size_t l = inputs_; l < count_ && sums_end_ < sums + kMost; ++l) {
    const Track& track = tracks_[l];
    if (track.operand != nullptr && track.adds) {
      *sums_end_ = {l, LongSum(call_, *track.operand, additions(track))};
      sums_end_ += sums_end_->sum.is_long() ? 1 : 0;
    }
  }
  run_arranged(op);
  for (TrackSum* s = sums_; s < sums_end_; ++s) {
    s->sum.settle();
  }
  sums_ = sums_end_ = nullptr;
}

void Cutter::run(const void* op) {
  if (elements_ == 0 || call_.examples == 0) {
    return;
  }
  arrange();
  const bool is_long =
      adds_ && std::any_of(tracks_ + inputs_, tracks_ + count_, [&](const Track& t) {
        return t.operand != nullptr && t.adds && additions(t) > LongSum::kMostAdded;
      });
  is_long ? run_with_sums(op) : run_arranged(op);
}

template <Direction kDirection>
void run_rule(const RuleInfo& rule, const void* op, const Call& call) {
  const auto list = [&](auto& to) { kernels::list_streams<kDirection>(to, rule, call); };
  const Dim box = kernels::box_of(rule, call);
  OneRun whole(call.kernels, call.examples, elements_of(box));
  list(whole);
  if (whole.is_all()) {
    whole.run(rule, kDirection, op);
    return;
  }
  const unsigned shares = shares_of_call(call, kDirection == Direction::kForward, elements_of(box));
  if (shares > 1) {
    run_call_in_shares(shares, call,
                       [&](const Call& part) { run_rule<kDirection>(rule, op, part); });
    return;
  }
  Cutter cutter(rule, kDirection, call, box);
  list(cutter);
  cutter.run(op);
}

}  // namespace

void Kernels::run_call(const RuleInfo& rule, Direction direction, const void* op,
                       const Call& call) const {
  if (direction == Direction::kForward) {
    run_rule<Direction::kForward>(rule, op, call);
  } else {
    run_rule<Direction::kBackward>(rule, op, call);
  }
}

}  // namespace dynet::ext
