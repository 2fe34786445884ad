// Every allocation of a call of a builder fails once: the exception is out_of_memory, and the call,
// repeated, leads to the numbers of a program without failures.

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "dynet/adaptive-softmax.h"
#include "dynet/attention.h"
#include "dynet/beam.h"
#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/hsm-builder.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/sampled-softmax.h"
#include "dynet/semi-crf-builder.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
#include "support/refused_call.h"
#include "testing/device.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Expressions = std::vector<Expression>;

/// A graph, some inputs, and computed values. Only allocations of `call` are refused.
class Program {
 public:
  Program() {
    reset_rng(7);
    for (int i = 0; i < 6; ++i) {
      xs_.push_back(column(4, 0.2F * static_cast<float>(i + 1)));
    }
  }
  [[nodiscard]] Expression column(unsigned rows, float first) {
    std::vector<float> values(rows);
    for (unsigned k = 0; k < rows; ++k) {
      values[k] = first - 0.3F * static_cast<float>(k);
    }
    return input(cg_, {rows}, values);
  }
  ComputationGraph& cg() { return cg_; }
  ParameterCollection& model() { return model_; }
  [[nodiscard]] const Expression& x(std::size_t i) const { return xs_[i]; }

  /// Counts with its gradient.
  void add(const Expression& e) { terms_.push_back(sum_elems(e)); }
  void add(const Expressions& es) {
    for (const Expression& e : es) {
      add(e);
    }
  }
  void note(double x) { found_.add(x); }
  /// The terms, and the norm of the gradients that their sum gives.
  Numbers finish() {
    for (const Expression& e : terms_) {
      found_.add(cg_.incremental_forward(e));
    }
    cg_.backward(sum_batches(sum(terms_)));
    found_.add(model_.gradient_l2_norm());
    return found_;
  }

 private:
  ParameterCollection model_;
  ComputationGraph cg_;
  Expressions xs_;
  Expressions terms_;
  Numbers found_;
};

using Run = std::function<Numbers()>;
struct Named {
  const char* name;
  Run run;
};

// ---- recurrent
// ------------------------------------------------------------------------------------

Expression step(RNNBuilder& b, const Expression& x) {
  Expression y;
  call("add_input", [&] { y = b.add_input(x); });
  return y;
}

/// Sequences from nothing and from a state, branches, replaced states, lists.
template <class Builder, class Prepare>
Numbers run_recurrent(Builder& b, Program& p, Prepare prepare) {
  const Expressions list{p.x(2), p.x(3), p.x(4)};
  const Expressions hidden{p.x(1), p.x(1)};
  Expressions got;
  prepare();
  call("new_graph", [&] { b.new_graph(p.cg()); });
  call("start_new_sequence", [&] { b.start_new_sequence(); });
  p.add(step(b, p.x(0)));
  call("final_s", [&] { got = b.final_s(); });
  const Expressions state = got;
  p.add(step(b, p.x(1)));
  call("transduce", [&] { got = b.transduce(list); });
  p.add(got);
  p.note(b.state());
  Expression y;
  call("add_input", [&] { y = b.add_input(0, p.x(5)); });
  p.add(y);
  call("start_new_sequence", [&] { b.start_new_sequence(state); });
  p.add(step(b, p.x(3)));
  call("set_h", [&] { y = b.set_h(0, hidden); });
  p.add(step(b, p.x(2)));
  call("set_s", [&] { y = b.set_s(0, state); });
  p.add(y);
  p.add(step(b, p.x(0)));
  call("get_s", [&] { got = b.get_s(2); });
  p.add(got);
  call("forget_after", [&] { b.forget_after(1); });
  p.add(step(b, p.x(4)));
  p.note(b.state());
  call("get_h", [&] { got = b.get_h(b.state()); });
  p.add(got);
  call("back", [&] { y = b.back(); });
  p.add(y);
  return p.finish();
}

template <class Builder, class... Options>
Named recurrent(const char* name, float dropout, Options... options) {
  return {name, [=] {
            Program p;
            Builder b(2, 4, 4, p.model(), options...);
            b.set_dropout(dropout);
            return run_recurrent(b, p, [] {});
          }};
}

Numbers run_weight_noise() {
  Program p;
  CompactVanillaLSTMBuilder b(2, 4, 4, p.model());
  return run_recurrent(b, p, [&] { b.set_weightnoise(0.3F); });
}

Numbers run_lags() {
  Program p;
  SimpleRNNBuilder b(2, 4, 4, p.model(), true);
  b.new_graph(p.cg());
  b.start_new_sequence();
  p.add(step(b, p.x(0)));
  Expression y;
  call("add_auxiliary_input", [&] { y = b.add_auxiliary_input(p.x(1), p.x(2)); });
  p.add(y);
  p.note(b.state());
  call("add_input", [&] { y = b.add_input(1, p.x(3)); });
  p.add(y);
  return p.finish();
}

template <class Builder>
Numbers run_birnn() {
  Program p;
  BiRNNBuilder<Builder> b(2, 4, 4, p.model());
  b.set_dropout(0.25F);
  const Expressions list{p.x(0), p.x(1), p.x(2)};
  call("new_graph", [&] { b.new_graph(p.cg()); });
  Expressions got;
  for (int sequence = 0; sequence < 2; ++sequence) {
    call("transduce", [&] { got = b.transduce(list); });
    p.add(got);
  }
  call("add_inputs", [&] { b.add_inputs(list); });
  Expression y;
  call("back", [&] { y = b.back(); });
  p.add(y);
  return p.finish();
}

// ---- trees
// ----------------------------------------------------------------------------------------

template <class Builder>
Numbers run_tree(Builder& b, Program& p, float dropout) {
  const std::vector<std::vector<int>> children{{}, {}, {0, 1}, {2}};
  b.set_dropout(dropout);
  call("new_graph", [&] { b.new_graph(p.cg()); });
  for (int tree = 0; tree < 2; ++tree) {
    call("start_new_sequence", [&] { b.start_new_sequence(); });
    if (tree == 1) {
      call("set_num_elements", [&] { b.set_num_elements(4); });
    }
    Expression y;
    for (int node = 0; node < 4; ++node) {
      const auto n = static_cast<std::size_t>(node);
      call("add_input", [&] { y = b.add_input(node, children[n], p.x(n)); });
      p.add(y);
    }
    Expressions got;
    call("final_s", [&] { got = b.final_s(); });
    p.add(got);
    call("get_h", [&] { got = b.get_h(1); });
    p.add(got);
  }
  return p.finish();
}
template <class Builder, class... Sizes>
Named tree(const char* name, float dropout, Sizes... sizes) {
  return {name, [=] {
            Program p;
            Builder b(sizes..., 4U, 4U, p.model());
            return run_tree(b, p, dropout);
          }};
}

template <class Builder>
Numbers run_binary(Builder& b, Program& p) {
  call("new_graph", [&] { b.new_graph(p.cg()); });
  TreeState left;
  TreeState right;
  TreeState top;
  call("add_input", [&] { left = b.add_input(p.x(0)); });
  call("add_input", [&] { right = b.add_input(p.x(1)); });
  call("add_input", [&] { top = b.add_input(left, right); });
  p.add(top.h);
  const Expressions words{p.x(2), p.x(3), p.x(4)};
  const std::vector<int> lefts{-1, -1, 0, -1, 2};
  const std::vector<int> rights{-1, -1, 1, -1, 3};
  Expressions got;
  call("transduce", [&] { got = b.transduce(words, lefts, rights); });
  p.add(got);
  return p.finish();
}
Numbers run_binary_lstm() {
  Program p;
  BinaryTreeLSTMBuilder b(4, 4, p.model());
  return run_binary(b, p);
}
Numbers run_tree_rnn() {
  Program p;
  TreeRNNBuilder b(4, p.model());
  return run_binary(b, p);
}

// ---- softmaxes
// ------------------------------------------------------------------------------------

constexpr unsigned kWords = 7;
const char* const kClasses = "c w0\na w1\nc w2\nb w3\nc w4\nb w5\nd w6\n";
const char* const kPaths = "0 0\tw0\n1 0\tw1\n0 1\tw2\n1 1\tw3\n1 1\tw4\n1 1\tw5\n1 2\tw6\n";

template <class Builder>
Numbers run_softmax(Builder& b, Program& p) {
  call("new_graph", [&] { b.new_graph(p.cg()); });
  const Expression batch = concatenate_to_batch({p.x(1), p.x(2), p.x(3)});
  const std::vector<unsigned> words{0, 4, 6};
  Expression y;
  call("neg_log_softmax", [&] { y = b.neg_log_softmax(p.x(0), 3); });
  p.add(y);
  call("neg_log_softmax", [&] { y = b.neg_log_softmax(batch, words); });
  p.add(y);
  call("full_log_distribution", [&] { y = b.full_log_distribution(p.x(4)); });
  p.add(y);
  unsigned word = 0;
  call("sample", [&] { word = b.sample(p.x(5)); });
  p.note(word);
  if constexpr (std::is_same_v<Builder, SampledSoftmaxBuilder>) {
    call("sampled_loss", [&] { y = b.sampled_loss(p.x(0), 3); });
    p.add(y);
    call("sampled_loss", [&] { y = b.sampled_loss(batch, words); });
    p.add(y);
  }
  return p.finish();
}
Numbers run_standard() {
  Program p;
  StandardSoftmaxBuilder b(4, kWords, p.model());
  return run_softmax(b, p);
}
Numbers run_adaptive() {
  Program p;
  AdaptiveSoftmaxBuilder b(4, kWords, {2, 4, 6}, p.model(), 1.5F);
  return run_softmax(b, p);
}
Numbers run_sampled(SampledLoss loss) {
  Program p;
  SampledSoftmaxBuilder b(4, NoiseDistribution({7, 6, 5, 4, 3, 2, 1}), 4, loss, p.model());
  return run_softmax(b, p);
}
template <class Builder>
Numbers run_clusters(const char* text) {
  Program p;
  Dict words;
  for (unsigned w = 0; w < kWords; ++w) {
    words.convert("w" + std::to_string(w));
  }
  std::istringstream file(text);
  Builder b(4, file, words, p.model());
  return run_softmax(b, p);
}

// ---- attention
// ------------------------------------------------------------------------------------

template <class Builder>
Numbers run_attention(Builder& b, Program& p) {
  call("new_graph", [&] { b.new_graph(p.cg()); });
  const Expression keys = concatenate_to_batch(
      {concatenate_cols({p.x(0), p.x(1), p.x(2)}), concatenate_cols({p.x(3), p.x(4), p.x(5)})});
  const std::vector<unsigned> lengths{3, 2};
  AttentionMemory memory;
  Expression y;
  call("read", [&] { memory = b.read(keys, lengths); });
  call("attend", [&] { y = b.attend(p.x(1), memory); });
  p.add(y);
  if constexpr (std::is_same_v<Builder, MultiHeadAttentionBuilder>) {
    AttentionMemory all;
    call("read", [&] { all = b.read(keys); });
    call("attend_causally", [&] { y = b.attend_causally(keys, all); });
    p.add(y);
    AttentionMemory more;
    call("append", [&] { more = b.append(all, p.x(0)); });
    call("attend", [&] { y = b.attend(p.x(2), more); });
  } else {
    call("weights", [&] { y = b.weights(p.x(2), memory); });
  }
  p.add(y);
  return p.finish();
}
template <class Builder, class... Sizes>
Named attention_of(const char* name, Sizes... sizes) {
  return {name, [=] {
            Program p;
            Builder b(sizes..., p.model());
            return run_attention(b, p);
          }};
}

Numbers run_transformer() {
  Program p;
  TransformerOptions options;
  TransformerEncoderBuilder encoder(2, 4, 2, 5, p.model(), options);
  options.has_memory = true;
  TransformerDecoderBuilder decoder(2, 4, 2, 5, p.model(), options);
  const LearnedEncoding learned(4, 9, p.model());
  const SinusoidalEncoding sines(4);
  encoder.set_dropout(0.25F);
  decoder.set_dropout(0.25F);
  call("new_graph", [&] { encoder.new_graph(p.cg()); });
  call("new_graph", [&] { decoder.new_graph(p.cg()); });
  const std::vector<unsigned> lengths{2};
  Expression y = concatenate_cols({p.x(0), p.x(1), p.x(2)});
  call("add", [&] { y = sines.add(y); });
  call("encode", [&] { y = encoder.encode(y, lengths); });
  p.add(y);
  TransformerState state;
  call("start", [&] { state = decoder.start(y, lengths); });
  for (unsigned k = 3; k < 5; ++k) {
    Expression x;
    call("add", [&] { x = learned.add(p.x(k), k); });
    call("add_input", [&] { state = decoder.add_input(state, x); });
    p.add(state.output);
  }
  return p.finish();
}

// ---- chains and searches
// --------------------------------------------------------------------------

Numbers run_crf() {
  Program p;
  CRFBuilder b(4, p.model());
  b.forbid(0, 3);
  b.forbid_start(2);
  const Expression scores = concatenate_cols({p.x(0), p.x(1), p.x(2)});
  const std::vector<unsigned> tags{0, 1, 3};
  for (int graph = 0; graph < 2; ++graph) {
    call("new_graph", [&] { b.new_graph(p.cg()); });
    Expression y;
    call("neg_log_likelihood", [&] { y = b.neg_log_likelihood(scores, tags); });
    p.add(y);
    ScoredTags best;
    call("viterbi", [&] { best = b.viterbi(scores); });
    p.note(best.score);
    p.note(best.tags[1]);
    std::vector<ScoredTags> several;
    call("n_best", [&] { several = b.n_best(scores, 3); });
    p.note(several[2].score);
    std::vector<float> shares;
    call("marginals", [&] { shares = b.marginals(scores); });
    p.note(shares[5]);
  }
  return p.finish();
}

Numbers run_semi_crf() {
  Program p;
  SemiCRFBuilder b(4, 2, p.model());
  const Expression emissions = concatenate_cols({p.x(0), p.x(1), p.x(2)});
  const std::vector<LabelledSpan> segments{{1, 0, 2}, {3, 2, 3}};
  for (int graph = 0; graph < 2; ++graph) {
    call("new_graph", [&] { b.new_graph(p.cg()); });
    Expression scores;
    call("segment_scores", [&] { scores = b.segment_scores(emissions); });
    Expression y;
    call("neg_log_likelihood", [&] { y = b.neg_log_likelihood(scores, segments); });
    p.add(y);
    ScoredSegments best;
    call("viterbi", [&] { best = b.viterbi(scores); });
    p.note(best.score);
  }
  return p.finish();
}

Numbers run_beam(bool checkpoints) {
  Program p;
  VanillaLSTMBuilder b(1, 4, 4, p.model());
  const LookupParameter words = p.model().add_lookup_parameters(4, {4});
  b.new_graph(p.cg());
  BeamOptions options;
  options.width = 3;
  options.max_length = 4;
  options.n_best = 3;
  options.checkpoints = checkpoints;
  std::vector<Hypothesis> best;
  const Expressions start{p.x(0), p.x(1)};
  const auto next = [&](const Expressions& state, unsigned word) {
    b.start_new_sequence(state);
    const Expression y = b.add_input(lookup(p.cg(), words, word));
    return std::make_pair(b.final_s(), log_softmax(y));
  };
  call("beam_search", [&] { best = beam_search(p.cg(), start, 1, 0, next, options); });
  for (const Hypothesis& h : best) {
    p.note(h.score);
    p.note(static_cast<double>(h.words.size()));
  }
  b.start_new_sequence(start);
  p.add(b.add_input(p.x(2)));
  return p.finish();
}

// ---- all of them
// ----------------------------------------------------------------------------------

std::vector<Named> programs() {
  return {
      recurrent<SimpleRNNBuilder>("SimpleRNN", 0.0F),
      recurrent<SimpleRNNBuilder>("SimpleRNNWithMasks", 0.25F),
      recurrent<GRUBuilder>("GRU", 0.0F),
      recurrent<GRUBuilder>("GRUWithDropout", 0.25F),
      recurrent<GRUBuilder>("GRUResetAfter", 0.25F, true),
      recurrent<VanillaLSTMBuilder>("VanillaLSTM", 0.25F),
      recurrent<VanillaLSTMBuilder>("VanillaLSTMNormalised", 0.0F, true),
      recurrent<SparseLSTMBuilder>("SparseLSTM", 0.25F),
      recurrent<CompactVanillaLSTMBuilder>("CompactVanillaLSTM", 0.25F),
      recurrent<CoupledLSTMBuilder>("CoupledLSTM", 0.0F),
      recurrent<CoupledLSTMBuilder>("CoupledLSTMWithMasks", 0.25F),
      recurrent<FastLSTMBuilder>("FastLSTM", 0.25F),
      recurrent<DeepLSTMBuilder>("DeepLSTM", 0.25F),
      {"WeightNoise", run_weight_noise},
      {"Lags", run_lags},
      {"BiRNNOfVanilla", run_birnn<VanillaLSTMBuilder>},
      {"BiRNNOfGRU", run_birnn<GRUBuilder>},
      tree<NaryTreeLSTMBuilder>("NaryTree", 0.25F, 2U, 2U),
      tree<ChildSumTreeLSTMBuilder>("ChildSumTree", 0.25F, 2U),
      tree<TreeGRUBuilder>("TreeGRU", 0.25F, 2U),
      tree<UnidirectionalTreeLSTMBuilder>("UnidirectionalTree", 0.25F, 2U),
      tree<BidirectionalTreeLSTMBuilder>("BidirectionalTree", 0.25F, 2U),
      {"BinaryTreeLSTM", run_binary_lstm},
      {"TreeRNN", run_tree_rnn},
      {"StandardSoftmax", run_standard},
      {"AdaptiveSoftmax", run_adaptive},
      {"ClassFactoredSoftmax", [] { return run_clusters<ClassFactoredSoftmaxBuilder>(kClasses); }},
      {"HierarchicalSoftmax", [] { return run_clusters<HierarchicalSoftmaxBuilder>(kPaths); }},
      {"Nce", [] { return run_sampled(SampledLoss::kNce); }},
      {"SampledSoftmax", [] { return run_sampled(SampledLoss::kSampledSoftmax); }},
      {"BlackOut", [] { return run_sampled(SampledLoss::kBlackOut); }},
      attention_of<MLPAttentionBuilder>("MLPAttention", 4U, 4U, 5U),
      attention_of<DotAttentionBuilder>("DotAttention", 4U),
      attention_of<BiaffineAttentionBuilder>("BiaffineAttention", 4U, 4U),
      {"MultiHeadAttention",
       [] {
         Program p;
         MultiHeadAttentionBuilder b(4, 2, p.model());
         return run_attention(b, p);
       }},
      {"Transformer", run_transformer},
      {"CRF", run_crf},
      {"SemiCRF", run_semi_crf},
      {"Beam", [] { return run_beam(false); }},
      {"BeamWithCheckpoints", [] { return run_beam(true); }},
  };
}

class FailedBuilderAllocation : public ::testing::TestWithParam<Named> {};
INSTANTIATE_TEST_SUITE_P(All, FailedBuilderAllocation, ::testing::ValuesIn(programs()),
                         [](const auto& one) { return one.param.name; });

TEST_P(FailedBuilderAllocation, TheCallRepeatedIsRight) {
  const auto run = [] {
    api::drop_resting_states();  // so that memory has to be taken anew
    const DefaultDevice scope(double_device());
    return GetParam().run();
  };
  FailingNew::arm(-1);
  const Numbers expected = run();
  const long all = FailingNew::count;
  EXPECT_GT(all, 10);
  for (long n = 0; n < all && !HasFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    FailingNew::arm(n);
    const Numbers found = run();
    EXPECT_EQ(compare(found.all, expected.all, tolerance::kSameInDouble), "");
  }
}

}  // namespace
}  // namespace dynet::testing
