// An expression that was never set, or whose node is gone, given to any builder: the error names
// the builder and the call, or the argument, and has the program's line.

#include <gtest/gtest.h>

#include <initializer_list>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dynet/adaptive-softmax.h"
#include "dynet/attention.h"
#include "dynet/beam.h"
#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/hsm-builder.h"
#include "dynet/sampled-softmax.h"
#include "dynet/semi-crf-builder.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "recurrent_kinds.h"

namespace dynet {
namespace {

class Unset : public ::testing::Test {
 protected:
  Unset() {
    ComputationGraph other;
    gone = ones(other, {4});
  }
  /// Makes `call` with an unset expression, and with one whose graph is gone.
  template <class Call>
  void refuses(const std::string& user, Call call) const {
    expect(user + ": the expression is unset", [&] { call(none); });
    expect(user + ": stale expression 0", [&] { call(gone); });
  }

  ParameterCollection model;
  ComputationGraph cg;
  Expression none;
  Expression gone;
  Expression x = ones(cg, {4});

 private:
  template <class Call>
  static void expect(const std::string& begin, Call call) {
    try {
      call();
      ADD_FAILURE() << "nothing was thrown; want " << begin;
    } catch (const errors::StaleExpression& e) {
      const std::string text = e.what();
      EXPECT_EQ(text.rfind(begin, 0), 0U) << text << "; want " << begin;
      EXPECT_NE(text.find("\n  built at "), std::string::npos) << text;
      EXPECT_NE(text.find("unset_test.cc"), std::string::npos) << text;
    }
  }
};

TEST_F(Unset, InputsOfRecurrentBuilders) {
  for (const builder_tests::Kind& kind : builder_tests::kinds()) {
    const builder_tests::Owned rnn = kind.make(2, 4, 3, model);
    rnn->new_graph(cg);
    rnn->start_new_sequence();
    const std::string user = std::string(rnn->name()) + ": x";
    refuses(user, [&](const Expression& e) { rnn->add_input(e); });
    refuses(user, [&](const Expression& e) { rnn->add_input(-1, e); });
    refuses(user, [&](const Expression& e) { rnn->transduce({e}); });
    EXPECT_EQ(rnn->state(), -1);
    EXPECT_EQ(rnn->transduce({x, x}).size(), 2U);
  }
  SimpleRNNBuilder lagging(1, 4, 3, model, true);
  lagging.new_graph(cg);
  lagging.start_new_sequence();
  refuses("SimpleRNNBuilder: x",
          [&](const Expression& e) { lagging.add_auxiliary_input(e, ones(cg, {3})); });
  refuses("SimpleRNNBuilder: aux", [&](const Expression& e) { lagging.add_auxiliary_input(x, e); });
  EXPECT_TRUE(lagging.h.empty());
  BiRNNBuilder<GRUBuilder> both(1, 4, 6, model);
  both.new_graph(cg);
  refuses("GRUBuilder: x", [&](const Expression& e) { both.transduce({e}); });
}

TEST_F(Unset, InputsOfTrees) {
  NaryTreeLSTMBuilder nary(2, 1, 4, 4, model);
  ChildSumTreeLSTMBuilder child_sum(1, 4, 4, model);
  TreeGRUBuilder gru(1, 4, 4, model);
  UnidirectionalTreeLSTMBuilder forward(1, 4, 4, model);
  BidirectionalTreeLSTMBuilder both(1, 4, 4, model);
  for (TreeNodesBuilder* tree :
       std::initializer_list<TreeNodesBuilder*>{&nary, &child_sum, &gru, &forward, &both}) {
    tree->new_graph(cg);
    tree->start_new_sequence();
    refuses(std::string(tree->name()) + ": node 0: x",
            [&](const Expression& e) { tree->add_input(0, {}, e); });
    EXPECT_EQ(tree->add_input(0, {}, x).dim(), Dim({4}));
  }
}

TEST_F(Unset, WordsAndStatesOfBinaryTrees) {
  BinaryTreeLSTMBuilder lstm(4, 4, model);
  TreeRNNBuilder rnn(4, model);
  for (BinaryTreeBuilder* tree : std::initializer_list<BinaryTreeBuilder*>{&lstm, &rnn}) {
    const std::string name = tree == &lstm ? "BinaryTreeLSTMBuilder" : "TreeRNNBuilder";
    tree->new_graph(cg);
    const TreeState s = tree->add_input(x);
    refuses(name + ": add_input: x", [&](const Expression& e) { tree->add_input(e); });
    refuses(name + ": add_input: x",
            [&](const Expression& e) { tree->transduce({e}, {-1}, {-1}); });
    refuses(name + ": add_input: left.h",
            [&](const Expression& e) { tree->add_input(TreeState{s.c, e}, s); });
    refuses(name + ": add_input: right.h",
            [&](const Expression& e) { tree->add_input(s, TreeState{s.c, e}); });
  }
  const TreeState s = lstm.add_input(x);
  refuses("BinaryTreeLSTMBuilder: add_input: right.c",
          [&](const Expression& e) { lstm.add_input(s, TreeState{e, s.h}); });
}

TEST_F(Unset, VectorsOfSoftmaxes) {
  Dict words;
  std::istringstream classes("a one\na two\nb three\nb four\n");
  std::istringstream paths("0 a\tone\n0 b\ttwo\n1 a\tthree\n1 b\tfour\n");
  StandardSoftmaxBuilder standard(4, 4, model);
  ClassFactoredSoftmaxBuilder factored(4, classes, words, model);
  HierarchicalSoftmaxBuilder hierarchical(4, paths, words, model);
  AdaptiveSoftmaxBuilder adaptive(4, 4, {2}, model);
  SampledSoftmaxBuilder sampled(4, NoiseDistribution({1, 1, 1, 1}), 2, SampledLoss::kNce, model);
  const auto refuse = [&](const std::string& name, SoftmaxBuilder& builder) {
    builder.new_graph(cg);
    refuses(name + ": neg_log_softmax",
            [&](const Expression& e) { builder.neg_log_softmax(e, 1); });
    refuses(name + ": neg_log_softmax",
            [&](const Expression& e) { builder.neg_log_softmax(e, std::vector<unsigned>{1}); });
    refuses(name + ": sample", [&](const Expression& e) { builder.sample(e); });
    refuses(name + ": full_logits", [&](const Expression& e) { builder.full_logits(e); });
    refuses(name + ": full_logits", [&](const Expression& e) { builder.full_log_distribution(e); });
  };
  refuse("StandardSoftmaxBuilder", standard);
  refuse("ClassFactoredSoftmaxBuilder", factored);
  refuse("HierarchicalSoftmaxBuilder", hierarchical);
  refuse("AdaptiveSoftmaxBuilder", adaptive);
  refuse("SampledSoftmaxBuilder", sampled);
  refuses("ClassFactoredSoftmaxBuilder: class_logits",
          [&](const Expression& e) { factored.class_logits(e); });
  refuses("ClassFactoredSoftmaxBuilder: subclass_logits",
          [&](const Expression& e) { factored.subclass_logits(e, 0); });
  refuses("SampledSoftmaxBuilder: sampled_loss",
          [&](const Expression& e) { sampled.sampled_loss(e, 1); });
}

TEST_F(Unset, ScoresOfTags) {
  CRFBuilder crf(4, model);
  crf.new_graph(cg);
  refuses("CRFBuilder: neg_log_likelihood",
          [&](const Expression& e) { crf.neg_log_likelihood(e, std::vector<unsigned>{0}); });
  refuses("CRFBuilder: viterbi", [&](const Expression& e) { crf.viterbi(e); });
  refuses("CRFBuilder: viterbi", [&](const Expression& e) { crf.best_path(e); });
  refuses("CRFBuilder: n_best", [&](const Expression& e) { crf.n_best(e, 2); });
  refuses("CRFBuilder: marginals", [&](const Expression& e) { crf.marginals(e); });
  SemiCRFBuilder semi(4, 2, model);
  semi.new_graph(cg);
  refuses("SemiCRFBuilder: segment_scores", [&](const Expression& e) { semi.segment_scores(e); });
  refuses("SemiCRFBuilder: neg_log_likelihood", [&](const Expression& e) {
    semi.neg_log_likelihood(e, std::vector<LabelledSpan>{{0, 0, 1}});
  });
  refuses("SemiCRFBuilder: viterbi", [&](const Expression& e) { semi.viterbi(e); });
}

TEST_F(Unset, WhatIsAttendedTo) {
  MLPAttentionBuilder mlp(4, 4, 4, model);
  DotAttentionBuilder dot(4, model);
  BiaffineAttentionBuilder biaffine(4, 4, model);
  MultiHeadAttentionBuilder heads(4, 2, model);
  const auto refuse = [&](const std::string& name, AttentionBuilder& builder,
                          const std::string& call) {
    builder.new_graph(cg);
    refuses(name + ": read", [&](const Expression& e) { (void)builder.read(e); });
    refuses(name + ": read", [&](const Expression& e) { (void)builder.read(x, e); });
    const AttentionMemory memory = builder.read(x);
    refuses(name + call, [&](const Expression& e) { (void)builder.attend(e, memory); });
  };
  refuse("MLPAttentionBuilder", mlp, ": scores");
  refuse("DotAttentionBuilder", dot, ": attend");
  refuse("BiaffineAttentionBuilder", biaffine, ": scores");
  refuse("MultiHeadAttentionBuilder", heads, ": attend");
  const AttentionMemory memory = heads.read(x);
  refuses("MultiHeadAttentionBuilder: attend_causally",
          [&](const Expression& e) { (void)heads.attend_causally(e, memory); });
  refuses("MultiHeadAttentionBuilder: append",
          [&](const Expression& e) { (void)heads.append(memory, e); });
}

TEST_F(Unset, PositionsOfTransformers) {
  TransformerEncoderBuilder encoder(1, 4, 2, 4, model);
  TransformerDecoderBuilder decoder(1, 4, 2, 4, model);
  encoder.new_graph(cg);
  decoder.new_graph(cg);
  refuses("TransformerEncoderBuilder: encode",
          [&](const Expression& e) { (void)encoder.encode(e); });
  refuses("TransformerDecoderBuilder: start", [&](const Expression& e) { (void)decoder.start(e); });
  const TransformerState state = decoder.start(x);
  refuses("TransformerDecoderBuilder: add_input",
          [&](const Expression& e) { (void)decoder.add_input(state, e); });
  SinusoidalEncoding waves(4);
  LearnedEncoding learned(4, 8, model);
  refuses("SinusoidalEncoding: add", [&](const Expression& e) { (void)waves.add(e, 0); });
  refuses("LearnedEncoding: add", [&](const Expression& e) { (void)learned.add(e, 0); });
}

/// The search knows no line, because the expression comes from the step's function.
TEST_F(Unset, LogProbabilitiesOfABeam) {
  try {
    static_cast<void>(beam_search(
        cg, 0, 0, 1, [&](int, unsigned) { return std::pair<int, Expression>(0, none); }));
    ADD_FAILURE() << "nothing was thrown";
  } catch (const errors::StaleExpression& e) {
    EXPECT_EQ(std::string(e.what()).rfind(
                  "beam_search: the log-probabilities: the expression is unset", 0),
              0U)
        << e.what();
  }
}

}  // namespace
}  // namespace dynet
