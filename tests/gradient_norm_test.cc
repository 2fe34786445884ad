// The norm of gradients is counted while gradients are written. Whatever else happens to a
// gradient, the norm must be right for its numbers.

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>

#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/training.h"

#include "params/state.h"
#include "support/far_device.h"
#include "testing/device.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

constexpr unsigned kRows = 67;  // no whole number of vectors
constexpr unsigned kColumns = 50;

class GradientNorm : public ::testing::TestWithParam<const char*> {
 protected:
  GradientNorm() { add_parameters(); }
  void add_parameters() {
    model_ = ParameterCollection();
    w_ = model_.add_parameters({kRows, kColumns});
    b_ = model_.add_parameters({kRows});
    table_ = model_.add_lookup_parameters(40, {kColumns});
  }

  enum class Uses { kProducts, kWeightItself, kBoth };
  /// Gradients from `words` products and from elsewhere, all times `scale`.
  void backward(Uses uses = Uses::kProducts, unsigned words = 7, float scale = 1.0F) {
    ComputationGraph cg;
    const Expression w = parameter(cg, w_);
    std::vector<Expression> losses;
    for (unsigned i = 0; uses != Uses::kWeightItself && i < words; ++i) {
      losses.push_back(sum_elems(tanh(w * lookup(cg, table_, i % 40) + parameter(cg, b_))));
    }
    if (uses != Uses::kProducts) {
      losses.push_back(squared_norm(w));
    }
    cg.backward(sum(losses) * scale);
  }
  /// The norm of the numbers as whoever looks sees them. From then on nothing is kept.
  double norm_of_numbers() {
    double sum = 0.0;
    for (const auto& p : model_.parameters_list()) {
      for (const double x : as_double_vector(p->g)) {
        sum += p->is_updated() ? x * x : 0.0;
      }
    }
    for (const auto& p : model_.lookup_parameters_list()) {
      for (const double x : as_double_vector(p->all_grads)) {
        sum += p->is_updated() ? x * x : 0.0;
      }
    }
    return std::sqrt(sum);
  }
  void expect_true_norm() {
    const auto said = static_cast<double>(model_.gradient_l2_norm());
    const double is = norm_of_numbers();
    EXPECT_NEAR(said, is, tolerance::kThroughFloat * is);
    EXPECT_EQ(model_.gradient_l2_norm(), static_cast<float>(is)) << "once it was looked at";
  }
  static bool is_kept(const Parameter& p) {
    return p.p->state().gradient.squared_norm().has_value();
  }
  /// Whether the device finds the norm while it writes the gradient.
  static bool device_keeps() {
    return !default_device->is_double() && default_device->is_host_visible();
  }

  testing::DefaultDevice scope_{testing::test_device(GetParam())};
  ParameterCollection model_;
  Parameter w_;
  Parameter b_;
  LookupParameter table_;
};
INSTANTIATE_TEST_SUITE_P(Devices, GradientNorm, ::testing::Values("CPU", "CPU:double"));

TEST_P(GradientNorm, IsKeptFromTheProduct) {
  backward();
  EXPECT_EQ(is_kept(w_), device_keeps());
  expect_true_norm();
}

TEST_P(GradientNorm, OfAWeightThatIsUsedInOtherWays) {
  for (const Uses uses : {Uses::kBoth, Uses::kWeightItself}) {
    backward(uses);
    EXPECT_EQ(is_kept(w_), uses == Uses::kBoth && device_keeps());
    // A product that was kept, then something added without one.
    backward(Uses::kProducts);
    backward(uses);
  }
  expect_true_norm();
}

TEST_P(GradientNorm, OfSeveralBackwardPasses) {
  backward();
  backward(Uses::kProducts, 30);
  EXPECT_EQ(is_kept(w_), device_keeps());
  expect_true_norm();
}

TEST_P(GradientNorm, OfManyColumnsThatComeInChunks) {
  for (const unsigned words : {1U, 2U, 65U, 140U, 1500U}) {
    model_.reset_gradient();
    backward(Uses::kProducts, words);
  }
  EXPECT_EQ(is_kept(w_), device_keeps());
  expect_true_norm();
}

TEST_P(GradientNorm, OfALargeWeight) {
  // A wide result, the inner dimension cut into panels: of one block, and gathered from several.
  const Parameter large = model_.add_parameters({400, 300});
  ComputationGraph cg;
  const Expression x = random_normal(cg, Dim({300}, 700));
  const Expression y = random_normal(cg, Dim({300}, 3));
  cg.backward(sum_batches(sum_elems(tanh(parameter(cg, large) * x))) +
              sum_batches(sum_elems(parameter(cg, large) * y)));
  EXPECT_EQ(is_kept(large), device_keeps());
  expect_true_norm();
}

TEST_P(GradientNorm, FollowsWhateverChangesAGradient) {
  const std::vector<float> more(std::size_t{kRows} * kColumns, 0.25F);
  const Tensor tensor({kRows, kColumns}, const_cast<float*>(more.data()), nullptr,
                      DeviceMempool::NONE);
  const auto write = [&](Tensor& g) { TensorTools::set_element(g, 3, 100.0F); };
  const std::pair<const char*, std::function<void()>> ways[] = {
      {"accumulate_grad", [&] { w_.p->accumulate_grad(tensor); }},
      {"scale_gradient of the handle", [&] { w_.scale_gradient(3.0F); }},
      {"scale_gradient of the storage", [&] { w_.p->scale_gradient(0.5F); }},
      {"clear", [&] { w_.p->clear(); }},
      {"zero", [&] { w_.zero(); }},
      {"reset_gradient", [&] { model_.reset_gradient(); }},
      {"gradients()", [&] { write(*w_.gradients()); }},
      {"get_storage()", [&] { write(w_.get_storage().g); }},
      {"get_storage() of the model", [&] { write(model_.get_storage().params[0]->g); }},
      {"parameters_list()", [&] { write(model_.parameters_list()[0]->g); }},
      {"get_parameter_storages()", [&] { write(model_.get_parameter_storages()[0]->g); }},
      {"get_parameter_storage()", [&] { write(model_.get_parameter_storage("/_0")->g); }},
      {"freezing", [&] { w_.set_updated(false); }},
      {"an update and another backward",
       [&] {
         SimpleSGDTrainer(model_).update();
         backward(Uses::kBoth);
       }},
  };
  for (const auto& [name, change] : ways) {
    SCOPED_TRACE(name);
    add_parameters();
    backward();
    const float before = model_.gradient_l2_norm();
    change();
    EXPECT_NE(model_.gradient_l2_norm(), before);
    expect_true_norm();
  }
}

TEST_P(GradientNorm, FollowsAPointerThatWasTakenBefore) {
  Tensor* g = w_.gradients();
  for (int round = 0; round < 2; ++round) {
    backward();
    const float before = model_.gradient_l2_norm();
    TensorTools::set_element(*g, 3, 100.0F);
    EXPECT_GT(model_.gradient_l2_norm(), before);
    expect_true_norm();
  }
}

TEST_P(GradientNorm, OfALoadedGradient) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("w.model");
  b_.set_updated(false);
  table_.set_updated(false);
  backward();
  TextFileSaver(file).save(w_, "/w");
  const float saved = model_.gradient_l2_norm();
  backward(Uses::kBoth);
  TextFileLoader(file).populate(w_, "/w");
  EXPECT_NEAR(model_.gradient_l2_norm(), saved, tolerance::kSumsInFloat * saved);
  expect_true_norm();
}

TEST_P(GradientNorm, OfATableUsedAsAMatrix) {
  const LookupParameter matrix = model_.add_lookup_parameters(kColumns, {kRows});
  const auto whole = [&] {
    ComputationGraph cg;
    cg.backward(sum_elems(tanh(parameter(cg, matrix) * lookup(cg, table_, 1))));
  };
  whole();
  {
    ComputationGraph cg;
    cg.backward(squared_norm(lookup(cg, matrix, 2)));
  }
  const float both = model_.gradient_l2_norm();
  whole();
  EXPECT_NE(model_.gradient_l2_norm(), both);
  expect_true_norm();
}

TEST_P(GradientNorm, OfNumbersWhoseSquaresAreNoFloats) {
  for (const float scale : {1e25F, 1e-25F}) {
    model_.reset_gradient();
    backward(Uses::kProducts, 7, scale);
    const auto norm = static_cast<double>(model_.gradient_l2_norm());
    model_.reset_gradient();
    backward();
    const double want = static_cast<double>(model_.gradient_l2_norm()) * static_cast<double>(scale);
    EXPECT_NEAR(norm, want, tolerance::kThroughFloat * want);
  }
}

TEST_P(GradientNorm, OfWhatIsNoNumber) {
  backward(Uses::kProducts, 7, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(std::isfinite(model_.gradient_l2_norm()));
  SimpleSGDTrainer trainer(model_);
  EXPECT_THROW(trainer.update(), errors::NumericError);
  EXPECT_EQ(model_.gradient_l2_norm(), 0.0F);
}

}  // namespace
}  // namespace dynet
