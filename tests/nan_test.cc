// The first node that is NaN or infinite is named: by the graph, by find_nan, by the trainer.
#include <chrono>
#include <limits>
#include <string>
#include <vector>

#include "dynet/debug.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/inference.h"
#include "dynet/interrupt.h"
#include "dynet/training.h"

#include "gtest/gtest.h"
#include "testing/errors.h"

namespace dynet {
namespace {

using testing::text_of_error;

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
  const std::string text = text_of_error<NumericError>([&] { (void)sum.value(); });
  EXPECT_TRUE(contains(text, "NaN or infinity in node 2, log(v0) {2}, built at ")) << text;
  EXPECT_TRUE(contains(text, "nan_test.cc:")) << text;
  // It is computed now, and asking for it again is no less an error; the rest is usable.
  EXPECT_EQ(text_of_error<NumericError>([&] { (void)sum.value(); }), text);
  EXPECT_EQ(text_of_error<NumericError>([&] { (void)bad.value(); }), text);
  EXPECT_EQ(as_scalar(sum_elems(square(x)).value()), 2.0F);
  EXPECT_THROW(cg.backward(sum_elems(log(x) * 2.0F)), NumericError);
}

TEST_P(Nan, ACheckpointLooksAtWhatItComputes) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const Expression x = input(cg, -1.0F);
  const Expression bad = log(x);
  const std::string text = text_of_error<NumericError>([&] { cg.checkpoint(); });
  EXPECT_TRUE(contains(text, "NaN or infinity in node 1, log(v0)")) << text;
  cg.revert();  // no mark was set
  EXPECT_FALSE(bad.is_stale());
}

TEST_P(Nan, WithinAnInferenceScopeWhatWasAskedForIsLookedAt) {
  ComputationGraph cg(GetParam());
  cg.set_check_validity(true);
  const InferenceScope scope;
  const Expression y = exp(log(input(cg, -1.0F)));
  const std::string text = text_of_error<NumericError>([&] { (void)y.value(); });
  EXPECT_TRUE(contains(text, "node 2, exp(v1)")) << text;
}

TEST_P(Nan, IsFoundInValues) {
  ComputationGraph cg(GetParam());
  const Expression mask = input(cg, -std::numeric_limits<float>::infinity());
  const Expression x = input(cg, 0.5F);
  const Expression y = softmax(concatenate({x, mask}));
  (void)y.value();
  EXPECT_TRUE(contains(find_nan(cg), "infinity first in node 0, input")) << find_nan(cg);
  (void)exp(log(-x)).value();  // worse than an infinity, which may be meant
  EXPECT_TRUE(contains(find_nan(cg), "NaN first in node 5, log(v4) {1}")) << find_nan(cg);
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
  const std::string text = text_of_error<NumericError>([&] { m.trainer.update(); });
  EXPECT_TRUE(contains(text, "NaN first in node 1, sqrt(v0) {1}, built at ")) << text;
  EXPECT_EQ(as_scalar(*m.p.values()), -1.0F);
  EXPECT_EQ(as_scalar(*m.p.gradients()), 0.0F);
}

/// Looking for it takes a backward of its own, for one of a parameter's nodes; nobody may stop an
/// update in it.
TEST_P(Nan, NobodyStopsATrainerThatLooksForTheNode) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({64, 64}, ParameterInitConst(0.0F));
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg(GetParam());
  std::vector<Expression> sums;
  for (int i = 0; i < 100; ++i) {
    sums.push_back(sum_elems(sqrt(square(parameter(cg, p)))));
  }
  sums.push_back(sum_elems(parameter(cg, p)));  // looked at first
  cg.backward(sum(sums));
  struct Stopped {};
  const InterruptScope scope([](void*) { throw Stopped(); }, nullptr, std::chrono::milliseconds(0));
  const std::string text = text_of_error<NumericError>([&] { trainer.update(); });
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
  const std::string text = text_of_error<NumericError>([&] { m.trainer.update(); });
  EXPECT_FALSE(contains(text, "infinity first")) << text;
}

/// A graph that is gone, or has other nodes since, is not asked.
TEST_P(Nan, TheTrainerNamesNoNodeThatIsGone) {
  Model m;
  const auto message = [&] { return text_of_error<NumericError>([&] { m.trainer.update(); }); };
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
