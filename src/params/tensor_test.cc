#include "dynet/tensor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "dynet/except.h"

#include "params/buffer.h"
#include "testing/tolerance.h"

/// The address sanitizer ends the program instead of a null from malloc; these tests ask for the
/// null.
// The sanitizer names it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace dynet {
namespace {

/// A tensor with memory of its own on the device named by the parameter.
class TensorTest : public ::testing::TestWithParam<const char*> {
 protected:
  Tensor make(const Dim& d) {
    Device* device = get_device_manager()->get_global_device(GetParam());
    memory_.emplace_back(*device, d.elements(), "test");
    return {d, reinterpret_cast<float*>(memory_.back().data()), device, DeviceMempool::PS};
  }
  Tensor make(const Dim& d, const std::vector<float>& values) {
    Tensor t = make(d);
    TensorTools::set_elements(t, values);
    return t;
  }
  std::vector<params::Buffer> memory_;
};

INSTANTIATE_TEST_SUITE_P(Devices, TensorTest,
                         ::testing::Values("CPU", "CPU:double", "FAR:0", "FAR:0:double"));

TEST_P(TensorTest, ReadsBackWhatWasSet) {
  const std::vector<float> values{1, 2, 3, 4, 5, 6};
  const Tensor t = make({2, 3}, values);
  EXPECT_EQ(as_vector(t), values);
  EXPECT_EQ(as_double_vector(t), std::vector<double>(values.begin(), values.end()));
  EXPECT_EQ(as_scale_vector(t, 2.0F), (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(TensorTools::access_element(t, 3), 4.0F);
  EXPECT_EQ(TensorTools::access_element(t, Dim({1, 2})), 6.0F);
  EXPECT_THROW((void)TensorTools::access_element(t, 6), errors::IndexError);
  EXPECT_THROW((void)TensorTools::access_element(t, -1), errors::IndexError);
  EXPECT_THROW((void)TensorTools::access_element(t, Dim({2, 0})), errors::IndexError);
  EXPECT_THROW(TensorTools::set_elements(t, std::vector<float>(5)), errors::SizeError);
  EXPECT_EQ(as_vector(t), values);
  const Tensor part(Dim({2}), t.v, t.device, t.mem_pool);
  TensorTools::set_elements(part, {1, 2, 7, 8});  // as in 2.1: the first ones, and no others
  EXPECT_EQ(as_vector(t), values);
  EXPECT_THROW(as_scalar(t), std::runtime_error);
  EXPECT_EQ(as_scalar(make({1}, {7})), 7.0F);
  std::ostringstream os;
  os << t;
  EXPECT_EQ(os.str(), "1 3 5\n2 4 6");
}

TEST_P(TensorTest, BatchesAreViews) {
  const Tensor t = make(Dim({2}, 3), {1, 2, 3, 4, 5, 6});
  const std::vector<Tensor> all = t.batch_elems();
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(as_vector(all[2]), (std::vector<float>{5, 6}));
  EXPECT_EQ(as_vector(Tensor({2}, const_cast<float*>(t.batch_ptr(4)), t.device, t.mem_pool)),
            (std::vector<float>{3, 4}));
  EXPECT_THROW((void)t.batch_elem(3), errors::UsageError);
  const Tensor single = make({2}, {1, 2});
  EXPECT_EQ(as_vector(single.batch_elem(9)), (std::vector<float>{1, 2}));
}

TEST_P(TensorTest, ToolsChangeInPlace) {
  Tensor t = make({4}, {-2, -0.5F, 0.5F, 2});
  TensorTools::clip(t, -1, 1);
  EXPECT_EQ(as_vector(t), (std::vector<float>{-1, -0.5F, 0.5F, 1}));
  TensorTools::scale(t, 2, 1);
  EXPECT_EQ(as_vector(t), (std::vector<float>{-1, 0, 2, 3}));
  TensorTools::constant(t, 3);
  TensorTools::accumulate(t, make({4}, {1, 2, 3, 4}));
  EXPECT_EQ(as_vector(t), (std::vector<float>{4, 5, 6, 7}));
  Tensor other = make({2, 2});
  TensorTools::copy_elements(other, t);
  EXPECT_EQ(as_vector(other), as_vector(t));
  TensorTools::copy_element(t, 0, other, 3);
  EXPECT_EQ(TensorTools::access_element(other, 3), 4.0F);
  TensorTools::set_element(other, 3, 9);
  EXPECT_EQ(TensorTools::access_element(other, 3), 9.0F);
  TensorTools::identity(other);
  EXPECT_EQ(as_vector(other), (std::vector<float>{1, 0, 0, 1}));
  TensorTools::zero(other);
  EXPECT_EQ(as_vector(other), std::vector<float>(4));
  Tensor five = make({5});
  EXPECT_THROW(TensorTools::copy_elements(five, t), errors::ShapeError);
  EXPECT_THROW(TensorTools::accumulate(five, t), errors::ShapeError);
  EXPECT_THROW(TensorTools::identity(five), std::runtime_error);
  TensorTools::set_elements(t, {0, 0.4F, 0.6F, 0.99F});
  TensorTools::uniform_to_bernoulli(t, 0.5F);
  EXPECT_EQ(as_vector(t), (std::vector<float>{0, 0, 1, 1}));
}

using Indices = std::vector<Eigen::DenseIndex>;

TEST_P(TensorTest, PositionsOfTheLargest) {
  const Tensor t = make(Dim({2, 3}, 2), {1, 5, 4, 2, 4, 3, -1, -2, -3, -1, -5, -1});
  const IndexTensor columns = TensorTools::argmax(t);
  EXPECT_EQ(columns.d, Dim({1, 3}, 2));
  EXPECT_EQ(as_vector(columns), (Indices{1, 0, 0, 0, 1, 1}));
  const IndexTensor rows = TensorTools::argmax(t, 1);
  EXPECT_EQ(rows.d, Dim({2, 1}, 2));
  EXPECT_EQ(as_vector(rows), (Indices{1, 0, 0, 1})) << "the first of equal ones";
  const auto [numbers, positions] = TensorTools::topk(t, 1, 2);
  EXPECT_EQ(numbers.d, Dim({2, 2}, 2));
  EXPECT_EQ(as_vector(numbers), (std::vector<float>{4, 5, 4, 3, -1, -1, -3, -1}));
  EXPECT_EQ(as_vector(positions), (Indices{1, 0, 2, 2, 0, 1, 1, 2}));
  EXPECT_THROW((void)TensorTools::argmax(t, 0, 2), std::runtime_error);
  EXPECT_THROW((void)TensorTools::argmax(t, 2), errors::ShapeError);
  EXPECT_THROW((void)TensorTools::topk(t, 1, 4), errors::ShapeError);
  EXPECT_THROW((void)TensorTools::topk(t, 1, 0), errors::ShapeError);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(as_vector(TensorTools::argmax(make({3}, {1, nan, 2}))), (Indices{1}));
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(as_vector(TensorTools::argmax(make({4}, {inf, nan, 2, nan}))), (Indices{1}));
}

TEST_P(TensorTest, PositionsAreDrawnByProbability) {
  rndeng->seed(7);
  const Tensor t = make({3}, {std::log(1.0F), std::log(2.0F), std::log(5.0F)});
  std::vector<double> drawn(3);
  constexpr std::size_t kDraws = 2000;
  for (std::size_t i = 0; i < kDraws; ++i) {
    drawn.at(static_cast<std::size_t>(TensorTools::categorical_sample_log_prob(t).v[0])) +=
        1.0 / kDraws;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = std::vector<double>{0.125, 0.25, 0.625}[i];
    EXPECT_NEAR(drawn[i], p, tolerance::of_mean(std::sqrt(p * (1 - p)), kDraws));
  }
  EXPECT_THROW((void)TensorTools::categorical_sample_log_prob(t, 0, 2), std::runtime_error);
}

TEST_P(TensorTest, LogsOfSumsOfExponentials) {
  const Tensor t = make({2, 3}, {0, 100, 0, 100, 0, 100});
  Tensor m = make({2});
  Tensor z = make({2});
  TensorTools::logsumexp(t, m, z, 1);
  EXPECT_EQ(as_vector(m), (std::vector<float>{0, 100}));
  const std::vector<float> logs = as_vector(z);
  EXPECT_NEAR(logs[0], std::log(3.0), tolerance::kThreeRoundings);
  EXPECT_NEAR(logs[1], 100 + std::log(3.0), 100 * tolerance::kThreeRoundings);
  EXPECT_THROW(TensorTools::logsumexp(t, m, z, 0), errors::ShapeError);
}

TEST_P(TensorTest, FindsNumbersThatAreNot) {
  const Tensor t = make({3}, {1, 2, 3});
  EXPECT_TRUE(t.is_valid());
  TensorTools::set_element(t, 1, std::numeric_limits<float>::infinity());
  EXPECT_FALSE(t.is_valid());
  TensorTools::set_element(t, 1, std::numeric_limits<float>::quiet_NaN());
  EXPECT_FALSE(t.is_valid());
}

TEST_P(TensorTest, DrawsAreThoseOfTheStandardLibraryInMemoryOrder) {
  Tensor t = make({3, 5});
  rndeng->seed(5);
  TensorTools::randomize_uniform(t, -2, 3);
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> uniform(-2.0F, 3.0F);
  for (const float x : as_vector(t)) {
    EXPECT_EQ(x, uniform(engine));
  }
  rndeng->seed(6);
  TensorTools::randomize_normal(t, 1, 2);
  engine.seed(6);
  std::normal_distribution<float> normal(1.0F, 2.0F);
  for (const float x : as_vector(t)) {
    EXPECT_EQ(x, normal(engine));
  }
  rndeng->seed(7);
  TensorTools::randomize_bernoulli(t, 0.25F, 4.0F);
  engine.seed(7);
  std::bernoulli_distribution bernoulli(0.25);
  for (const float x : as_vector(t)) {
    EXPECT_EQ(x, bernoulli(engine) ? 4.0F : 0.0F);
  }
  EXPECT_THROW(TensorTools::randomize_bernoulli(t, 1.5F), errors::DomainError);
  EXPECT_THROW(TensorTools::randomize_normal(t, 0, -1), errors::DomainError);
  EXPECT_THROW(TensorTools::randomize_uniform(t, 1, 0), errors::DomainError);
}

TEST_P(TensorTest, OrthonormalMatrices) {
  for (const unsigned n : {1U, 2U, 17U}) {
    Tensor t = make({n, n});
    TensorTools::randomize_orthonormal(t, 3.0F);
    const std::vector<double> q = as_double_vector(t);
    const double tolerance = t.is_double() ? tolerance::kSameInDouble : tolerance::kSumsInFloat;
    for (unsigned i = 0; i < n; ++i) {
      for (unsigned j = 0; j < n; ++j) {
        double dot = 0.0;
        for (unsigned k = 0; k < n; ++k) {
          dot += q[i * n + k] * q[j * n + k];
        }
        EXPECT_NEAR(dot, i == j ? 9.0 : 0.0, tolerance);
      }
    }
  }
  Tensor row = make({2, 3});
  EXPECT_THROW(TensorTools::randomize_orthonormal(row), errors::UsageError);
}

TEST(Random, StaysInRange) {
  for (int i = 0; i < 1000; ++i) {
    const int n = rand0n(3);
    EXPECT_TRUE(n >= 0 && n < 3);
    EXPECT_TRUE(rand01() >= 0.0F);
    EXPECT_TRUE(std::isfinite(rand_normal()));
  }
  EXPECT_THROW(rand0n(0), std::runtime_error);
}

TEST(Tensors, CopyBetweenNumberTypes) {
  Device* checker = get_device_manager()->get_global_device("CPU:double");
  std::vector<double> numbers{0.1, 0.2};
  std::vector<float> floats(2);
  Tensor from({2}, reinterpret_cast<float*>(numbers.data()), checker, DeviceMempool::NONE);
  Tensor to({2}, floats.data(), nullptr, DeviceMempool::NONE);
  TensorTools::copy_elements(to, from);
  EXPECT_EQ(floats, (std::vector<float>{0.1F, 0.2F}));
  TensorTools::accumulate(from, to);
  EXPECT_EQ(numbers[0], 0.1 + static_cast<double>(0.1F));
}

TEST(Buffer, StartsOn64BytesAndIsZero) {
  const Device& cpu = *get_device_manager()->get_global_device("CPU");
  const Device& in_double = *get_device_manager()->get_global_device("CPU:double");
  for (const int n : {0, 1, 7, 1000, 1 << 20}) {
    const params::Buffer m(cpu, n, "test");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(m.data()) % 64, 0U);
    for (int i = 0; i < n; ++i) {
      ASSERT_EQ(reinterpret_cast<float*>(m.data())[i], 0.0F);
    }
  }
  EXPECT_THROW(params::Buffer(in_double, std::int64_t{1} << 60, "test"), errors::SizeError);
  EXPECT_THROW(params::Buffer(cpu, std::int64_t{1} << 59, "test"), out_of_memory);
}

TEST(Devices, AreFoundByName) {
  const DeviceManager& manager = *get_device_manager();
  EXPECT_EQ(manager.get_global_device(""), default_device);
  EXPECT_EQ(manager.get_global_device("CPU"), manager.get_devices().back());
  EXPECT_FALSE(manager.get_global_device("CPU")->is_double());
  EXPECT_TRUE(manager.get_global_device("CPU:double")->is_double());
  EXPECT_THROW((void)manager.get_global_device("GPU:0"), std::runtime_error);
  EXPECT_THROW((void)manager.get(manager.num_devices()), errors::IndexError);
}

}  // namespace
}  // namespace dynet
