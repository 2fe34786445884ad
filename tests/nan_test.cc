// The first node that is NaN or infinite is named: by the graph, by find_nan, by the trainer.
#include <chrono>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "dynet/attention.h"
#include "dynet/crf-builder.h"
#include "dynet/debug.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ext/op.h"
#include "dynet/ext/rule.h"
#include "dynet/inference.h"
#include "dynet/interrupt.h"
#include "dynet/training.h"

#include "gtest/gtest.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using testing::text_of_error;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Nan : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, Nan, ::testing::Bool(), [](const auto& batched) {
  return std::string(batched.param ? "Batched" : "OneByOne");
});

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_P(Nan, AGraphThatWantsValidNumbersNamesTheFirstBadNode) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const Expression x = input(cg, {2}, {1.0F, -1.0F});
  const Expression fine = exp(x);
  const Expression bad = log(x);
  const Expression sum = sum_elems(bad + fine);
  EXPECT_EQ(as_vector(fine.value()).size(), 2U);
  const std::string text = text_of_error<errors::NumericError>([&] { (void)sum.value(); });
  EXPECT_TRUE(contains(text, "NaN or infinity in node 2, log(v0) {2}, built at ")) << text;
  EXPECT_TRUE(contains(text, "nan_test.cc:")) << text;
  // The value is computed now, and another question is an error again; other nodes are usable.
  EXPECT_EQ(text_of_error<errors::NumericError>([&] { (void)sum.value(); }), text);
  EXPECT_EQ(text_of_error<errors::NumericError>([&] { (void)bad.value(); }), text);
  EXPECT_EQ(as_scalar(sum_elems(square(x)).value()), 2.0F);
  EXPECT_THROW(cg.backward(sum_elems(log(x) * 2.0F)), errors::NumericError);
}

TEST_P(Nan, ACheckpointLooksAtWhatItComputes) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const Expression x = input(cg, -1.0F);
  const Expression bad = log(x);
  const std::string text = text_of_error<errors::NumericError>([&] { cg.checkpoint(); });
  EXPECT_TRUE(contains(text, "NaN or infinity in node 1, log(v0)")) << text;
  cg.revert();  // no mark was set
  EXPECT_FALSE(bad.is_stale());
}

TEST_P(Nan, WithinAnInferenceScopeWhatWasAskedForIsLookedAt) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const InferenceScope scope;
  const Expression y = exp(log(input(cg, -1.0F)));
  const std::string text = text_of_error<errors::NumericError>([&] { (void)y.value(); });
  EXPECT_TRUE(contains(text, "node 2, exp(v1)")) << text;
}

TEST_P(Nan, IsFoundInValues) {
  ComputationGraph cg(GetParam());
  const Expression infinite = input(cg, kInfinity);
  const Expression x = input(cg, 0.5F);
  const Expression y = concatenate({x, infinite});
  (void)y.value();
  EXPECT_TRUE(contains(find_nan(cg), "infinity first in node 0, input")) << find_nan(cg);
  (void)exp(log(-x)).value();  // worse than an infinity, which may be meant
  EXPECT_TRUE(contains(find_nan(cg), "NaN first in node 4, log(v3) {1}")) << find_nan(cg);
}

/// A logarithm that is meant to be -inf at 0.
struct LogOfCount {
  static constexpr ext::Info kInfo{
      .name = "log_of_count", .args = {"x"}, .formula = "y = ln(x)", .shapes = "any -> the same"};
  static constexpr bool kMinusInfinity = true;
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using rule::log;
    return log(x);
  }
  DYNET_DEVICE_FN auto slope(auto x, auto /*y*/) const { return 1.0 / x; }
  static std::vector<ext::Example<LogOfCount>> examples() { return {{{}, {{3}}}}; }
};

TEST_P(Nan, MinusInfinityThatIsMeantIsNone) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const Expression x = input(cg, {3}, {1.0F, 2.0F, 3.0F});
  const Expression restricted = log_softmax(x, {0U, 2U});
  EXPECT_EQ(as_vector(restricted.value())[1], -kInfinity);
  EXPECT_NEAR(as_scalar(logsumexp_dim(reshape(restricted, {3, 1}), 0).value()), 0.0,
              tolerance::kFewInFloat);
  const Expression mask = input(cg, {3}, {0.0F, -kInfinity, 0.0F});
  EXPECT_EQ(as_vector(softmax((x + mask) * 2.0F).value())[1], 0.0F);
  EXPECT_EQ(as_vector((x + constant(cg, {3}, -kInfinity)).value())[0], -kInfinity);
  EXPECT_EQ(as_scalar(sum_elems(restricted + x).value()), -kInfinity);
  const Expression count = ext::add_node(LogOfCount{}, {x - x, Where::here()}, x - x);
  EXPECT_EQ(as_vector((count + x).value())[0], -kInfinity);
  cg.checkpoint();
  EXPECT_EQ(find_nan(cg), "");
  const InferenceScope scope;  // drops the values in between
  EXPECT_EQ(as_vector(((log_softmax(x, {1U}) + x) + x).value())[0], -kInfinity);
}

/// Each node of a long chain has -inf from its beginning, and is looked at once.
TEST_P(Nan, MinusInfinityIsMeantAlongAWholeChain) {
  constexpr int kNodes = 100'000;
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  Expression x = input(cg, {2}, {0.0F, -kInfinity});
  for (int i = 0; i < kNodes; ++i) {
    x = x + 1.0F;
  }
  EXPECT_EQ(as_vector(x.value())[1], -kInfinity);
  EXPECT_EQ(find_nan(cg), "");
  const Expression bad = x + log(zeros(cg, {2}));
  EXPECT_TRUE(contains(text_of_error<errors::NumericError>([&] { (void)bad.value(); }), ", log(v"));
}

TEST_P(Nan, IsFoundBehindMinusInfinityThatIsMeant) {
  using Make = Expression (*)(const Expression& x, const Expression& meant);
  const std::vector<std::pair<const char*, Make>> cases = {
      {"negate", [](const Expression&, const Expression& m) { return -m; }},
      {"subtract", [](const Expression&, const Expression& m) { return exp(m - m); }},
      {"log", [](const Expression&, const Expression& m) { return log(exp(m)) * 2.0F; }},
      {"log", [](const Expression& x, const Expression& m) { return m + log(x - x); }},
      {"cdiv", [](const Expression& x, const Expression& m) { return cdiv(x, exp(m)); }},
      {"exp", [](const Expression& x, const Expression& m) { return m + exp(x * 1000.0F); }}};
  for (const auto& [name, make] : cases) {
    ComputationGraph cg(GetParam());
    cg.set_check_validity(true);
    const Expression x = input(cg, {3}, {1.0F, 2.0F, 3.0F});
    const Expression y = make(x, log_softmax(x, {0U, 2U}));
    const std::string text = text_of_error<errors::NumericError>([&] { (void)y.value(); });
    EXPECT_TRUE(contains(text, std::string(", ") + name + "(")) << text;
    EXPECT_NE(find_nan(cg), "");
    const InferenceScope scope;
    EXPECT_THROW((void)log(x - x).value(), errors::NumericError);
  }
}

/// No operation says of a parameter that it may have -inf.
TEST_P(Nan, MinusInfinityOfAParameterIsFound) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(-kInfinity));
  const Expression y = parameter(cg, p) + input(cg, {2}, {1.0F, 2.0F});
  EXPECT_TRUE(
      contains(text_of_error<errors::NumericError>([&] { (void)y.value(); }), "NaN or infinity"));
}

/// Builders make masks.
TEST_P(Nan, MasksOfBuildersAreMeant) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  ParameterCollection model;
  CRFBuilder crf(3, model);
  crf.forbid(0, 1);
  crf.forbid_start(2);
  crf.forbid_end(0);
  crf.new_graph(cg);
  const Expression scores = input(cg, {3, 4}, std::vector<float>(12, 0.5F));
  EXPECT_EQ(crf.viterbi(scores).tags.size(), 4U);
  cg.backward(crf.neg_log_likelihood(scores, std::vector<unsigned>{0, 0, 2, 1}));
  DotAttentionBuilder dot(3, model);
  dot.new_graph(cg);
  const Expression seen = input(cg, Dim({3, 2}, 2), std::vector<float>(12, 1.0F));
  const Expression query = input(cg, Dim({3}, 2), std::vector<float>(6, 1.0F));
  EXPECT_EQ(as_vector(dot.weights(query, dot.read(seen, {1, 2})).value())[1], 0.0F);
  cg.checkpoint();
  EXPECT_EQ(find_nan(cg), "");
}

TEST_P(Nan, IsFoundInGradients) {
  ComputationGraph cg(GetParam());
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitConst(0.0F));
  const Expression w = parameter(cg, p);
  const Expression loss = sum_elems(sqrt(square(w)));
  cg.backward(loss);  // the slope of the root at 0 is infinite
  const std::string text = find_nan(cg);
  EXPECT_TRUE(contains(text, "NaN or infinity first in the gradient of node 1, square(v0) {2}"))
      << text;
  EXPECT_TRUE(contains(text, "which comes back from node 2, sqrt(v1) {2}, built at ")) << text;
  // Nothing was added twice by looking.
  model.reset_gradient();
  cg.backward(sum_elems(square(w)));
  EXPECT_EQ(find_nan(cg), "");
  EXPECT_EQ(as_vector(*p.gradients()), (std::vector<float>{0, 0}));
}

TEST_P(Nan, AllIsWell) {
  ComputationGraph cg(GetParam());
  EXPECT_EQ(find_nan(cg), "");
  const Expression x = input(cg, 2.0F);
  EXPECT_EQ(find_nan(cg), "");
  cg.backward(log(x));
  EXPECT_EQ(find_nan(cg), "");
}

struct Model {
  ParameterCollection parameters;
  Parameter p = parameters.add_parameters({1}, ParameterInitConst(-1.0F));
  SimpleSGDTrainer trainer{parameters};
};

TEST_P(Nan, TheTrainerNamesTheNode) {
  Model m;
  ComputationGraph cg(GetParam());
  cg.backward(sqrt(parameter(cg, m.p)) * 2.0F);
  const std::string text = text_of_error<errors::NumericError>([&] { m.trainer.update(); });
  EXPECT_TRUE(contains(text, "NaN first in node 1, sqrt(v0) {1}, built at ")) << text;
  EXPECT_EQ(as_scalar(*m.p.values()), -1.0F);
  EXPECT_EQ(as_scalar(*m.p.gradients()), 0.0F);
}

/// The search takes a backward of its own, for one of a parameter's nodes; nobody may stop an
/// update during the search.
TEST_P(Nan, NobodyStopsATrainerThatLooksForTheNode) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({64, 64}, ParameterInitConst(0.0F));
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg(GetParam());
  constexpr int kNodes = 100;
  std::vector<Expression> sums;
  sums.reserve(kNodes + 1);
  for (int i = 0; i < kNodes; ++i) {
    sums.push_back(sum_elems(sqrt(square(parameter(cg, p)))));
  }
  sums.push_back(sum_elems(parameter(cg, p)));  // looked at first
  cg.backward(sum(sums));
  struct Stopped {};
  const InterruptScope scope([](void*) { throw Stopped(); }, nullptr, std::chrono::milliseconds(0));
  const std::string text = text_of_error<errors::NumericError>([&] { trainer.update(); });
  EXPECT_TRUE(contains(text, "first in the gradient of node ")) << text;
}

/// The bad gradient came from another graph; the mask of the last one is meant.
TEST_P(Nan, TheTrainerBlamesNoMask) {
  Model m;
  ComputationGraph first(GetParam());
  first.backward(sqrt(parameter(first, m.p)));
  ComputationGraph second(GetParam());
  const Expression mask = input(second, -std::numeric_limits<float>::infinity());
  const Expression scores = softmax(concatenate({parameter(second, m.p), mask}));
  second.backward(pick(scores, 0U));
  const std::string text = text_of_error<errors::NumericError>([&] { m.trainer.update(); });
  EXPECT_FALSE(contains(text, "infinity first")) << text;
}

/// A graph that is gone, or has other nodes since, is not asked.
TEST_P(Nan, TheTrainerNamesNoNodeThatIsGone) {
  Model m;
  const auto message = [&] {
    return text_of_error<errors::NumericError>([&] { m.trainer.update(); });
  };
  {
    ComputationGraph cg(GetParam());
    cg.backward(sqrt(parameter(cg, m.p)));
  }
  EXPECT_FALSE(contains(message(), "first in"));
  ComputationGraph cg(GetParam());
  cg.backward(sqrt(parameter(cg, m.p)));
  cg.clear();
  (void)sqrt(input(cg, -1.0F)).value();
  EXPECT_FALSE(contains(message(), "first in"));
}

}  // namespace
}  // namespace dynet
