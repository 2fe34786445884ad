// Far ends: very deep graphs, very many graphs, sizes that cannot be counted, memory that runs out.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/payload.h"
#include "dynet/lstm.h"
#include "dynet/training.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
#include "memory/pool.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

class Limits : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Batching, Limits, ::testing::Bool());

/// 200,000 nodes in a row, on an ordinary stack.
TEST_P(Limits, DeepGraph) {
  constexpr int kDepth = 200000;
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitConst(1.0F));
  ComputationGraph cg(GetParam());
  Expression h = parameter(cg, w);
  for (int i = 0; i < kDepth; ++i) {
    h = h * 0.99999F;
  }
  const Expression loss = sum_elems(h);
  const double expected = 2.0 * std::pow(static_cast<double>(0.99999F), kDepth);
  EXPECT_NEAR(as_scalar(loss.value()), expected, tolerance::kManyProductsInFloat * expected);
  cg.backward(loss);
  EXPECT_NEAR(as_vector(w.get_storage().g)[1], expected / 2.0,
              tolerance::kManyProductsInFloat * expected);
}

/// 100,000 nodes side by side: one merged call of many.
TEST_P(Limits, WideGraph) {
  constexpr unsigned kWidth = 100000;
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(10, {3}, ParameterInitConst(0.5F));
  ComputationGraph cg(GetParam());
  std::vector<Expression> terms;
  terms.reserve(kWidth);
  for (unsigned i = 0; i < kWidth; ++i) {
    terms.push_back(squared_norm(lookup(cg, table, i % 10)));
  }
  const Expression loss = sum(terms);
  EXPECT_NEAR(as_scalar(loss.value()), 0.75 * kWidth, tolerance::kManyTermsInFloat * kWidth);
  cg.backward(loss);
  EXPECT_NEAR(as_vector(table.get_storage().all_grads)[0], 1.0 * kWidth / 10,
              tolerance::kManyAddedInFloat * kWidth);
}

TEST(Sizes, MoreElementsThanCanBeCounted) {
  const unsigned most = std::numeric_limits<unsigned>::max();
  ComputationGraph cg;
  EXPECT_THROW(constant(cg, {most, most}, 1.0F), errors::SizeError);
  EXPECT_THROW(constant(cg, {65536, 65536, 65536, 65536}, 1.0F), errors::SizeError);
  EXPECT_EQ(cg.nodes.size(), 0U);
  ParameterCollection model;
  EXPECT_THROW(model.add_parameters({most, most}), errors::SizeError);
  EXPECT_THROW(model.add_lookup_parameters(most, {most, 2}), errors::SizeError);
  EXPECT_EQ(model.parameters_list().size(), 0U);
  EXPECT_EQ(model.parameter_count(), 0U);
}

/// 65536 x 65537 elements do not fit 32 bits: nothing wraps.
TEST(Sizes, MoreElementsThan32Bits) {
  const Dim d{65536, 65537};
  EXPECT_EQ(d.elements(), 65536LL * 65537LL);
  EXPECT_THROW(static_cast<void>(d.size()), errors::SizeError);
  ComputationGraph cg;
  const Expression x = input(cg, {65536, 1}, std::vector<float>(65536, 1.0F));
  const Expression y = input(cg, {1, 65537}, std::vector<float>(65537, 1.0F));
  memory::set_cap(std::size_t{256} << 20);
  EXPECT_THROW(static_cast<void>((x * y).value()), out_of_memory);
  memory::set_cap(0);
  EXPECT_EQ(as_scalar(sum_elems(x).value()), 65536.0F);
}

/// A weight times a matrix without columns, and without rows: the gradient is a sum over nothing.
TEST(Sizes, ProductsWithNothing) {
  for (const char* name : {"CPU", "CPU:double"}) {
    Device* const device = testing::device(name);
    const testing::DefaultDevice scope(device);
    for (const bool batching : {false, true}) {
      ParameterCollection model;
      const Parameter w = model.add_parameters({3, 4}, ParameterInitConst(1.0F), "", device);
      const Parameter b = model.add_parameters({3}, ParameterInitConst(1.0F), "", device);
      const Parameter empty = model.add_parameters({3, 0}, ParameterInitConst(1.0F), "", device);
      ComputationGraph cg(batching);
      std::vector<Expression> terms;
      for (int i = 0; i < 3; ++i) {
        const Expression x = constant(cg, Dim({4, 0}, 2), 1.0F);
        terms.push_back(sum_batches(sum_elems(parameter(cg, w) * x)));
        terms.push_back(
            sum_batches(sum_elems(affine_transform({parameter(cg, b), parameter(cg, w), x}))));
        terms.push_back(sum_elems(parameter(cg, empty) * constant(cg, {0, 2}, 1.0F)));
      }
      const Expression loss = sum(terms);
      EXPECT_EQ(as_scalar(loss.value()), 0.0F);
      cg.backward(loss);
      EXPECT_EQ(as_vector(w.get_storage().g), std::vector<float>(12, 0.0F));
      EXPECT_EQ(as_vector(b.get_storage().g), std::vector<float>(3, 0.0F));
    }
  }
}

/// A minibatch that happens to be empty.
TEST(Sizes, BatchesOfNothing) {
  ComputationGraph cg;
  const Dim none({3}, 0);
  EXPECT_THROW(input(cg, none, std::vector<float>()), errors::ShapeError);
  EXPECT_THROW(zeros(cg, none), errors::ShapeError);
  EXPECT_THROW(random_normal(cg, none), errors::ShapeError);
  EXPECT_THROW(random_bernoulli(cg, none, 0.5F), errors::ShapeError);
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 3, model);
  lstm.set_dropout(0.5F);
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  EXPECT_THROW(lstm.set_dropout_masks(0), errors::ShapeError);
  EXPECT_EQ(lstm.add_input(zeros(cg, {3})).dim(), Dim({3}));
}

/// 65537 vectors of 65536 in one: 65536 elements more than 32 bits count. Batches likewise.
TEST(Sizes, SumsOfExtentsDoNotWrap) {
  ComputationGraph cg;
  const std::vector<Expression> vectors(65537, constant(cg, {65536}, 1.0F));
  const std::string text = testing::text_of_error<errors::SizeError>([&] { concatenate(vectors); });
  EXPECT_EQ(text.substr(0, 28), "concatenate(x1, x2, x3, x4, ") << text;
  EXPECT_NE(
      text.find("x65537 is {65536}; an extent of the result would be 4295032832; want at most "
                "4294967295\n  built at "),
      std::string::npos)
      << text;
  EXPECT_LT(text.size(), 1000U);
  const std::vector<Expression> batches(65537, constant(cg, Dim({1}, 65536), 1.0F));
  EXPECT_NE(testing::text_of_error<errors::SizeError>([&] {
              concatenate_to_batch(batches);
            }).find("would be 4295032832"),
            std::string::npos);
  EXPECT_EQ(cg.nodes.size(), 2U);
}

/// The gates of a cell, and its saved numbers, are a multiple of its extent.
TEST(Sizes, MultiplesOfExtentsDoNotWrap) {
  constexpr unsigned kHuge = 1U << 30;
  ComputationGraph cg;
  const Expression c = constant(cg, {kHuge}, 0.0F);
  const Expression nothing = constant(cg, {0}, 0.0F);
  EXPECT_THROW(vanilla_lstm_h(c, nothing), errors::ShapeError);  // 4 * 2^30 is no 0
  EXPECT_THROW(vanilla_lstm_c(c, nothing), errors::ShapeError);
  const Expression twice = constant(cg, {2 * kHuge}, 0.0F);
  const std::string text =
      testing::text_of_error<errors::SizeError>([&] { coupled_lstm_h(twice, twice); });
  EXPECT_EQ(
      text.substr(0, text.find('\n')),
      "coupled_lstm_h(o, c): o is {2147483648} and c is {2147483648}; an extent of the result "
      "would be 4294967296; want at most 4294967295");
  const Expression a = constant(cg, {3 * kHuge}, 0.0F);
  EXPECT_THROW(tree_lstm_cell(a, c, c, c, c), errors::SizeError);
  EXPECT_EQ(testing::text_of_error<errors::SizeError>([&] {
              constant(cg, {65536, 65536, 65536, 65536}, 1.0F);
            }).substr(0, 12),
            "constant(): ");
}

TEST(Sizes, BuildersOfHugeLayers) {
  constexpr unsigned kHuge = 1U << 30;
  ParameterCollection model;
  EXPECT_EQ(
      testing::text_of_error<errors::SizeError>([&] { VanillaLSTMBuilder(1, 4, kHuge, model); }),
      "VanillaLSTMBuilder: a parameter has {4h} rows, h is 1073741824: 4294967296; an extent is "
      "at most 4294967295");
  EXPECT_THROW(BinaryTreeLSTMBuilder(4, 3U << 30, model), errors::SizeError);
  EXPECT_THROW(TreeRNNBuilder(1U << 31, model), errors::SizeError);
  EXPECT_EQ(model.parameters_list().size(), 0U);
  EXPECT_EQ(TreeRNNBuilder(2, model).local_model.get_fullname(), "/tree-rnn-builder/");
}

TEST(Sizes, PayloadsOf32BitsAndMore) {
  const unsigned one = 1;
  EXPECT_THROW(ext::NodePayload::of(std::span<const unsigned>(&one, std::size_t{1} << 32)),
               errors::SizeError);
}

/// A program whose attributes differ in each step: the tables kept for the next graph are bounded.
TEST(Tables, AttributesWithoutEnd) {
  ComputationGraph cg;
  std::size_t most = 0;
  for (unsigned step = 0; step < 100000; ++step) {
    cg.clear();
    const Expression x = constant(cg, {2}, 1.0F);
    const Expression y = elu(x, 0.001F * static_cast<float>(step));
    if (step % 10000 == 0) {
      EXPECT_EQ(as_vector(y.value()), (std::vector<float>{1.0F, 1.0F})) << step;
    }
    most = std::max(most, cg.state().interner.bytes());
  }
  EXPECT_GT(most, std::size_t{8} << 20);  // the tables were filled and emptied
  EXPECT_LE(most, api::kKeepTableBytes + (std::size_t{16} << 20));
}

/// The graphs of these tests begin without the warm memory of earlier graphs: all workspaces at
/// rest, at most 16, are taken by other graphs.
class Memory : public ::testing::TestWithParam<bool> {
 protected:
  Memory() {
    for (int i = 0; i < 16; ++i) {
      others_.push_back(std::make_unique<ComputationGraph>());
    }
  }
  void TearDown() override { memory::set_cap(0); }

 private:
  std::vector<std::unique_ptr<ComputationGraph>> others_;
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
  const Expression sum_of = sum_elems(x);
  static_cast<void>(sum_of.value());
  std::vector<Expression> products;
  products.reserve(8);
  for (int i = 0; i < 8; ++i) {
    products.push_back(square(x * y));
  }
  const Expression total = sum_elems(sum(products));
  memory::set_cap(memory::bytes_held() + (std::size_t{8} << 20));
  EXPECT_THROW(static_cast<void>(total.value()), out_of_memory);
  EXPECT_THROW(static_cast<void>(total.value()), out_of_memory);
  memory::set_cap(0);
  EXPECT_NEAR(as_scalar(total.value()), 8.0 * 1024 * 1024,
              tolerance::kFewInFloat * 8.0 * 1024 * 1024);
}

/// Copied numbers of inputs count, and are refused before there is a node.
TEST_P(Memory, NumbersOfInputsCount) {
  constexpr std::size_t kBytes = std::size_t{4} << 20;
  const std::vector<float> many(kBytes / sizeof(float), 0.5F);
  const Dim d({static_cast<unsigned>(many.size())});
  ComputationGraph cg(GetParam());
  const Expression x = input(cg, {2}, {1.0F, 2.0F});
  cg.checkpoint();
  const std::size_t before = memory::bytes_held();
  memory::set_cap(before + kBytes + kBytes / 2);
  for (int round = 0; round < 3; ++round) {  // memory that was given back is used again
    input(cg, d, many);
    EXPECT_GE(memory::bytes_held(), before + kBytes);
    EXPECT_LE(memory::bytes_held(), before + kBytes + kBytes / 2);
    const std::string text = testing::text_of_error<out_of_memory>([&] { input(cg, d, many); });
    EXPECT_EQ(text.rfind("out of memory: 4194304 bytes more would pass the cap of ", 0), 0U)
        << text;
    EXPECT_NE(text.find("\n  for 4194304 bytes: data of input {1048576}\n  built at "),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("limits_test.cc:"), std::string::npos) << text;
    EXPECT_EQ(cg.nodes.size(), 2U);
    EXPECT_EQ(as_vector(x.value()), (std::vector<float>{1.0F, 2.0F}));
    cg.revert();
    cg.checkpoint();
  }
  memory::set_cap(0);
  EXPECT_EQ(as_scalar(mean_elems(input(cg, d, many)).value()), 0.5F);
}

/// Inputs and values share the cap: after memory ran out, each can use the memory of the other once
/// the graph is cleared, or another graph is made.
TEST_P(Memory, WhatInputsHeldIsFreeForValuesAndBack) {
  constexpr unsigned kCount = 1U << 20;
  const std::vector<float> many(kCount, 0.5F);
  std::vector<std::unique_ptr<ComputationGraph>> graphs;
  for (const bool clears : {true, false}) {
    auto cg = std::make_unique<ComputationGraph>(GetParam());
    const auto go_on = [&] {
      if (clears) {
        cg->clear();
      } else {
        cg = nullptr;
        cg = std::make_unique<ComputationGraph>(GetParam());
      }
    };
    memory::set_cap(memory::bytes_held() + std::size_t{2} * kCount * sizeof(float));
    EXPECT_THROW(
        {
          for (int i = 0; i < 3; ++i) {
            input(*cg, {kCount}, many);
          }
        },
        out_of_memory);
    go_on();
    EXPECT_EQ(as_scalar(mean_elems(ones(*cg, {kCount})).value()), 1.0F);
    EXPECT_THROW((void)concatenate({ones(*cg, {kCount}), ones(*cg, {kCount})}).value(),
                 out_of_memory);
    go_on();
    input(*cg, {kCount}, many);
    memory::set_cap(0);
    graphs.push_back(std::move(cg));
  }
}

/// A graph that ended keeps some memory for the next one, which counts for the cap.
TEST_P(Memory, AGraphThatEndedKeepsLittleOfManyNumbers) {
  constexpr unsigned kCount = 70U << 20;
  constexpr std::size_t kBytes = kCount * sizeof(float);
  const std::size_t before = memory::bytes_held();
  {
    const std::vector<float> many(kCount, 0.5F);
    ComputationGraph cg(GetParam());
    input(cg, {kCount}, many);
    EXPECT_GE(memory::bytes_held(), before + kBytes);
  }
  EXPECT_LT(memory::bytes_held(), before + kBytes / 2);
}

/// Running out in backward adds nothing to the parameters.
TEST_P(Memory, BackwardRunsOut) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({512}, ParameterInitConst(0.01F));
  ComputationGraph cg(GetParam());
  std::vector<Expression> terms;
  terms.reserve(16);
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
  EXPECT_NEAR(g[5], 16 * 2 * 512 * 2 * t * (1 - t * t) * 0.01, tolerance::kFloatAgainstDouble);
}

TEST(ManyGraphs, ThousandAtOnce) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({3}, ParameterInitConst(2.0F));
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
  EXPECT_NEAR(as_vector(w.get_storage().g)[0], 4.0 * sum_of_squares,
              tolerance::kSumsInFloat * 4.0 * sum_of_squares);
}

}  // namespace
}  // namespace dynet
