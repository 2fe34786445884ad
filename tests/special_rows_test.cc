// Rows that are special as a whole (all 0, all equal, all -inf, masked, one element) and scores
// with a large part in common: values, gradients and gradients of gradients against results by
// hand. docs/special-values.md has a table of such rows, checked by special_values_test.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/globals.h"
#include "dynet/lstm.h"
#include "dynet/param-init.h"
#include "dynet/sampled-softmax.h"
#include "dynet/transformer.h"

#include "support/samples.h"
#include "testing/cases.h"
#include "testing/program.h"
#include "testing/special.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Numbers = std::vector<double>;
constexpr float kInf = std::numeric_limits<float>::infinity();

/// On the float device, and on the one in double.
class SpecialRows : public ::testing::TestWithParam<bool> {
 protected:
  [[nodiscard]] Device* device() const { return GetParam() ? double_device() : float_device(); }
  [[nodiscard]] double bound() const {
    return GetParam() ? tolerance::kSameInDouble : tolerance::kFewInFloat;
  }
  Expression in(const Dim& d, const std::vector<float>& numbers) {
    return input(graph, d, numbers, device());
  }
  void expect(const Numbers& found, const Numbers& wanted, const std::string& what) const {
    ASSERT_EQ(found.size(), wanted.size()) << what;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (std::isfinite(wanted[i])) {
        EXPECT_NEAR(found[i], wanted[i], bound() * std::max(1.0, std::fabs(wanted[i])))
            << what << ", element " << i;
      } else {
        EXPECT_EQ(found[i], wanted[i]) << what << ", element " << i;
      }
    }
  }
  /// Value and gradient of the sum of y; the gradient by backward, and as nodes.
  void expect(const Expression& y, const Expression& x, const Numbers& value,
              const Numbers& gradient, const std::string& what) {
    expect(numbers(y.value()), value, what);
    const Expression loss = sum_batches(sum_elems(y));
    const Expression as_nodes = dynet::gradient(loss, {x})[0];
    graph.backward(loss, true);
    expect(numbers(x.gradient()), gradient, what + ": gradient");
    expect(numbers(as_nodes.value()), gradient, what + ": gradient as nodes");
    const Expression again = sum_batches(squared_norm(as_nodes) + sum_elems(as_nodes));
    graph.backward(again, true);
    for (const double second : numbers(x.gradient())) {
      EXPECT_TRUE(std::isfinite(second)) << what << ": gradient of the gradient";
    }
  }

  ComputationGraph graph;
};
INSTANTIATE_TEST_SUITE_P(Both, SpecialRows, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Double" : "Float"; });

// ---- a large part in common
// ---------------------------------------------------------------------------------------

TEST_P(SpecialRows, LossesDoNotLoseWhatScoresHaveInCommon) {
  const Numbers p{0.09003057317038045798, 0.24472847105479765247, 0.66524095577482188954};
  const double loss = 2.40760596444437952394;
  for (const float common : {0.0F, 1e6F, -1e6F}) {
    const Expression x = in({3}, {common, common + 1.0F, common + 2.0F});
    const Numbers slope{p[0] - 1.0, p[1], p[2]};
    const std::string of = " of scores from " + std::to_string(common);
    expect(pickneglogsoftmax(x, 0U), x, {loss}, slope, "pickneglogsoftmax" + of);
    expect(cross_entropy(x, 0U), x, {loss}, slope, "cross_entropy" + of);
    expect(cross_entropy(x, 0U, 0.5F), x, {loss - 0.5},
           {p[0] - 2.0 / 3.0, p[1] - 1.0 / 6.0, p[2] - 1.0 / 6.0}, "with smoothing" + of);
    const Expression w = in({3}, {2.0F, 7.0F, 5.0F});
    expect(weighted_cross_entropy(x, w, 0U), x, {2.0 * loss},
           {2.0 * slope[0], 2.0 * slope[1], 2.0 * slope[2]}, "weighted_cross_entropy" + of);
    expect(weighted_cross_entropy(x, w, 0U), w, {2.0 * loss}, {loss, 0.0, 0.0}, "its weight" + of);
    const double top = static_cast<double>(common) + loss;
    expect(logsumexp_dim(x), x, {top}, p, "logsumexp_dim" + of);
  }
}

TEST_P(SpecialRows, LossesOfEqualScoresOfAnySize) {
  for (const float common : {1e10F, -1e10F, 1e30F}) {
    const Expression x = in({3}, {common, common, common});
    const double third = 1.0 / 3.0;
    const std::string of = " of " + std::to_string(common);
    expect(pickneglogsoftmax(x, 0U), x, {std::log(3.0)}, {third - 1.0, third, third}, "loss" + of);
    expect(logsumexp_dim(x), x, {static_cast<double>(common) + std::log(3.0)},
           {third, third, third}, "logsumexp_dim" + of);
    const Expression y = in({1}, {common});
    expect(logsumexp({y, y}), y, {static_cast<double>(common) + std::log(2.0)}, {1.0},
           "logsumexp" + of);
  }
}

/// As many noise words as words, of equal counts: nothing is taken off for the noise.
TEST_P(SpecialRows, SampledLossesDoNotLoseWhatScoresHaveInCommon) {
  const DefaultDevice scope(device());
  const auto loss_with = [&](float bias) {
    ParameterCollection model;
    SampledSoftmaxBuilder builder(2, NoiseDistribution({1.0, 1.0, 1.0, 1.0}), 4,
                                  SampledLoss::kSampledSoftmax, model);
    for (const auto& table : model.lookup_parameters_list()) {
      for (unsigned word = 0; word < 4; ++word) {
        const float number = static_cast<float>(word) * 0.5F;
        table->initialize(word, table->dim.elements() == 1 ? std::vector<float>{bias}
                                                           : std::vector<float>{number, -1.0F});
      }
    }
    ComputationGraph cg;
    builder.new_graph(cg);
    builder.set_noise({1, 2, 3, 1});
    const Expression rep = input(cg, {2}, {1.0F, 2.0F});
    return numbers(builder.sampled_loss(rep, 0U).value());
  };
  const Numbers plain = loss_with(0.0F);
  EXPECT_TRUE(std::isfinite(plain[0]));
  for (const float bias : {65536.0F, -65536.0F}) {
    expect(loss_with(bias), plain, "sampled_loss with biases of " + std::to_string(bias));
  }
}

// ---- rows of zeros and of equal numbers
// ---------------------------------------------------------------------------------------

TEST_P(SpecialRows, NormsOfZerosHaveNoGradient) {
  const Expression x = in(Dim({2}, 2), {0.0F, 0.0F, 3.0F, 4.0F});
  expect(l2_norm(x), x, {0.0, 5.0}, {0.0, 0.0, 0.6, 0.8}, "l2_norm");
  const Expression g = in({1}, {10.0F});
  expect(weight_norm(x, g), x, {0.0, 0.0, 6.0, 8.0}, {0.0, 0.0, 0.32, -0.24}, "weight_norm");
  expect(weight_norm(x, g), g, {0.0, 0.0, 6.0, 8.0}, {1.4}, "weight_norm, by g");
  const Expression ones = in({2}, {1.0F, 1.0F});
  expect(rms_norm(x, ones, 0.0F), x, {0.0, 0.0, 0.84852813742385702928, 1.13137084989847603904},
         {0.0, 0.0, 0.04525483399593904156, -0.03394112549695428117}, "rms_norm without epsilon");
  const Expression one = in({1}, {0.0F});
  expect(l2_norm(one), one, {0.0}, {0.0}, "l2_norm of one element");
}

TEST_P(SpecialRows, DeviationsOfEqualNumbersHaveNoGradient) {
  const Expression x = in({2, 2}, {0.25F, 0.25F, 1.0F, 3.0F});
  expect(std_dim(x, {0}), x, {0.0, 1.0}, {0.0, 0.0, -0.5, 0.5}, "std_dim");
  const Expression equal = in({3}, {0.25F, 0.25F, 0.25F});
  expect(std_elems(equal), equal, {0.0}, {0.0, 0.0, 0.0}, "std_elems");
  const Expression one = in({1}, {7.0F});
  expect(std_elems(one), one, {0.0}, {0.0}, "std_elems of one element");
  const Expression batch = in(Dim({2}, 2), {0.25F, 1.0F, 0.25F, 3.0F});
  expect(std_batches(batch), batch, {0.0, 1.0}, {0.0, -0.5, 0.0, 0.5}, "std_batches");
  const Expression all_equal = in(Dim({2}, 2), {0.25F, 0.25F, 0.25F, 0.25F});
  expect(std_dim(all_equal, {0}, true), all_equal, {0.0}, Numbers(4, 0.0),
         "std_dim over the batch");
}

TEST_P(SpecialRows, EpsilonKeepsGradientsOfEqualNumbersSmall) {
  const Expression x = in({3, 2}, {0.5F, 0.5F, 0.5F, 1.0F, 2.0F, 6.0F});
  const Expression g = in({3}, {1.0F, 2.0F, 3.0F});
  const Expression b = in({3}, {0.0F, 0.0F, 1.0F});
  // 1 / sqrt(0.25 + 0) = 2; the second column has the mean 3 and the variance 14/3.
  const double s = 1.0 / std::sqrt(14.0 / 3.0 + 0.25);
  const double along = s * s * ((-2.0 - 2.0 + 9.0) / 3.0);
  expect(layer_norm(x, g, b, 0.25F), x, {0.0, 0.0, 1.0, -2.0 * s, -2.0 * s, 9.0 * s + 1.0},
         {-2.0, 0.0, 2.0, s * (-1.0 + 2.0 * along), s * along, s * (1.0 - 3.0 * along)},
         "layer_norm");
  EXPECT_THROW(layer_norm(x, g, b, -1.0F), errors::ValueError);
}

/// The gradient of equal inputs through a layer with epsilon, and without.
TEST_P(SpecialRows, BuildersHaveAnEpsilon) {
  const DefaultDevice scope(device());
  const auto largest = [](const Expression& x) {
    double most = 0.0;
    for (const double d : numbers(x.gradient())) {
      most = std::max(most, std::fabs(d));
    }
    return most;
  };
  const auto of_transformer = [&](float epsilon) {
    ParameterCollection model;
    TransformerOptions options;
    options.epsilon = epsilon;
    TransformerEncoderBuilder builder(1, 4, 2, 8, model, options);
    ComputationGraph cg;
    builder.new_graph(cg);
    const Expression x = input(cg, {4, 1}, {0.5F, 0.5F, 0.5F, 0.5F});
    cg.backward(sum_elems(pick(builder.encode(x), 0U)), true);
    return largest(x);
  };
  EXPECT_GT(of_transformer(0.0F), 1e5) << "as DyNet 2.1";
  EXPECT_LT(1000 * of_transformer(1e-5F), of_transformer(0.0F));
  ParameterCollection model;
  TransformerOptions wrong;
  wrong.epsilon = -1.0F;
  EXPECT_THROW(TransformerEncoderBuilder(1, 4, 2, 8, model, wrong), errors::ValueError);
  const auto of_lstm = [&](float epsilon) {
    ParameterCollection collection;
    VanillaLSTMBuilder builder(1, 2, 3, collection, true);
    for (const auto& p : collection.parameters_list()) {
      if (p->dim == Dim({12, 2})) {
        p->set_value(std::vector<float>(24, 0.5F));
      }
    }
    if (epsilon > 0.0F) {
      builder.set_ln_epsilon(epsilon);
    }
    ComputationGraph cg;
    builder.new_graph(cg);
    builder.start_new_sequence();
    const Expression x = input(cg, {2}, {0.5F, 0.25F});
    // All rows of x2i are equal, so all products are; each has a gradient of its own in x2i.
    cg.backward(pick(builder.add_input(x), 0U));
    double most = 0.0;
    for (const auto& p : collection.parameters_list()) {
      for (const double d : p->dim == Dim({12, 2}) ? numbers(p->g) : Numbers()) {
        most = std::max(most, std::fabs(d));
      }
    }
    return most;
  };
  EXPECT_GT(of_lstm(0.0F), 1e5) << "as DyNet 2.1";
  EXPECT_LT(1000 * of_lstm(1e-5F), of_lstm(0.0F));
  VanillaLSTMBuilder lstm(1, 2, 3, model, true);
  EXPECT_THROW(lstm.set_ln_epsilon(0.0F), errors::ValueError);
}

// ---- masked
// ---------------------------------------------------------------------------------------

TEST_P(SpecialRows, SumsOfNoExponentialsHaveNoGradient) {
  const Expression x = in({2, 2}, {-kInf, -kInf, 0.0F, 0.0F});
  const Expression y = logsumexp_dim(x);
  const Expression inside = logsumexp_dim(y);  // beside a sum that there is
  expect(inside, x, {std::log(2.0)}, {0.0, 0.0, 0.5, 0.5}, "logsumexp_dim of rows, one masked");
  const Expression none = in({2}, {-kInf, -kInf});
  expect(logsumexp({none, none}), none, {-kInf, -kInf}, {0.0, 0.0}, "logsumexp of -inf");
}

TEST_P(SpecialRows, AnIgnoredClassMayBeMaskedAltogether) {
  const Expression masked = in({3}, {-kInf, -kInf, -kInf});
  const Expression w = in({3}, {1.0F, 2.0F, 3.0F});
  const Numbers zeros(3, 0.0);
  for (const float smoothing : {0.0F, 0.5F, 1.0F}) {
    for (const unsigned ignored : {1U, 3U}) {
      const std::string of = " with smoothing " + std::to_string(smoothing);
      expect(cross_entropy(masked, ignored, smoothing, ignored), masked, {0.0}, zeros,
             "cross_entropy" + of);
      const Expression y = weighted_cross_entropy(masked, w, ignored, smoothing, ignored);
      expect(y, masked, {0.0}, zeros, "weighted_cross_entropy" + of);
      expect(y, w, {0.0}, zeros, "weighted_cross_entropy, by w," + of);
    }
  }
}

TEST_P(SpecialRows, AClassOfWeightZeroMayBeMasked) {
  const Expression x = in({3}, {-kInf, 0.0F, 0.0F});
  const Expression w = in({3}, {0.0F, 2.0F, 1.0F});
  const Numbers zeros(3, 0.0);
  const Expression none = weighted_cross_entropy(x, w, 0U);
  expect(none, x, {0.0}, zeros, "its own loss");
  expect(none, w, {0.0}, zeros, "its own loss, by w");
  const double half = std::log(2.0);
  const Expression other = weighted_cross_entropy(x, w, 1U);
  expect(other, x, {2.0 * half}, {0.0, -1.0, 1.0}, "another class");
  expect(other, w, {2.0 * half}, {0.0, half, 0.0}, "another class, by w");
  const Expression smooth = weighted_cross_entropy(x, w, 0U, 0.5F);
  expect(smooth, x, {half / 2.0}, {0.0, -1.0 / 12.0, 1.0 / 12.0}, "with smoothing");
  expect(smooth, w, {half / 2.0}, {0.0, half / 6.0, half / 6.0}, "with smoothing, by w");
  const Expression masked = in({3}, {-kInf, -kInf, -kInf});
  expect(weighted_cross_entropy(masked, w, 0U), masked, {0.0}, zeros, "all masked");
  expect(cross_entropy(x, 1U), x, {half}, {0.0, -0.5, 0.5}, "cross_entropy beside a masked class");
}

TEST_P(SpecialRows, AttentionToNothingIsZero) {
  const Expression x = in(Dim({2, 2}, 2), {1.0F, 2.0F, 3.0F, 4.0F, 1.0F, 2.0F, 3.0F, 4.0F});
  const Expression y = attention(x, x, x, std::vector<unsigned>{0, 1});
  const Numbers found = numbers(y.value());
  EXPECT_EQ(Numbers(found.begin(), found.begin() + 4), Numbers(4, 0.0));
  graph.backward(sum_batches(sum_elems(y)), true);
  for (const double d : numbers(x.gradient())) {
    EXPECT_TRUE(std::isfinite(d));
  }
}

/// No gradient flows back if no sequence of tags is possible, or if there are too many labels.
TEST_P(SpecialRows, ChainsWithoutAPathHaveNoGradient) {
  const Expression e = in({2, 2}, {-kInf, -kInf, 0.5F, 0.25F});
  const Expression t = in({2, 2}, {0.0F, 0.0F, 0.0F, 0.0F});
  const Expression y = crf_log_partition(e, t);
  expect(numbers(y.value()), {-kInf}, "crf_log_partition");
  graph.backward(y, true);
  expect(numbers(e.gradient()), Numbers(4, 0.0), "crf_log_partition, by emissions");
  expect(numbers(t.gradient()), Numbers(4, 0.0), "crf_log_partition, by transitions");
  const Expression few = in({2, 1}, {-1.0F, -0.5F});
  const Expression loss = ctc_loss(few, std::vector<unsigned>{1, 1});
  expect(numbers(loss.value()), {kInf}, "ctc_loss");
  graph.backward(loss, true);
  expect(numbers(few.gradient()), Numbers(2, 0.0), "ctc_loss, by log_probs");
}

// ---- every operation
// ---------------------------------------------------------------------------------------

bool all_finite(const std::vector<Numbers>& all) {
  return std::all_of(all.begin(), all.end(), [](const Numbers& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); });
  });
}

/// The first mistake in a program's gradients as nodes, and in their own gradients. The loss is a
/// linear function of the results, so that only the program can make NaN.
std::string wrong_gradients(const Program& program) {
  const DefaultDevice scope(double_device());
  LiveProgram live(program, double_device(), true);
  std::vector<Expression> leaves;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
    if (program.steps[static_cast<std::size_t>(i)].sample == nullptr) {
      leaves.push_back(live.expression({i, 0}));
    }
  }
  const Expression loss = live.loss();
  const std::vector<Expression> as_nodes = gradient(loss, leaves);
  const auto by_backward = [&](const Expression& of) {
    live.graph().backward(of, true);
    std::vector<Numbers> all;
    for (const Expression& x : leaves) {
      all.push_back(numbers(x.gradient()));
    }
    return all;
  };
  const std::vector<Numbers> first = by_backward(loss);
  if (!all_finite(first) || !std::isfinite(numbers(loss.value())[0])) {
    return "";  // the page says so
  }
  std::vector<Expression> terms;
  for (std::size_t k = 0; k < leaves.size(); ++k) {
    const std::string wrong =
        compare(numbers(as_nodes[k].value()), first[k], tolerance::kLongInDouble);
    if (!wrong.empty()) {
      return "leaf " + std::to_string(k) + ": " + wrong;
    }
    const Expression g = as_nodes[k];
    terms.push_back(sum_batches(sum_elems(g) + squared_norm(g)));
  }
  return all_finite(by_backward(sum(terms))) ? "" : "the gradient of the gradient is not finite";
}

class SecondGradientOf : public ::testing::TestWithParam<const Sample*> {};
INSTANTIATE_TEST_SUITE_P(EveryOp, SecondGradientOf, ::testing::ValuesIn(operation_samples()),
                         [](const auto& p) { return test_name(*p.param, p.index); });

TEST_P(SecondGradientOf, SpecialRowsIsFinite) {
  const Sample& sample = *GetParam();
  const bool is_elementwise = sample.record->rule != nullptr && !sample.record->rule->summed;
  if (sample.record->gradient == nullptr || is_elementwise) {
    GTEST_SKIP() << "no backward in operations, or no rows";
  }
  const Program plain = cases_of(sample).front().program;
  for (std::size_t source = 0; source < plain.sources.size(); ++source) {
    for (const SpecialRow& row : kSpecialRows) {
      const std::size_t length = plain.sources[source].data.size();
      EXPECT_EQ(wrong_gradients(with_row(plain, source, row, length)), "")
          << sample.text() << ": source " << source << " is " << row.name;
    }
  }
}

}  // namespace
}  // namespace dynet::testing
