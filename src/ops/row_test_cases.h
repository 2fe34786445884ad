#pragma once

// For tests: cases of a rule over rows, along and across, whole vectors and parts, over several
// axes, of no elements, with streams that are absent, added to, repeated, or lie apart. The test
// chooses the device of the float numbers; they are compared with the plain loop in double.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <memory_resource>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/ops/all.h"

#include "kernels/kernels.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::ops::testing {

/// The layout of an operand's numbers.
enum class Lie : std::uint8_t {
  kSideBySide,
  kApart,              ///< other numbers lie between the elements of a row
  kRepeated,           ///< all rows share the numbers
  kRepeatedAlongFirst  ///< elements along the first axis of a row share numbers
};

/// Operands of some rows, with the numbers in both types. Guard numbers show writes to wrong
/// places: one stands after the operand's numbers, others between the axes of a row, as neighbours
/// would be joined.
class Operands {
 public:
  /// `memory`: the memory of the numbers; a device must reach the operands of its kernels.
  Operands(const ext::Rows& rows, std::pmr::memory_resource* memory)
      : rows_(rows), memory_(memory) {}

  void add(rule::Along along, std::mt19937& random, double low, double high,
           Lie lie = Lie::kSideBySide) {
    ext::RowStream s{};
    std::int64_t size = 0;
    if (along == rule::Along::kElements) {
      size = lay_elements(s, lie);
    } else if (along == rule::Along::kOnce) {
      s.row_step = 1;
      s.outer_step = rows_.inner;
      size = rows_.inner * rows_.outer;
    } else {
      size = 1;
      for (int a = 0; a < rows_.axes; size *= rows_.extent[a++]) {
        s.step[a] = size;
      }
    }
    if (lie == Lie::kRepeated) {
      s.row_step = s.outer_step = 0;
    }
    std::uniform_real_distribution<double> draw(low, high);
    auto& f = floats_.emplace_back(static_cast<std::size_t>(size) + 1, memory_);
    std::generate(f.begin(), f.end(), [&] { return static_cast<float>(draw(random)); });
    doubles_.emplace_back(f.begin(), f.end(), memory_);
    indices_.emplace_back(memory_);
    streams_.push_back(s);
  }
  void add_indices(std::mt19937& random) {
    ext::RowStream s{};
    s.row_step = 1;
    s.outer_step = rows_.inner;
    s.is_index = true;
    auto& indices =
        indices_.emplace_back(static_cast<std::size_t>(rows_.inner * rows_.outer), memory_);
    for (auto& index : indices) {
      index = static_cast<std::uint32_t>(
          random() % static_cast<std::size_t>(std::max<std::int64_t>(1, rows_.length)));
    }
    floats_.emplace_back(memory_);
    doubles_.emplace_back(memory_);
    streams_.push_back(s);
  }
  /// Rounds numbers computed in double to numbers that both types hold.
  void round() {
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      std::copy(doubles_[k].begin(), doubles_[k].end(), floats_[k].begin());
      std::copy(floats_[k].begin(), floats_[k].end(), doubles_[k].begin());
    }
  }
  template <class T>
  std::vector<ext::RowStream> streams() {
    std::vector<ext::RowStream> all = streams_;
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (absent_ >> k & 1U) {
        all[k].data = nullptr;
      } else if (all[k].is_index) {
        all[k].data = indices_[k].data();
      } else if constexpr (std::is_same_v<T, float>) {
        all[k].data = floats_[k].data();
      } else {
        all[k].data = doubles_[k].data();
      }
    }
    return all;
  }
  void set_absent(unsigned mask) { absent_ = mask; }
  void set_adds(std::size_t k) { streams_[k].adds = true; }
  /// Largest difference relative to the largest finite number of a stream, and 1. NaN or an
  /// infinity in one type alone differs infinitely. Both types may have NaN: the gradient of the
  /// standard deviation of a single number is 0/0.
  [[nodiscard]] double difference() const {
    dynet::testing::Worst worst;
    for (std::size_t k = 0; k < streams_.size(); ++k) {
      double size = 1.0;
      for (const double v : doubles_[k]) {
        size = std::isfinite(v) ? std::max(size, std::fabs(v)) : size;
      }
      for (std::size_t i = 0; i < doubles_[k].size(); ++i) {
        worst.add(dynet::testing::distance(static_cast<double>(floats_[k][i]), doubles_[k][i]) /
                  size);
      }
    }
    return worst.get();
  }
  [[nodiscard]] const std::deque<std::pmr::vector<float>>& floats() const { return floats_; }
  [[nodiscard]] std::size_t size() const { return streams_.size(); }

 private:
  /// Sets the steps of one number per element. Returns the number of elements.
  std::int64_t lay_elements(ext::RowStream& s, Lie lie) const {
    std::int64_t size = rows_.inner * (lie == Lie::kApart ? 3 : 1);
    s.row_step = 1;
    for (int a = 0; a < rows_.axes; ++a) {
      const bool is_repeated = a == 0 && lie == Lie::kRepeatedAlongFirst;
      s.step[a] = is_repeated ? 0 : size;
      size *= (is_repeated ? 1 : rows_.extent[a]) * (a + 1 < rows_.axes ? 2 : 1);
    }
    s.outer_step = size;
    return size * rows_.outer;
  }

  ext::Rows rows_;
  std::pmr::memory_resource* memory_;
  std::deque<std::pmr::vector<float>> floats_;
  std::deque<std::pmr::vector<double>> doubles_;
  std::deque<std::pmr::vector<std::uint32_t>> indices_;
  std::vector<ext::RowStream> streams_;
  unsigned absent_ = 0;
};

template <class Op>
rule::Along result_along(std::size_t j) {
  return ext::kRowRule<Op>.once[j] ? rule::Along::kOnce : rule::Along::kElements;
}

/// Variants of a RowCase. 1 adds to all gradients; 2 repeats all arguments but the first; 3 leaves
/// out the first of several gradients; 4 lays elements apart; 5 repeats all arguments but the first
/// along the first axis of a row; 6 sums the first argument's gradient along that axis.
inline constexpr int kRowVariants = 7;
/// Longest rows of variant 6: the gradients of most losses cancel along a row, and a sum in float
/// is as wrong as the largest sum on the way to the result.
inline constexpr std::int64_t kMostSummed = 24;

inline Lie lie_of_result(int variant) { return variant == 4 ? Lie::kApart : Lie::kSideBySide; }
inline Lie lie_of_argument(int variant, std::size_t k) {
  if (k > 0 && variant == 2) {
    return Lie::kRepeated;
  }
  return k > 0 && variant == 5 ? Lie::kRepeatedAlongFirst : lie_of_result(variant);
}
inline Lie lie_of_gradient(int variant, std::size_t k) {
  return k == 0 && variant == 6 ? Lie::kRepeatedAlongFirst : lie_of_argument(variant, k);
}

/// A call of both directions.
template <class Op>
class RowCase {
 public:
  RowCase(const ext::Example<Op>& example, const ext::Rows& rows, int variant,
          std::pmr::memory_resource* memory = std::pmr::get_default_resource())
      : op_(example.op),
        rows_(rows),
        in_(rows, memory),
        out_(rows, memory),
        slopes_(rows, memory),
        gradients_(rows, memory) {
    std::mt19937 random(static_cast<unsigned>(variant) + 1);
    const ext::RowRule& rule = ext::kRowRule<Op>;
    for (std::size_t k = 0; k < rule.args; ++k) {
      in_.add(rule.along[k], random, example.low, example.high, lie_of_argument(variant, k));
    }
    if (ext::detail::payload_of<Op>() == ext::Payload::kIndices) {
      in_.add_indices(random);
    } else if (rule.has_payload) {
      in_.add(rule::Along::kOnce, random, example.low, example.high);
    }
    for (std::size_t j = 0; j < rule.results; ++j) {
      out_.add(result_along<Op>(j), random, -1.0, 1.0, lie_of_result(variant));
    }
    for (std::size_t j = 0; j < rule.outputs; ++j) {
      slopes_.add(result_along<Op>(j), random, -1.0, 1.0, lie_of_result(variant));
    }
    for (std::size_t k = 0; k < rule.args; ++k) {
      const Lie lie = lie_of_gradient(variant, k);
      gradients_.add(rule.along[k], random, -1.0, 1.0, lie);
      if (lie == Lie::kRepeated || lie == Lie::kRepeatedAlongFirst ||
          rule.along[k] == rule::Along::kPositions || variant == 1) {
        gradients_.set_adds(k);
      }
    }
    if (variant == 3) {
      slopes_.set_absent(rule.outputs > 1 ? 1U : 0U);
      gradients_.set_absent(rule.args > 1 ? 1U : 0U);
    }
  }
  /// One direction of the float numbers, by run(direction, call).
  template <class Run>
  void in_float(ext::Direction direction, Run run) {
    each_way<float>(direction, run);
  }
  /// One direction of the numbers in double, by the plain loop.
  void in_double(ext::Direction direction) {
    each_way<double>(direction, [](ext::Direction way, const ext::RowCall& call) {
      kernels::double_kernels().run_rows(ext::kRowRule<Op>, way, call);
    });
  }
  Operands& in() { return in_; }
  Operands& out() { return out_; }
  Operands& gradients() { return gradients_; }

 private:
  template <class T, class Run>
  void each_way(ext::Direction direction, Run run) {
    auto in = in_.template streams<T>();
    const auto results = out_.template streams<T>();
    if (direction == ext::Direction::kForward) {
      const auto constants = rule::Numbered<rule::ForwardRule, Op>::values(op_);
      run(direction, ext::RowCall{constants.data(), in.data(), results.data(), rows_});
      return;
    }
    const auto constants = rule::Numbered<rule::BackwardRule, Op>::values(op_);
    const auto slopes = slopes_.template streams<T>();
    in.insert(in.end(), results.begin(), results.end());
    in.insert(in.end(), slopes.begin(), slopes.end());
    const auto out = gradients_.template streams<T>();
    run(direction, ext::RowCall{constants.data(), in.data(), out.data(), rows_});
  }

  Op op_;
  ext::Rows rows_;
  Operands in_, out_, slopes_, gradients_;
};

inline ext::Rows rows_of(std::int64_t length, std::int64_t inner, std::int64_t outer) {
  return {.length = length, .inner = inner, .outer = outer, .axes = 1, .extent = {length}};
}
/// Rows over several axes.
inline ext::Rows rows_over(std::initializer_list<std::int64_t> extents, std::int64_t inner,
                           std::int64_t outer) {
  ext::Rows rows = rows_of(1, inner, outer);
  rows.axes = 0;
  for (const std::int64_t extent : extents) {
    rows.extent[rows.axes++] = extent;
    rows.length *= extent;
  }
  return rows;
}
inline std::string text(const ext::Rows& r) {
  std::string extents = std::to_string(r.extent[0]);
  for (int a = 1; a < r.axes; ++a) {
    extents += "x" + std::to_string(r.extent[a]);
  }
  return " length " + extents + " inner " + std::to_string(r.inner) + " outer " +
         std::to_string(r.outer);
}

/// Every case of an example, forward and backward: float, by run(direction, call), against double,
/// by the plain loop.
template <class Op, class Run>
void compare_with_double(const ext::Example<Op>& example, Run run,
                         std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  for (const ext::Rows& rows :
       {rows_of(1, 1, 3), rows_of(5, 1, 83), rows_of(17, 1, 5), rows_of(24, 1, 17),
        rows_of(50, 1, 7), rows_of(1000, 1, 2), rows_of(50, 33, 2), rows_of(5, 83, 3),
        rows_of(67, 3, 2), rows_of(130, 1, 1), rows_over({5, 7}, 1, 3), rows_over({4, 9}, 3, 2),
        rows_over({2, 3, 2, 3}, 2, 2), rows_over({30, 20}, 1, 1), rows_of(0, 1, 5),
        rows_of(0, 3, 2), rows_over({3, 0}, 1, 4), rows_of(5, 1, 0)}) {
    for (int variant = 0; variant < kRowVariants; ++variant) {
      if (variant == 6 && rows.extent[0] > kMostSummed) {
        continue;
      }
      RowCase<Op> call(example, rows, variant, memory);
      const std::string what =
          std::string(Op::kInfo.name) + text(rows) + " variant " + std::to_string(variant);
      call.in_float(ext::Direction::kForward, run);
      call.in_double(ext::Direction::kForward);
      EXPECT_LE(call.out().difference(), tolerance::kRuleInFloat) << what << " forward";
      call.out().round();
      call.in_float(ext::Direction::kBackward, run);
      call.in_double(ext::Direction::kBackward);
      EXPECT_LE(call.gradients().difference(), tolerance::kRuleInFloat) << what << " backward";
    }
  }
}

/// Calls f(example) for every example of every rule over rows, the steps of operations included.
void for_each_row_example(auto f) {
  ext::WithSteps<AllOps>::for_each([&]<class Op>() {
    if constexpr (ext::RowOperation<Op>) {
      for (const ext::Example<Op>& example : Op::examples()) {
        f(example);
      }
    }
  });
}

}  // namespace dynet::ops::testing
