// Softmax builders in whole programs: gradients, draws, how losses merge, model files, training.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/adaptive-softmax.h"
#include "dynet/expr.h"
#include "dynet/hsm-builder.h"
#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/sampled-softmax.h"
#include "dynet/training.h"

#include "support/builder_checks.h"
#include "support/chi_squared.h"
#include "support/differences.h"
#include "testing/device.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

constexpr unsigned kRep = 3;
constexpr unsigned kWords = 7;

/// Seven words w0, ..., w6: in classes of three, one, two and one; or in a tree with choices of
/// one, two and three outcomes.
const char* const kClasses = "c w0\na w1\nc w2\nb w3\nc w4\nb w5\nd w6\n";
const char* const kPaths = "0 0\tw0\n1 0\tw1\n0 1\tw2\n1 1\tw3\n1 1\tw4\n1 1\tw5\n1 2\tw6\n";

template <class Builder>
Builder make(ParameterCollection& model, bool bias = true) {
  if constexpr (std::is_same_v<Builder, StandardSoftmaxBuilder>) {
    return Builder(kRep, kWords, model, bias);
  } else if constexpr (std::is_same_v<Builder, AdaptiveSoftmaxBuilder>) {
    return Builder(kRep, kWords, {2, 4, 6}, model, 1.5F, bias);  // clusters of two, two and one
  } else if constexpr (std::is_same_v<Builder, SampledSoftmaxBuilder>) {
    const NoiseDistribution noise({7, 6, 5, 4, 3, 2, 1});
    return Builder(kRep, noise, 4, SampledLoss::kNce, model, bias);
  } else {
    const testing::TemporaryFolder folder;
    constexpr bool kByClass = std::is_same_v<Builder, ClassFactoredSoftmaxBuilder>;
    std::ofstream(folder.file("clusters")) << (kByClass ? kClasses : kPaths);
    Dict words;
    for (unsigned w = 0; w < kWords; ++w) {
      words.convert("w" + std::to_string(w));
    }
    if constexpr (kByClass) {
      return Builder(kRep, folder.file("clusters"), words, model, bias);
    } else {
      return Builder(kRep, folder.file("clusters"), words, model);
    }
  }
}

template <class Builder>
class SoftmaxBuilders : public ::testing::Test {};
using Builders =
    ::testing::Types<StandardSoftmaxBuilder, ClassFactoredSoftmaxBuilder,
                     HierarchicalSoftmaxBuilder, AdaptiveSoftmaxBuilder, SampledSoftmaxBuilder>;
TYPED_TEST_SUITE(SoftmaxBuilders, Builders);

// ---- gradients
// ------------------------------------------------------------------------------------

/// Losses of single words and of batches, and the whole distribution.
template <class Builder>
struct Program {
  ParameterCollection model;
  Builder builder;
  Parameter x;
  Parameter y;

  explicit Program(bool bias)
      : builder(make<Builder>(model, bias)),
        x(model.add_parameters({kRep})),
        y(model.add_parameters({kRep})) {
    testing::draw_values(model);
  }
  Expression loss(ComputationGraph& cg) {
    builder.new_graph(cg);
    const Expression one = parameter(cg, x);
    const Expression two = parameter(cg, y);
    const Expression batch = concatenate_to_batch({one, two, one + two, one, two - one, two});
    const Expression all = builder.full_log_distribution(concatenate_to_batch({one, two}));
    return builder.neg_log_softmax(one, 1) + 0.5 * builder.neg_log_softmax(two, 5) +
           sum_batches(square(builder.neg_log_softmax(batch, {4, 0, 4, 3, 6, 2}))) +
           0.25 * sum_batches(squared_norm(all)) + logsumexp_dim(builder.full_logits(two), 0);
  }
};

template <class Builder>
void check_gradients(bool bias) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<Builder> program(bias);
  testing::expect_gradients(program.model, [&](ComputationGraph& cg) { return program.loss(cg); });
  for (const auto& p : program.model.parameters_list()) {
    EXPECT_TRUE(p->has_grad()) << p->name;
  }
}

TYPED_TEST(SoftmaxBuilders, GradientsAgreeWithDifferences) {
  check_gradients<TypeParam>(true);
  if (!std::is_same_v<TypeParam, HierarchicalSoftmaxBuilder>) {
    check_gradients<TypeParam>(false);
  }
}

// ---- draws
// ----------------------------------------------------------------------------------------

/// How often each word is drawn.
std::vector<double> draw_words(SoftmaxBuilder& builder, ComputationGraph& cg, const Expression& rep,
                               int draws) {
  std::vector<double> counts(kWords, 0.0);
  for (int i = 0; i < draws; ++i) {
    cg.checkpoint();
    counts[builder.sample(rep)] += 1.0;
    cg.revert();
  }
  return counts;
}

TYPED_TEST(SoftmaxBuilders, DrawsHaveTheProbabilities) {
  constexpr int kDraws = 10000;
  for (const bool bias : {true, false}) {
    reset_rng(5);
    ParameterCollection model;
    auto builder = make<TypeParam>(model, bias);
    testing::draw_values(model);
    ComputationGraph cg;
    builder.new_graph(cg);
    const Expression rep = input(cg, {kRep}, {0.5F, -1.0F, 0.75F});
    std::vector<double> p = as_double_vector(exp(builder.full_log_distribution(rep)).value());
    const std::vector<double> counts = draw_words(builder, cg, rep, kDraws);
    EXPECT_LT(testing::chi_squared(counts, p, kDraws), testing::chi_squared_level(kWords - 1));
    // Another distribution is seen: two probabilities exchanged.
    const auto [least, most] = std::minmax_element(p.begin(), p.end());
    std::iter_swap(least, most);
    EXPECT_GT(testing::chi_squared(counts, p, kDraws), testing::chi_squared_level(kWords - 1));
  }
}

TEST(SoftmaxDraws, ImprobableWordsAndDamage) {
  ParameterCollection model;
  StandardSoftmaxBuilder builder(1, 3, model);
  ComputationGraph cg;
  builder.new_graph(cg);
  const Expression rep = input(cg, {1}, {1.0F});
  model.parameters_list()[0]->set_value({0.0F, 1000.0F, -1000.0F});
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(builder.sample(rep), 1U);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  model.parameters_list()[1]->set_value({0.0F, infinity, 0.0F});
  cg.invalidate();
  EXPECT_THROW(builder.sample(rep), errors::NumericError);
}

// ---- merging
// --------------------------------------------------------------------------------------

/// Forward calls that compute the losses of `count` words, one by one.
template <class Builder>
std::size_t calls_for(unsigned count) {
  ParameterCollection model;
  auto builder = make<Builder>(model);
  const LookupParameter table = model.add_lookup_parameters(20, {kRep});
  ComputationGraph cg(true);
  builder.new_graph(cg);
  std::vector<Expression> losses;
  losses.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    losses.push_back(builder.neg_log_softmax(lookup(cg, table, i % 20), i % kWords));
  }
  const Expression all = sum(losses);
  return testing::calls_for(cg, all, all.i + 1);
}

TYPED_TEST(SoftmaxBuilders, LossesOfWordsMerge) {
  // As many calls for two hundred words as for each word twice.
  EXPECT_LE(calls_for<TypeParam>(28 * kWords), calls_for<TypeParam>(2 * kWords) + 2);
}

// ---- model files, training
// ------------------------------------------------------------------------

TYPED_TEST(SoftmaxBuilders, ComeBackFromAFile) {
  const testing::ModelFile file;
  const auto distribution = [](SoftmaxBuilder& builder) {
    ComputationGraph cg;
    builder.new_graph(cg);
    return as_vector(builder.full_log_distribution(input(cg, {kRep}, {0.5F, 1.0F, -2.0F})).value());
  };
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  file.save(builder.get_parameter_collection(), "/softmax");
  ParameterCollection other;
  auto read = make<TypeParam>(other);
  EXPECT_NE(distribution(read), distribution(builder));
  TextFileLoader(file.name()).populate(read.get_parameter_collection(), "/softmax");
  EXPECT_EQ(distribution(read), distribution(builder));
}

TYPED_TEST(SoftmaxBuilders, LearnADistribution) {
  const std::vector<unsigned> corpus{0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 5, 6, 6, 0, 2};
  ParameterCollection model;
  auto builder = make<TypeParam>(model);
  AdamTrainer trainer(model, 0.05F);
  const std::vector<float> ones_of(kRep * corpus.size(), 1.0F);
  for (int i = 0; i < 600; ++i) {
    ComputationGraph cg;
    builder.new_graph(cg);
    const Expression rep = input(cg, Dim({kRep}, static_cast<unsigned>(corpus.size())), ones_of);
    cg.backward(mean_batches(builder.neg_log_softmax(rep, corpus)));
    trainer.update();
  }
  ComputationGraph cg;
  builder.new_graph(cg);
  const std::vector<double> logs =
      as_double_vector(builder.full_log_distribution(ones(cg, {kRep})).value());
  double divergence =
      0.0;  // of Kullback and Leibler, from the corpus: 0.16 for equal probabilities
  for (unsigned word = 0; word < kWords; ++word) {
    const double share = static_cast<double>(std::count(corpus.begin(), corpus.end(), word)) /
                         static_cast<double>(corpus.size());
    divergence += share * (std::log(share) - logs[word]);
  }
  EXPECT_LT(divergence, 0.001);
}

}  // namespace
}  // namespace dynet
