#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <string>

#include "dynet/hsm-builder.h"

#include "softmax_oracle.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

using builder_tests::choice;
using builder_tests::expect_near;
using builder_tests::log_softmax_of;
using builder_tests::names_of;
using builder_tests::Numbers;
using builder_tests::numbers_of;
using builder_tests::sample_input;
using builder_tests::scores;
using builder_tests::set_values;
using builder_tests::sigma;
using builder_tests::sum_of_probabilities;

constexpr unsigned kRep = 4;

/// A file of clusters.
class File {
 public:
  explicit File(const std::string& text) { std::ofstream(name(), std::ios::binary) << text; }
  [[nodiscard]] std::string name() const { return folder_.file("clusters"); }

 private:
  testing::TemporaryFolder folder_;
};

// ---- the formulas by hand

const char* const kClasses =
    "noun cat\n"
    "det\tthe  with more\n"
    "noun  dog\textra\n"
    " verb runs\r\n"
    "noun bird\n"
    "verb eats";

/// ln p of cat, the, dog, runs, bird, eats.
Numbers class_factored(const ParameterCollection& model, const Numbers& x) {
  const Numbers classes = choice(model, 0, x);
  const Numbers nouns = choice(model, 2, x);
  const Numbers verbs = choice(model, 4, x);
  return {classes[0] + nouns[0], classes[1],           classes[0] + nouns[1], classes[2] + verbs[0],
          classes[0] + nouns[2], classes[2] + verbs[1]};
}

const char* const kPaths =
    "0 a\tone\t17\n"
    "1 x y\ttwo\n"
    "0 b\tthree\n"
    "0 b\tfour 5\n"
    "0 b\tfive\r\n"
    "0 c\tsix\n"
    "1 x z\tseven";

/// ln p of one, ..., seven. The choices: 0 or 1; below 0 a, b or c; below b three words; below 1
/// only x; below x y or z.
Numbers hierarchical(const ParameterCollection& model, const Numbers& x) {
  const auto& p = model.parameters_list();
  const double top = sigma(scores(*p[0], *p[1], x)[0]);
  const Numbers abc = choice(model, 2, x);
  const Numbers b = choice(model, 4, x);
  const double yz = sigma(scores(*p[6], *p[7], x)[0]);
  const double zero = std::log(top);
  const double one = std::log(1.0 - top);
  return {zero + abc[0],        one + std::log(yz), zero + abc[1] + b[0],    zero + abc[1] + b[1],
          zero + abc[1] + b[2], zero + abc[2],      one + std::log(1.0 - yz)};
}

struct ClassFactored {
  using Builder = ClassFactoredSoftmaxBuilder;
  static constexpr unsigned kWords = 6;
  static const char* text() { return kClasses; }
  static Numbers by_hand(const ParameterCollection& model, const Numbers& x) {
    return class_factored(model, x);
  }
};
struct Hierarchical {
  using Builder = HierarchicalSoftmaxBuilder;
  static constexpr unsigned kWords = 7;
  static const char* text() { return kPaths; }
  static Numbers by_hand(const ParameterCollection& model, const Numbers& x) {
    return hierarchical(model, x);
  }
};

/// The dictionary's first word and its last word have no class.
template <class Kind>
class TreeSoftmax : public ::testing::Test {
 protected:
  TreeSoftmax()
      : file(Kind::text()), words(with_one_word()), builder(kRep, file.name(), words, model) {
    set_values(model);
  }
  static Dict with_one_word() {
    Dict d;
    d.convert("<s>");
    return d;
  }
  /// Log-probabilities by hand, by id.
  Numbers by_hand(const std::vector<float>& x) {
    Numbers logs = Kind::by_hand(model, Numbers(x.begin(), x.end()));
    logs.insert(logs.begin(), -10000.0);
    return logs;
  }
  const File file;
  ParameterCollection model;
  Dict words;
  typename Kind::Builder builder;
  ComputationGraph cg;
};
using Kinds = ::testing::Types<ClassFactored, Hierarchical>;
TYPED_TEST_SUITE(TreeSoftmax, Kinds);

TYPED_TEST(TreeSoftmax, LossesAndDistributionFollowTheFormulas) {
  EXPECT_EQ(this->words.size(), TypeParam::kWords + 1);
  this->builder.new_graph(this->cg);
  for (int k = 0; k < 3; ++k) {
    const std::vector<float> x = sample_input(kRep, k);
    const Expression rep = input(this->cg, {kRep}, x);
    const Numbers want = this->by_hand(x);
    const Expression all = this->builder.full_logits(rep);
    EXPECT_EQ(all.dim(), Dim({TypeParam::kWords + 1}));
    expect_near(numbers_of(all), want);
    expect_near(numbers_of(this->builder.full_log_distribution(rep)), want);
    EXPECT_NEAR(sum_of_probabilities(numbers_of(all)), 1.0, tolerance::kFewInFloat);
    for (unsigned word = 1; word < want.size(); ++word) {
      const Expression loss = this->builder.neg_log_softmax(rep, word);
      EXPECT_EQ(loss.dim(), Dim({1}));
      expect_near(numbers_of(loss), {-want[word]});
    }
  }
}

TYPED_TEST(TreeSoftmax, ABatchIsWhatItsExamplesAre) {
  this->builder.new_graph(this->cg);
  const std::vector<std::vector<unsigned>> batches{
      {1, 2, 3, 4, 5, 6}, {6, 2, 2, 4, 1, 6, 3}, {2, 2}, {5}, {3, 1}};
  for (const std::vector<unsigned>& batch : batches) {
    std::vector<float> data;
    Numbers losses;
    Numbers logs;
    for (std::size_t e = 0; e < batch.size(); ++e) {
      const std::vector<float> x = sample_input(kRep, 3.0 * static_cast<double>(e));
      data.insert(data.end(), x.begin(), x.end());
      const Numbers all = this->by_hand(x);
      logs.insert(logs.end(), all.begin(), all.end());
      losses.push_back(-all[batch[e]]);
    }
    const auto size = static_cast<unsigned>(batch.size());
    const Expression rep = input(this->cg, Dim({kRep}, size), data);
    const Expression loss = this->builder.neg_log_softmax(rep, batch);
    EXPECT_EQ(loss.dim(), Dim({1}, size));
    expect_near(numbers_of(loss), losses);
    const Expression all = this->builder.full_logits(rep);
    EXPECT_EQ(all.dim(), Dim({TypeParam::kWords + 1}, size));
    expect_near(numbers_of(all), logs);
  }
}

TYPED_TEST(TreeSoftmax, ColumnsOfAMatrixAreWhatVectorsAre) {
  this->builder.new_graph(this->cg);
  Numbers logs;
  std::vector<float> data;
  for (int k = 0; k < 6; ++k) {
    const std::vector<float> x = sample_input(kRep, k);
    data.insert(data.end(), x.begin(), x.end());
    const Numbers all = this->by_hand(x);
    logs.insert(logs.end(), all.begin(), all.end());
  }
  const Expression rep = input(this->cg, Dim({kRep, 3}, 2), data);
  for (const Expression& all :
       {this->builder.full_logits(rep), this->builder.full_log_distribution(rep)}) {
    EXPECT_EQ(all.dim(), Dim({TypeParam::kWords + 1, 3}, 2));
    expect_near(numbers_of(all), logs);
  }
  EXPECT_THROW(this->builder.full_logits(ones(this->cg, {kRep, 2, 2})), errors::ShapeError);
  EXPECT_THROW(this->builder.full_logits(ones(this->cg, {kRep + 1, 2})), errors::ShapeError);
}

TYPED_TEST(TreeSoftmax, EachGraphAnew) {
  const std::vector<float> x = sample_input(kRep, 1);
  const Numbers want = this->by_hand(x);
  for (int k = 0; k < 3; ++k) {
    this->builder.new_graph(this->cg);
    const Expression rep = input(this->cg, {kRep}, x);
    expect_near(numbers_of(this->builder.neg_log_softmax(rep, 3)), {-want[3]});
    this->cg.checkpoint();
    expect_near(numbers_of(this->builder.neg_log_softmax(rep, 4)), {-want[4]});
    this->cg.revert();
    expect_near(numbers_of(this->builder.neg_log_softmax(rep, 4)), {-want[4]});
    this->cg.clear();
  }
}

TYPED_TEST(TreeSoftmax, AddsParametersThatAreNeeded) {
  this->builder.new_graph(this->cg);
  const Expression rep = input(this->cg, {kRep}, sample_input(kRep, 1));
  this->builder.neg_log_softmax(rep, 2);  // both files leave out a choice of two
  const std::size_t nodes = this->cg.nodes.size();
  this->builder.neg_log_softmax(rep, 2);
  const std::size_t again = this->cg.nodes.size();
  EXPECT_LT(again - nodes, nodes - 1);
  this->cg.backward(this->builder.neg_log_softmax(rep, 2));
  std::size_t with_gradient = 0;
  for (const auto& p : this->model.parameters_list()) {
    with_gradient += p->has_grad() ? 1 : 0;
  }
  EXPECT_GT(with_gradient, 0U);
  EXPECT_LT(with_gradient, this->model.parameters_list().size());
}

TYPED_TEST(TreeSoftmax, ConstantParametersGetNoGradient) {
  for (const bool update : {false, true}) {
    this->builder.new_graph(this->cg, update);  // the second time in the graph of the first
    const Parameter p = this->model.add_parameters({kRep});
    const Expression loss = this->builder.neg_log_softmax(parameter(this->cg, p), 3) +
                            squared_norm(this->builder.full_logits(parameter(this->cg, p)));
    this->cg.backward(loss);
    EXPECT_TRUE(p.p->has_grad());
    EXPECT_EQ(this->model.parameters_list()[0]->has_grad(), update);
    EXPECT_EQ(this->model.parameters_list()[3]->has_grad(), update);
  }
}

TYPED_TEST(TreeSoftmax, CopiesShareParameters) {
  const typename TypeParam::Builder copy = this->builder;
  std::vector<typename TypeParam::Builder> many(2, copy);
  ComputationGraph other;
  this->builder.new_graph(this->cg);
  many[1].new_graph(other);
  const std::vector<float> x = sample_input(kRep, 1);
  const Numbers one = numbers_of(this->builder.full_logits(input(this->cg, {kRep}, x)));
  EXPECT_EQ(numbers_of(many[1].full_logits(input(other, {kRep}, x))), one);
  this->model.parameters_list()[0]->scale_parameters(2.0F);
  other.invalidate();
  EXPECT_NE(numbers_of(many[1].full_logits(input(other, {kRep}, x))), one);
}

TYPED_TEST(TreeSoftmax, ErrorsOfCalls) {
  ComputationGraph other;
  const Expression rep = input(this->cg, {kRep}, sample_input(kRep, 1));
  EXPECT_THROW(this->builder.neg_log_softmax(rep, 1), errors::StateError);
  EXPECT_THROW(this->builder.sample(rep), errors::StateError);
  EXPECT_THROW(this->builder.full_logits(rep), errors::StateError);
  this->builder.new_graph(this->cg);
  EXPECT_THROW(this->builder.neg_log_softmax(input(other, {kRep}, sample_input(kRep, 1)), 1),
               errors::GraphError);
  EXPECT_THROW(this->builder.neg_log_softmax(rep, TypeParam::kWords + 1), errors::IndexError);
  EXPECT_THROW(this->builder.neg_log_softmax(rep, std::vector<unsigned>{1, 2}), errors::ValueError);
  EXPECT_THROW(this->builder.neg_log_softmax(rep, std::vector<unsigned>{}), errors::ValueError);
  EXPECT_THROW(this->builder.neg_log_softmax(ones(this->cg, Dim({kRep}, 2)), 1),
               errors::ValueError);
  EXPECT_THROW(this->builder.neg_log_softmax(ones(this->cg, {kRep, 2}), 1), errors::ShapeError);
  EXPECT_THROW(this->builder.sample(ones(this->cg, Dim({kRep}, 2))), errors::ShapeError);
  EXPECT_THROW(this->builder.neg_log_softmax(Expression(), 1), errors::StaleExpression);
  try {
    this->builder.neg_log_softmax(rep, 0);
    FAIL();
  } catch (const errors::ValueError& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find("word 0 has no class"), std::string::npos) << text;
    EXPECT_NE(text.find(this->file.name()), std::string::npos) << text;
  }
  try {
    this->builder.neg_log_softmax(ones(this->cg, {kRep + 1}), 1);
    FAIL();
  } catch (const errors::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("softmax_test.cc"), std::string::npos) << e.what();
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(this->builder.sample(input(this->cg, {kRep}, {nan, 0.0F, 0.0F, 0.0F})),
               errors::NumericError);
  EXPECT_NO_THROW(this->builder.neg_log_softmax(rep, 1));
}

// ---- parameters

TEST(ClassFactoredSoftmax, ParametersOfModelFiles) {
  const File file(kClasses);
  ParameterCollection model;
  Dict words;
  const ClassFactoredSoftmaxBuilder builder(kRep, file.name(), words, model);
  const std::string own = "/class-factored-softmax-builder/";
  EXPECT_EQ(names_of(model), (std::vector<std::string>{own + "_0", own + "_1", own + "_2",
                                                       own + "_3", own + "_4", own + "_5"}));
  const Dim wanted[] = {Dim({3, 4}), Dim({3}), Dim({3, 4}), Dim({3}), Dim({2, 4}), Dim({2})};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(model.parameters_list()[i]->dim, wanted[i]) << i;
  }
  EXPECT_EQ(numbers_of(model.parameters_list()[1]->values), Numbers(3, 0.0));
  Dict again;
  const ClassFactoredSoftmaxBuilder without(kRep, file.name(), again, model, false);
  EXPECT_EQ(model.parameters_list().size(), 9U);
  EXPECT_EQ(model.parameters_list()[8]->dim, Dim({2, 4}));
}

TEST(ClassFactoredSoftmax, TheTwoSteps) {
  const File file(kClasses);
  ParameterCollection model;
  Dict words;
  ClassFactoredSoftmaxBuilder builder(kRep, file.name(), words, model);
  set_values(model);
  ComputationGraph cg;
  EXPECT_THROW(builder.initialize_expressions(), errors::StateError);
  builder.new_graph(cg);
  builder.initialize_expressions();
  EXPECT_EQ(cg.nodes.size(), 6U);
  const auto& p = model.parameters_list();
  const std::vector<float> x = sample_input(kRep, 2);
  const Numbers in(x.begin(), x.end());
  const Expression rep = input(cg, {kRep}, x);
  expect_near(numbers_of(builder.class_logits(rep)), scores(*p[0], *p[1], in));
  expect_near(numbers_of(builder.class_log_distribution(rep)),
              log_softmax_of(scores(*p[0], *p[1], in)));
  expect_near(numbers_of(builder.subclass_logits(rep, 2)), scores(*p[4], *p[5], in));
  expect_near(numbers_of(builder.subclass_log_distribution(rep, 0)),
              log_softmax_of(scores(*p[2], *p[3], in)));
  EXPECT_EQ(numbers_of(builder.subclass_logits(rep, 1)), Numbers{0.0});
  EXPECT_EQ(numbers_of(builder.subclass_log_distribution(rep, 1)), Numbers{0.0});
  EXPECT_THROW(builder.subclass_logits(rep, 3), errors::IndexError);
  EXPECT_EQ(builder.subclass_logits(ones(cg, Dim({kRep}, 5)), 1).dim(), Dim({1}, 5));
}

TEST(ClassFactoredSoftmax, WithoutBiases) {
  const File file(kClasses);
  ParameterCollection model;
  Dict words;
  ClassFactoredSoftmaxBuilder builder(kRep, file.name(), words, model, false);
  set_values(model);
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.initialize_expressions();
  const std::vector<float> x = sample_input(kRep, 2);
  const Numbers in(x.begin(), x.end());
  const auto weights = [&](std::size_t i) {
    return numbers_of(model.parameters_list()[i]->values);
  };
  const Numbers classes = log_softmax_of(scores(weights(0), Numbers(3, 0.0), in));
  const Numbers verbs = log_softmax_of(scores(weights(2), Numbers(2, 0.0), in));
  const Expression loss = builder.neg_log_softmax(input(cg, {kRep}, x), 5);
  expect_near(numbers_of(loss), {-classes[2] - verbs[1]});
}

TEST(ClassFactoredSoftmax, OneClassAndClassesOfOneWord) {
  const File one("c a\nc b\nc d\n");
  const File each("x a\ny b\nz d\n");
  const File single("x a\n");
  ParameterCollection model;
  Dict words;
  ClassFactoredSoftmaxBuilder of_one(kRep, one.name(), words, model);
  ClassFactoredSoftmaxBuilder of_each(kRep, each.name(), words, model);
  ClassFactoredSoftmaxBuilder of_single(kRep, single.name(), words, model);
  EXPECT_EQ(model.parameters_list().size(), 4U + 2U + 2U);
  EXPECT_EQ(model.parameters_list()[0]->dim, Dim({1, kRep}));
  set_values(model);
  ComputationGraph cg;
  const Expression rep = input(cg, Dim({kRep}, 2), sample_input(std::size_t{2} * kRep, 2));
  for (ClassFactoredSoftmaxBuilder* b : {&of_one, &of_each}) {
    b->new_graph(cg);
    const Numbers logs = numbers_of(b->full_logits(rep));
    ASSERT_EQ(logs.size(), 6U);
    expect_near(numbers_of(b->neg_log_softmax(rep, {2, 0})), {-logs[2], -logs[3]});
    EXPECT_NEAR(sum_of_probabilities(logs), 2.0, tolerance::kFewInFloat);
  }
  of_single.new_graph(cg);
  EXPECT_EQ(numbers_of(of_single.neg_log_softmax(rep, {0, 0})), Numbers(2, 0.0));
  EXPECT_EQ(numbers_of(of_single.full_logits(rep)),
            (Numbers{0, -10000, -10000, 0, -10000, -10000}));
  EXPECT_EQ(of_single.sample(pick_batch_elem(rep, 0)), 0U);
}

TEST(HierarchicalSoftmax, ParametersOfModelFiles) {
  const File file(kPaths);
  ParameterCollection model;
  Dict words;
  HierarchicalSoftmaxBuilder builder(kRep, file.name(), words, model);
  const Dim wanted[] = {Dim({1, 4}), Dim({1}), Dim({3, 4}), Dim({3}),
                        Dim({3, 4}), Dim({3}), Dim({1, 4}), Dim({1})};
  ASSERT_EQ(model.parameters_list().size(), 8U);
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(model.parameters_list()[i]->dim, wanted[i]) << i;
    EXPECT_EQ(model.parameters_list()[i]->name, "/hsm-builder/_" + std::to_string(i));
  }
  ParameterCollection other;
  builder.initialize(other);
  EXPECT_EQ(names_of(other).size(), 8U);
  set_values(other);
  ComputationGraph cg;
  builder.new_graph(cg);
  const std::vector<float> x = sample_input(kRep, 1);
  expect_near(numbers_of(builder.full_logits(input(cg, {kRep}, x))),
              hierarchical(other, Numbers(x.begin(), x.end())));
}

TEST(HierarchicalSoftmax, ClustersByHand) {
  ParameterCollection model;
  Cluster top;
  Cluster* const left = top.add_child(7);
  EXPECT_EQ(top.add_child(7), left);
  Cluster* const right = top.add_child(3);
  for (const unsigned word : {10U, 20U, 30U}) {
    left->add_word(word);
  }
  right->add_word(40);
  EXPECT_THROW(top.add_word(1), errors::StateError);
  EXPECT_THROW(left->add_child(1), errors::StateError);
  EXPECT_THROW(left->add_word(20), errors::ValueError);
  top.initialize(kRep, model);
  set_values(model);
  ASSERT_EQ(model.parameters_list().size(), 4U);
  const Cluster copy = top;
  EXPECT_EQ(copy.num_children(), 2U);
  EXPECT_EQ(copy.get_child(0)->get_word(2), 30U);
  EXPECT_EQ(left->get_index(30), 2U);
  EXPECT_EQ(right->get_path(), std::vector<unsigned>{1});
  EXPECT_EQ(copy.toString(), "[]\n[0] 10 20 30\n[1] 40\n");
  EXPECT_THROW(static_cast<void>(left->get_index(40)), errors::IndexError);
  EXPECT_THROW(static_cast<void>(left->get_word(3)), errors::IndexError);
  EXPECT_THROW(static_cast<void>(top.get_child(2)), errors::IndexError);
  ComputationGraph cg;
  top.new_graph(cg);
  EXPECT_EQ(cg.nodes.size(), 4U);
  EXPECT_EQ(top.get_weights(cg).dim(), Dim({1, kRep}));
  EXPECT_EQ(left->get_bias(cg).dim(), Dim({3}));
  EXPECT_EQ(cg.nodes.size(), 4U);
  EXPECT_THROW(static_cast<void>(right->get_weights(cg)), errors::StateError);
  const std::vector<float> x = sample_input(kRep, 1);
  const Expression h = input(cg, {kRep}, x);
  const auto& p = model.parameters_list();
  const Numbers in(x.begin(), x.end());
  expect_near(numbers_of(left->neg_log_softmax(h, 1, cg)),
              {-log_softmax_of(scores(*p[2], *p[3], in))[1]});
  expect_near(numbers_of(copy.neg_log_softmax(h, 1, cg)),
              {-std::log(1.0 - sigma(scores(*p[0], *p[1], in)[0]))});
  EXPECT_THROW(static_cast<void>(left->neg_log_softmax(h, 3, cg)), errors::IndexError);
  EXPECT_LT(left->sample(h, cg), 3U);
  EXPECT_EQ(right->sample(h, cg), 0U);
}

TEST(StandardSoftmax, FollowsTheFormulas) {
  for (const bool bias : {true, false}) {
    ParameterCollection model;
    StandardSoftmaxBuilder builder(kRep, 5, model, bias);
    set_values(model);
    EXPECT_EQ(names_of(builder.get_parameter_collection()).size(), bias ? 2U : 1U);
    EXPECT_EQ(names_of(model)[0], "/standard-softmax-builder/_0");
    const Numbers w = numbers_of(model.parameters_list()[0]->values);
    const Numbers b = bias ? numbers_of(model.parameters_list()[1]->values) : Numbers(5, 0.0);
    ComputationGraph cg;
    const std::vector<float> data = sample_input(std::size_t{2} * kRep, 2);
    const Expression both = input(cg, Dim({kRep}, 2), data);
    EXPECT_THROW(builder.full_logits(both), errors::StateError);
    builder.new_graph(cg);
    const Numbers z0 = scores(w, b, Numbers(data.begin(), data.begin() + kRep));
    const Numbers z1 = scores(w, b, Numbers(data.begin() + kRep, data.end()));
    const Expression rep = pick_batch_elem(both, 1);
    expect_near(numbers_of(builder.full_logits(rep)), z1);
    expect_near(numbers_of(builder.full_log_distribution(rep)), log_softmax_of(z1));
    expect_near(numbers_of(builder.neg_log_softmax(rep, 3)), {-log_softmax_of(z1)[3]});
    expect_near(numbers_of(builder.neg_log_softmax(both, {4, 0})),
                {-log_softmax_of(z0)[4], -log_softmax_of(z1)[0]});
    EXPECT_LT(builder.sample(rep), 5U);
    EXPECT_THROW(builder.neg_log_softmax(both, 1), errors::ValueError);
    EXPECT_THROW(builder.neg_log_softmax(both, {1, 2, 3}), errors::ValueError);
    EXPECT_THROW(builder.neg_log_softmax(rep, 5), errors::IndexError);
    EXPECT_THROW(builder.sample(both), errors::ShapeError);
    // Parameters of the program's own.
    const Parameter p_w(model.parameters_list()[0]);
    const Parameter p_b = bias ? Parameter(model.parameters_list()[1]) : Parameter();
    StandardSoftmaxBuilder own =
        bias ? StandardSoftmaxBuilder(p_w, p_b) : StandardSoftmaxBuilder(p_w);
    own.new_graph(cg, false);
    expect_near(numbers_of(own.full_logits(rep)), z1);
    EXPECT_EQ(own.get_parameter_collection().size(), 0U);
  }
  ParameterCollection model;
  EXPECT_THROW(StandardSoftmaxBuilder(model.add_parameters({5, 4}), model.add_parameters({4})),
               errors::ShapeError);
  EXPECT_THROW(StandardSoftmaxBuilder(model.add_parameters({5, 4, 2})), errors::ShapeError);
  const Parameter unset;
  EXPECT_THROW(StandardSoftmaxBuilder{unset}, errors::StateError);
}

// ---- damaged files

/// The message about a file's text, behind the file's name.
template <class Builder>
std::string refusal(const std::string& text, Dict& words) {
  const File file(text);
  const unsigned size = words.size();
  ParameterCollection model;
  try {
    Builder(kRep, file.name(), words, model);
  } catch (const errors::ValueError& e) {
    EXPECT_EQ(words.size(), size);
    EXPECT_EQ(model.parameters_list().size(), 0U);
    const std::string what = e.what();
    const std::size_t at = what.find(file.name());
    return at == std::string::npos ? what : what.substr(at + file.name().size());
  }
  return "nothing was thrown";
}
template <class Builder>
void expect_refusal(const std::string& text, const std::string& wanted, Dict words = {}) {
  const std::string said = refusal<Builder>(text, words);
  EXPECT_EQ(said.substr(0, wanted.size()), wanted) << said;
}

TEST(ClusterFiles, MayBeginWithTheMarkOfUtf8) {
  const File file(
      "\xEF\xBB\xBF"
      "0 a\n0 b\n1 c\n");
  Dict words;
  ParameterCollection model;
  const ClassFactoredSoftmaxBuilder builder(kRep, file.name(), words, model);
  EXPECT_EQ(words.get_words(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(model.parameters_list()[0]->dim, Dim({2, kRep}));  // two classes
}

TEST(ClusterFiles, DamageIsNamedWithItsLine) {
  using Classes = ClassFactoredSoftmaxBuilder;
  expect_refusal<Classes>("", ": the file of clusters is empty");
  expect_refusal<Classes>("a x\nb\n", ":2: one field; want a class and a word");
  expect_refusal<Classes>("a x\n\nb y\n", ":2: an empty line");
  expect_refusal<Classes>("a x\nb y\na x\n", ":3: 'x' has a class in line 1 already");
  expect_refusal<Classes>(std::string("a x\nb \0\n", 8), ":2: a zero byte");
  using Paths = HierarchicalSoftmaxBuilder;
  expect_refusal<Paths>("", ": the file of clusters is empty");
  expect_refusal<Paths>("0 1 word\n", ":1: no tab");
  expect_refusal<Paths>("0 1\tx\n0 2\t\n", ":2: no word after the tab");
  expect_refusal<Paths>("0 1\tx\n0 2\t y\n", ":2: no word after the tab");
  expect_refusal<Paths>("0  1\tx\n", ":1: an empty symbol");
  expect_refusal<Paths>("0 1 \tx\n", ":1: an empty symbol");
  expect_refusal<Paths>("\tx\n", ":1: an empty symbol");
  expect_refusal<Paths>("0\tx\n0\tx\n", ":2: 'x' has a class in line 1 already");
  expect_refusal<Paths>("0\tx\n0 1\ty\n", ":2: '0 1' goes on after a class that has words");
  expect_refusal<Paths>("0 1\ty\n0\tx\n", ":2: '0' ends where earlier lines have further symbols");
  std::string deep = "0";
  for (int i = 0; i < 1000; ++i) {
    deep += " 0";
  }
  expect_refusal<Paths>(deep + "\tx\n", ":1: more than 1000 symbols");
  Dict words;
  ParameterCollection model;
  const testing::TemporaryFolder folder;
  EXPECT_THROW(Classes(kRep, folder.file("none"), words, model), std::invalid_argument);
  EXPECT_THROW(Paths(kRep, folder.path().string(), words, model), std::invalid_argument);
}

TEST(ClusterFiles, FrozenDictionaries) {
  Dict words;
  words.convert("x");
  words.convert("y");
  words.freeze();
  using Classes = ClassFactoredSoftmaxBuilder;
  expect_refusal<Classes>("a x\nb z\n", ":2: 'z' is not in the dictionary, which is frozen", words);
  words.set_unk("<unk>");
  expect_refusal<Classes>("a x\nb z\nb zz\nc y\n", ":2: class 'b' is empty", words);
  // Unknown words are left out if other words remain.
  const File file("a z\na x\nb zz\na zzz\nb y\n");
  ParameterCollection model;
  Classes builder(kRep, file.name(), words, model);
  EXPECT_EQ(words.size(), 3U);
  EXPECT_EQ(model.parameters_list().size(), 2U);
  ComputationGraph cg;
  builder.new_graph(cg);
  const Numbers logs = numbers_of(builder.full_logits(ones(cg, {kRep})));
  EXPECT_NEAR(sum_of_probabilities(logs), 1.0, tolerance::kFewInFloat);
  EXPECT_EQ(logs[2], -10000.0);
}

TEST(ClusterFiles, AnUnsetBuilderSaysSo) {
  ComputationGraph cg;
  HierarchicalSoftmaxBuilder builder;
  builder.new_graph(cg);
  EXPECT_THROW(builder.sample(ones(cg, {kRep})), errors::StateError);
  EXPECT_THROW(builder.full_logits(ones(cg, {kRep})), errors::StateError);
  EXPECT_THROW(builder.neg_log_softmax(ones(cg, {kRep}), 0), errors::StateError);
  StandardSoftmaxBuilder standard;
  standard.new_graph(cg);
  EXPECT_THROW(standard.full_logits(ones(cg, {kRep})), errors::StateError);
}

}  // namespace
}  // namespace dynet
