// Prints the outputs of each builder in a file of dy.save, a line each: "GRUBuilder 0x1.8p-1 ...".
// test_load_model.py compares them with the outputs in Python, and names each entry of its file by
// the builder's class; the inputs are the same there.

#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/attention.h"
#include "dynet/birnn.h"
#include "dynet/crf-builder.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/hsm-builder.h"
#include "dynet/init.h"
#include "dynet/load-model.h"
#include "dynet/lstm.h"
#include "dynet/semi-crf-builder.h"
#include "dynet/transformer.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do

namespace {

std::vector<float> numbers(unsigned first, unsigned count) {
  std::vector<float> x(count);
  for (unsigned i = 0; i < count; ++i) {
    x[i] = (static_cast<float>((first * 7 + i * 3) % 11) - 5.0F) / 8.0F;
  }
  return x;
}
Expression vector_of(ComputationGraph& cg, unsigned k) { return input(cg, {4}, numbers(k, 4)); }
std::vector<Expression> three(ComputationGraph& cg) {
  return {vector_of(cg, 0), vector_of(cg, 1), vector_of(cg, 2)};
}
Expression matrix(ComputationGraph& cg) { return input(cg, {4, 3}, numbers(0, 12)); }

// ---- one function for each kind of builder

Expression used(ComputationGraph& cg, RNNBuilder& b) {
  b.start_new_sequence();
  for (const Expression& x : three(cg)) {
    b.add_input(x);
  }
  return b.back();
}
Expression used(ComputationGraph& cg, TreeNodesBuilder& b) {
  b.start_new_sequence();
  b.add_input(0, {}, vector_of(cg, 0));
  b.add_input(1, {}, vector_of(cg, 1));
  return b.add_input(2, {0, 1}, vector_of(cg, 2));
}
Expression used(ComputationGraph& cg, BinaryTreeBuilder& b) {
  const TreeState left = b.add_input(vector_of(cg, 0));
  const TreeState right = b.add_input(vector_of(cg, 1));
  return b.add_input(left, right).h;
}
Expression used(ComputationGraph& cg, SoftmaxBuilder& b) {
  return b.full_log_distribution(vector_of(cg, 0));
}
Expression used(ComputationGraph& cg, AttentionBuilder& b) {
  return b.attend(vector_of(cg, 5), b.read(matrix(cg)));
}
Expression used(ComputationGraph& cg, TransformerEncoderBuilder& b) { return b.encode(matrix(cg)); }
Expression used(ComputationGraph& cg, TransformerDecoderBuilder& b) {
  return b.add_input(b.start(matrix(cg)), vector_of(cg, 1)).output;
}
Expression used(ComputationGraph& cg, LearnedEncoding& b) { return b.add(matrix(cg), 1); }
Expression used(ComputationGraph& cg, CRFBuilder& b) { return b.best_path(matrix(cg))[1]; }
Expression used(ComputationGraph& cg, SemiCRFBuilder& b) {
  const std::vector<LabelledSpan> segments = {{0, 0, 2}, {1, 2, 3}};
  return b.neg_log_likelihood(b.segment_scores(matrix(cg)), segments);
}
template <class Builder>
Expression used(ComputationGraph& cg, BiRNNBuilder<Builder>& b) {
  return concatenate(b.transduce(three(cg)));
}

// ---- the builders of a file

void start(LearnedEncoding& /*builder*/, ComputationGraph& /*cg*/) {}
template <class Builder>
void start(Builder& builder, ComputationGraph& cg) {
  builder.new_graph(cg);
}

/// False if the entry is of another class.
template <class Builder>
bool print(LoadedModel& model, const std::string& name) {
  Builder* builder = nullptr;
  try {
    builder = &model.builder<Builder>(name);
  } catch (const std::runtime_error&) {
    return false;
  }
  ComputationGraph cg;
  start(*builder, cg);
  std::printf("%s", name.c_str());
  for (const float x : as_vector(used(cg, *builder).value())) {
    std::printf(" %a", static_cast<double>(x));
  }
  std::printf("\n");
  return true;
}

template <class... Builders>
bool print_first(LoadedModel& model, const std::string& name) {
  return (print<Builders>(model, name) || ...);
}

}  // namespace

int main(int argc, char** argv) {
  initialize(argc, argv);
  LoadedModel model = load_model(argv[1]);
  for (const std::string& name : model.names()) {
    const bool is_known =
        print_first<RNNBuilder, TreeNodesBuilder, BinaryTreeBuilder, SoftmaxBuilder,
                    AttentionBuilder, TransformerEncoderBuilder, TransformerDecoderBuilder,
                    LearnedEncoding, CRFBuilder, SemiCRFBuilder, BiRNNBuilder<SimpleRNNBuilder>,
                    BiRNNBuilder<GRUBuilder>, BiRNNBuilder<CoupledLSTMBuilder>,
                    BiRNNBuilder<VanillaLSTMBuilder>, BiRNNBuilder<SparseLSTMBuilder>,
                    BiRNNBuilder<CompactVanillaLSTMBuilder>, BiRNNBuilder<FastLSTMBuilder>>(model,
                                                                                            name);
    if (!is_known) {
      std::fprintf(stderr, "%s: no function here uses such a builder\n", name.c_str());
      return 1;
    }
  }
}
