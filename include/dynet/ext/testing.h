#pragma once

// The suite that tests operations, of the library and of programs, in one line:
//
//   int main() { return dynet::testing::report<Softplus>(); }
//
// In:  an operation's examples() (op.h): shapes, ranges of the numbers, payload.
// Out: the failures as text; none if all is right.
//
// Each example is tried in many ways (batched or not, one argument batched and the others not,
// parameters as arguments, one node for several arguments, three copies that can merge), and each
// way is given to every check of checks(). Link `dynet::testing`, which is a part of the package
// and not of the library that programs run with. The suite runs on the default device and on the
// device of the same name in double ("CPU" and "CPU:double"). Shapes that the operation refuses are
// left out; its first two ways, unbatched and three copies, must be accepted.
//
// Surprising: a test names the weights once more (Expectations), so that a wrong role in the
// operation is seen. Example: report<Affine>({.weights = {1, 3}}).

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/ext/op.h"

namespace dynet::testing {

/// The bytes of an operation's struct, aligned for any of them.
struct OpBytes {
  alignas(16) std::array<std::byte, 256> bytes{};
  [[nodiscard]] const void* get() const { return bytes.data(); }
};

/// The operation with one attribute changed by the least amount, up and down if that makes
/// sense: a check takes the first variant whose shape rule accepts the example's arguments.
struct Nudge {
  std::string attribute;
  std::vector<OpBytes> variants;
};

/// Facts about an operation that a test states beside the operation itself.
struct Expectations {
  /// Weights among the arguments: copies of a node merge only if they share these arguments.
  std::set<std::size_t> weights;
};

/// One example of one operation, its type erased.
struct Sample : ext::ExampleCall {
  const ext::Record* record = nullptr;
  OpBytes op = {};
  std::vector<Nudge> nudges = {};
  /// The operation with one attribute changed so much that results differ; not all fit the shapes.
  std::vector<OpBytes> variants = {};
  int example = 0;  ///< which of the operation's examples
  Expectations expected = {};

  /// "elu(alpha=2.5) {7}".
  [[nodiscard]] std::string text() const {
    std::string s(record->info->name);
    s += '(' + record->attrs_text(op.get()) + ')';
    for (const Dim& d : inputs) {
      s += ext::is_absent(d) ? " absent" : ' ' + to_string(d);
    }
    return s;
  }
  [[nodiscard]] bool is_leaf() const { return record->is_leaf(); }
  [[nodiscard]] std::uint32_t payload_count() const {
    return static_cast<std::uint32_t>(indices.size() + values.size());
  }
};

/// The failures: one text for each way of trying an example that failed.
using Failures = std::vector<std::string>;

/// One check that every operation must pass.
struct Check {
  const char* name;  ///< "GradientsAgreeWithDifferences"
  Failures (*run)(const Sample& sample);
};
/// All of them:
///   GradientsAgreeWithDifferences  central differences in double; merged as one by one
///   FloatAgreesWithDouble          on every SIMD target that the machine has
///   AttributesAreInTheKey          nodes that differ in one attribute do not merge
///   CopiesMerge                    into one call; weights are shared there, nothing else is
///   SpecialValuesMerge             NaN, inf, zeros, denormal and the largest numbers, mixtures
///   SpecialValuesAsDouble          the same kinds of numbers come out in float and in double
///   SpecialValuesStay              special values of one example change no other example
///   Calls                          forward and backward called by hand: operands in two blocks,
///                                  gradients stored and added, outputs that nobody used,
///                                  gradients that nobody wants
std::span<const Check> checks();
/// All checks on some examples. An exception of a check is a failure.
Failures run_checks(std::span<const Sample> samples);
/// Writes failures to stderr. Returns 1, or 0 if there are none, for main() to return.
int report(const Failures& failures);

namespace detail {

/// The neighbours of a value in its own type: next float, next int, other bool.
template <class T>
std::vector<T> neighbours(const T& v) {
  if constexpr (std::is_same_v<T, bool>) {
    return {!v};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {std::nextafter(v, std::numeric_limits<T>::max()),
            std::nextafter(v, std::numeric_limits<T>::lowest())};
  } else if constexpr (std::is_integral_v<T>) {
    return {static_cast<T>(v + 1), static_cast<T>(v - 1)};
  } else if constexpr (std::is_enum_v<T>) {
    return {static_cast<T>(static_cast<std::underlying_type_t<T>>(v) ^ 1)};
  } else if constexpr (std::is_same_v<T, Dim>) {
    std::vector<Dim> all;
    for (unsigned i = 0; i < v.nd; ++i) {
      Dim d = v;
      d.d[i] += 1;
      all.push_back(d);
    }
    if (v.nd >= 2) {  // the same number of elements, for reshape
      Dim d = v;
      std::swap(d.d[0], d.d[v.nd - 1]);
      if (!(d == v)) {
        all.push_back(d);
      }
    }
    if (v.nd < DYNET_MAX_TENSOR_DIM) {
      Dim longer = v;
      longer.add_dim(1);
      all.push_back(longer);
    }
    return all;
  } else {  // a List
    std::vector<T> all;
    for (std::uint32_t i = 0; i < v.count; ++i) {
      for (const auto& item : neighbours(v.items[i])) {
        T list = v;
        list.items[i] = item;
        all.push_back(list);
      }
    }
    if (v.count >= 2 && v.items[0] != v.items[v.count - 1]) {  // another permutation
      T list = v;
      std::swap(list.items[0], list.items[v.count - 1]);
      all.push_back(list);
    }
    return all;
  }
}

/// Values that differ visibly: of floats another one, of others the neighbours.
template <class T>
std::vector<T> others(const T& v) {
  if constexpr (std::is_floating_point_v<T>) {
    return {v * static_cast<T>(0.5) + static_cast<T>(0.1)};
  } else {
    return neighbours(v);
  }
}

template <class Op>
OpBytes bytes_of([[maybe_unused]] const Op& op) {
  static_assert(sizeof(Op) <= sizeof(OpBytes::bytes) && alignof(Op) <= 16);
  OpBytes b;
  if constexpr (!std::is_empty_v<Op>) {
    std::memcpy(b.bytes.data(), &op, sizeof op);
  }
  return b;
}

template <class Op, std::size_t kI>
Nudge nudge(const Op& op) {
  Nudge n{std::string(Op::kInfo.attrs[kI]), {}};
  for (const auto& v : neighbours(std::get<kI>(ext::attributes(op)))) {
    Op other = op;
    std::get<kI>(ext::attributes(other)) = v;
    n.variants.push_back(bytes_of(other));
  }
  return n;
}

template <class Op, std::size_t kI>
void add_variants(const Op& op, std::vector<OpBytes>& to) {
  for (const auto& v : others(std::get<kI>(ext::attributes(op)))) {
    Op other = op;
    std::get<kI>(ext::attributes(other)) = v;
    to.push_back(bytes_of(other));
  }
}

// Code without the type of an operation is compiled once.
inline void append(std::vector<Sample>& to, Sample sample, const Expectations& expected) {
  sample.example = static_cast<int>(to.size());
  sample.expected = expected;
  to.push_back(std::move(sample));
}
inline void append(std::vector<Sample>& to, std::vector<Sample> samples) {
  to.insert(to.end(), std::make_move_iterator(samples.begin()),
            std::make_move_iterator(samples.end()));
}

}  // namespace detail

template <class Op>
Sample sample_of(const ext::Example<Op>& e) {
  Sample s{static_cast<const ext::ExampleCall&>(e), &ext::kRecord<Op>, detail::bytes_of(e.op)};
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    (s.nudges.push_back(detail::nudge<Op, kI>(e.op)), ...);
    (detail::add_variants<Op, kI>(e.op, s.variants), ...);
  }(std::make_index_sequence<ext::kAttrCount<Op>>{});
  return s;
}

/// All examples of one operation.
template <class Op>
std::vector<Sample> samples_of(const Expectations& expected = {}) {
  std::vector<Sample> all;
  for (const ext::Example<Op>& e : Op::examples()) {
    detail::append(all, sample_of(e), expected);
  }
  return all;
}

/// All examples of all operations of a list.
template <class List>
std::vector<Sample> samples_of_list() {
  std::vector<Sample> all;
  List::for_each([&]<class Op>() { detail::append(all, samples_of<Op>()); });
  return all;
}

/// Runs all checks on all examples of an operation.
template <class Op>
Failures check(const Expectations& expected = {}) {
  return run_checks(samples_of<Op>(expected));
}
/// Runs all checks and writes failures to stderr: 0 if there are none, else 1.
template <class Op>
int report(const Expectations& expected = {}) {
  return report(check<Op>(expected));
}

}  // namespace dynet::testing
