// The walk over the elements of a call. simd_elements-inl.h has its interface to rules and its
// reason.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "carried.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_rule_walk.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_elements-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

using ext::Stream;
using V = FloatVector;

constexpr std::size_t kAll = ~std::size_t{0};
/// A sum is kept in so many vectors in turn, as one would wait for itself; a short one in fewer, as
/// they are added in the end.
constexpr std::size_t kSumVectors = 8, kShortSumVectors = 2, kShortSum = 16;  // vectors

/// One call: the lines of its operands, and memory for operands that are not lines of the caller.
class RuleWalk {
 public:
  HWY_INLINE RuleWalk(const RuleSteps& rule, const Stream* in, const Stream* out, std::size_t n)
      : rule_(rule), out_(out), n_(n) {
    for (std::size_t k = 0; k < rule.inputs; ++k) {
      if (in[k].mode == Stream::kRepeat) {
        hn::Store(hn::Set(d_, *static_cast<const float*>(in[k].data)), d_, vector_[k]);
        elements_.from[k] = {vector_[k], 0};
      } else {
        elements_.from[k] = {static_cast<const float*>(in[k].data), kAll};
      }
    }
    for (std::size_t j = 0; j < rule.results; ++j) {
      aim(j);
    }
    if (skipped_ != 0) {
      for (std::size_t k = 0; k < rule.inputs; ++k) {
        if ((rule.readers[k] & ~skipped_) == 0) {
          elements_.from[k] = {kNothing, 0};
        }
      }
    }
  }
  HWY_INLINE void run(const void* op) {
    const std::size_t whole = n_ - n_ % lanes();
    const std::size_t most = is_summed_ ? kMostTerms * kSumVectors * lanes() : whole;
    for (std::size_t done = 0; done < whole; done += elements_.count) {
      if (done > 0) {
        carry();
        advance(static_cast<std::ptrdiff_t>(elements_.count));
      }
      elements_.count = std::min(most, whole - done);
      rule_.loop(op, elements_);
    }
    if (whole > most) {  // back to where they begin
      advance(static_cast<std::ptrdiff_t>(elements_.count) - static_cast<std::ptrdiff_t>(whole));
    }
    if (whole < n_) {
      run_part(op, whole, n_ - whole);
    }
    for (std::size_t j = 0; j < rule_.results; ++j) {
      if (out_[j].mode == Stream::kSum) {
        const auto all = static_cast<double>(sum(sums_[j]));
        *static_cast<float*>(out_[j].data) +=
            static_cast<float>(is_carried_ ? carried_[j] + all : all);
      }
    }
  }

 private:
  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return hn::Lanes(FloatTag()); }
  /// Numbers of the vectors of a sum.
  [[nodiscard]] HWY_INLINE std::size_t turn() const {
    return lanes() * (n_ > kShortSum * lanes() ? kSumVectors : kShortSumVectors);
  }
  HWY_INLINE void aim(std::size_t j) {
    auto* data = static_cast<float*>(out_[j].data);
    elements_.to[j] = {data, kAll};
    elements_.base[j] = {kNothing, 0};
    if (out_[j].mode == Stream::kAdd) {
      elements_.base[j] = {data, kAll};
    } else if (out_[j].mode == Stream::kSkip) {
      elements_.to[j] = {result_[j], 0};
      skipped_ |= 1U << j;
    } else if (out_[j].mode == Stream::kSum) {
      is_summed_ = true;
      clear(sums_[j]);
      elements_.to[j] = {sums_[j], turn() - 1};
      elements_.base[j] = {sums_[j], turn() - 1};
    }
  }
  HWY_INLINE void clear(float* vectors) const {
    for (std::size_t i = 0; i < turn(); i += lanes()) {
      hn::Store(hn::Zero(d_), d_, vectors + i);
    }
  }
  /// Goes on with new sums.
  HWY_INLINE void carry() {
    for (std::size_t j = 0; j < rule_.results; ++j) {
      if (out_[j].mode == Stream::kSum) {
        carried_[j] = (is_carried_ ? carried_[j] : 0.0) + static_cast<double>(sum(sums_[j]));
        clear(sums_[j]);
      }
    }
    is_carried_ = true;
  }
  /// Moves the lines of the caller.
  HWY_INLINE void advance(std::ptrdiff_t n) {
    const auto move = [n](auto& line) { line.data += line.mask == kAll ? n : 0; };
    std::for_each(elements_.from, elements_.from + rule_.inputs, move);
    std::for_each(elements_.base, elements_.base + rule_.results, move);
    std::for_each(elements_.to, elements_.to + rule_.results, move);
  }
  /// The last elements, fewer than a vector has lanes: from padded vectors to vectors, and from
  /// there, one result after the other, to where they belong. Results may add to the same memory.
  HWY_INLINE void run_part(const void* op, std::size_t first, std::size_t part) {
    for (std::size_t k = 0; k < rule_.inputs; ++k) {
      if (elements_.from[k].mask != 0) {
        hn::Store(load_part(d_, elements_.from[k].data + first, part), d_, vector_[k]);
        elements_.from[k] = {vector_[k], 0};
      }
    }
    for (std::size_t j = 0; j < rule_.results; ++j) {
      elements_.to[j] = {result_[j], 0};
      elements_.base[j] = {kNothing, 0};
    }
    elements_.count = lanes();
    rule_.loop(op, elements_);
    for (std::size_t j = 0; j < rule_.results; ++j) {
      if (out_[j].mode == Stream::kSkip) {
        continue;  // it has no memory
      }
      float* to = static_cast<float*>(out_[j].data) + first;
      const V value = hn::Load(d_, result_[j]);
      if (out_[j].mode == Stream::kStore) {
        store_part(value, d_, to, part);
      } else if (out_[j].mode == Stream::kAdd) {
        store_part(hn::Add(load_part(d_, to, part), value), d_, to, part);
      } else if (out_[j].mode == Stream::kSum) {
        const V kept = hn::IfThenElseZero(hn::FirstN(d_, part), value);
        hn::Store(hn::Add(hn::Load(d_, sums_[j]), kept), d_, sums_[j]);
      }
    }
  }
  HWY_INLINE float sum(const float* vectors) const {
    V all = hn::Load(d_, vectors);
    for (std::size_t i = lanes(); i < turn(); i += lanes()) {
      all = hn::Add(all, hn::Load(d_, vectors + i));
    }
    return hn::GetLane(hn::SumOfLanes(d_, all));
  }

  const FloatTag d_;
  const RuleSteps& rule_;
  const Stream* out_;
  const std::size_t n_;
  unsigned skipped_ = 0;     ///< results that nobody wants, as bits
  bool is_summed_ = false;   ///< some result is
  bool is_carried_ = false;  ///< `carried_` has the first numbers of the sums
  Elements elements_;        // and all below: written at their use
  alignas(64) float vector_[kMaxRuleInputs][kMaxLanes];
  alignas(64) float result_[kMaxRuleResults][kMaxLanes];
  alignas(64) float sums_[kMaxRuleResults][kSumVectors * kMaxLanes];
  double carried_[kMaxRuleResults];
};

}  // namespace

void walk_rule(const RuleSteps& rule, const void* op, const Stream* in, const Stream* out,
               std::int64_t n) {
  RuleWalk(rule, in, out, static_cast<std::size_t>(n)).run(op);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();
