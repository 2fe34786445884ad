// Rules over rows on vectors, compiled once per target.
//
// In:  the type of a rule (ext/numbered.h) and calls of it (ext/rows.h).
// Out: loops with the signature ext::RowLoop, for install_row_loops() to put in ext::row_loops.
//
//   pass 1, 2, ...  computes the reductions whose arguments are known by then, all of one pass
//                   together
//   last pass       computes the results and writes them
//
// The passes are in simd_passes-inl.h; before each its expressions are bound (simd_bound-inl.h).
// There are two ways. *Along* the row a vector holds neighbours of one row; *across*, one position
// of several rows. Rows that lie side by side go across, and so do short rows whose reductions wait
// for each other; they are turned. The choice depends on the rule and the shape of one example
// alone: a row has the same bits whatever the batch is. Start reading at run_rows().
//
// Surprising: where all results are one number per row, the reductions of as many rows as there are
// lanes are gathered before the rest (often a logarithm) is computed for all of them.

#if defined(DYNET_KERNELS_SIMD_ROWS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_KERNELS_SIMD_ROWS_INL_H
#undef DYNET_KERNELS_SIMD_ROWS_INL_H
#else
#define DYNET_KERNELS_SIMD_ROWS_INL_H
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "dynet/ext/op.h"

#include "hwy/highway.h"
#include "kernels/row_scratch.h"
#include "kernels/simd_passes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels {
namespace HWY_NAMESPACE {

// ---- rows along ---------------------------------------------------------------------------------

HWY_INLINE float row_number(const ext::RowStream& s, std::int64_t at) {
  if (s.data == nullptr) {
    return 0.0F;
  }
  return s.is_index ? static_cast<float>(static_cast<const std::uint32_t*>(s.data)[at])
                    : static_cast<const float*>(s.data)[at];
}
template <class Plan>
constexpr bool is_once(std::size_t input) {
  return Plan::Rule::kAlong[input] == rule::Along::kOnce;
}
template <class Plan>
constexpr bool is_positions(std::size_t input) {
  return Plan::Rule::kAlong[input] == rule::Along::kPositions;
}

template <class Plan>
HWY_INLINE void set_constants(Frame<Plan>& f, const double* constants) {
  for (std::size_t k = 0; k < Plan::Rule::kCount; ++k) {
    f.constants[k] = hn::Set(D(), static_cast<float>(constants[k]));
  }
}

template <class Plan, class... E, std::size_t... kJ>
HWY_INLINE void write_block(const Frame<Plan>& f, const ext::RowStream* out, std::int64_t first,
                            std::size_t rows, rule::Types<E...>, std::index_sequence<kJ...>) {
  alignas(64) float results[Plan::kResults][kMaxLanes];
  (hn::Store(once_value<E>(f), D(), results[kJ]), ...);
  for (std::size_t j = 0; j < Plan::kResults; ++j) {
    if (out[j].data == nullptr) {
      continue;
    }
    float* to = static_cast<float*>(out[j].data) + first * out[j].outer_step;
    for (std::size_t r = 0; r < rows; ++r, to += out[j].outer_step) {
      *to = out[j].adds ? *to + results[j][r] : results[j][r];
    }
  }
}
/// The reductions of some rows, one row in each lane.
template <class Plan>
struct Block {
  alignas(64) float slots[Plan::Reductions::kSize + 1][kMaxLanes];
  alignas(64) float once[Plan::kInputs][kMaxLanes];
  std::size_t rows = 0;

  HWY_INLINE void take(const Frame<Plan>& f) {
    for (std::size_t k = 0; k < Plan::Reductions::kSize; ++k) {
      slots[k][rows] = hn::GetLane(f.slots[k]);
    }
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (is_once<Plan>(k)) {
        once[k][rows] = hn::GetLane(f.once[k]);
      }
    }
    ++rows;
  }
  HWY_INLINE void finish(Frame<Plan>& f, const ext::RowStream* out, std::int64_t end) {
    for (std::size_t k = 0; k < Plan::Reductions::kSize; ++k) {
      f.slots[k] = hn::Load(D(), slots[k]);
    }
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      if (is_once<Plan>(k)) {
        f.once[k] = hn::Load(D(), once[k]);
      }
    }
    write_block(f, out, end - static_cast<std::int64_t>(rows), rows, typename Plan::Results(),
                std::make_index_sequence<Plan::kResults>());
    rows = 0;
  }
};

/// Scratch memory of rows along: what is kept, a row of zeros for inputs that are absent, and a row
/// for results that nobody wants.
template <class Plan>
struct AlongMemory {
  float* zeros;
  float* dump;

  HWY_INLINE AlongMemory(Frame<Plan>& f, const ext::RowCall& call) {
    const std::size_t row = f.length + kMaxLanes;
    bool is_absent = false;
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      is_absent = is_absent || (!is_once<Plan>(k) && call.in[k].data == nullptr);
    }
    bool is_unwanted = false;
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      is_unwanted = is_unwanted || call.out[j].data == nullptr;
    }
    const std::size_t rows = Plan::Kept::kSize + (is_absent ? 1 : 0) + (is_unwanted ? 1 : 0);
    float* memory = rows > 0 ? row_scratch(rows * row) : nullptr;
    for (std::size_t k = 0; k < Plan::Kept::kSize; ++k, memory += row) {
      f.kept[k] = memory;
    }
    zeros = memory;
    dump = is_absent ? memory + row : memory;
    if (is_absent) {
      std::fill_n(zeros, f.length, 0.0F);
    }
  }
};

/// Row `o` of the operands.
template <class Plan>
HWY_INLINE void read_row(Frame<Plan>& f, const ext::RowCall& call, const AlongMemory<Plan>& memory,
                         std::int64_t o) {
  for (std::size_t k = 0; k < Plan::kInputs; ++k) {
    const ext::RowStream& s = call.in[k];
    if (is_once<Plan>(k)) {
      f.once[k] = hn::Set(D(), row_number(s, o * s.outer_step));
    } else {
      f.from[k] =
          s.data == nullptr ? memory.zeros : static_cast<const float*>(s.data) + o * s.outer_step;
    }
  }
}
/// A number per row: those of as many rows as a vector has lanes are written together.
template <class Plan>
HWY_INLINE void run_to_numbers(Frame<Plan>& f, const ext::RowCall& call,
                               const AlongMemory<Plan>& memory) {
  Block<Plan> block;
  const std::int64_t outer = call.rows.outer;
  for (std::int64_t o = 0; o < outer; ++o) {
    read_row(f, call, memory, o);
    run_passes<1, AlongRow>(f, typename Plan::Reductions());
    if (block.rows == 0 && o + 1 == outer) {  // alone: no need to gather
      write_block(f, call.out, o, 1, typename Plan::Results(),
                  std::make_index_sequence<Plan::kResults>());
      break;
    }
    block.take(f);
    if (block.rows == hn::Lanes(D()) || o + 1 == outer) {
      block.finish(f, call.out, o + 1);
    }
  }
}
template <class Plan>
HWY_INLINE void run_to_rows(Frame<Plan>& f, const ext::RowCall& call,
                            const AlongMemory<Plan>& memory) {
  for (std::int64_t o = 0; o < call.rows.outer; ++o) {
    read_row(f, call, memory, o);
    Target targets[Plan::kResults];
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      const ext::RowStream& s = call.out[j];
      targets[j] = s.data == nullptr
                       ? Target{memory.dump, 0, true, false}
                       : Target{static_cast<float*>(s.data) + o * s.outer_step, 0, !s.adds, false};
    }
    run_frame<AlongRow>(f, targets, typename Plan::Results(),
                        std::make_index_sequence<Plan::kResults>());
  }
}

template <class Plan>
HWY_INLINE void run_along(const ext::RowCall& call) {
  Frame<Plan> f;
  set_constants(f, call.constants);
  f.length = static_cast<std::size_t>(call.rows.length);
  const AlongMemory<Plan> memory(f, call);
  if constexpr (Plan::kOnlyOnce) {
    run_to_numbers(f, call, memory);
  } else {
    run_to_rows(f, call, memory);
  }
}

// ---- rows across --------------------------------------------------------------------------------

/// As many rows as a vector has lanes, or fewer: `part` of them, from row (o, i) on.
template <class Plan>
struct Across {
  const ext::RowCall& call;
  std::size_t lanes, tile;  ///< a tile is a turned operand: `tile` numbers
  float* tiles;
  Frame<Plan> f;
  Target targets[Plan::kResults];

  HWY_INLINE explicit Across(const ext::RowCall& c)
      : call(c),
        lanes(hn::Lanes(D())),
        tile((static_cast<std::size_t>(c.rows.length) + 1) * lanes),
        tiles(row_scratch((Plan::Kept::kSize + Plan::kInputs + Plan::kResults) * tile)) {
    set_constants(f, call.constants);
    f.length = static_cast<std::size_t>(call.rows.length);
    for (std::size_t k = 0; k < Plan::Kept::kSize; ++k, tiles += tile) {
      f.kept[k] = tiles;
    }
  }
  HWY_INLINE void read(std::size_t k, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.in[k];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    if (is_once<Plan>(k)) {
      alignas(64) float numbers[kMaxLanes] = {};
      for (std::size_t lane = 0; lane < part; ++lane) {
        numbers[lane] = row_number(s, at + static_cast<std::int64_t>(lane) * s.row_step);
      }
      f.once[k] = hn::Load(D(), numbers);
      return;
    }
    if (s.data == nullptr) {
      std::fill_n(tiles + k * tile, f.length * lanes, 0.0F);
    } else {
      f.from[k] = static_cast<const float*>(s.data) + at;
      f.step[k] = static_cast<std::size_t>(s.step[0]);
      if (is_positions<Plan>(k) || part == 1 || s.row_step == 1) {
        return;
      }
      turn_in(s, f.from[k], part, lanes, f.length, tiles + k * tile);
    }
    f.from[k] = tiles + k * tile;
    f.step[k] = lanes;
  }
  HWY_INLINE void aim(std::size_t j, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.out[j];
    const bool is_turned = s.data == nullptr || (part > 1 && s.row_step != 1 && s.row_step != 0);
    targets[j] = is_turned ? Target{tiles + (Plan::kInputs + j) * tile, lanes, true, false}
                           : Target{static_cast<float*>(s.data) + o * s.outer_step + i * s.row_step,
                                    static_cast<std::size_t>(s.step[0]), !s.adds,
                                    part > 1 && s.row_step == 0};
  }
  HWY_INLINE void finish(std::size_t j, std::int64_t o, std::int64_t i, std::size_t part) {
    const ext::RowStream& s = call.out[j];
    const float* from = tiles + (Plan::kInputs + j) * tile;
    if (s.data != nullptr && targets[j].to == from) {
      turn_out(s, from, part, lanes, Plan::Rule::kWritesOnce[j] ? 1 : f.length,
               static_cast<float*>(s.data) + o * s.outer_step + i * s.row_step);
    }
  }
  HWY_INLINE void run(std::int64_t o, std::int64_t i, std::size_t part) {
    f.lanes_used = part;
    for (std::size_t k = 0; k < Plan::kInputs; ++k) {
      read(k, o, i, part);
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      aim(j, o, i, part);
    }
    const auto every = std::make_index_sequence<Plan::kResults>();
    if (part == lanes) {
      run_frame<Way<false, false>>(f, targets, typename Plan::Results(), every);
    } else {
      run_frame<Way<false, true>>(f, targets, typename Plan::Results(), every);
    }
    for (std::size_t j = 0; j < Plan::kResults; ++j) {
      finish(j, o, i, part);
    }
  }
};

/// Side by side: row i of `inner` is lane i.
template <class Plan>
HWY_INLINE void run_across(const ext::RowCall& call) {
  Across<Plan> across(call);
  // Numbers that differ from row to row but not along it have no form side by side.
  auto most = static_cast<std::int64_t>(across.lanes);
  for (std::size_t k = 0; k < Plan::kInputs; ++k) {
    most = is_positions<Plan>(k) && call.in[k].row_step != 0 ? 1 : most;
  }
  for (std::int64_t o = 0; o < call.rows.outer; ++o) {
    for (std::int64_t i = 0; i < call.rows.inner; i += most) {
      across.run(o, i, static_cast<std::size_t>(std::min(most, call.rows.inner - i)));
    }
  }
}

/// Rows shorter than this are turned: where a row is reduced twice or more, one reduction after the
/// other, this beats waiting for lanes to be summed. It depends on nothing but the rule and the
/// length, as sums round differently along and across.
template <class Plan>
inline constexpr std::int64_t kShortRow = Plan::kLastPass >= 3 ? 24 : 0;

template <class Direction, class Op>
void run_rows(const ext::RowCall& call) {
  using Plan =
      decltype(plan_of<Direction, Op>(typename rule::Numbered<Direction, Op>::Expressions()));
  if (call.rows.inner > 1) {
    run_across<Plan>(call);
  } else if (call.rows.length >= kShortRow<Plan>) {
    run_along<Plan>(call);
  } else {  // outer rows become lanes
    ext::RowStream streams[Plan::kInputs + Plan::kResults];
    std::copy_n(call.in, Plan::kInputs, streams);
    std::copy_n(call.out, Plan::kResults, streams + Plan::kInputs);
    for (ext::RowStream& s : streams) {
      s.row_step = s.outer_step;
      s.outer_step = 0;
    }
    ext::RowCall turned{call.constants, streams, streams + Plan::kInputs, call.rows};
    turned.rows.inner = call.rows.outer;
    turned.rows.outer = 1;
    run_across<Plan>(turned);
  }
}

template <class Op>
void install_row_loop() {
  if constexpr (ext::RowOperation<Op>) {
    ext::row_loops<Op>().forward_float = run_rows<rule::ForwardRule, Op>;
    ext::row_loops<Op>().backward_float = run_rows<rule::BackwardRule, Op>;
  }
}
/// Makes this target's loops those of all rules over rows in a list of operations.
template <class... Ops>
void install_row_loops(ext::OpList<Ops...>) {
  (install_row_loop<Ops>(), ...);
}

}  // namespace HWY_NAMESPACE
}  // namespace dynet::kernels
HWY_AFTER_NAMESPACE();

#endif  // toggle
