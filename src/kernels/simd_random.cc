// Random numbers: Philox on vectors, one block of four elements in each lane.

#include <cstddef>
#include <cstdint>

#include "float_loops.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_random.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_math-inl.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

using WordTag = hn::RebindToUnsigned<FloatTag>;
using Words = hn::Vec<WordTag>;

/// The halves of a 64-bit product of every lane with the same number.
HWY_INLINE void wide_product(Words a, std::uint32_t by, Words& high, Words& low) {
  const WordTag d;
  const hn::RepartitionToWide<WordTag> wide;
  const auto factor = hn::Set(d, by);
  const auto even = hn::MulEven(a, factor);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), factor);
  low = hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even));
  high = hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)));
}

struct FourWords {
  Words w[4];
};

/// Blocks `first`, `first` + 1, ... of Philox, one a lane; word k of each in w[k], its upper 24
/// bits only.
HWY_INLINE FourWords philox_blocks(const PhiloxKey& key, std::uint64_t first) {
  const WordTag d;
  const auto low = static_cast<std::uint32_t>(first);
  Words c0 = hn::Add(hn::Iota(d, 0U), hn::Set(d, low));
  // Lanes with a wrapped lower word carry into the upper word.
  const auto carry = hn::IfThenElseZero(hn::Lt(c0, hn::Set(d, low)), hn::Set(d, 1U));
  Words c1 = hn::Add(hn::Set(d, static_cast<std::uint32_t>(first >> 32)), carry);
  Words c2 = hn::Set(d, key.counter[0]);
  Words c3 = hn::Set(d, key.counter[1]);
  std::uint32_t k0 = key.key[0];
  std::uint32_t k1 = key.key[1];
  for (int round = 0; round < kPhiloxRounds; ++round) {
    Words high0;
    Words low0;
    Words high1;
    Words low1;
    wide_product(c0, kPhiloxMultiplier0, high0, low0);
    wide_product(c2, kPhiloxMultiplier1, high1, low1);
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c1 = low1;
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c3 = low0;
    k0 += kPhiloxStep0;
    k1 += kPhiloxStep1;
  }
  return {
      {hn::ShiftRight<8>(c0), hn::ShiftRight<8>(c1), hn::ShiftRight<8>(c2), hn::ShiftRight<8>(c3)}};
}

HWY_INLINE FloatVector to_unit(Words w) {
  const FloatTag d;
  const hn::RebindToSigned<FloatTag> di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, w)), hn::Set(d, 0x1p-24F));
}

/// Rows of numbers from words, four vectors at once. No products are contracted: the numbers are
/// the same on every target.
struct Uniform {
  float low, width;
  HWY_INLINE void operator()(const FourWords& words, FloatVector* v) const {
    const FloatTag d;
    for (int k = 0; k < 4; ++k) {
      v[k] = hn::Add(hn::Set(d, low), hn::Mul(hn::Set(d, width), to_unit(words.w[k])));
    }
  }
};
struct Bernoulli {
  std::uint32_t threshold;
  float value;
  HWY_INLINE void operator()(const FourWords& words, FloatVector* v) const {
    const FloatTag d;
    for (int k = 0; k < 4; ++k) {
      const auto is_one = hn::Lt(words.w[k], hn::Set(WordTag(), threshold));
      v[k] = hn::IfThenElseZero(hn::RebindMask(d, is_one), hn::Set(d, value));
    }
  }
};
struct Gumbel {
  float location, scale;
  HWY_INLINE void operator()(const FourWords& words, FloatVector* v) const {
    const FloatTag d;
    for (int k = 0; k < 4; ++k) {
      const auto u = hn::Max(to_unit(words.w[k]), hn::Set(d, 1e-20F));
      const auto standard = log(d, hn::Neg(log(d, u)));
      v[k] = hn::Sub(hn::Set(d, location), hn::Mul(hn::Set(d, scale), standard));
    }
  }
};
struct Normal {
  float mean, deviation;
  HWY_INLINE void operator()(const FourWords& words, FloatVector* v) const {
    const FloatTag d;
    for (int k = 0; k < 4; k += 2) {
      const auto u = hn::Add(to_unit(words.w[k]), hn::Set(d, 0x1p-24F));  // never 0
      const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0F), log(d, u)));
      FloatVector cosine;
      FloatVector sine;
      cos_sin_of_turn(d, to_unit(words.w[k + 1]), cosine, sine);
      const auto scaled = hn::Mul(hn::Set(d, deviation), radius);
      v[k] = hn::Add(hn::Set(d, mean), hn::Mul(scaled, cosine));
      v[k + 1] = hn::Add(hn::Set(d, mean), hn::Mul(scaled, sine));
    }
  }
};

template <class Rule>
HWY_INLINE void draw(const Rule& rule, const PhiloxKey& key, float* y, std::int64_t count) {
  const FloatTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto n = static_cast<std::size_t>(count);
  FloatVector v[4];
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    rule(philox_blocks(key, i / 4), v);
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, y + i);
  }
  if (i < n) {
    alignas(64) float last[4 * kMaxLanes];
    rule(philox_blocks(key, i / 4), v);
    hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, last);
    for (std::size_t k = 0; i + k < n; ++k) {
      y[i + k] = last[k];
    }
  }
}

void uniform(float low, float width, const PhiloxKey& key, float* y, std::int64_t n) {
  draw(Uniform{low, width}, key, y, n);
}
void bernoulli(std::uint32_t threshold, float value, const PhiloxKey& key, float* y,
               std::int64_t n) {
  draw(Bernoulli{threshold, value}, key, y, n);
}
void gumbel(float location, float scale, const PhiloxKey& key, float* y, std::int64_t n) {
  draw(Gumbel{location, scale}, key, y, n);
}
void normal(float mean, float deviation, const PhiloxKey& key, float* y, std::int64_t n) {
  draw(Normal{mean, deviation}, key, y, n);
}

}  // namespace

void fill_random_loops(FloatLoops& loops) {
  loops.uniform = uniform;
  loops.bernoulli = bernoulli;
  loops.gumbel = gumbel;
  loops.normal = normal;
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(fill_random_loops);
void choose_random_loops(FloatLoops& loops) { DYNET_FOR_TARGET(fill_random_loops)(loops); }
}  // namespace dynet::kernels
#endif
