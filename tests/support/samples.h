#pragma once

// Every example of every operation with its type erased, so that one test goes through all of them.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/ext/op.h"

namespace dynet::testing {

/// The bytes of an operation's struct, aligned for any of them.
struct OpBytes {
  alignas(16) std::array<std::byte, 256> bytes{};
  [[nodiscard]] const void* get() const { return bytes.data(); }
};

/// The operation with one attribute changed by the least amount, up and down where that makes
/// sense: a test takes the first variant whose shape rule accepts the example's arguments.
struct Nudge {
  std::string attribute;
  std::vector<OpBytes> variants;
};

/// One example of one operation.
struct Sample {
  const ext::Record* record = nullptr;
  OpBytes op;
  std::vector<Dim> inputs;
  double low = -2.0;
  double high = 2.0;
  std::vector<unsigned> indices;
  std::vector<float> values;
  std::vector<Nudge> nudges;
  /// The operation with one attribute changed so much that results differ; not all fit the shapes.
  std::vector<OpBytes> variants;
  int example = 0;  ///< which of the operation's examples

  /// "elu(alpha=2.5) {7}".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool is_leaf() const { return record->is_leaf(); }
  [[nodiscard]] std::uint32_t payload_count() const {
    return static_cast<std::uint32_t>(indices.size() + values.size());
  }
};

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
    Dim longer = v;
    longer.add_dim(1);
    all.push_back(longer);
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
    if (v.count >= 2) {  // another permutation
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
OpBytes bytes_of(const Op& op) {
  static_assert(sizeof(Op) <= sizeof(OpBytes::bytes) && alignof(Op) <= 16);
  OpBytes b;
  std::memcpy(b.bytes.data(), &op, sizeof op);
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

}  // namespace detail

/// All examples of one operation.
template <class Op>
std::vector<Sample> samples_of() {
  std::vector<Sample> all;
  for (const ext::Example<Op>& e : Op::examples()) {
    Sample s;
    s.record = &ext::kRecord<Op>;
    s.op = detail::bytes_of(e.op);
    s.inputs = e.inputs;
    s.low = e.low;
    s.high = e.high;
    s.indices = e.indices;
    s.values = e.values;
    s.example = static_cast<int>(all.size());
    [&]<std::size_t... kI>(std::index_sequence<kI...>) {
      (s.nudges.push_back(detail::nudge<Op, kI>(e.op)), ...);
      (detail::add_variants<Op, kI>(e.op, s.variants), ...);
    }(std::make_index_sequence<ext::kAttrCount<Op>>{});
    all.push_back(std::move(s));
  }
  return all;
}

/// All examples of all operations of a list.
template <class List>
std::vector<Sample> samples_of_list() {
  std::vector<Sample> all;
  List::for_each([&]<class Op>() {
    for (Sample& s : samples_of<Op>()) {
      all.push_back(std::move(s));
    }
  });
  return all;
}

/// Those of the library (ops::AllOps), made once.
const std::vector<Sample>& all_samples();

}  // namespace dynet::testing
