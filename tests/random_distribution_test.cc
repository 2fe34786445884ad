// Random operations draw from the distributions that they name: Kolmogorov and Smirnov's test for
// continuous numbers, chi squared for counts. Seeds are fixed, so a test passes always or never; of
// 100,000 right generators one would miss the levels.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"

#include "support/chi_squared.h"
#include "testing/program.h"
#include "testing/tolerance.h"
#include "testing/worst.h"

namespace dynet::testing {
namespace {

using Numbers = std::vector<double>;
constexpr unsigned kCount = 1 << 18;

/// The numbers of one node, in a graph with a random stream of its own.
Numbers draw(const std::function<Expression(ComputationGraph&)>& node) {
  ComputationGraph graph(true);
  graph.set_random_stream(29);
  return numbers(node(graph).value());
}

/// How far the distribution of the sample is from F, times sqrt(n): above 2.47 with probability
/// 1e-5.
constexpr double kKolmogorov = 2.47;
double kolmogorov(Numbers sample, double (*distribution)(double)) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  testing::Worst far;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = distribution(sample[i]);
    far.add(std::fabs(f - static_cast<double>(i) / n));
    far.add(std::fabs(f - static_cast<double>(i + 1) / n));
  }
  return far.get() * std::sqrt(n);
}

class Distributions : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] static Device* device() { return GetParam() ? double_device() : float_device(); }
};
INSTANTIATE_TEST_SUITE_P(FloatAndDouble, Distributions, ::testing::Bool());

TEST_P(Distributions, ContinuousOnes) {
  EXPECT_LT(kolmogorov(draw([](ComputationGraph& g) {
                         return random_gumbel(g, {kCount}, 0.0F, 1.0F, device());
                       }),
                       [](double x) { return std::exp(-std::exp(-x)); }),
            kKolmogorov);
  EXPECT_LT(kolmogorov(draw([](ComputationGraph& g) {
                         return random_gumbel(g, {kCount}, -1.5F, 0.5F, device());
                       }),
                       [](double x) { return std::exp(-std::exp(-(x + 1.5) / 0.5)); }),
            kKolmogorov);
  EXPECT_LT(kolmogorov(draw([](ComputationGraph& g) {
                         return random_uniform(g, {kCount}, -1.0F, 3.0F, device());
                       }),
                       [](double x) { return (x + 1.0) / 4.0; }),
            kKolmogorov);
  EXPECT_LT(kolmogorov(draw([](ComputationGraph& g) {
                         return random_normal(g, {kCount}, 0.0F, 1.0F, device());
                       }),
                       [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
            kKolmogorov);
}

TEST_P(Distributions, AWrongOneIsSeen) {
  const Numbers sample =
      draw([](ComputationGraph& g) { return random_gumbel(g, {kCount}, 0.0F, 1.05F, device()); });
  EXPECT_GT(kolmogorov(sample, [](double x) { return std::exp(-std::exp(-x)); }), kKolmogorov);
}

TEST_P(Distributions, SampledClasses) {
  const std::vector<float> scores{0.0F, 1.0F, -2.0F, 0.5F, 3.0F};
  double all = 0.0;
  for (const float s : scores) {
    all += std::exp(static_cast<double>(s));
  }
  Numbers probabilities;
  for (const float s : scores) {
    probabilities.push_back(std::exp(static_cast<double>(s)) / all);
  }
  const unsigned batch = 1 << 15;
  const Numbers y = draw([&](ComputationGraph& g) {
    std::vector<float> data;
    for (unsigned e = 0; e < batch; ++e) {
      data.insert(data.end(), scores.begin(), scores.end());
    }
    return sample_categorical(input(g, Dim({5}, batch), data, device()));
  });
  Numbers counts(5, 0.0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_TRUE(y[i] == 0.0 || y[i] == 1.0);
    counts[i % 5] += y[i];
  }
  EXPECT_LT(chi_squared(counts, probabilities, batch), chi_squared_level(4));
  std::swap(probabilities[1], probabilities[3]);
  EXPECT_GT(chi_squared(counts, probabilities, batch), chi_squared_level(4));
}

/// Dropout keeps or drops whole slices.
TEST_P(Distributions, DroppedSlices) {
  const auto ones_of = [](ComputationGraph& g, const Dim& d) {
    return constant(g, d, 1.0F, device());
  };
  struct Kind {
    const char* name;
    std::function<Expression(ComputationGraph&)> node;
    std::size_t slice;  ///< neighbours that share a draw
  };
  const std::vector<Kind> kinds{
      {"dropout", [&](ComputationGraph& g) { return dropout(ones_of(g, Dim({64}, 1024)), 0.3F); },
       1},
      {"dropout_dim",
       [&](ComputationGraph& g) { return dropout_dim(ones_of(g, Dim({4, 64}, 256)), 0, 0.3F); }, 4},
      {"dropout_batch",
       [&](ComputationGraph& g) { return dropout_batch(ones_of(g, Dim({4}, 1 << 14)), 0.3F); }, 4}};
  for (const Kind& kind : kinds) {
    const Numbers y = draw(kind.node);
    double kept = 0.0;
    double pairs = 0.0;  // neighbouring slices that are both kept
    const std::size_t slices = y.size() / kind.slice;
    for (std::size_t s = 0; s < slices; ++s) {
      const double first = y[s * kind.slice];
      EXPECT_TRUE(first == 0.0 || std::fabs(first - 1.0 / 0.7) < tolerance::kFewInFloat)
          << kind.name;
      for (std::size_t i = 1; i < kind.slice; ++i) {
        ASSERT_EQ(y[s * kind.slice + i], first) << kind.name;
      }
      kept += first == 0.0 ? 0.0 : 1.0;
      pairs += s > 0 && first != 0.0 && y[(s - 1) * kind.slice] != 0.0 ? 1.0 : 0.0;
    }
    const auto n = static_cast<double>(slices);
    EXPECT_LT(chi_squared({kept, n - kept}, {0.7, 0.3}, n), chi_squared_level(1)) << kind.name;
    EXPECT_LT(chi_squared({pairs, n - 1 - pairs}, {0.49, 0.51}, n - 1), 2 * chi_squared_level(1))
        << kind.name;  // neighbouring pairs overlap
  }
}

/// One draw for the whole tensor, in many graphs.
TEST_P(Distributions, DroppedTensors) {
  double kept = 0.0;
  constexpr int kGraphs = 4000;
  ComputationGraph graph(true);
  graph.set_random_stream(31);
  std::vector<Expression> all;
  all.reserve(kGraphs);
  for (int i = 0; i < kGraphs; ++i) {
    all.push_back(block_dropout(constant(graph, Dim({2}, 3), 1.0F, device()), 0.25F));
  }
  for (const Expression& e : all) {
    const Numbers y = numbers(e.value());
    for (const double v : y) {
      ASSERT_EQ(v, y[0]);
    }
    kept += y[0] == 0.0 ? 0.0 : 1.0;
  }
  EXPECT_LT(chi_squared({kept, kGraphs - kept}, {0.75, 0.25}, kGraphs), chi_squared_level(1));
}

/// The same numbers for one stream, merged and one by one.
TEST_P(Distributions, NoScheduleChangesADraw) {
  const auto run = [](bool batching) {
    ComputationGraph graph(batching);
    graph.set_random_stream(5);
    std::vector<Expression> all;
    for (unsigned i = 0; i < 5; ++i) {
      const Expression x = constant(graph, Dim({3, 2}, 2), 1.0F + static_cast<float>(i), device());
      all.push_back(dropout_dim(x, 1, 0.5F));
      all.push_back(dropout_batch(x, 0.5F));
      all.push_back(block_dropout(x, 0.5F));
      all.push_back(random_gumbel(graph, {6}, 0.0F, 1.0F, device()));
      all.push_back(sample_categorical(constant(graph, Dim({4}, 3), 0.5F, device())));
    }
    Numbers found;
    static_cast<void>(graph.forward(all.back()));
    for (const Expression& e : all) {
      const Numbers y = numbers(e.value());
      found.insert(found.end(), y.begin(), y.end());
    }
    return found;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(RandomArguments, AreChecked) {
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1.0F, 2.0F});
  for (const float p : {-0.1F, 1.1F, std::nanf("")}) {
    EXPECT_THROW(dropout_dim(x, 0, p), errors::ValueError);
    EXPECT_THROW(dropout_batch(x, p), errors::ValueError);
    EXPECT_THROW(block_dropout(x, p), errors::ValueError);
  }
  EXPECT_THROW(dropout_dim(x, 1, 0.5F), errors::ShapeError);
  EXPECT_THROW(dropout_dim(x, 4000000000U, 0.5F), errors::ShapeError);
  EXPECT_THROW(random_gumbel(graph, {2}, 0.0F, -1.0F), errors::ValueError);
  EXPECT_THROW(sample_categorical(input(graph, {2, 2}, {1, 2, 3, 4})), errors::ShapeError);
  EXPECT_EQ(as_vector(block_dropout(x, 1.0F).value()), (std::vector<float>{0, 0}));
  EXPECT_EQ(as_vector(block_dropout(x, 0.0F).value()), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace dynet::testing
