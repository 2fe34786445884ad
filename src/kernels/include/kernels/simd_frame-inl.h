// Some rows of a call on the vectors of a target, and the walk over all rows of a call. Compiled
// once per target.
//
// Only the arithmetic of a rule over rows is compiled for each rule: the code for one Frame
// (RowSteps, which simd_rows-inl.h makes of a rule). The rest is equal for all rules: the places of
// the next rows, absent operands, results to store, add or sum, and rows to turn. That code is here
// and is compiled once (simd_row_walk.cc), as it would otherwise be most of the code of every rule.
//
// A frame is some rows, and a rule takes the rows in turns. *Along* the rows a vector holds
// neighbours of one row, and a turn is a row. *Across*, a vector holds one position of as many rows
// as it has lanes, and a turn is that many rows. Example: on 8 lanes, 16 rows of length 3 are 16
// turns of one vector along, or 2 turns of 3 vectors across.
//
// Either way a row is a sequence of vectors, and vector v of an operand lies at data + v * step, so
// that one loop serves both. The differences: the start and the distance of positions; the last
// vector of a row along may be a part of one; and reductions of a row along end with the lanes of a
// vector.
//
// Surprising: every result is added to something (kNothing).

#if defined(DYNET_KERNELS_SIMD_FRAME_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_FRAME_INL_H
#undef DYNET_KERNELS_SIMD_FRAME_INL_H
#else
#define DYNET_KERNELS_SIMD_FRAME_INL_H
#endif

#include <cstddef>
#include <cstdint>

#include "dynet/ext/rows.h"

#include "hwy/highway.h"
#include "kernels/simd_memory-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

/// The most expressions that are computed in one pass and read in a later one.
inline constexpr std::size_t kMaxKept = 8;

/// Vector v of an operand lies at data + v * step; the next turn's data are `next` farther.
template <class Number>
struct Vectors {
  Number* data;
  std::size_t step;
  std::int64_t next;
};
/// Rows of a frame: as many vectors hold a number of each.
inline constexpr std::size_t kMaxTurns = 4, kMaxFrameRows = kMaxTurns * kMaxLanes;
/// One number for each row of a frame, in whole vectors.
struct alignas(64) RowNumbers {
  float of[kMaxFrameRows];
};
/// Rows and their operands. Only the operands of the rule are set.
struct Frame {
  std::size_t rows;
  std::size_t length;  ///< numbers of a row
  std::size_t whole;   ///< vectors of a row
  std::size_t part;    ///< along: numbers of one more vector, or 0
  bool is_along;
  const float* constants;
  Vectors<const float> from[ext::kMaxRowStreams];  ///< inputs with one number per element
  Vectors<const float> base[ext::kMaxRowStreams];  ///< results are added to these
  Vectors<float> to[ext::kMaxRowStreams];
  float* kept[kMaxKept];                    ///< room for a row in whole vectors
  RowNumbers once[ext::kMaxRowStreams];     ///< inputs with one number per row
  RowNumbers numbers[ext::kMaxRowStreams];  ///< results with one number per row

  HWY_INLINE void set_along(std::size_t n) {
    is_along = true;
    length = n;
    whole = n / hn::Lanes(FloatTag());
    part = n % hn::Lanes(FloatTag());
  }
  HWY_INLINE void set_across(std::size_t n) {
    is_along = false;
    length = whole = n;
    part = 0;
  }
};

/// The code of one direction of a rule for a frame, and its properties for the walk.
struct RowSteps {
  void (*run)(Frame& frame);
  std::size_t inputs, results, kept, constants;
  /// Rows shorter than this are turned: for two or more reductions of a row, one after the other,
  /// turning beats waiting for the sum of a vector's lanes. The number depends on the rule alone,
  /// as sums round differently along and across.
  std::int64_t short_row;
  bool reads_once[ext::kMaxRowStreams];
  bool writes_once[ext::kMaxRowStreams];
};

/// Runs a rule over the rows of a call, which lie evenly (float_rows.cc).
void walk_rows(const RowSteps& rule, const ext::RowCall& call);

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
