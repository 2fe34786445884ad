// Moves of the float device: copies, sums and maxima over a box, and by index.

#include "float_move.h"

#include <algorithm>
#include <cstdint>

#include "carried.h"
#include "float_loops.h"
#include "kernels/team.h"
#include "meeting.h"
#include "scratch.h"
#include "util/join_axes.h"

namespace dynet::kernels {
namespace {

using ext::Move;

struct Axis {
  std::int64_t extent, from, to;
};
constexpr int kMaxAxes = DYNET_MAX_TENSOR_DIM + 1;  // and the examples

/// The axes of a move; as few as possible, and in order, once arranged.
struct Axes {
  Axis axis[kMaxAxes];
  int count = 0;
  bool empty = false;  ///< an extent is 0
  bool sums = false;   ///< several elements go to one place

  void add(const Axis& a) {
    if (a.extent == 1) {
      return;
    }
    empty = empty || a.extent == 0;
    sums = sums || a.to == 0;
    axis[count++] = a;
  }
  /// Joins axes, and moves the one that suits the innermost loop best to the front. The order of
  /// the others stays, so that sums have one order.
  void arrange() {
    count = static_cast<int>(util::join_axes(
        static_cast<std::size_t>(count), [](std::size_t) { return false; },
        [&](std::size_t last, std::size_t k) {
          return axis[k].from == axis[last].from * axis[last].extent &&
                 axis[k].to == axis[last].to * axis[last].extent;
        },
        [&](std::size_t last, std::size_t k) { axis[last].extent *= axis[k].extent; },
        [&](std::size_t to, std::size_t k) { axis[to] = axis[k]; }));
    const auto rank = [](const Axis& a) {
      if (a.from == 1) {
        return a.to == 1 ? 0 : (a.to == 0 ? 1 : 3);
      }
      return a.to == 1 ? 2 : 4;
    };
    int best = 0;
    for (int k = 1; k < count; ++k) {
      if (rank(axis[k]) < rank(axis[best])) {
        best = k;
      }
    }
    if (best != 0) {
      std::rotate(axis, axis + best, axis + best + 1);
    }
  }
};

/// Calls f(from, to) for every combination of the axes from `first` on.
template <class F>
void for_each_row(const Axes& axes, int first, const float* from, float* to, F f) {
  std::int64_t counter[kMaxAxes] = {};
  for (;;) {
    f(from, to);
    int k = first;
    for (; k < axes.count; ++k) {
      const Axis& a = axes.axis[k];
      from += a.from;
      to += a.to;
      if (++counter[k] < a.extent) {
        break;
      }
      from -= a.from * a.extent;
      to -= a.to * a.extent;
      counter[k] = 0;
    }
    if (k == axes.count) {
      return;
    }
  }
}

void move_row(const Axis& a, float scale, const float* from, float* to, bool store) {
  const FloatLoops& loops = float_loops();
  if (a.to == 1 && a.from == 1) {
    loops.add_scaled(scale, from, to, a.extent, store);
  } else if (a.to == 1 && a.from == 0) {
    loops.repeat(scale * *from, to, a.extent, store);
  } else if (a.to == 0 && a.from == 1) {
    *to += scale * loops.sum(from, a.extent);
  } else if (store && a.to == 1) {
    for (std::int64_t i = 0; i < a.extent; ++i) {
      to[i] = scale * from[i * a.from];
    }
  } else if (a.to == 0) {
    double all = 0.0;
    for (std::int64_t i = 0; i < a.extent; ++i, from += a.from) {
      all += static_cast<double>(*from);
    }
    *to += static_cast<float>(static_cast<double>(scale) * all);
  } else {
    for (std::int64_t i = 0; i < a.extent; ++i, from += a.from, to += a.to) {
      *to = store ? scale * *from : *to + scale * *from;
    }
  }
}

/// `store` only if nothing is summed.
void move_box(const Axes& axes, float scale, const float* from, float* to, bool store) {
  const FloatLoops& loops = float_loops();
  if (axes.count == 0) {
    *to = store ? scale * *from : *to + scale * *from;  // 0 + -0 is 0
    return;
  }
  const Axis& inner = axes.axis[0];
  if (axes.count == 1) {
    move_row(inner, scale, from, to, store);
    return;
  }
  const Axis& second = axes.axis[1];
  if (inner.from == 1 && inner.to == 1 && second.to == 0) {
    for_each_row(axes, 2, from, to, [&](const float* x, float* y) {
      loops.sum_columns(scale, x, second.from, second.extent, y, inner.extent);
    });
  } else if (inner.from == 1 && inner.to == 1) {
    for_each_row(axes, 2, from, to, [&](const float* x, float* y) {
      loops.add_scaled_columns(scale, x, second.from, y, second.to, inner.extent, second.extent,
                               store);
    });
  } else if (inner.to == 1 && second.from == 1 && second.to > 0) {
    for_each_row(axes, 2, from, to, [&](const float* x, float* y) {
      loops.transpose(scale, x, inner.from, y, second.to, inner.extent, second.extent, store);
    });
  } else if (inner.from == 1 && second.to == 1 && inner.to > 0) {
    for_each_row(axes, 2, from, to, [&](const float* x, float* y) {
      loops.transpose(scale, x, second.from, y, inner.to, second.extent, inner.extent, store);
    });
  } else {
    for_each_row(axes, 1, from, to,
                 [&](const float* x, float* y) { move_row(inner, scale, x, y, store); });
  }
}

/// The axis of a box whose parts go to places of their own, the longest of them; -1 if there is
/// none. Either all other axes reach less far than one step of this one, or they go on in multiples
/// of all of its steps.
int shared_axis(const Axes& axes) {
  int longest = -1;
  for (int k = 0; k < axes.count; ++k) {
    const Axis& a = axes.axis[k];
    const std::int64_t span = a.to * a.extent;
    std::int64_t reach = 0;
    bool are_multiples = true;
    bool is_forward = a.to > 0;
    for (int i = 0; i < axes.count; ++i) {
      if (const Axis& b = axes.axis[i]; i != k) {
        reach += b.to * (b.extent - 1);
        is_forward = is_forward && b.to >= 0;
        are_multiples = are_multiples && span > 0 && b.to % span == 0;
      }
    }
    const bool is_apart = is_forward && (reach < a.to || are_multiples);
    if (is_apart && (longest < 0 || a.extent > axes.axis[longest].extent)) {
      longest = k;
    }
  }
  return longest;
}

/// move_box() on several threads, if it is worth it. A share leaves the order of the axes as it is,
/// and with it the order of sums.
void move_in_shares(const Axes& axes, float scale, const float* from, float* to, bool store) {
  constexpr double kMovedNumber = 0.3;  // nanoseconds
  constexpr std::size_t kUnit = 16;     // a line of the cache, if elements lie side by side
  double numbers = 1.0;
  for (int k = 0; k < axes.count; ++k) {
    numbers *= static_cast<double>(axes.axis[k].extent);
  }
  const unsigned shares = shares_of(kMovedNumber * numbers);
  const int k = shares > 1 ? shared_axis(axes) : -1;
  if (k < 0) {
    move_box(axes, scale, from, to, store);
    return;
  }
  run_shares(shares, [&](unsigned share) {
    Axes mine = axes;
    Axis& axis = mine.axis[k];
    const Range range(static_cast<std::size_t>(axis.extent), axis.to == 1 ? kUnit : 1, share,
                      shares);
    axis.extent = static_cast<std::int64_t>(range.last - range.first);
    const auto first = static_cast<std::int64_t>(range.first);
    if (!range.empty()) {
      move_box(mine, scale, from + first * axis.from, to + first * axis.to, store);
    }
  });
}

/// As move_box, but the larger of the old and the new number stays.
void move_largest(const Axes& axes, float scale, const float* from, float* to) {
  if (axes.count == 0) {
    *to = larger(*to, scale * *from);
    return;
  }
  const Axis& inner = axes.axis[0];
  for_each_row(axes, 1, from, to, [&](const float* x, float* y) {
    if (inner.from == 1 && inner.to == 1) {
      for (std::int64_t i = 0; i < inner.extent; ++i) {
        y[i] = larger(y[i], scale * x[i]);
      }
      return;
    }
    for (std::int64_t i = 0; i < inner.extent; ++i, x += inner.from, y += inner.to) {
      *y = larger(*y, scale * *x);
    }
  });
}

/// Sets the places that a summing move writes to zero.
void clear_box(const Axes& axes, float* to) {
  Axes places;
  for (int k = 0; k < axes.count; ++k) {
    if (axes.axis[k].to != 0) {
      places.add({axes.axis[k].extent, 0, axes.axis[k].to});
    }
  }
  const float zero = 0.0F;
  if (!places.empty) {
    places.arrange();
    move_box(places, 1.0F, &zero, to, true);
  }
}

/// The offsets of the elements of a box, in order.
class Elements {
 public:
  explicit Elements(const Move& m) : m_(m), from_(m.from_offset), to_(m.to_offset) {}
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::int64_t from() const { return from_; }
  [[nodiscard]] std::int64_t to() const { return to_; }
  void next() {
    ++number_;
    for (unsigned k = 0; k < m_.box.nd; ++k) {
      from_ += m_.from_stride[k];
      to_ += m_.to_stride[k];
      if (++counter_[k] < m_.box.d[k]) {
        return;
      }
      from_ -= m_.from_stride[k] * m_.box.d[k];
      to_ -= m_.to_stride[k] * m_.box.d[k];
      counter_[k] = 0;
    }
  }

 private:
  const Move& m_;
  std::int64_t number_ = 0, from_, to_;
  std::int64_t counter_[DYNET_MAX_TENSOR_DIM] = {};
};

/// One call of move.
class Mover {
 public:
  Mover(const Move& m, const Operand& x, const Operand& y, Write write)
      : m_(m), write_(write), n_(common_examples(x, y)), x_(x, n_), y_(y, n_) {}
  void run() {
    if (m_.index.absent()) {
      run_together();
    } else if (m_.index_axis == Move::kPerElement) {
      run_by_element();
    } else {
      run_by_index();
    }
  }

 private:
  /// Made anew each time: a copy would wait for the latest writes. Without axis `but`.
  void add_box(Axes& axes, unsigned but = Move::kPerExample) const {
    for (unsigned k = 0; k < m_.box.nd; ++k) {
      if (k != but) {
        axes.add({m_.box.d[k], m_.from_stride[k], m_.to_stride[k]});
      }
    }
  }
  void move_one(const Axes& axes, const float* from, float* to, bool store) const {
    const auto scale = static_cast<float>(m_.scale);
    if (write_ == Write::kMax) {
      move_largest(axes, scale, from, to);
    } else {
      move_in_shares(axes, scale, from, to, store);
    }
  }
  /// From where the cursors are.
  void move_run(const Axes& axes) const {
    bool store = y_.stores(write_);
    if (store && axes.sums) {
      clear_box(axes, y_.at() + m_.to_offset);
      store = false;
    }
    if (!axes.empty) {
      move_one(axes, x_.at() + m_.from_offset, y_.at() + m_.to_offset, store);
    }
  }
  /// Runs of examples are one more axis. Most runs of merged nodes have one example, and equal
  /// axes.
  void run_together() {
    if (n_ == 0) {
      return;
    }
    static thread_local Scratch memory;
    CarriedSum<float> sum(memory);
    sum.at(y_.steps() || write_ == Write::kMax ? nullptr : y_.at(), y_.size());
    Axes of_one;
    bool is_made = false;
    for (std::int64_t left = n_; left > 0;) {
      const std::int64_t run = std::min({left, x_.run(), y_.run()});
      if (run > 1) {
        Axes axes;
        add_box(axes);
        axes.add({run, x_.stride(), y_.stride()});
        axes.arrange();
        move_run(axes);
      } else {
        if (!is_made) {
          add_box(of_one);
          of_one.arrange();
          is_made = true;
        }
        move_run(of_one);
      }
      sum.added();
      left -= run;
      x_.advance(run, left);
      y_.advance(run, left);
    }
    sum.settle();
  }
  /// Each example, or each row of an example, has an offset of its own.
  void run_by_index() {
    const unsigned axis = m_.index_axis;
    const bool by_row = axis < m_.box.nd;
    const std::int64_t rows = by_row ? m_.box.d[axis] : 1;
    const std::int64_t row_from = by_row ? m_.from_stride[axis] : 0;
    const std::int64_t row_to = by_row ? m_.to_stride[axis] : 0;
    Axes axes;
    add_box(axes, axis);
    axes.arrange();
    MeetingPlaces places(y_.size());
    const bool meets = meets_often(places, rows, row_to);
    const bool is_scattered = by_row && !meets && lies_scattered(axes, rows);
    const auto to_of = [&](const unsigned* index, std::int64_t r) {
      return y_.at() + m_.to_offset + index[r] * m_.to_index_stride + r * row_to;
    };
    const auto clear_rows = [&](const unsigned* index) {
      for (std::int64_t r = 0; r < rows; ++r) {
        clear_box(axes, to_of(index, r));
      }
    };
    // Several examples may go to one place of a single result, several rows to one place of an
    // example: then all places are cleared first.
    const bool is_single = y_.stores(write_) && !y_.steps();
    const bool rows_meet = rows > 1 && (m_.to_index_stride != 0 || row_to == 0);
    if (is_single) {
      for_each_list([&](const unsigned* index) { clear_rows(index); });
    }
    Cursor index(m_.index, n_);
    for (std::int64_t e = 0; e < n_; ++e) {
      const auto* of_example = index.at<const unsigned>();
      bool store = !is_single && y_.stores(write_);
      if (store && (axes.sums || rows_meet)) {
        clear_rows(of_example);
        store = false;
      }
      if (is_scattered) {
        move_scattered(axes, of_example, store);
      }
      for (std::int64_t r = 0; r < rows && !axes.empty && !is_scattered; ++r) {
        const float* from =
            x_.at() + m_.from_offset + of_example[r] * m_.from_index_stride + r * row_from;
        move_one(axes, from, to_of(of_example, r), store);
        if (meets && places.is_full(of_example[r])) {
          carry_box(axes, places, from, to_of(of_example, r));
        }
      }
      if (meets && y_.steps()) {
        places.settle(y_.at());
        places.forget(of_example, rows);
      }
      x_.advance(1, n_ - e - 1);
      y_.advance(1, n_ - e - 1);
      index.advance(1, n_ - e - 1);
    }
    if (meets && !y_.steps()) {
      places.settle(y_.at());
      for_each_list([&](const unsigned* list) { places.forget(list, rows); });
    }
  }
  /// Calls f(list) for the indices of each example.
  template <class F>
  void for_each_list(F f) const {
    Cursor index(m_.index, n_);
    for (std::int64_t e = 0; e < n_; ++e) {
      f(index.at<const unsigned>());
      index.advance(1, n_ - e - 1);
    }
  }
  /// Whether more terms meet in one place than may be added in floats.
  bool meets_often(MeetingPlaces& places, std::int64_t rows, std::int64_t row_to) const {
    const std::int64_t terms = y_.steps() ? rows : rows * n_;
    if (terms <= kMostTerms || write_ == Write::kMax || m_.to_index_stride == 0 || row_to != 0) {
      return false;
    }
    bool meets = false;
    for_each_list([&](const unsigned* list) {
      meets = places.count(list, rows) || meets;
      if (y_.steps()) {
        places.forget(list, rows);
      }
    });
    for_each_list([&](const unsigned* list) { places.forget(list, rows); });
    return meets;
  }
  /// Adds one box through MeetingPlaces.
  void carry_box(const Axes& axes, MeetingPlaces& places, const float* from, float* to) const {
    const bool is_even = axes.count > 0 && axes.axis[0].to == 1;
    for_each_row(axes, is_even ? 1 : 0, from, to, [&](const float* /*from*/, float* at) {
      places.carry(y_.at(), at - y_.at(), is_even ? axes.axis[0].extent : 1);
    });
  }

  /// Whether elements with one index lie apart, while elements of neighbouring indices may lie
  /// together. Sums keep their order: each place gets its terms in the order of the rows.
  [[nodiscard]] static bool lies_scattered(const Axes& axes, std::int64_t rows) {
    const bool is_even = axes.count > 0 && axes.axis[0].from == 1 && axes.axis[0].to == 1;
    return rows > 1 && axes.count > 0 && !axes.empty && !axes.sums && !is_even;
  }
  /// The current example, all indices of one line after the other.
  void move_scattered(const Axes& axes, const unsigned* index, bool store) const {
    const std::int64_t rows = m_.box.d[m_.index_axis];
    const std::int64_t row_from = m_.from_stride[m_.index_axis];
    const std::int64_t row_to = m_.to_stride[m_.index_axis];
    const auto scale = static_cast<float>(m_.scale);
    for_each_row(axes, 0, x_.at() + m_.from_offset, y_.at() + m_.to_offset,
                 [&](const float* from, float* to) {
                   for (std::int64_t r = 0; r < rows; ++r, from += row_from, to += row_to) {
                     const float value = scale * from[index[r] * m_.from_index_stride];
                     float& there = to[index[r] * m_.to_index_stride];
                     if (store) {
                       there = value;
                     } else {
                       there = write_ == Write::kMax ? larger(there, value) : there + value;
                     }
                   }
                 });
  }

  /// Each element has an offset of its own: one by one.
  void run_by_element() {
    std::int64_t count = 1;
    for (unsigned k = 0; k < m_.box.nd; ++k) {
      count *= m_.box.d[k];
    }
    // Stored results are first set to -0, which any number replaces: a single result wherever one
    // of the examples goes.
    const bool stores_single = y_.stores(write_) && !y_.steps();
    const auto add = [&](Cursor& x, Cursor& y, bool clears) {
      Cursor index(m_.index, n_);
      const auto scale = static_cast<float>(m_.scale);
      for (std::int64_t e = 0; e < n_; ++e) {
        const auto* const of_example = index.at<const unsigned>();
        const float* const from = x.at();
        float* const to = y.at();
        const bool skips = clears && !stores_single && !y.stores(write_);
        for (Elements i(m_); i.number() < count && !skips; i.next()) {
          float& there = to[i.to() + of_example[i.number()] * m_.to_index_stride];
          const std::int64_t at = i.from() + of_example[i.number()] * m_.from_index_stride;
          if (clears) {
            there = -0.0F;
          } else {
            there =
                write_ == Write::kMax ? larger(there, scale * from[at]) : there + scale * from[at];
          }
        }
        for (Cursor* const c : {&x, &y, &index}) {
          c->advance(1, n_ - e - 1);
        }
      }
    };
    Cursor x = x_;
    Cursor y = y_;
    add(x, y, true);
    add(x_, y_, false);
  }

  const Move& m_;
  Write write_;
  std::int64_t n_;
  Cursor x_;
  Cursor y_;
};

/// Whether a move takes a single number: scalars are concatenated and picked apart by these.
bool is_one_number(const Move& m, const Operand& x, const Operand& y) {
  return m.index.absent() && x.examples == 1 && y.examples == 1 && x.block_count == 1 &&
         y.block_count == 1 && elements_of(m.box) == 1;
}

}  // namespace

void float_move(const Move& m, const Operand& x, const Operand& y, Write write) {
  if (is_one_number(m, x, y) && write != Write::kMax) {
    const bool store = write == Write::kStore || (write == Write::kAsBlocks && y.blocks[0].fresh);
    const float value = static_cast<float>(m.scale) * x.data<const float>()[m.from_offset];
    float& to = y.data<float>()[m.to_offset];
    to = store ? value : to + value;
    return;
  }
  Mover(m, x, y, write).run();
}

}  // namespace dynet::kernels
