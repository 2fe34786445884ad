// Functions that programs of DyNet 2.1 call and no other test does.

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "dynet/expr.h"
#include "dynet/functors.h"
#include "dynet/saxe-init.h"
#include "dynet/str-util.h"
#include "dynet/training.h"

#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;

TEST(OldFunctions, NodesAddedByIndexAreThoseOfTheFunctions) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({1, 2}));
  LookupParameter e = model.add_lookup_parameters(2, {2}, ParameterInitFromVector({3, 4, 5, 6}));
  const unsigned index = 1;
  const std::vector<unsigned> both{1, 0};
  ComputationGraph cg;
  EXPECT_EQ(as_vector(cg.get_value(cg.add_parameters(w))), (Floats{1, 2}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_parameters(w))), (Floats{1, 2}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_parameters(e))), (Floats{3, 4, 5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_parameters(e))), (Floats{3, 4, 5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_lookup(e, 1U))), (Floats{5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_lookup(e, &index))), (Floats{5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_lookup(e, both))), (Floats{5, 6, 3, 4}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_lookup(e, &both))), (Floats{5, 6, 3, 4}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_lookup(e, 1U))), (Floats{5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_lookup(e, &index))), (Floats{5, 6}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_lookup(e, both))), (Floats{5, 6, 3, 4}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_const_lookup(e, &both))), (Floats{5, 6, 3, 4}));
  EXPECT_EQ(as_vector(cg.get_value(cg.add_input(Dim({3}), {2U, 0U}, {1, 2}, nullptr, 7))),
            (Floats{2, 7, 1}));

  const Expression trained(&cg, cg.add_parameters(w));
  const Expression constant(&cg, cg.add_const_parameters(w));
  cg.backward(dot_product(trained, constant));
  EXPECT_EQ(as_vector(*w.gradients()), (Floats{1, 2})) << "of the trained one alone";
}

TEST(OldFunctions, GraphsAndExpressionsSayWhoTheyAre) {
  ComputationGraph cg;
  EXPECT_EQ(cg.get_id(), get_current_graph_id());
  const Expression x = input(cg, 2.0F);
  EXPECT_EQ(x.graph_id, cg.get_id());
  EXPECT_EQ(x.get_device_name(), default_device->name);
  cg.clear();
  EXPECT_EQ(cg.get_id(), get_current_graph_id());
  EXPECT_NE(x.graph_id, cg.get_id());
  static_cast<void>(tanh(input(cg, 2.0F)));
  ::testing::internal::CaptureStderr();
  cg.print_graphviz();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), cg.to_dot());
}

TEST(OldFunctions, CollectionsFreezeAndListTheirParameters) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  LookupParameter e = model.add_lookup_parameters(1, {2}, ParameterInitFromVector({3, 4}));
  ASSERT_EQ(model.get_lookup_parameter_storages().size(), 1U);
  EXPECT_EQ(model.get_lookup_parameter_storages()[0].get(), e.p.get());
  model.set_updated_param(&w, false);
  model.set_updated_lookup_param(&e, false);
  EXPECT_FALSE(model.is_updated_param(&w));
  EXPECT_FALSE(model.is_updated_lookup_param(&e));
  const auto step = [&] {
    SimpleSGDTrainer trainer(model, 1.0F);
    ComputationGraph cg;
    cg.backward(sum_elems(parameter(cg, w) + lookup(cg, e, 0)));
    trainer.update();
  };
  step();
  EXPECT_EQ(as_vector(*w.values()), (Floats{3, 4}));
  EXPECT_EQ(as_vector(e.values()->at(0)), (Floats{3, 4}));
  model.set_updated_param(&w, true);
  model.set_updated_lookup_param(&e, true);
  EXPECT_TRUE(model.is_updated_param(&w));
  EXPECT_TRUE(model.is_updated_lookup_param(&e));
  step();
  EXPECT_EQ(as_vector(*w.values()), (Floats{2, 3}));
  EXPECT_EQ(as_vector(e.values()->at(0)), (Floats{2, 3}));
}

TEST(OldFunctions, StoragesAreScaledAndMeasured) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  LookupParameter e = model.add_lookup_parameters(1, {2}, ParameterInitFromVector({3, 4}));
  ComputationGraph cg;
  cg.backward(squared_norm(parameter(cg, w)) + squared_norm(lookup(cg, e, 0)));
  for (ParameterStorageBase* storage : {static_cast<ParameterStorageBase*>(w.p.get()),
                                        static_cast<ParameterStorageBase*>(e.p.get())}) {
    float norm = 0.0F;
    storage->g_squared_l2norm(&norm);
    EXPECT_EQ(norm, 100.0F);
    storage->scale_gradient(0.5F);
    storage->g_squared_l2norm(&norm);
    EXPECT_EQ(norm, 25.0F);
    storage->scale_parameters(2.0F);
    storage->squared_l2norm(&norm);
    EXPECT_EQ(norm, 100.0F);
  }
}

std::string dumped(ComputationGraph& cg, bool nan_check_only = false) {
  ::testing::internal::CaptureStdout();
  cg.dump("", true, true, nan_check_only);
  return ::testing::internal::GetCapturedStdout();
}
std::size_t count(const std::string& text, const std::string& word) {
  std::size_t n = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++n;
  }
  return n;
}

TEST(OldFunctions, DumpWritesTheGradientsThatThereAre) {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  ComputationGraph cg;
  const Expression loss = squared_norm(parameter(cg, w));
  const std::string before = dumped(cg);
  EXPECT_EQ(count(before, "value: "), 2U) << before;
  EXPECT_EQ(count(before, "gradient: "), 0U) << before;
  cg.backward(loss);
  static_cast<void>(tanh(loss));  // after the root of backward: no gradient
  const std::string after = dumped(cg);
  EXPECT_EQ(count(after, "value: "), 3U) << after;
  EXPECT_EQ(count(after, "gradient: "), 2U) << after;
  EXPECT_NE(after.find("gradient: 6 8"), std::string::npos) << after;
  EXPECT_EQ(count(dumped(cg, true), "gradient: finite"), 2U);
  cg.invalidate();
  EXPECT_EQ(count(dumped(cg), "gradient: "), 0U) << "those of values that are gone";
}

TEST(OldFunctions, NamesOfEarlierVersions) {
  using namespace dynet::expr;  // NOLINT(google-build-using-namespace): as programs of 2016 do
  Model model;
  const Parameter w = model.add_parameters({2}, ParameterInitConst(2.0F));
  ComputationGraph cg;
  const dynet::expr::Expression x = dynet::expr::parameter(cg, w);
  EXPECT_EQ(as_vector(cmult(x, x).value()), (Floats{4, 4}));
  EXPECT_EQ(model.size(), 1U);
}

TEST(OldFunctions, OrthonormalMatrices) {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 3});
  orthonormal_random(3, 2.0F, *w.values());
  ComputationGraph cg;
  const Expression x = parameter(cg, w);
  const Floats square = as_vector((transpose(x) * x).value());
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_NEAR(square[i], i % 4 == 0 ? 4.0F : 0.0F, tolerance::kSumsInFloat) << i;
  }
  EXPECT_THROW(orthonormal_random(2, 1.0F, *w.values()), errors::ShapeError);
}

TEST(OldFunctions, TheSmallestNumberOfLogarithms) {
  ComputationGraph cg;
  const Expression zero = input(cg, 0.0F);
  const Expression one = input(cg, 1.0F);
  const float most = -std::log(DYNET_DEVICE_MIN);
  EXPECT_NEAR(as_scalar(binary_log_loss(zero, one).value()), most,
              most * tolerance::kThreeRoundings);
  EXPECT_NEAR(as_scalar(binary_log_loss(one, zero).value()), most,
              most * tolerance::kThreeRoundings);
}

TEST(OldFunctions, Strings) {
  EXPECT_TRUE(endswith("model.txt", ".txt"));
  EXPECT_FALSE(endswith("txt", ".txt"));
  EXPECT_EQ(str_split("/a//b/", '/'), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(str_split("", '/').empty());
}

TEST(OldFunctions, WeightDecayIsInheritedUntilItIsSet) {
  L2WeightDecay parent(0.5F);
  L2WeightDecay child(0.25F);
  child.inherit(parent);
  EXPECT_EQ(child.get_lambda(), 0.5F);
  parent.set_lambda(0.125F);
  EXPECT_EQ(child.get_lambda(), 0.125F);
  child.set_lambda(0.25F);
  EXPECT_EQ(child.get_lambda(), 0.25F);
}

}  // namespace
}  // namespace dynet
