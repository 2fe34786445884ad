// Far ends: very deep graphs, very many graphs, sizes that cannot be counted, memory that runs out.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "dynet/expr.h"
#include "dynet/training.h"

#include "memory/pool.h"

namespace dynet {
namespace {

class Limits : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Limits, ::testing::Bool());

/// 200,000 nodes in a row, on an ordinary stack.
TEST_P(Limits, DeepGraph) {
  constexpr int kDepth = 200000;
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  ComputationGraph cg(GetParam());
  Expression h = parameter(cg, w);
  for (int i = 0; i < kDepth; ++i) {
    h = h * 0.99999F;
  }
  const Expression loss = sum_elems(h);
  const double expected = 2.0 * std::pow(static_cast<double>(0.99999F), kDepth);
  EXPECT_NEAR(as_scalar(loss.value()), expected, 1e-3 * expected);
  cg.backward(loss);
  EXPECT_NEAR(as_vector(w.get_storage().g)[1], expected / 2.0, 1e-3 * expected);
}

/// 100,000 nodes side by side: one merged call of many.
TEST_P(Limits, WideGraph) {
  constexpr unsigned kWidth = 100000;
  ParameterCollection model;
  LookupParameter table = model.add_lookup_parameters(10, {3}, ParameterInitConst(0.5F));
  ComputationGraph cg(GetParam());
  std::vector<Expression> terms;
  terms.reserve(kWidth);
  for (unsigned i = 0; i < kWidth; ++i) {
    terms.push_back(squared_norm(lookup(cg, table, i % 10)));
  }
  const Expression loss = sum(terms);
  EXPECT_NEAR(as_scalar(loss.value()), 0.75 * kWidth, 1e-4 * kWidth);
  cg.backward(loss);
  EXPECT_NEAR(as_vector(table.get_storage().all_grads)[0], 1.0 * kWidth / 10, 1e-2 * kWidth);
}

TEST(Sizes, MoreElementsThanCanBeCounted) {
  const unsigned most = std::numeric_limits<unsigned>::max();
  ComputationGraph cg;
  EXPECT_THROW(constant(cg, {most, most}, 1.0F), SizeError);
  EXPECT_THROW(constant(cg, {65536, 65536, 65536, 65536}, 1.0F), SizeError);
  EXPECT_EQ(cg.nodes.size(), 0U);
  ParameterCollection model;
  EXPECT_THROW(model.add_parameters({most, most}), SizeError);
  EXPECT_THROW(model.add_lookup_parameters(most, {most, 2}), SizeError);
  EXPECT_EQ(model.parameters_list().size(), 0U);
  EXPECT_EQ(model.parameter_count(), 0U);
}

/// 65536 x 65537 elements do not fit 32 bits: nothing wraps.
TEST(Sizes, MoreElementsThan32Bits) {
  const Dim d{65536, 65537};
  EXPECT_EQ(d.elements(), 65536LL * 65537LL);
  EXPECT_THROW(static_cast<void>(d.size()), SizeError);
  ComputationGraph cg;
  const Expression x = input(cg, {65536, 1}, std::vector<float>(65536, 1.0F));
  const Expression y = input(cg, {1, 65537}, std::vector<float>(65537, 1.0F));
  memory::set_cap(std::size_t{256} << 20);
  EXPECT_THROW(static_cast<void>((x * y).value()), out_of_memory);
  memory::set_cap(0);
  EXPECT_EQ(as_scalar(sum_elems(x).value()), 65536.0F);
}

class Memory : public ::testing::TestWithParam<bool> {
 protected:
  ~Memory() override { memory::set_cap(0); }
};
INSTANTIATE_TEST_SUITE_P(Batching, Memory, ::testing::Bool());

/// A step too large for the cap fails with an exception; the model, the graph's smaller nodes and
/// later graphs are as before.
TEST_P(Memory, RunsOutAndRecovers) {
  ParameterCollection model;
  Parameter w = model.add_parameters({64}, ParameterInitConst(1.0F));
  const auto step = [&](ComputationGraph& cg, unsigned copies, bool backward) {
    std::vector<Expression> terms;
    for (unsigned i = 0; i < copies; ++i) {
      const Expression row = reshape(parameter(cg, w), {1, 64});
      terms.push_back(squared_norm(tanh(parameter(cg, w) * row)));
    }
    const Expression loss = sum(terms);
    const float value = as_scalar(loss.value());
    if (backward) {
      cg.backward(loss);
    }
    return value;
  };
  float small = 0.0F;
  {
    ComputationGraph cg(GetParam());
    small = step(cg, 2, true);
  }
  const std::vector<float> gradient = as_vector(w.get_storage().g);
  const std::vector<float> values = as_vector(*w.values());
  for (int round = 0; round < 3; ++round) {
    model.reset_gradient();
    memory::set_cap(memory::bytes_held() + (std::size_t{1} << 20));
    {
      ComputationGraph cg(GetParam());
      const Expression before = sum_elems(parameter(cg, w));
      EXPECT_EQ(as_scalar(before.value()), 64.0F);
      try {
        step(cg, 3000, true);  // 100 MB
        ADD_FAILURE() << "no exception";
      } catch (const out_of_memory& e) {
        EXPECT_NE(std::string(e.what()).find("bytes"), std::string::npos) << e.what();
        EXPECT_NE(std::string(e.what()).find(" of node "), std::string::npos) << e.what();
      }
      EXPECT_EQ(as_scalar(before.value()), 64.0F);
      cg.clear();
      EXPECT_EQ(step(cg, 2, false), small);
    }
    EXPECT_EQ(as_vector(*w.values()), values);
    EXPECT_EQ(as_vector(w.get_storage().g), std::vector<float>(64, 0.0F));
    ComputationGraph cg(GetParam());
    EXPECT_EQ(step(cg, 2, true), small);
    EXPECT_EQ(as_vector(w.get_storage().g), gradient);
  }
}

/// The same graph goes on when there is memory again.
TEST_P(Memory, GraphGoesOnWhenThereIsMemoryAgain) {
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, {1024, 1}, std::vector<float>(1024, 0.5F));
  const Expression y = input(cg, {1, 1024}, std::vector<float>(1024, 2.0F));
  Expression sum_of = sum_elems(x);
  static_cast<void>(sum_of.value());
  std::vector<Expression> products;
  for (int i = 0; i < 8; ++i) {
    products.push_back(square(x * y));
  }
  const Expression total = sum_elems(sum(products));
  memory::set_cap(memory::bytes_held() + (std::size_t{8} << 20));
  EXPECT_THROW(static_cast<void>(total.value()), out_of_memory);
  EXPECT_THROW(static_cast<void>(total.value()), out_of_memory);
  memory::set_cap(0);
  EXPECT_NEAR(as_scalar(total.value()), 8.0 * 1024 * 1024, 10.0);
}

/// Running out in backward adds nothing to the parameters.
TEST_P(Memory, BackwardRunsOut) {
  ParameterCollection model;
  Parameter w = model.add_parameters({512}, ParameterInitConst(0.01F));
  ComputationGraph cg(GetParam());
  std::vector<Expression> terms;
  for (int i = 0; i < 16; ++i) {
    terms.push_back(squared_norm(tanh(parameter(cg, w) * reshape(parameter(cg, w), {1, 512}))));
  }
  const Expression loss = sum(terms);
  static_cast<void>(loss.value());
  memory::set_cap(memory::bytes_held() + (std::size_t{1} << 20));
  EXPECT_THROW(cg.backward(loss), out_of_memory);
  EXPECT_EQ(as_vector(w.get_storage().g), std::vector<float>(512, 0.0F));
  memory::set_cap(0);
  cg.backward(loss);
  const std::vector<float> g = as_vector(w.get_storage().g);
  // loss = 16 sum_ij tanh(w_i w_j)^2, so dL/dw_i = 16 * 2 * sum_j 2 t (1 - t^2) w_j
  const double t = std::tanh(1e-4);
  EXPECT_NEAR(g[5], 16 * 2 * 512 * 2 * t * (1 - t * t) * 0.01, 1e-4);
}

TEST(ManyGraphs, ThousandAtOnce) {
  ParameterCollection model;
  Parameter w = model.add_parameters({3}, ParameterInitConst(2.0F));
  const int before = get_number_of_active_graphs();
  std::vector<std::unique_ptr<ComputationGraph>> graphs;
  std::vector<Expression> losses;
  for (int i = 0; i < 1000; ++i) {
    graphs.push_back(std::make_unique<ComputationGraph>(i % 2 == 0));
    losses.push_back(squared_norm(parameter(*graphs.back(), w) * static_cast<float>(i)));
  }
  EXPECT_EQ(get_number_of_active_graphs(), before + 1000);
  for (int i = 999; i >= 0; --i) {
    const auto n = static_cast<std::size_t>(i);
    EXPECT_EQ(as_scalar(losses[n].value()), 12.0F * static_cast<float>(i) * static_cast<float>(i));
    graphs[n]->backward(losses[n]);
    if (i % 3 == 0) {
      graphs[n].reset();
    }
  }
  double sum_of_squares = 0.0;
  for (int i = 0; i < 1000; ++i) {
    sum_of_squares += static_cast<double>(i) * i;
  }
  EXPECT_NEAR(as_vector(w.get_storage().g)[0], 4.0 * sum_of_squares, 1e-5 * 4.0 * sum_of_squares);
}

}  // namespace
}  // namespace dynet
