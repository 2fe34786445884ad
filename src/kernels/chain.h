#pragma once

// The recursion over the steps of a chain, and its adjoint, for both devices of the CPU. Each
// device has its own code for one step (chain_step.h).
//
// The *arriving score* of a state is ln of the sum of exp (kSum), or the maximum (kBest), of the
// scores of all paths to that state, without the emission there; `before` keeps the arriving
// scores. So the adjoint needs no second recursion: the share of state j in the score of state i is
// exp(before_j + emission_j + transition_ij - before_i), never above 1, and gradients go back by
// the same shares. Example: with two predecessors of equal score each share is 0.5.
//
// Sums grow with the steps, and their rounding with them. So before each step the largest score is
// subtracted, and for kSum the subtracted numbers are summed up in double. `before` lacks these
// numbers; backward finds each again from the row before. kBest subtracts too, and adds up the
// score of the path in double.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "dynet/ext/chain.h"

#include "carried.h"
#include "chain_step.h"
#include "operands.h"
#include "scratch.h"

namespace dynet::kernels {

/// An operand of a chain, example by example; null if absent. Lives on the stack.
class ChainCursor {
 public:
  ChainCursor(const Operand& o, std::int64_t n) {
    if (!o.absent()) {
      cursor_.emplace(o, n);
    }
  }
  template <class T>
  [[nodiscard]] T* at() const {
    return cursor_ ? cursor_->at<T>() : nullptr;
  }
  [[nodiscard]] bool stores() const { return cursor_ && cursor_->stores(Write::kAsBlocks); }
  void advance(std::int64_t left) {
    if (cursor_) {
      cursor_->advance(1, left);
    }
  }

 private:
  std::optional<Cursor> cursor_;
};

/// One example of a chain. Null: absent.
template <class T>
struct ChainExample {
  const T *emissions, *transitions, *start, *end;
  T* before;
  std::uint32_t* path;
  T value, d_value;
  T *d_emissions, *d_transitions, *d_start, *d_end;
  std::int64_t length;  ///< steps that count
};

/// The chains of one call. Steps: PlainSteps, or a type with the same functions. Lives on the stack
/// of one thread, whose memory it uses.
template <class T, class Steps>
class ChainWalk {
 public:
  explicit ChainWalk(const ext::Chain& c)
      : c_(c),
        n_(c.emissions.dim.rows()),
        steps_(c.emissions.dim.cols()),
        sources_(c.transitions.dim[1]),
        room_(c.is_band ? sources_ - 1 : 0) {
    thread_local Scratch memory;
    const auto numbers = static_cast<std::size_t>(3 * (room_ + n_));
    T* const at = reinterpret_cast<T*>(memory.get(numbers * sizeof(T) / sizeof(float)));
    a_ = at + room_;
    g_ = a_ + room_ + n_;
    next_g_ = g_ + room_ + n_;
    std::fill(at, a_, kNone);
  }

  void forward(ChainExample<T>& x) const {
    if (c_.paths == ext::Paths::kGiven) {
      x.value = score(x);
      return;
    }
    T* before = x.before;
    if (x.start != nullptr) {
      std::copy_n(x.start, n_, before);
    } else {
      std::fill_n(before, n_, T{0});
    }
    double subtracted = 0.0;
    for (std::int64_t t = 1; t < x.length; ++t, before += n_) {
      subtracted += arrive(x, t - 1);
      if (c_.paths == ext::Paths::kSum) {
        Steps::sum(step(x), before + n_);
      } else {
        Steps::best(step(x), before + n_);
      }
    }
    std::fill_n(x.before + x.length * n_, (steps_ - x.length) * n_, T{0});
    subtracted += leave(x);
    if (c_.paths == ext::Paths::kSum) {
      x.value = static_cast<T>(subtracted + std::log(sum_of_last()));
    } else {
      trace_back(x);
    }
  }

  void backward(const ChainExample<T>& x) {
    if (c_.paths != ext::Paths::kGiven && x.value == kNone) {
      return;  // no path exists
    }
    to_emissions_.at(x.d_emissions, n_ * steps_);
    to_transitions_.at(x.d_transitions, n_ * sources_);
    to_start_.at(x.d_start, n_);
    to_end_.at(x.d_end, n_);
    if (c_.paths == ext::Paths::kSum) {
      pull(x);
    } else {
      pull_path(x);
    }
    for (CarriedSum<T>* const sum : {&to_emissions_, &to_start_, &to_end_}) {
      sum->added();
    }
  }
  /// After the last example.
  void finish() {
    for (CarriedSum<T>* const sum : {&to_emissions_, &to_transitions_, &to_start_, &to_end_}) {
      sum->settle();
    }
  }

 private:
  static constexpr T kNone = -std::numeric_limits<T>::infinity();

  template <int kSum>
  [[nodiscard]] static Scratch& scratch() {
    thread_local Scratch memory;
    return memory;
  }

  [[nodiscard]] ChainStep<T> step(const ChainExample<T>& x) const {
    return {n_, sources_, c_.is_band, a_, x.transitions};
  }
  /// Arriving scores at step t, with emissions, less the largest. Returns the subtracted number.
  double arrive(const ChainExample<T>& x, std::int64_t t, const T* end = nullptr) const {
    return static_cast<double>(Steps::arrive(x.before + t * n_, x.emissions + t * n_, end, n_, a_));
  }
  /// Arriving scores at the last step, with emissions and the end.
  double leave(const ChainExample<T>& x) const { return arrive(x, x.length - 1, x.end); }
  [[nodiscard]] double sum_of_last() const {
    double total = 0.0;
    for (std::int64_t i = 0; i < n_; ++i) {
      total += static_cast<double>(std::exp(a_[i]));
    }
    return total;
  }
  /// The best path, from its end.
  void trace_back(ChainExample<T>& x) const {
    std::int64_t state = 0;
    for (std::int64_t i = 1; i < n_; ++i) {
      state = is_better(a_[i], a_[state]) ? i : state;
    }
    std::fill_n(x.path + x.length, steps_ - x.length, 0U);
    for (std::int64_t t = x.length - 1; t > 0; --t) {
      x.path[t] = static_cast<std::uint32_t>(state);
      arrive(x, t - 1);
      state = best_source(x, state);
    }
    x.path[0] = static_cast<std::uint32_t>(state);
    x.value = score(x);
  }
  /// The state through which the best path arrives at `state`: the first of equal ones.
  [[nodiscard]] std::int64_t best_source(const ChainExample<T>& x, std::int64_t state) const {
    const std::int64_t first = c_.is_band ? std::max<std::int64_t>(0, state - room_) : 0;
    const std::int64_t last = c_.is_band ? state : n_ - 1;
    const auto through = [&](std::int64_t from) {
      return a_[from] + x.transitions[place(state, from)];
    };
    std::int64_t best = first;
    for (std::int64_t from = first + 1; from <= last; ++from) {
      best = is_better(through(from), through(best)) ? from : best;
    }
    return best;
  }
  /// The place of the transition to state i; below 0 if there is none.
  [[nodiscard]] std::int64_t place(std::int64_t i, std::int64_t from) const {
    const std::int64_t k = c_.is_band ? i - from : from;
    return k >= 0 && k < sources_ ? i + k * n_ : -1;
  }

  [[nodiscard]] T score(const ChainExample<T>& x) const {
    double sum = x.start == nullptr ? 0.0 : static_cast<double>(x.start[x.path[0]]);
    for (std::int64_t t = 0; t < x.length; ++t) {
      if (t > 0) {
        const std::int64_t at = place(x.path[t], x.path[t - 1]);
        sum += static_cast<double>(at < 0 ? kNone : x.transitions[at]);
      }
      sum += static_cast<double>(x.emissions[t * n_ + x.path[t]]);
    }
    sum += x.end == nullptr ? 0.0 : static_cast<double>(x.end[x.path[x.length - 1]]);
    return static_cast<T>(sum);
  }

  static void add(T* to, T value) {
    if (to != nullptr) {
      *to += value;
    }
  }
  void add_row(T* to, const T* row) const {
    if (to != nullptr) {
      Steps::add(row, n_, to);
    }
  }
  /// From the end to the start, with the gradients of the arriving scores.
  void pull(const ChainExample<T>& x) {
    leave(x);
    const T scale = x.d_value / static_cast<T>(sum_of_last());
    for (std::int64_t i = 0; i < n_; ++i) {
      g_[i] = scale * std::exp(a_[i]);
    }
    add_row(x.d_end, g_);
    for (std::int64_t t = x.length - 1;; --t) {
      add_row(x.d_emissions == nullptr ? nullptr : x.d_emissions + t * n_, g_);
      if (t == 0) {
        break;
      }
      arrive(x, t - 1);
      std::fill(next_g_ - room_, next_g_ + n_, T{0});
      Steps::pull(step(x), x.before + t * n_, g_, next_g_, x.d_transitions);
      to_transitions_.added();
      std::swap(g_, next_g_);
    }
    add_row(x.d_start, g_);
  }
  void pull_path(const ChainExample<T>& x) {
    const auto at = [](T* of, std::int64_t i) { return of == nullptr ? nullptr : of + i; };
    add(at(x.d_start, x.path[0]), x.d_value);
    for (std::int64_t t = 0; t < x.length; ++t) {
      const std::int64_t from = t == 0 ? -1 : place(x.path[t], x.path[t - 1]);
      if (from >= 0) {
        add(at(x.d_transitions, from), x.d_value);
        to_transitions_.added();
      }
      add(at(x.d_emissions, t * n_ + x.path[t]), x.d_value);
    }
    add(at(x.d_end, x.path[x.length - 1]), x.d_value);
  }

  const ext::Chain& c_;
  std::int64_t n_, steps_, sources_;
  std::int64_t room_;    ///< before each of the rows below, for ChainStep::is_band
  T *a_, *g_, *next_g_;  ///< rows of n_ numbers in the thread's memory
  // Gradients to which several examples or steps add.
  CarriedSum<T> to_emissions_{scratch<0>()}, to_transitions_{scratch<1>()};
  CarriedSum<T> to_start_{scratch<2>()}, to_end_{scratch<3>()};
};

/// How many steps an example has, as ext::Chain::lengths says.
template <class T>
[[nodiscard]] std::int64_t steps_of(const T* length, std::int64_t all) {
  if (length == nullptr || *length >= static_cast<T>(all)) {
    return all;
  }
  return *length >= T{1} ? static_cast<std::int64_t>(*length) : 1;
}

/// ext::Kernels::chain.
template <class T, class Steps>
void walk_chains(const ext::Chain& c, ext::Direction direction) {
  const bool is_forward = direction == ext::Direction::kForward;
  const std::int64_t n = c.examples();
  ChainCursor emissions(c.emissions, n), transitions(c.transitions, n), start(c.start, n);
  ChainCursor end(c.end, n), lengths(c.lengths, n), path(c.path, n), before(c.before, n);
  ChainCursor value(c.value, n), d_value(c.d_value, n), d_emissions(c.d_emissions, n);
  ChainCursor d_transitions(c.d_transitions, n), d_start(c.d_start, n), d_end(c.d_end, n);
  std::int64_t steps = c.emissions.dim.cols();
  if (c.paths == ext::Paths::kGiven) {
    steps = std::min<std::int64_t>(steps, c.path.dim.rows());
  }
  ChainWalk<T, Steps> walk(c);
  for (std::int64_t e = 0; e < n; ++e) {
    ChainExample<T> x{emissions.at<const T>(),
                      transitions.at<const T>(),
                      start.at<const T>(),
                      end.at<const T>(),
                      before.at<T>(),
                      path.at<std::uint32_t>(),
                      T{0},
                      T{0},
                      d_emissions.at<T>(),
                      d_transitions.at<T>(),
                      d_start.at<T>(),
                      d_end.at<T>(),
                      steps_of(lengths.at<const T>(), steps)};
    T* const result = value.at<T>();
    if (is_forward) {
      walk.forward(x);
      *result = value.stores() ? x.value : *result + x.value;
    } else {
      x.value = result == nullptr ? T{0} : *result;
      x.d_value = *d_value.at<const T>();
      walk.backward(x);
    }
    for (ChainCursor* cursor : {&emissions, &transitions, &start, &end, &lengths, &path, &before,
                                &value, &d_value, &d_emissions, &d_transitions, &d_start, &d_end}) {
      cursor->advance(n - e - 1);
    }
  }
  walk.finish();
}

}  // namespace dynet::kernels
