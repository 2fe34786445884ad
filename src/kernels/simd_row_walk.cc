#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/row_scratch.h"
#include "kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_row_walk.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_frame-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {
namespace {

using ext::RowCall;
using ext::RowStream;
using D = FloatTag;
using V = FloatVector;

/// Number `at` of an input with one number per row.
HWY_INLINE float row_number(const RowStream& s, std::int64_t at) {
  if (s.data == nullptr) {
    return 0.0F;
  }
  return s.is_index ? static_cast<float>(static_cast<const std::uint32_t*>(s.data)[at])
                    : static_cast<const float*>(s.data)[at];
}

/// What both walks share: the frame, and what stands for operands that are absent.
struct Walk {
  const RowSteps& rule;
  const RowCall& call;
  Frame f;  // and what follows: written where it is used
  float constants[ext::kMaxRowConstants];
  alignas(64) float zero[kMaxLanes];
  alignas(64) float unwanted[kMaxLanes];

  HWY_INLINE Walk(const RowSteps& r, const RowCall& c) : rule(r), call(c) {
    for (std::size_t k = 0; k < rule.constants; ++k) {
      constants[k] = static_cast<float>(call.constants[k]);
    }
    f.constants = constants;
    hn::Store(hn::Zero(D()), D(), zero);
  }
  [[nodiscard]] HWY_INLINE std::size_t length() const {
    return static_cast<std::size_t>(call.rows.length);
  }
  /// Gives what is kept its places, a row of `size` numbers each, and returns what follows them.
  HWY_INLINE float* keep(float* memory, std::size_t size) {
    for (std::size_t k = 0; k < rule.kept; ++k, memory += size) {
      f.kept[k] = memory;
    }
    return memory;
  }
  HWY_INLINE void aim(std::size_t j, const Vectors<float>& to, bool adds) {
    f.to[j] = to;
    f.base[j] = adds ? Vectors<const float>{to.data, to.step, to.next}
                     : Vectors<const float>{kNothing, 0, 0};
  }
  /// What each of the frame's rows has of input k, from number `at` on.
  HWY_INLINE void read_numbers(std::size_t k, std::int64_t at, std::int64_t step) {
    const RowStream& s = call.in[k];
    float* const numbers = f.once[k].of;
    if (step == 1 && !s.is_index && s.data != nullptr) {
      hn::Store(load_part(D(), static_cast<const float*>(s.data) + at, f.rows), D(), numbers);
      return;
    }
    hn::Store(hn::Zero(D()), D(), numbers);
    for (std::size_t r = 0; r < f.rows; ++r, at += step) {
      numbers[r] = row_number(s, at);
    }
  }
  /// A number of each row, side by side. A store of a part is slow, even where it is a whole
  /// vector.
  HWY_INLINE void put_rows(V value, float* to, bool store) const {
    if (f.rows == hn::Lanes(D())) {
      put(value, D(), to, store);
    } else {
      put_part(value, D(), to, f.rows, store);
    }
  }
  HWY_INLINE void put_numbers(std::size_t j, std::int64_t at, std::int64_t step) const {
    const RowStream& s = call.out[j];
    const float* const numbers = f.numbers[j].of;
    if (step == 1) {
      put_rows(hn::Load(D(), numbers), static_cast<float*>(s.data) + at, !s.adds);
      return;
    }
    for (std::size_t r = 0; r < f.rows; ++r, at += step) {
      put_number(s, at, numbers[r]);
    }
  }
  HWY_INLINE void put_number(const RowStream& s, std::int64_t at, float value) const {
    float& y = static_cast<float*>(s.data)[at];
    y = s.adds ? y + value : value;
  }
};

// ---- rows along ---------------------------------------------------------------------------------

/// As many rows as a vector has lanes in a frame.
class Along {
 public:
  HWY_INLINE Along(const RowSteps& rule, const RowCall& call) : w_(rule, call) {
    w_.f.set_along(w_.length());
    if (rule.kept > 0) {
      const std::size_t row = w_.length() + kMaxLanes;
      w_.keep(row_scratch(rule.kept * row), row);
    }
  }
  HWY_INLINE void run() {
    const auto most = static_cast<std::int64_t>(lanes());
    const std::int64_t outer = w_.call.rows.outer;
    for (std::int64_t o = 0; o < outer; o += most) {
      w_.f.rows = static_cast<std::size_t>(std::min(most, outer - o));
      for (std::size_t k = 0; k < w_.rule.inputs; ++k) {
        read(k, o);
      }
      for (std::size_t j = 0; j < w_.rule.results; ++j) {
        aim(j, o);
      }
      w_.rule.run(w_.f);
      for (std::size_t j = 0; j < w_.rule.results; ++j) {
        const RowStream& s = w_.call.out[j];
        if (w_.rule.writes_once[j] && s.data != nullptr) {
          w_.put_numbers(j, o * s.outer_step, s.outer_step);
        }
      }
    }
  }

 private:
  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return hn::Lanes(D()); }
  HWY_INLINE void read(std::size_t k, std::int64_t o) {
    const RowStream& s = w_.call.in[k];
    if (w_.rule.reads_once[k]) {
      w_.read_numbers(k, o * s.outer_step, s.outer_step);
    } else if (s.data == nullptr) {
      w_.f.from[k] = {w_.zero, 0, 0};
    } else {
      const float* const data = static_cast<const float*>(s.data) + o * s.outer_step;
      w_.f.from[k] = {data, lanes(), s.outer_step};
    }
  }
  HWY_INLINE void aim(std::size_t j, std::int64_t o) {
    const RowStream& s = w_.call.out[j];
    if (s.data == nullptr || w_.rule.writes_once[j]) {
      w_.aim(j, {w_.unwanted, 0, 0}, false);
    } else {
      float* const data = static_cast<float*>(s.data) + o * s.outer_step;
      w_.aim(j, {data, lanes(), s.outer_step}, s.adds);
    }
  }

  Walk w_;
};

// ---- rows across --------------------------------------------------------------------------------

/// As many rows as a vector has lanes, or fewer. Operands whose rows do not lie side by side, or
/// are fewer than lanes, go through a tile: number k of row r at k * lanes + r.
class Across {
 public:
  HWY_INLINE Across(const RowSteps& rule, const RowCall& call)
      : w_(rule, call), tile_((w_.length() + 1) * lanes()) {
    w_.f.set_across(w_.length());
    tiles_ = w_.keep(row_scratch((rule.kept + rule.inputs + rule.results) * tile_), tile_);
    std::fill_n(shared_, rule.inputs, nullptr);
  }
  HWY_INLINE void run() {
    const auto most = static_cast<std::int64_t>(lanes());
    for (std::int64_t o = 0; o < w_.call.rows.outer; ++o) {
      for (std::int64_t i = 0; i < w_.call.rows.inner; i += most) {
        run_some(o, i, static_cast<std::size_t>(std::min(most, w_.call.rows.inner - i)));
      }
    }
  }

 private:
  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return hn::Lanes(D()); }
  /// `count` rows from row (o, i) on.
  HWY_INLINE void run_some(std::int64_t o, std::int64_t i, std::size_t count) {
    w_.f.rows = count;
    for (std::size_t k = 0; k < w_.rule.inputs; ++k) {
      read(k, o, i, count);
    }
    for (std::size_t j = 0; j < w_.rule.results; ++j) {
      aim(j, o, i, count);
    }
    w_.rule.run(w_.f);
    for (std::size_t j = 0; j < w_.rule.results; ++j) {
      finish(j, o, i, count);
    }
  }
  HWY_INLINE void read(std::size_t k, std::int64_t o, std::int64_t i, std::size_t count) {
    const RowStream& s = w_.call.in[k];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    float* const tile = tiles_ + k * tile_;
    if (w_.rule.reads_once[k]) {
      w_.read_numbers(k, at, s.row_step);
    } else if (s.data == nullptr) {
      w_.f.from[k] = {w_.zero, 0, 0};
    } else if (count == lanes() && s.row_step == 1) {
      w_.f.from[k] = {static_cast<const float*>(s.data) + at, static_cast<std::size_t>(s.step[0]),
                      0};
    } else {
      turn_in(s, static_cast<const float*>(s.data) + at, count, tile, shared_[k]);
      w_.f.from[k] = {tile, lanes(), 0};
    }
  }
  /// `shared`: where the row lies that stands in the tile, if all rows have it.
  HWY_INLINE void turn_in(const RowStream& s, const float* from, std::size_t count, float* tile,
                          const float*& shared) const {
    const auto step = static_cast<std::size_t>(s.step[0]);
    const std::size_t n = w_.f.length;
    if (s.row_step == 0) {
      for (std::size_t k = 0; k < n && shared != from; ++k) {
        hn::Store(hn::Set(D(), from[k * step]), D(), tile + k * lanes());
      }
      shared = from;
    } else if (s.row_step == 1) {
      for (std::size_t k = 0; k < n; ++k) {
        hn::Store(load_part(D(), from + k * step, count), D(), tile + k * lanes());
      }
    } else {
      if (count < lanes()) {
        std::fill_n(tile, n * lanes(), 0.0F);
      }
      for (std::size_t r = 0; r < count; ++r, from += s.row_step) {
        for (std::size_t k = 0; k < n; ++k) {
          tile[k * lanes() + r] = from[k * step];
        }
      }
    }
  }
  [[nodiscard]] HWY_INLINE float* result_tile(std::size_t j) const {
    return tiles_ + (w_.rule.inputs + j) * tile_;
  }
  HWY_INLINE void aim(std::size_t j, std::int64_t o, std::int64_t i, std::size_t count) {
    const RowStream& s = w_.call.out[j];
    if (s.data == nullptr) {
      w_.aim(j, {w_.unwanted, 0, 0}, false);
    } else if (count == lanes() && s.row_step == 1) {
      float* const data = static_cast<float*>(s.data) + o * s.outer_step + i;
      w_.aim(j, {data, static_cast<std::size_t>(s.step[0]), 0}, s.adds);
    } else {
      w_.aim(j, {result_tile(j), lanes(), 0}, false);
    }
  }
  HWY_INLINE void finish(std::size_t j, std::int64_t o, std::int64_t i, std::size_t count) const {
    const RowStream& s = w_.call.out[j];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    if (s.data == nullptr) {
      return;
    }
    if (w_.rule.writes_once[j]) {
      w_.put_numbers(j, at, s.row_step);
    } else if (w_.f.to[j].data == result_tile(j)) {
      turn_out(s, result_tile(j), at, count);
    }
  }
  HWY_INLINE void turn_out(const RowStream& s, const float* tile, std::int64_t at,
                           std::size_t count) const {
    const std::size_t n = w_.f.length;
    auto* to = static_cast<float*>(s.data) + at;
    if (s.row_step == 0) {  // all rows go to one
      for (std::size_t k = 0; k < n; ++k, at += s.step[0]) {
        const V rows =
            hn::IfThenElseZero(hn::FirstN(D(), count), hn::Load(D(), tile + k * lanes()));
        w_.put_number(s, at, hn::GetLane(hn::SumOfLanes(D(), rows)));
      }
    } else if (s.row_step == 1) {
      for (std::size_t k = 0; k < n; ++k, to += s.step[0]) {
        w_.put_rows(hn::Load(D(), tile + k * lanes()), to, !s.adds);
      }
    } else {
      for (std::size_t r = 0; r < count; ++r, at += s.row_step) {
        for (std::size_t k = 0; k < n; ++k) {
          w_.put_number(s, at + static_cast<std::int64_t>(k) * s.step[0], tile[k * lanes() + r]);
        }
      }
    }
  }

  Walk w_;
  const std::size_t tile_;  ///< numbers of a tile
  float* tiles_;            ///< of the inputs, then of the results
  const float* shared_[ext::kMaxRowStreams];
};

/// Outer rows become lanes.
void run_turned(const RowSteps& rule, const RowCall& call) {
  RowStream streams[2 * ext::kMaxRowStreams];
  RowStream* const out = std::copy_n(call.in, rule.inputs, streams);
  std::copy_n(call.out, rule.results, out);
  for (RowStream* s = streams; s < out + rule.results; ++s) {
    s->row_step = s->outer_step;
    s->outer_step = 0;
  }
  RowCall turned{call.constants, streams, out, call.rows};
  turned.rows.inner = call.rows.outer;
  turned.rows.outer = 1;
  Across(rule, turned).run();
}

}  // namespace

void walk_rows(const RowSteps& rule, const RowCall& call) {
  if (call.rows.inner > 1) {
    Across(rule, call).run();
  } else if (call.rows.length >= rule.short_row) {
    Along(rule, call).run();
  } else {
    run_turned(rule, call);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();
