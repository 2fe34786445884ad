#pragma once

// Evaluates rules over rows one number after the other, in float or double: the oracle, the loops
// of operations from outside the tree, and, under nvcc, the kernels (src/ops/cuda). Everything is
// computed anew in each pass; over::keep is ignored.
//
// A team shares a row: on the CPU a team of one, on a CUDA device the threads of a warp. It says
// its size, the rank of the caller, how the states of its members are merged, how a number is added
// to memory that several rows write, and whether sums in float keep their rounding errors: those of
// a device have to be exact, and a double is slow there.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dynet/ext/numbered.h"
#include "dynet/ext/rows.h"

namespace dynet::ext::plain {

/// The team of one.
struct Alone {
  static constexpr std::int64_t kSize = 1;
  static constexpr bool kKeepsErrors = false;
  DYNET_DEVICE_FN static std::int64_t rank() { return 0; }
  template <class State, class Merge>
  DYNET_DEVICE_FN static State merge(State s, Merge /*merge*/) {
    return s;
  }
  template <class T>
  DYNET_DEVICE_FN static void add(T* to, T value) {
    *to += value;
  }
};

/// One row while it is evaluated. kReductions is a list of types.
template <class T, std::size_t kInputs, class Reductions>
struct Row {
  using Number = T;
  const RowStream* in;
  const Rows* rows;
  const double* constants;
  const T* from[kInputs];  ///< the row's first number; null: all are 0
  T once[kInputs];         ///< inputs with one number per row
  T slots[Reductions::kSize + 1];
};

/// Where position k of a row lies.
DYNET_DEVICE_FN inline std::int64_t offset_of(const RowStream& s, const Rows& rows,
                                              std::int64_t k) {
  if (rows.axes == 1) {
    return k * s.step[0];
  }
  std::int64_t at = 0;
  for (int a = 0; a < rows.axes; ++a) {
    at += k % rows.extent[a] * s.step[a];
    k /= rows.extent[a];
  }
  return at;
}

/// The value of expression E at position k of a row.
template <class E>
struct Value;
template <class E, class R>
DYNET_DEVICE_FN auto value_of(const R& row, std::int64_t k) {
  return Value<E>::of(row, k);
}
template <std::size_t kNumber>
struct Value<rule::Fixed<kNumber>> {
  template <class R>
  DYNET_DEVICE_FN static auto of(const R& row, std::int64_t /*k*/) {
    return static_cast<typename R::Number>(row.constants[kNumber]);
  }
};
template <int kI>
struct Value<rule::In<kI>> {
  template <class R>
  DYNET_DEVICE_FN static typename R::Number of(const R& row, std::int64_t k) {
    return row.from[kI] == nullptr ? 0 : row.from[kI][offset_of(row.in[kI], *row.rows, k)];
  }
};
template <int kI>
struct Value<rule::RowIn<kI>> {
  template <class R>
  DYNET_DEVICE_FN static auto of(const R& row, std::int64_t /*k*/) {
    return row.once[kI];
  }
};
template <>
struct Value<rule::Position> {
  template <class R>
  DYNET_DEVICE_FN static auto of(const R& /*row*/, std::int64_t k) {
    return static_cast<typename R::Number>(k);
  }
};
template <>
struct Value<rule::Count> {
  template <class R>
  DYNET_DEVICE_FN static auto of(const R& row, std::int64_t /*k*/) {
    return static_cast<typename R::Number>(row.rows->length);
  }
};
template <class E>
struct Value<rule::Kept<E>> : Value<E> {};
template <class F, class... A>
struct Value<rule::Reduce<F, A...>> {
  template <class T, std::size_t kInputs, class Reductions>
  DYNET_DEVICE_FN static T of(const Row<T, kInputs, Reductions>& row, std::int64_t /*k*/) {
    return row.slots[rule::kIndexIn<rule::Reduce<F, A...>, Reductions>];
  }
};
template <class F, class... A>
struct Value<rule::Apply<F, A...>> {
  template <class R>
  DYNET_DEVICE_FN static auto of(const R& row, std::int64_t k) {
    return F::of(value_of<A>(row, k)...);
  }
};
template <class I, class E>
struct Value<rule::Apply<rule::OnlyAt, I, E>> {
  template <class R>
  DYNET_DEVICE_FN static typename R::Number of(const R& row, std::int64_t k) {
    using T = typename R::Number;
    return static_cast<T>(k) == value_of<I>(row, k) ? value_of<E>(row, k) : T{0};
  }
};

// ---- reductions ---------------------------------------------------------------------------------

template <class T>
struct State {
  T value, index;
};
template <class F>
struct Merge {
  template <class T>
  DYNET_DEVICE_FN State<T> operator()(State<T> a, State<T> b) const {
    if constexpr (std::is_same_v<F, rule::SumOf>) {
      return {a.value + b.value, T{0}};
    } else {
      const bool is_second = a.value < b.value || (a.value == b.value && b.index < a.index);
      return is_second ? b : a;
    }
  }
};
/// A sum whose `index` is the sum of its rounding errors.
struct MergeWithErrors {
  template <class T>
  DYNET_DEVICE_FN State<T> operator()(State<T> a, State<T> b) const {
    const T sum = a.value + b.value;
    const bool is_a_larger = std::fabs(a.value) >= std::fabs(b.value);
    const T error = is_a_larger ? (a.value - sum) + b.value : (b.value - sum) + a.value;
    return {sum, a.index + b.index + (std::isfinite(sum) ? error : T{0})};
  }
};
template <class R>
struct Reducer;
template <class F, class E>
struct Reducer<rule::Reduce<F, E>> {
  template <class Team, class R>
  DYNET_DEVICE_FN static auto run(const R& row) {
    using T = typename R::Number;
    constexpr bool kIsSum = std::is_same_v<F, rule::SumOf>;
    constexpr bool kHasErrors = kIsSum && Team::kKeepsErrors && std::is_same_v<T, float>;
    using How = std::conditional_t<kHasErrors, MergeWithErrors, Merge<F>>;
    State<T> s{kIsSum ? T{0} : -static_cast<T>(INFINITY), T{0}};
    for (std::int64_t k = Team::rank(); k < row.rows->length; k += Team::kSize) {
      s = How()(s, State<T>{value_of<E>(row, k), kIsSum ? T{0} : static_cast<T>(k)});
    }
    s = Team::merge(s, How());
    if constexpr (kHasErrors) {
      return std::isfinite(s.value) ? s.value + s.index : s.value;
    } else {
      return std::is_same_v<F, rule::IndexOfMaxOf> ? s.index : s.value;
    }
  }
};
template <class E, class I>
struct Reducer<rule::Reduce<rule::ValueAt, E, I>> {
  template <class Team, class R>
  DYNET_DEVICE_FN static auto run(const R& row) {
    using T = typename R::Number;
    // A row without elements has nothing at any position, and so nothing to be read.
    return row.rows->length == 0 ? T{0}
                                 : value_of<E>(row, static_cast<std::int64_t>(value_of<I>(row, 0)));
  }
};

// ---- a row --------------------------------------------------------------------------------------

/// All of one row. kOnce says which results are written once.
template <class Team, class Numbered, class R, class... E, class... Reductions, std::size_t... kJ>
DYNET_DEVICE_FN void run_row(R& row, const RowStream* out, std::int64_t o, std::int64_t i,
                             rule::Types<E...> /*results*/,
                             rule::Types<Reductions...> /*reductions*/,
                             std::index_sequence<kJ...> /*every*/) {
  using T = typename R::Number;
  // Inner reductions stand before outer ones.
  ((row.slots[rule::kIndexIn<Reductions, rule::Types<Reductions...>>] =
        Reducer<Reductions>::template run<Team>(row)),
   ...);
  const auto put = [&](std::size_t j, std::int64_t k, bool is_once, T value) {
    const RowStream& s = out[j];
    if (s.data == nullptr || (is_once && k > 0)) {
      return;
    }
    T* to = static_cast<T*>(s.data) + o * s.outer_step + i * s.row_step +
            (is_once ? 0 : offset_of(s, *row.rows, k));
    if (s.adds) {
      Team::add(to, value);
    } else {
      *to = value;
    }
  };
  constexpr bool kAnyOnce = (Numbered::kWritesOnce[kJ] || ...);
  // A row without elements has results all the same, if there is one per row.
  const std::int64_t end = kAnyOnce && row.rows->length == 0 ? 1 : row.rows->length;
  for (std::int64_t k = Team::rank(); k < end; k += Team::kSize) {
    // Flags as types: device code cannot read the host's constants.
    ((std::bool_constant<Numbered::kWritesOnce[kJ]>::value || row.rows->length > 0
          ? put(kJ, k, std::bool_constant<Numbered::kWritesOnce[kJ]>::value, value_of<E>(row, k))
          : void()),
     ...);
  }
}

template <class... E>
rule::Reductions<E...> reductions_of(rule::Types<E...>);

/// Row (o, i) of a call.
template <class Team, class T, class Direction, class Op>
DYNET_DEVICE_FN void run_row(const RowCall& call, std::int64_t o, std::int64_t i) {
  using Numbered = rule::Numbered<Direction, Op>;
  using Expressions = typename Numbered::Expressions;
  using Reductions = decltype(reductions_of(Expressions()));
  constexpr std::size_t kInputs = Direction::template kInputs<Op>;
  Row<T, kInputs, Reductions> row{};
  row.in = call.in;
  row.rows = &call.rows;
  row.constants = call.constants;
  for (std::size_t k = 0; k < kInputs; ++k) {
    const RowStream& s = call.in[k];
    const std::int64_t at = o * s.outer_step + i * s.row_step;
    if (s.data == nullptr) {
      continue;
    }
    if (s.is_index) {
      row.once[k] = static_cast<T>(static_cast<const std::uint32_t*>(s.data)[at]);
    } else {
      row.from[k] = static_cast<const T*>(s.data) + at;
      row.once[k] = call.rows.length > 0 || s.step[0] == 0 ? *row.from[k] : T{0};
    }
  }
  run_row<Team, Numbered>(row, call.out, o, i, Expressions(), Reductions(),
                          std::make_index_sequence<Numbered::kResults>{});
}

/// All rows of a call, one after the other.
template <class T, class Direction, class Op>
void loop(const RowCall& call) {
  for (std::int64_t o = 0; o < call.rows.outer; ++o) {
    for (std::int64_t i = 0; i < call.rows.inner; ++i) {
      run_row<Alone, T, Direction, Op>(call, o, i);
    }
  }
}

}  // namespace dynet::ext::plain
