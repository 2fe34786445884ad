// Rules over rows on the float device: the walk around the loops of the SIMD targets.
//
// The loops take rows of evenly spaced elements: side by side, or any step apart if rows lie side
// by side. A row of several axes, or with a number repeated along it, is gathered into memory of
// the thread, some rows at a time, and the results are scattered again. Example: rows along
// dimension 0 of {4,3} have 4 neighbours; rows along dimension 1 have 3 elements 4 apart, and lie
// side by side.

#include "float_rows.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/row_scratch.h"
#include "kernels/team.h"
#include "scratch.h"

namespace dynet::kernels {
namespace {

using ext::RowCall;
using ext::Rows;
using ext::RowStream;
using rule::Along;

/// Numbers gathered at a time, about: the size of the first cache.
constexpr std::int64_t kGathered = 2048;

/// Nanoseconds for each number of an operand.
constexpr double kOneRowNumber = 0.3;
/// From so many numbers on a row is certainly walked along, on every target.
constexpr std::int64_t kLongRow = 64;
constexpr std::size_t kMostLanes = 16;

/// Calls f(number, number in the tile) for each number of a row, a run along its first axis at a
/// time.
template <class F>
void for_each_in_row(const RowStream& s, const Rows& rows, float* at, float* tile, F f) {
  const std::int64_t run = rows.extent[0];
  const std::int64_t step = s.step[0];
  std::int64_t counter[ext::kMaxRowAxes] = {};
  for (;;) {
    if (step == 1) {
      for (std::int64_t k = 0; k < run; ++k) {
        f(at[k], tile[k]);
      }
    } else {
      for (std::int64_t k = 0; k < run; ++k) {
        f(at[k * step], tile[k]);
      }
    }
    tile += run;
    int a = 1;
    for (; a < rows.axes; ++a) {
      at += s.step[a];
      if (++counter[a] < rows.extent[a]) {
        break;
      }
      at -= s.step[a] * rows.extent[a];
      counter[a] = 0;
    }
    if (a >= rows.axes) {
      return;
    }
  }
}

/// How the operands of one direction of a rule lie.
struct Operands {
  std::size_t inputs, results;
  Along in[ext::kMaxRowStreams], out[ext::kMaxRowStreams];

  Operands(const ext::RowRule& rule, ext::Direction direction) {
    const auto result = [&](std::size_t j) {
      return rule.once[j] ? Along::kOnce : Along::kElements;
    };
    const bool is_forward = direction == ext::Direction::kForward;
    inputs = is_forward ? rule.inputs : rule.backward_inputs;
    results = is_forward ? rule.results : rule.args;
    const std::size_t args = rule.inputs;  // the payload is one of them
    for (std::size_t k = 0; k < inputs; ++k) {
      if (k < args) {
        in[k] = k < rule.args ? rule.along[k] : Along::kOnce;
      } else {
        in[k] = result((k - args) % rule.results);
      }
    }
    for (std::size_t j = 0; j < results; ++j) {
      out[j] = is_forward ? result(j) : rule.along[j];
    }
  }
};

bool lies_evenly(const RowStream& s, Along along, const Rows& rows) {
  return along == Along::kOnce || s.data == nullptr || rows.length <= 1 ||
         (rows.axes == 1 && (rows.inner > 1 || s.step[0] == 1));
}

/// One call whose rows are gathered.
class Gathered {
 public:
  Gathered(const Operands& operands, const RowCall& call, ext::RowLoop loop)
      : operands_(operands), call_(call), loop_(loop) {}

  void run() {
    const Rows& rows = call_.rows;
    const std::int64_t most = std::max<std::int64_t>(1, kGathered / rows.length);
    for (std::int64_t o = 0; o < rows.outer; ++o) {
      for (std::int64_t i = 0; i < rows.inner; i += most) {
        run_some(o, i, std::min(most, rows.inner - i));
      }
    }
  }

 private:
  [[nodiscard]] static float* start(const RowStream& s, std::int64_t o, std::int64_t i) {
    return static_cast<float*>(s.data) + o * s.outer_step + i * s.row_step;
  }
  /// `count` rows from row (o, i) on.
  void run_some(std::int64_t o, std::int64_t i, std::int64_t count) const {
    static thread_local Scratch memory;
    const std::int64_t length = call_.rows.length;
    const auto tile = static_cast<std::size_t>(length * count);
    float* tiles = memory.get((operands_.inputs + operands_.results) * tile);
    RowStream in[ext::kMaxRowStreams];
    RowStream out[ext::kMaxRowStreams];
    for (std::size_t k = 0; k < operands_.inputs; ++k, tiles += tile) {
      in[k] = tile_of(call_.in[k], operands_.in[k], tiles, o, i);
      if (in[k].data == tiles) {
        for_each_number(call_.in[k], in[k], o, i, count, [](float& x, float& t) { t = x; });
      }
    }
    float* const results = tiles;
    for (std::size_t j = 0; j < operands_.results; ++j, tiles += tile) {
      out[j] = tile_of(call_.out[j], operands_.out[j], tiles, o, i);
      out[j].adds = out[j].data == tiles || out[j].adds;
    }
    std::fill(results, tiles, 0.0F);
    Rows rows{.length = length, .inner = 1, .outer = count, .axes = 1, .extent = {}};
    rows.extent[0] = length;
    loop_({call_.constants, in, out, rows});
    float* result = results;
    for (std::size_t j = 0; j < operands_.results; ++j, result += tile) {
      const RowStream& s = call_.out[j];
      if (out[j].data == result && s.adds) {
        for_each_number(s, out[j], o, i, count, [](float& y, float& t) { y += t; });
      } else if (out[j].data == result) {
        for_each_number(s, out[j], o, i, count, [](float& y, float& t) { y = t; });
      }
    }
  }
  /// How an operand of the rows lies for the loop: in a tile, unless it is one number per row.
  [[nodiscard]] RowStream tile_of(const RowStream& s, Along along, float* tile, std::int64_t o,
                                  std::int64_t i) const {
    RowStream t = s;
    t.row_step = 0;
    if (s.data == nullptr) {
      return t;
    }
    if (along == Along::kOnce) {
      t.data = start(s, o, i);  // an index has the size of a float
      t.outer_step = s.row_step;
      return t;
    }
    t.data = tile;
    std::fill_n(t.step, ext::kMaxRowAxes, 0);
    t.step[0] = 1;
    t.outer_step = along == Along::kPositions && s.row_step == 0 ? 0 : call_.rows.length;
    return t;
  }
  /// Calls f(number, number in the tile); visits a number shared by all rows once.
  template <class F>
  void for_each_number(const RowStream& s, const RowStream& t, std::int64_t o, std::int64_t i,
                       std::int64_t count, F f) const {
    auto* tile = static_cast<float*>(t.data);
    for (std::int64_t r = 0; r < (t.outer_step == 0 ? 1 : count); ++r) {
      for_each_in_row(s, call_.rows, start(s, o, i + r), tile, f);
      tile += call_.rows.length;
    }
  }

  const Operands& operands_;
  const RowCall& call_;
  ext::RowLoop loop_;
};

/// Whether outer rows of the results are places of their own, or places of the same outer row.
bool outer_rows_lie_apart(const Operands& operands, const RowCall& call) {
  const auto range = [&](const RowStream& s) { return s.outer_step * call.rows.outer; };
  for (std::size_t j = 0; j < operands.results; ++j) {
    const RowStream& y = call.out[j];
    const auto* const at = static_cast<const float*>(y.data);
    if (at != nullptr && y.outer_step <= 0) {
      return false;
    }
    for (std::size_t i = 0; i < j && at != nullptr; ++i) {
      const auto* const other = static_cast<const float*>(call.out[i].data);
      const bool is_same = other == at && call.out[i].outer_step == y.outer_step;
      if (other != nullptr && !is_same && other < at + range(y) &&
          at < other + range(call.out[i])) {
        return false;
      }
    }
  }
  return true;
}

/// The call for outer rows `first` to `last`.
template <class F>
void run_outer(const Operands& operands, const RowCall& call, std::size_t first, std::size_t last,
               const F& run) {
  const auto at = static_cast<std::int64_t>(first);
  RowStream streams[2][ext::kMaxRowStreams];
  const auto shift = [at](const RowStream& s) {
    RowStream t = s;  // an index has the size of a float
    t.data = s.data == nullptr ? nullptr : static_cast<float*>(s.data) + at * s.outer_step;
    return t;
  };
  std::transform(call.in, call.in + operands.inputs, streams[0], shift);
  std::transform(call.out, call.out + operands.results, streams[1], shift);
  RowCall part{call.constants, streams[0], streams[1], call.rows};
  part.rows.outer = static_cast<std::int64_t>(last) - at;
  run(part);
}

Scratch& loop_memory() {
  static thread_local Scratch memory;
  return memory;
}

}  // namespace

void float_rows(const ext::RowRule& rule, ext::Direction direction, const ext::RowCall& call) {
  const bool is_forward = direction == ext::Direction::kForward;
  const ext::RowLoop loop = is_forward ? rule.loops->forward_float : rule.loops->backward_float;
  const Operands operands(rule, direction);
  bool is_even = true;
  for (std::size_t k = 0; k < operands.inputs && is_even; ++k) {
    is_even = lies_evenly(call.in[k], operands.in[k], call.rows);
  }
  for (std::size_t j = 0; j < operands.results && is_even; ++j) {
    is_even = lies_evenly(call.out[j], operands.out[j], call.rows);
  }
  const auto run = [&](const RowCall& part) {
    if (is_even) {
      loop(part);
    } else {
      Gathered(operands, part, loop).run();
    }
  };
  // Short rows become lanes: a share has whole vectors of them.
  const std::size_t unit = call.rows.inner == 1 && call.rows.length < kLongRow ? kMostLanes : 1;
  const auto numbers = static_cast<double>(call.rows.length * call.rows.inner * call.rows.outer) *
                       static_cast<double>(operands.inputs + operands.results);
  const auto outer = static_cast<std::size_t>(call.rows.outer);
  const unsigned shares = outer > unit ? shares_of(kOneRowNumber * numbers) : 1;
  if (shares == 1 || !outer_rows_lie_apart(operands, call)) {
    run(call);
    return;
  }
  run_shares(shares, [&](unsigned share) {
    const Range mine(outer, unit, share, shares);
    if (!mine.empty()) {
      run_outer(operands, call, mine.first, mine.last, run);
    }
  });
}

float* row_scratch(std::size_t n) { return loop_memory().get(n); }

}  // namespace dynet::kernels
