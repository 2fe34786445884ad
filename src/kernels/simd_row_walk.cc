// The walk over the rows of a call. simd_frame-inl.h has its interface to rules and its reason.

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

/// The data that both walks share: the frame, and a row for absent operands.
struct Walk {
  alignas(64) float zero[kMaxLanes];
  const RowSteps& rule;
  const RowCall& call;
  float constants[ext::kMaxRowConstants];  // and all below: written at their use
  alignas(64) float unwanted[kMaxLanes];
  Frame f;

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
  /// Gives each kept expression its place, a row of `size` numbers, and returns the address behind.
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
  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return hn::Lanes(D()); }
  /// Input k of each of the frame's rows, from number `at` on.
  HWY_INLINE void read_numbers(std::size_t k, std::int64_t at, std::int64_t step) {
    const RowStream& s = call.in[k];
    float* const numbers = f.once[k].of;
    if (step == 1 && !s.is_index && s.data != nullptr) {
      const float* const from = static_cast<const float*>(s.data) + at;
      for (std::size_t r = 0; r < f.rows; r += lanes()) {
        hn::Store(load_part(D(), from + r, std::min(lanes(), f.rows - r)), D(), numbers + r);
      }
      return;
    }
    for (std::size_t r = 0; r < f.rows; r += lanes()) {
      hn::Store(hn::Zero(D()), D(), numbers + r);
    }
    for (std::size_t r = 0; r < f.rows; ++r, at += step) {
      numbers[r] = row_number(s, at);
    }
  }
  /// A number of each of `rows` rows, side by side. A partial store is slow, even of a whole
  /// vector.
  HWY_INLINE void put_rows(V value, float* to, std::size_t rows, bool store) const {
    if (rows >= lanes()) {
      put(value, D(), to, store);
    } else {
      put_part(value, D(), to, rows, store);
    }
  }
  HWY_INLINE void put_numbers(std::size_t j, std::int64_t at, std::int64_t step) const {
    const RowStream& s = call.out[j];
    const float* const numbers = f.numbers[j].of;
    if (step == 1) {
      float* const to = static_cast<float*>(s.data) + at;
      for (std::size_t r = 0; r < f.rows; r += lanes()) {
        put_rows(hn::Load(D(), numbers + r), to + r, f.rows - r, !s.adds);
      }
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
    const auto most = static_cast<std::int64_t>(kMaxTurns * lanes());
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
  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return Walk::lanes(); }
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

/// Frames of whole vectors, and a last one of fewer rows than lanes. Operands whose rows do not lie
/// side by side, or are fewer than lanes, go through tiles, one for each turn: number k of row r at
/// k * lanes + r.
class Across {
 public:
  HWY_INLINE Across(const RowSteps& rule, const RowCall& call)
      : w_(rule, call),
        tile_((w_.length() + 1) * lanes()),
        turns_(w_.length() <= kShortRow ? kMaxTurns : 1) {
    w_.f.set_across(w_.length());
    const std::size_t tiles = rule.kept + (rule.inputs + rule.results) * turns_;
    tiles_ = w_.keep(row_scratch(tiles * tile_), tile_);
    std::fill_n(shared_, rule.inputs, nullptr);
  }
  HWY_INLINE void run() {
    const auto vector = static_cast<std::int64_t>(lanes());
    const std::int64_t most = static_cast<std::int64_t>(turns_) * vector;
    for (std::int64_t o = 0; o < w_.call.rows.outer; ++o) {
      for (std::int64_t i = 0; i < w_.call.rows.inner;) {
        const std::int64_t left = w_.call.rows.inner - i;
        const std::int64_t count = left < vector ? left : std::min(most, left - left % vector);
        run_some(o, i, static_cast<std::size_t>(count));
        i += count;
      }
    }
  }

 private:
  /// The tiles of several turns of longer rows would not stay in the first cache.
  static constexpr std::size_t kShortRow = 32;

  [[nodiscard]] static HWY_INLINE std::size_t lanes() { return Walk::lanes(); }
  /// `count` rows from row (o, i) on.
  HWY_INLINE void run_some(std::int64_t o, std::int64_t i, std::size_t count) {
    w_.f.rows = count;
    for (std::size_t k = 0; k < w_.rule.inputs; ++k) {
      read(k, o, i);
    }
    for (std::size_t j = 0; j < w_.rule.results; ++j) {
      aim(j, o, i);
    }
    w_.rule.run(w_.f);
    for (std::size_t j = 0; j < w_.rule.results; ++j) {
      finish(j, o, i);
    }
  }
  /// Rows of `s` are vectors as they lie.
  [[nodiscard]] HWY_INLINE bool lies_in_vectors(const RowStream& s) const {
    return s.row_step == 1 && w_.f.rows >= lanes();
  }
  [[nodiscard]] HWY_INLINE std::int64_t tile_step() const {
    return static_cast<std::int64_t>(tile_);
  }
  HWY_INLINE void read(std::size_t k, std::int64_t o, std::int64_t i) {
    const RowStream& s = w_.call.in[k];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    float* const tile = tiles_ + k * turns_ * tile_;
    if (w_.rule.reads_once[k]) {
      w_.read_numbers(k, at, s.row_step);
    } else if (s.data == nullptr) {
      w_.f.from[k] = {w_.zero, 0, 0};
    } else if (lies_in_vectors(s)) {
      w_.f.from[k] = {static_cast<const float*>(s.data) + at, static_cast<std::size_t>(s.step[0]),
                      static_cast<std::int64_t>(lanes())};
    } else if (s.row_step == 0) {
      repeat(s, static_cast<const float*>(s.data) + at, tile, shared_[k]);
      w_.f.from[k] = {tile, lanes(), 0};
    } else {
      for (std::size_t r = 0; r < w_.f.rows; r += lanes()) {
        turn_in(s,
                static_cast<const float*>(s.data) + at + static_cast<std::int64_t>(r) * s.row_step,
                std::min(lanes(), w_.f.rows - r), tile + r / lanes() * tile_);
      }
      w_.f.from[k] = {tile, lanes(), tile_step()};
    }
  }
  /// A row that all rows have. `shared`: the one that stands in the tile.
  HWY_INLINE void repeat(const RowStream& s, const float* from, float* tile,
                         const float*& shared) const {
    const auto step = static_cast<std::size_t>(s.step[0]);
    for (std::size_t k = 0; k < w_.f.length && shared != from; ++k) {
      hn::Store(hn::Set(D(), from[k * step]), D(), tile + k * lanes());
    }
    shared = from;
  }
  HWY_INLINE void turn_in(const RowStream& s, const float* from, std::size_t count,
                          float* tile) const {
    const auto step = static_cast<std::size_t>(s.step[0]);
    const std::size_t n = w_.f.length;
    if (s.row_step == 1) {
      for (std::size_t k = 0; k < n; ++k) {
        hn::Store(load_part(D(), from + k * step, count), D(), tile + k * lanes());
      }
      return;
    }
    if (count < lanes()) {
      std::fill_n(tile, n * lanes(), 0.0F);
    }
    for (std::size_t r = 0; r < count; ++r, from += s.row_step) {
      for (std::size_t k = 0; k < n; ++k) {
        tile[k * lanes() + r] = from[k * step];
      }
    }
  }
  [[nodiscard]] HWY_INLINE float* result_tile(std::size_t j) const {
    return tiles_ + (w_.rule.inputs + j) * turns_ * tile_;
  }
  HWY_INLINE void aim(std::size_t j, std::int64_t o, std::int64_t i) {
    const RowStream& s = w_.call.out[j];
    if (s.data == nullptr || w_.rule.writes_once[j]) {
      w_.aim(j, {w_.unwanted, 0, 0}, false);
    } else if (lies_in_vectors(s)) {
      float* const data = static_cast<float*>(s.data) + o * s.outer_step + i;
      w_.aim(j, {data, static_cast<std::size_t>(s.step[0]), static_cast<std::int64_t>(lanes())},
             s.adds);
    } else {
      w_.aim(j, {result_tile(j), lanes(), tile_step()}, false);
    }
  }
  HWY_INLINE void finish(std::size_t j, std::int64_t o, std::int64_t i) const {
    const RowStream& s = w_.call.out[j];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    if (s.data == nullptr) {
      return;
    }
    if (w_.rule.writes_once[j]) {
      w_.put_numbers(j, at, s.row_step);
    } else if (!lies_in_vectors(s)) {
      for (std::size_t r = 0; r < w_.f.rows; r += lanes()) {
        turn_out(s, result_tile(j) + r / lanes() * tile_,
                 at + static_cast<std::int64_t>(r) * s.row_step, std::min(lanes(), w_.f.rows - r));
      }
    }
  }
  HWY_INLINE void turn_out(const RowStream& s, const float* tile, std::int64_t at,
                           std::size_t count) const {
    const std::size_t n = w_.f.length;
    if (s.row_step == 0) {  // all rows go to one
      for (std::size_t k = 0; k < n; ++k, at += s.step[0]) {
        const V rows =
            hn::IfThenElseZero(hn::FirstN(D(), count), hn::Load(D(), tile + k * lanes()));
        w_.put_number(s, at, hn::GetLane(hn::SumOfLanes(D(), rows)));
      }
    } else if (s.row_step == 1) {
      for (std::size_t k = 0; k < n; ++k, at += s.step[0]) {
        w_.put_rows(hn::Load(D(), tile + k * lanes()), static_cast<float*>(s.data) + at, count,
                    !s.adds);
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
  const std::size_t tile_;   ///< numbers of a tile
  const std::size_t turns_;  ///< of a frame
  float* tiles_;             ///< of the inputs, then of the results
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
