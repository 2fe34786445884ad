#pragma once

// For tests: the same numbers in float and in double, in the same blocks, so that a loop of the
// float device can be compared with the double device.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "kernels/kernels.h"
#include "testing/worst.h"

namespace dynet::kernels::testing {

/// How many examples each block has, and whether it is fresh.
struct Layout {
  std::vector<std::int64_t> examples;
  std::vector<bool> fresh;

  explicit Layout(std::vector<std::int64_t> e)
      : examples(std::move(e)), fresh(examples.size(), true) {}
  Layout(std::vector<std::int64_t> e, std::vector<bool> f)
      : examples(std::move(e)), fresh(std::move(f)) {}
};

/// Each block is an allocation of its own, without room to spare: sanitizers see whoever reads past
/// the end.
class OperandPair {
 public:
  OperandPair(const Dim& dim, const Layout& layout, std::mt19937& random, double low = -1.0,
              double high = 1.0)
      : dim_(dim) {
    std::uniform_real_distribution<float> draw(static_cast<float>(low), static_cast<float>(high));
    for (std::size_t b = 0; b < layout.examples.size(); ++b) {
      const std::int64_t n = layout.examples[b];
      const auto size = static_cast<std::size_t>(n * dim.example_elements());
      floats_.emplace_back(new float[size]);
      doubles_.emplace_back(new double[size]);
      sizes_.push_back(size);
      for (std::size_t i = 0; i < size; ++i) {
        floats_[b][i] = draw(random);
        doubles_[b][i] = static_cast<double>(floats_[b][i]);
      }
      float_blocks_.push_back({floats_[b].get(), n, layout.fresh[b]});
      double_blocks_.push_back({doubles_[b].get(), n, layout.fresh[b]});
      examples_ += n;
    }
  }

  [[nodiscard]] ext::Operand in_float() const { return operand(float_blocks_); }
  [[nodiscard]] ext::Operand in_double() const { return operand(double_blocks_); }
  [[nodiscard]] float* floats(std::size_t b = 0) { return floats_[b].get(); }

  /// The largest difference between the two, relative to max(1, |double|).
  [[nodiscard]] double difference() const {
    dynet::testing::Worst worst;
    for (std::size_t b = 0; b < floats_.size(); ++b) {
      for (std::size_t i = 0; i < sizes_[b]; ++i) {
        worst.add(
            dynet::testing::relative_error(static_cast<double>(floats_[b][i]), doubles_[b][i]));
      }
    }
    return worst.get();
  }

 private:
  [[nodiscard]] ext::Operand operand(const std::vector<ext::Block>& blocks) const {
    ext::Operand o;
    o.dim = dim_;
    o.examples = examples_;
    o.blocks = blocks.data();
    o.block_count = static_cast<std::int64_t>(blocks.size());
    return o;
  }

  Dim dim_;
  std::int64_t examples_ = 0;
  std::vector<std::unique_ptr<float[]>> floats_;
  std::vector<std::unique_ptr<double[]>> doubles_;
  std::vector<std::size_t> sizes_;
  std::vector<ext::Block> float_blocks_;
  std::vector<ext::Block> double_blocks_;
};

/// Ways of cutting n examples into blocks.
inline std::vector<Layout> layouts(std::int64_t n) {
  std::vector<Layout> all{Layout({n}), Layout({n}, {false})};
  if (n >= 2) {
    all.push_back(Layout({1, n - 1}, {true, false}));
    all.push_back(Layout({n - 1, 1}, {false, true}));
  }
  if (n >= 4) {
    std::vector<bool> mixed;
    mixed.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      mixed.push_back(i % 3 != 0);
    }
    all.emplace_back(std::vector<std::int64_t>(static_cast<std::size_t>(n), 1), mixed);
  }
  return all;
}

}  // namespace dynet::kernels::testing
