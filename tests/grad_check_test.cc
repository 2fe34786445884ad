// check_grad, as programs test their models.

#include <gtest/gtest.h>

#include <limits>

#include "dynet/expr.h"
#include "dynet/grad-check.h"
#include "dynet/training.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

class GradCheck : public ::testing::Test {
 protected:
  Expression loss() {
    const Expression h = tanh(parameter(cg, w) * lookup(cg, e, 1U));
    return squared_norm(h) + dot_product(h, lookup(cg, e, 2U));
  }
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 2}, ParameterInitFromVector({0.5F, -1, 2, 0.25F}), "w");
  LookupParameter e = model.add_lookup_parameters(
      4, {2}, ParameterInitFromVector({9, 9, 1, 0.5F, -1, 2, 9, 9}), "e");
  ComputationGraph cg;
};

TEST_F(GradCheck, RightGradientsPassAndNothingIsChanged) {
  Expression z = loss();
  const Floats value = as_vector(z.value());
  EXPECT_TRUE(check_grad(model, z, 0));
  EXPECT_EQ(as_vector(*w.values()), (Floats{0.5F, -1, 2, 0.25F}));
  EXPECT_EQ(as_vector(e.get_storage().all_values), (Floats{9, 9, 1, 0.5F, -1, 2, 9, 9}));
  EXPECT_EQ(as_vector(z.value()), value) << "computed anew, from the values as they were";
  const Floats gradient = as_vector(*w.gradients());
  EXPECT_TRUE(check_grad(model, z, 0)) << "gradients are emptied first";
  EXPECT_EQ(as_vector(*w.gradients()), gradient);
}

TEST_F(GradCheck, WrongGradientsOfParametersAndRowsAreFound) {
  Expression wrong = squared_norm(scale_gradient(parameter(cg, w), 1.5F));
  EXPECT_FALSE(check_grad(model, wrong, 0));
  wrong = squared_norm(flip_gradient(lookup(cg, e, 1U)));
  EXPECT_FALSE(check_grad(model, wrong, 0));
  wrong = squared_norm(scale_gradient(parameter(cg, e), 1.5F));
  EXPECT_FALSE(check_grad(model, wrong, 0)) << "the table as a whole";
  const Expression right = squared_norm(parameter(cg, e));
  EXPECT_TRUE(check_grad(model, right, 0));
}

TEST_F(GradCheck, OneWrongNumberIsEnoughAndNaNIsWrong) {
  const Expression mask = input(cg, {2, 2}, {0, 0, 0, 1});
  const Expression x = parameter(cg, w);
  const Expression wrong = sum_elems(x) + sum_elems(cmult(mask, scale_gradient(x, 0.5F)));
  EXPECT_FALSE(check_grad(model, wrong, 0));
  w.set_value({1, 1, 1, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_FALSE(check_grad(model, squared_norm(parameter(cg, w)), 0));
}

TEST_F(GradCheck, FrozenParametersAreLeftOut) {
  w.set_updated(false);
  const Expression z =
      squared_norm(scale_gradient(parameter(cg, w), 1.5F)) + squared_norm(lookup(cg, e, 0U));
  EXPECT_TRUE(check_grad(model, z, 0));
}

TEST_F(GradCheck, PendingDecayOfATableCounts) {
  model.set_weight_decay_lambda(0.5F);
  SimpleSGDTrainer trainer(model, 0.1F);
  cg.backward(loss());
  trainer.update();
  ASSERT_LT(e.current_weight_decay(), 1.0F) << "else this tests nothing";
  const Expression z = loss();
  EXPECT_TRUE(check_grad(model, z, 0));
}

TEST_F(GradCheck, VerbositySaysWhatIsPrinted) {
  const Expression right = squared_norm(parameter(cg, w));
  const Expression wrong = squared_norm(scale_gradient(parameter(cg, w), 1.5F));
  const auto said = [&](const Expression& z, int verbosity) {
    ::testing::internal::CaptureStderr();
    check_grad(model, z, verbosity);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said(right, 0), "");
  EXPECT_EQ(said(wrong, 0), "");
  EXPECT_EQ(said(right, 1), "check_grad: passed, 4 numbers\n");
  EXPECT_NE(said(right, 2).find("/w[3]: gradient 0.5, difference "), std::string::npos);
  const std::string errors = said(wrong, 1);
  EXPECT_NE(errors.find("/w[1]: gradient -3, difference "), std::string::npos) << errors;
  EXPECT_NE(errors.find("4 of 4 numbers are wrong"), std::string::npos) << errors;
}

TEST_F(GradCheck, ErrorsLeaveTheModelAsItWas) {
  Expression vector = parameter(cg, w);
  EXPECT_THROW(check_grad(model, vector, 0), errors::ShapeError);
  EXPECT_THROW(check_grad(model, Expression(), 0), errors::StaleExpression);
  const Expression stale = loss();
  cg.clear();
  EXPECT_THROW(check_grad(model, stale, 0), errors::StaleExpression);
  EXPECT_EQ(as_vector(*w.values()), (Floats{0.5F, -1, 2, 0.25F}));
}

TEST(GradCheckInDouble, StoredNumbersComeBackToTheBit) {
  Device* const device = get_device_manager()->get_global_device("CPU:double");
  ParameterCollection model;
  Parameter w = model.add_parameters({3}, ParameterInitUniform(1.0F), "w", device);
  ComputationGraph before;
  before.backward(sum_elems(log(parameter(before, w) + 3.0F)));
  SimpleSGDTrainer trainer(model, 0.1F);
  trainer.update();  // now the numbers are no floats
  const std::vector<double> values = as_double_vector(*w.values());
  ComputationGraph cg;
  const Expression z = squared_norm(parameter(cg, w));
  EXPECT_TRUE(check_grad(model, z, 0));
  EXPECT_EQ(as_double_vector(*w.values()), values);
}

}  // namespace
}  // namespace dynet
