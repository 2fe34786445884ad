// Recurrent builders in whole programs: gradients, how their steps merge, model files, trainers.

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "dynet/deep-lstm.h"
#include "dynet/expr.h"
#include "dynet/fast-lstm.h"
#include "dynet/gru.h"
#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "support/builder_checks.h"
#include "support/differences.h"
#include "testing/device.h"

namespace dynet {
namespace {

using testing::ModelFile;

/// A gated recurrent unit as PyTorch has it.
struct ResetAfterGru : public GRUBuilder {
  ResetAfterGru() = default;
  ResetAfterGru(unsigned count, unsigned in, unsigned hidden, ParameterCollection& model)
      : GRUBuilder(count, in, hidden, model, true) {}
};

/// Two layers of four over vectors of three.
template <class Builder>
class RecurrentBuilders : public ::testing::Test {};
using Builders = ::testing::Types<SimpleRNNBuilder, GRUBuilder, ResetAfterGru, VanillaLSTMBuilder,
                                  SparseLSTMBuilder, CompactVanillaLSTMBuilder, CoupledLSTMBuilder,
                                  FastLSTMBuilder, DeepLSTMBuilder>;
TYPED_TEST_SUITE(RecurrentBuilders, Builders);

// ---- gradients
// ------------------------------------------------------------------------------------

/// Sequences from nothing and from a given state, a state continued twice, replaced hidden states.
template <class Builder>
struct Program {
  ParameterCollection model;
  Builder builder;
  std::vector<Parameter> xs;
  std::vector<Parameter> states;

  template <class... Options>
  explicit Program(Options... options) : builder(2, 3, 4, model, options...) {
    for (int i = 0; i < 3; ++i) {
      xs.push_back(model.add_parameters({3}));
    }
    for (unsigned i = 0; i < builder.num_h0_components(); ++i) {
      states.push_back(model.add_parameters({4}));
    }
    testing::draw_values(model);
  }
  Expression loss(ComputationGraph& cg) {
    reset_rng(3);  // the same masks and noise each time
    builder.new_graph(cg);
    const std::vector<Expression> in = testing::nodes_of(cg, xs);
    const std::vector<Expression> state = testing::nodes_of(cg, states);
    builder.start_new_sequence();
    std::vector<Expression> outputs = builder.transduce(in);
    outputs.push_back(builder.add_input(0, in[2]));
    builder.start_new_sequence(state);
    builder.add_input(in[1]);
    outputs.push_back(builder.add_input(in[0]));
    builder.set_h(0, {state.end() - 2, state.end()});
    outputs.push_back(builder.add_input(in[2]));
    builder.set_s(0, {state.begin(), state.begin() + 2});
    outputs.push_back(builder.add_input(in[1]));
    std::vector<Expression> terms;
    terms.reserve(outputs.size());
    float scale = 0.5F;
    for (const Expression& y : outputs) {
      terms.push_back(sum_elems(y) * (scale += 0.25F) + squared_norm(y));
    }
    return sum(terms);
  }
};

template <class Builder>
void check_gradients(Program<Builder>& program) {
  testing::expect_gradients(
      program.model, [&](ComputationGraph& cg) { return program.loss(cg); }, 10);
}

TYPED_TEST(RecurrentBuilders, GradientsAgreeWithDifferences) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<TypeParam> program;
  check_gradients(program);
}

TYPED_TEST(RecurrentBuilders, GradientsWithMasks) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<TypeParam> program;
  program.builder.set_dropout(0.25F);
  check_gradients(program);
}

TEST(RecurrentBuildersOptions, GradientsWithLayerNormalisation) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<VanillaLSTMBuilder> vanilla(true, 0.5F);
  check_gradients(vanilla);
  Program<SparseLSTMBuilder> sparse(true);
  check_gradients(sparse);
}

TEST(RecurrentBuildersOptions, GradientsWithWeightNoiseAndHeldWeights) {
  const testing::DefaultDevice scope(testing::double_device());
  Program<CompactVanillaLSTMBuilder> compact;
  compact.builder.set_weightnoise(0.25F);
  check_gradients(compact);
  Program<SparseLSTMBuilder> sparse;
  sparse.builder.set_sparsity(0.5F);
  check_gradients(sparse);
}

// ---- merging
// --------------------------------------------------------------------------------------

/// Forward calls that compute sequences of these lengths, read side by side.
template <class Builder>
std::size_t calls_for(const std::vector<unsigned>& lengths, float dropout) {
  ParameterCollection model;
  Builder builder(2, 3, 4, model);
  builder.set_dropout(dropout);
  const LookupParameter words = model.add_lookup_parameters(20, {3});
  ComputationGraph cg(true);
  builder.new_graph(cg);
  std::vector<Expression> last;
  for (const unsigned length : lengths) {
    builder.start_new_sequence();
    Expression h;
    for (unsigned t = 0; t < length; ++t) {
      h = builder.add_input(lookup(cg, words, (3 * t + length) % 20));
    }
    last.push_back(h);
  }
  const VariableIndex end = last.back().i + 1;
  return testing::calls_for(cg, sum(last), end);
}

TYPED_TEST(RecurrentBuilders, SequencesOfDifferentLengthsMerge) {
  for (const float dropout : {0.0F, 0.5F}) {
    // Other cuts of groups add a few calls, whatever the number of sequences.
    const std::size_t most = calls_for<TypeParam>({9}, dropout) + 3;
    EXPECT_LE(calls_for<TypeParam>({9, 4}, dropout), most);
    EXPECT_LE(calls_for<TypeParam>({5, 9, 2, 7, 1, 8}, dropout), most);
    std::vector<unsigned> many(40);
    for (unsigned k = 0; k < 40; ++k) {
      many[k] = 1 + (5 * k) % 9;
    }
    EXPECT_LE(calls_for<TypeParam>(many, dropout), most);
  }
}

// ---- model files
// ----------------------------------------------------------------------------------

template <class Builder>
std::vector<float> output_of(Builder& builder) {
  ComputationGraph cg;
  builder.new_graph(cg);
  builder.start_new_sequence();
  builder.add_input(input(cg, {3}, {0.5F, -1.0F, 2.0F}));
  return as_vector(builder.add_input(input(cg, {3}, {1.0F, 0.25F, -0.5F})).value());
}

TYPED_TEST(RecurrentBuilders, ComeBackFromAFile) {
  const ModelFile file;
  ParameterCollection model;
  TypeParam builder(2, 3, 4, model);
  if constexpr (std::is_same_v<TypeParam, SparseLSTMBuilder>) {
    builder.set_sparsity(0.5F);
  }
  file.save(model);
  ParameterCollection other;
  TypeParam read(2, 3, 4, other);
  EXPECT_NE(output_of(read), output_of(builder));
  TextFileLoader(file.name()).populate(other);
  EXPECT_EQ(output_of(read), output_of(builder));
  // The builder's own collection, under a name of the program's.
  file.save(builder.get_parameter_collection(), "/reader");
  ParameterCollection third;
  TypeParam again(2, 3, 4, third);
  TextFileLoader(file.name()).populate(again.get_parameter_collection(), "/reader");
  EXPECT_EQ(output_of(again), output_of(builder));
}

/// The loader's error when a file of `Saved` is loaded into a `Read`.
template <class Saved, class Read>
std::string refusal(const std::string& key = "") {
  const ModelFile file;
  ParameterCollection model;
  model.add_parameters({5, 2});
  Saved saved(1, 3, 4, model);
  ParameterCollection other;
  other.add_parameters({5, 2});
  Read read(1, 3, 4, other);
  const bool own = !key.empty();
  file.save(own ? saved.get_parameter_collection() : model, key);
  try {
    TextFileLoader(file.name()).populate(own ? read.get_parameter_collection() : other, key);
  } catch (const errors::IoError& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(LstmFiles, TheOtherLstmBuilderIsNamed) {
  for (const char* key : {"", "/reader"}) {
    const std::string vanilla = refusal<VanillaLSTMBuilder, CoupledLSTMBuilder>(key);
    EXPECT_NE(vanilla.find("--dynet-lstm=vanilla or with DYNET_LSTM=vanilla"), std::string::npos)
        << vanilla;
    EXPECT_NE(vanilla.find("{16,3}"), std::string::npos) << vanilla;
    const std::string coupled = refusal<CoupledLSTMBuilder, VanillaLSTMBuilder>(key);
    EXPECT_NE(coupled.find("--dynet-lstm=coupled or with DYNET_LSTM=coupled"), std::string::npos)
        << coupled;
  }
  for (const std::string& other :
       {refusal<SimpleRNNBuilder, GRUBuilder>(), refusal<FastLSTMBuilder, CoupledLSTMBuilder>()}) {
    EXPECT_EQ(other.find("--dynet-lstm"), std::string::npos) << other;
    EXPECT_NE(other, "nothing was thrown");
  }
}

// ---- training
// -------------------------------------------------------------------------------------

TYPED_TEST(RecurrentBuilders, LearnWhichInputCameFirst) {
  ParameterCollection model;
  const LookupParameter words = model.add_lookup_parameters(4, {3});
  TypeParam builder(1, 3, 4, model);
  const Parameter out = model.add_parameters({4, 4});
  AdamTrainer trainer(model, 0.03F);
  const auto loss_of = [&](ComputationGraph& cg) {
    builder.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned first = 0; first < 4; ++first) {
      builder.start_new_sequence();
      for (const unsigned word : {first, (first + 1) % 4, 2U, 0U}) {
        builder.add_input(lookup(cg, words, word));
      }
      losses.push_back(pickneglogsoftmax(parameter(cg, out) * builder.back(), first));
    }
    return sum(losses);
  };
  float first = 0;
  float last = 0;
  for (int i = 0; i < 150; ++i) {
    ComputationGraph cg;
    const Expression loss = loss_of(cg);
    last = as_scalar(loss.value());
    first = i == 0 ? last : first;
    cg.backward(loss);
    trainer.update();
  }
  EXPECT_LT(last, 0.2F * first);
}

TEST(SparseLstmTraining, LeavesMasksAndWhatTheyHold) {
  ParameterCollection model;
  SparseLSTMBuilder lstm(1, 3, 4, model);
  lstm.set_sparsity(0.5F);
  const std::vector<float> mask = as_vector(*lstm.params[0][3].values());
  const std::vector<float> before = as_vector(*lstm.params[0][0].values());
  SimpleSGDTrainer trainer(model, 0.5F);
  ComputationGraph cg;
  lstm.new_graph(cg);
  lstm.start_new_sequence();
  cg.backward(squared_norm(lstm.add_input(ones(cg, {3}))));
  trainer.update();
  EXPECT_EQ(as_vector(*lstm.params[0][3].values()), mask);
  const std::vector<float> after = as_vector(*lstm.params[0][0].values());
  std::size_t moved = 0;
  for (std::size_t i = 0; i < mask.size(); ++i) {
    moved += after[i] != before[i] ? 1 : 0;
    EXPECT_TRUE(mask[i] != 0.0F || after[i] == before[i]) << i;
  }
  EXPECT_GT(moved, 0U);
}

}  // namespace
}  // namespace dynet
