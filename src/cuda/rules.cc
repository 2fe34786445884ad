// A rule over a whole call: one launch, unless results are summed in different ways.
//
// Axes of the box along which a result has one number are terms of this number, and all other axes
// count places. Example: in the gradient of x + b, {4,3} and {4}, over 8 examples, dx has a number
// for each term of db. A thread has a place of {4}, goes through 3 * 8 terms, writes dx and sums
// db.
//
// If several examples add to one gradient, as 1,000 nodes that read one bias, each example gets
// numbers of its own, and a second launch adds these in order.
//
// Calls that have no such form go the plain way, with a launch for each run: values whose examples
// share memory, results that share memory in other ways than whole examples, and boxes without
// elements.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "dynet/dim.h"

#include "calls.h"
#include "kernels/device_loops.h"
#include "kernels/device_scratch.h"
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
  /// How the memory of results meets; nothing if the call does not have the form of launches. Call
  /// it once, after all operands; start() wants Meeting::kNowhere.
  [[nodiscard]] std::optional<Meeting> arrange();
  /// After arrange(): whether examples of a result share memory with others.
  [[nodiscard]] bool meets(const Operand& result) const;
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
  [[nodiscard]] ops::RuleBox box_of(unsigned terms, std::size_t (&order)[kMostAxes]) const;
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

std::optional<Meeting> RuleLaunches::arrange() {
  if (elements_ == 0 || call_.examples == 0) {
    return std::nullopt;
  }
  axes_ = is_flat_ ? 1 : box_.nd;
  if (is_flat_) {
    extent_[0] = elements_;
  } else {
    std::copy_n(box_.d, axes_, extent_);
  }
  for (Track& t : tracks_) {
    if (!set_strides(t)) {
      return std::nullopt;
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
  return call_.examples == 1 && ways_.size() <= 1 ? Meeting::kNowhere : table_.meeting(true);
}

bool RuleLaunches::meets(const Operand& result) const {
  return std::any_of(tracks_.begin(), tracks_.end(), [&](const Track& t) {
    return t.operand == &result && t.writes && table_.meets(t.number);
  });
}

void RuleLaunches::start(ops::DeviceLoop loop, const void* op, void* stream) {
  if (ways_.size() == 1) {
    start_one(loop, op, ways_[0], true, stream);
    return;
  }
  if (has_plain_) {
    start_one(loop, op, 0U, true, stream);
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
  if (terms < kWarp || places > kFewPlaces) {
    return 1;
  }
  return terms < kFewPlaces || places > kWarp * 4 ? kWarp : ops::kMostOfTeam;
}

/// The axes that count places, and behind them the axes along which results are summed. `order`
/// gets the number of each axis.
ops::RuleBox RuleLaunches::box_of(unsigned terms, std::size_t (&order)[kMostAxes]) const {
  ops::RuleBox box{};
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
  box.examples_are_terms = (terms & kExamples) != 0 ? 1 : 0;
  box.team = team_of(box);
  box.segments = table_.segments();
  return box;
}

/// A launch for the results that are summed along `terms`, and, if asked, for all that are not
/// summed.
void RuleLaunches::start_one(ops::DeviceLoop loop, const void* op, unsigned terms, bool with_others,
                             void* stream) {
  std::size_t order[kMostAxes] = {};
  const ops::RuleBox box = box_of(terms, order);
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

/// Gradients whose examples share memory, with numbers of their own for each example.
class GradientsApart {
 public:
  GradientsApart(const Call& call, const RuleLaunches& launches, void* stream)
      : call_(call), stream_(stream), apart_(call.d_in.begin(), call.d_in.end()) {
    for (std::size_t i = 0; i < apart_.size(); ++i) {
      const Operand& o = call.d_in[i];
      if (o.absent() || !launches.meets(o)) {
        continue;
      }
      const auto& numbers =
          numbers_.emplace_back(o.size() * o.examples * std::int64_t{sizeof(float)}, stream);
      apart_[i].blocks = &blocks_.emplace_back(ext::Block{numbers.data(), o.examples, true});
      apart_[i].block_count = 1;
    }
  }
  [[nodiscard]] Call call() const {
    Call apart = call_;
    apart.d_in = apart_;
    return apart;
  }
  /// Adds the numbers of all examples to the gradients, or stores the first as their blocks say.
  void add_together() const {
    std::vector<ext::Addition> all;
    for (std::size_t i = 0; i < apart_.size(); ++i) {
      const Operand& to = call_.d_in[i];
      if (apart_[i].blocks == to.blocks) {
        continue;
      }
      auto* from = apart_[i].data<float>();
      all.clear();
      for (const ext::Block* b = to.blocks; b != to.blocks + to.block_count; ++b) {
        for (std::int64_t e = 0; e < b->examples; ++e, from += to.size()) {
          all.push_back({from, static_cast<float*>(b->data) + e * to.size(), b->fresh});
        }
      }
      kernels::start_add_all(1.0, all, to.size(), stream_);
    }
  }

 private:
  const Call& call_;
  void* stream_;
  std::vector<Operand> apart_;
  std::deque<ext::Block> blocks_;
  std::deque<kernels::DeviceScratch> numbers_;
};

/// Runs `f(launches, meeting)` for a call that has the form of launches.
template <class F>
bool with_launches(const RuleInfo& rule, Direction direction, const Call& call, F f) {
  const Dim box = kernels::box_of(rule, call);
  RuleLaunches launches(call, box);
  if (direction == Direction::kForward) {
    kernels::list_streams<Direction::kForward>(launches, rule, call);
  } else {
    kernels::list_streams<Direction::kBackward>(launches, rule, call);
  }
  const std::optional<Meeting> meeting = launches.arrange();
  return meeting && f(launches, *meeting);
}

}  // namespace

bool run_rule_at_once(const ops::DeviceLoops& loops, const RuleInfo& rule, Direction direction,
                      const void* op, const Call& call, void* cuda_stream) {
  const ops::DeviceLoop loop = direction == Direction::kForward ? loops.forward : loops.backward;
  const auto start = [&](RuleLaunches& launches, Meeting meeting) {
    if (meeting == Meeting::kNowhere) {
      launches.start(loop, op, cuda_stream);
    }
    return meeting == Meeting::kNowhere;
  };
  return with_launches(rule, direction, call, [&](RuleLaunches& launches, Meeting meeting) {
    if (meeting != Meeting::kInOrder || direction == Direction::kForward) {
      return start(launches, meeting);
    }
    const GradientsApart gradients(call, launches, cuda_stream);
    const Call apart = gradients.call();
    if (!with_launches(rule, direction, apart, start)) {
      return false;
    }
    gradients.add_together();
    return true;
  });
}

}  // namespace dynet::cuda
