// A rule over a whole call: one launch, unless results are summed in different ways.
//
// Axes of the box along which a result has one number are terms of this number, and all other axes
// count places. Example: in the gradient of x + b, {4,3} and {4}, over 8 examples, dx has a number
// for each term of db. A thread has a place of {4}, goes through 3 * 8 terms, writes dx and sums
// db.
//
// Calls that have no such form go the plain way, with a launch for each run: results that share
// memory across examples and are summed within each, results that share memory in other ways than
// whole examples, and boxes without elements.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/dim.h"

#include "calls.h"
#include "kernels/rule_streams.h"
#include "util/join_axes.h"

namespace dynet::cuda {
namespace {

using ext::Call;
using ext::Direction;
using ext::Operand;
using ext::RuleInfo;
using kernels::Meeting;
using ops::DeviceStream;

constexpr std::size_t kMostAxes = ops::kMostRuleAxes;

/// One call on its way to its launches.
class RuleLaunches {
 public:
  RuleLaunches(const Call& call, const Dim& box)
      : call_(call), box_(box), elements_(box.example_elements()), table_(call.examples) {}

  void read(const Operand& o, unsigned parts) { add(o, parts, false); }
  void write(const Operand& o, unsigned parts) { add(o, parts, true); }
  /// Whether the call has the form of launches. Call it once, after all operands.
  [[nodiscard]] bool arrange();
  void start(ops::DeviceLoop loop, const void* op, void* stream);

 private:
  struct Track {
    const Operand* operand;  ///< null: absent
    std::size_t number;      ///< in the table
    std::int64_t size, part, offset;
    std::int64_t stride[kMostAxes];
    bool writes, steps;
    unsigned terms;  ///< of a result: the axes, as bits, along which it has one number
  };

  void add(const Operand& o, unsigned parts, bool writes);
  [[nodiscard]] bool set_strides(Track& track) const;
  void join_axes();
  void start_one(ops::DeviceLoop loop, const void* op, unsigned terms, bool with_others,
                 void* stream);
  [[nodiscard]] unsigned team_of(const ops::RuleBox& box) const;

  const Call& call_;
  const Dim& box_;
  std::int64_t elements_;  ///< of the box
  kernels::OperandTable table_;
  std::vector<Track> tracks_;
  std::size_t inputs_ = 0;
  bool is_flat_ = true;  ///< no track needs the dimensions of the box
  std::size_t axes_ = 0;
  std::int64_t extent_[kMostAxes] = {};
  std::vector<unsigned> ways_;  ///< the ways in which results are summed
  bool has_plain_ = false;      ///< some result is not summed
  bool in_order_ = false;
};

/// The bit of the examples, beside the bits of the axes.
constexpr unsigned kExamples = 1U << kMostAxes;

void RuleLaunches::add(const Operand& o, unsigned parts, bool writes) {
  const std::int64_t size = o.absent() ? 0 : o.size();
  const std::size_t number = o.absent() || parts == 0 ? 0
                             : writes                 ? table_.write(o, ext::Write::kAsBlocks)
                                                      : table_.read(o);
  for (unsigned p = 0; p < parts; ++p) {
    Track t{};
    t.operand = o.absent() ? nullptr : &o;
    t.number = number;
    t.size = size;
    t.part = size == elements_ * parts ? elements_ : size / parts;
    t.offset = p * t.part;
    t.writes = writes;
    t.steps = o.examples != 1 || call_.examples == 1;
    is_flat_ = is_flat_ && (o.absent() || t.part == elements_ || t.part == 1);
    tracks_.push_back(t);
  }
  inputs_ += writes ? 0 : parts;
}

bool RuleLaunches::set_strides(Track& t) const {
  if (t.operand == nullptr) {
    return true;
  }
  if (is_flat_) {
    t.stride[0] = t.part == elements_ && elements_ > 1 ? 1 : 0;
    return true;
  }
  std::int64_t step = 1;
  for (std::size_t k = 0; k < axes_; ++k) {
    const std::int64_t n = k < t.operand->dim.nd ? t.operand->dim.d[k] : 1;
    t.stride[k] = n == 1 ? 0 : step;
    step *= n;
  }
  return t.part == t.size;  // else the cutter has an error to tell
}

void RuleLaunches::join_axes() {
  axes_ = util::join_axes(
      axes_, [&](std::size_t k) { return extent_[k] == 1; },
      [&](std::size_t last, std::size_t k) {
        return std::all_of(tracks_.begin(), tracks_.end(), [&](const Track& t) {
          return t.stride[k] == t.stride[last] * extent_[last];
        });
      },
      [&](std::size_t last, std::size_t k) { extent_[last] *= extent_[k]; },
      [&](std::size_t to, std::size_t k) {
        extent_[to] = extent_[k];
        for (Track& t : tracks_) {
          t.stride[to] = t.stride[k];
        }
      });
}

bool RuleLaunches::arrange() {
  if (elements_ == 0 || call_.examples == 0) {
    return false;
  }
  axes_ = is_flat_ ? 1 : box_.nd;
  if (is_flat_) {
    extent_[0] = elements_;
  } else {
    std::copy_n(box_.d, axes_, extent_);
  }
  for (Track& t : tracks_) {
    if (!set_strides(t)) {
      return false;
    }
  }
  join_axes();
  for (Track& t : tracks_) {
    if (!t.writes || t.operand == nullptr) {
      continue;
    }
    for (std::size_t k = 0; k < axes_; ++k) {
      t.terms |= t.stride[k] == 0 ? 1U << k : 0U;
    }
    t.terms |= t.steps ? 0U : kExamples;
    if (t.terms == 0) {
      has_plain_ = true;
    } else if (std::find(ways_.begin(), ways_.end(), t.terms) == ways_.end()) {
      ways_.push_back(t.terms);
    }
  }
  table_.cut();
  const Meeting meeting =
      call_.examples == 1 && ways_.size() <= 1 ? Meeting::kNowhere : table_.meeting(true);
  in_order_ = meeting == Meeting::kInOrder;
  const bool sums_examples =
      std::all_of(ways_.begin(), ways_.end(), [](unsigned w) { return (w & kExamples) != 0; });
  return meeting == Meeting::kNowhere || (in_order_ && sums_examples && ways_.size() <= 1);
}

void RuleLaunches::start(ops::DeviceLoop loop, const void* op, void* stream) {
  if (ways_.size() == 1) {
    start_one(loop, op, ways_[0], true, stream);
    return;
  }
  if (has_plain_) {
    start_one(loop, op, in_order_ ? kExamples : 0U, true, stream);
  }
  for (const unsigned terms : ways_) {
    start_one(loop, op, terms, false, stream);
  }
}

/// As many threads as a device runs at once are enough: the fewer the places, the more threads
/// share one.
unsigned RuleLaunches::team_of(const ops::RuleBox& box) const {
  constexpr std::int64_t kWarp = 32;
  constexpr std::int64_t kFewPlaces = 4096;
  const std::int64_t places = box.places * (box.examples_are_terms != 0 ? 1 : box.examples);
  const std::int64_t terms = box.terms * (box.examples_are_terms != 0 ? box.examples : 1);
  if (in_order_ || terms < kWarp || places > kFewPlaces) {
    return 1;
  }
  return terms < kFewPlaces || places > kWarp * 4 ? kWarp : ops::kMostOfTeam;
}

/// A launch for the results that are summed along `terms`, and, if asked, for all that are not
/// summed.
void RuleLaunches::start_one(ops::DeviceLoop loop, const void* op, unsigned terms, bool with_others,
                             void* stream) {
  ops::RuleBox box{};
  std::size_t order[kMostAxes];
  std::size_t count = 0;
  box.places = box.terms = 1;
  for (const bool is_term : {false, true}) {
    for (std::size_t k = 0; k < axes_; ++k) {
      if (((terms >> k & 1U) != 0) == is_term) {
        box.extent[count] = extent_[k];
        order[count++] = k;
        (is_term ? box.terms : box.places) *= extent_[k];
      }
    }
    if (!is_term) {
      box.place_axes = static_cast<int>(count);
    }
  }
  box.axes = static_cast<int>(count);
  box.examples = call_.examples;
  box.examples_are_terms = in_order_ || (terms & kExamples) != 0 ? 1 : 0;
  box.team = team_of(box);
  box.segments = table_.segments();
  std::vector<DeviceStream> streams(tracks_.size());
  for (std::size_t l = 0; l < tracks_.size(); ++l) {
    const Track& t = tracks_[l];
    DeviceStream& s = streams[l];
    if (t.operand == nullptr) {
      s.operand = {reinterpret_cast<std::uint64_t>(call_.kernels.zero()), 0, -1, 0};
      continue;
    }
    s.operand = table_.operand(t.number);
    s.offset = t.offset * std::int64_t{sizeof(float)};
    for (std::size_t k = 0; k < axes_; ++k) {
      s.stride[k] = t.stride[order[k]];
    }
    const bool is_summed = t.writes && t.terms != 0 && t.terms == terms;
    s.is_summed = is_summed ? 1 : 0;
    s.is_wanted = t.writes && (is_summed || (with_others && t.terms == 0)) ? 1 : 0;
  }
  const kernels::WordsOnDevice words(table_.words(), stream);
  loop(op, {streams.data(), streams.data() + inputs_, box, &words.get()}, stream);
}

}  // namespace

bool run_rule_at_once(const ops::DeviceLoops& loops, const RuleInfo& rule, Direction direction,
                      const void* op, const Call& call, void* cuda_stream) {
  const Dim box = kernels::box_of(rule, call);
  RuleLaunches launches(call, box);
  if (direction == Direction::kForward) {
    kernels::list_streams<Direction::kForward>(launches, rule, call);
  } else {
    kernels::list_streams<Direction::kBackward>(launches, rule, call);
  }
  if (!launches.arrange()) {
    return false;
  }
  launches.start(direction == Direction::kForward ? loops.forward : loops.backward, op,
                 cuda_stream);
  return true;
}

}  // namespace dynet::cuda
