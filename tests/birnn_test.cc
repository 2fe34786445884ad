// The recurrent network that reads from both ends: the outputs of its two builders by hand,
// merging, and model files that Python wrote.

#include "dynet/birnn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "dynet/gru.h"
#include "dynet/io.h"
#include "dynet/lstm.h"

#include "support/builder_checks.h"
#include "support/differences.h"
#include "testing/device.h"

namespace dynet {
namespace {

using Expressions = std::vector<Expression>;
using Values = std::vector<float>;

Expressions inputs(ComputationGraph& cg, unsigned count, unsigned batch = 1, float shift = 0.0F) {
  Expressions xs;
  for (unsigned t = 0; t < count; ++t) {
    Values values;
    for (unsigned i = 0; i < 3 * batch; ++i) {
      values.push_back(0.25F * static_cast<float>((5 * t + 7 * i) % 9) - 1.0F + shift);
    }
    xs.push_back(input(cg, Dim({3}, batch), values));
  }
  return xs;
}

std::vector<Values> values_of(const Expressions& es) {
  std::vector<Values> values;
  values.reserve(es.size());
  for (const Expression& e : es) {
    values.push_back(as_vector(e.value()));
  }
  return values;
}

/// The outputs of one builder along a sequence.
template <class Builder>
Expressions read(Builder& builder, const Expressions& xs) {
  builder.start_new_sequence();
  Expressions hs;
  hs.reserve(xs.size());
  for (const Expression& x : xs) {
    hs.push_back(builder.add_input(x));
  }
  return hs;
}

template <class Builder>
class BiRNN : public ::testing::Test {};
using Builders = ::testing::Types<SimpleRNNBuilder, GRUBuilder, VanillaLSTMBuilder>;
TYPED_TEST_SUITE(BiRNN, Builders);

TYPED_TEST(BiRNN, SaysWhatItsBuildersSayByHand) {
  ParameterCollection model;
  BiRNNBuilder<TypeParam> both(2, 3, 8, model);
  auto by_hand = both.builder_layers;  // copies share the parameters
  ComputationGraph cg;
  both.new_graph(cg);
  for (auto& layer : by_hand) {
    layer.forward.new_graph(cg);
    layer.backward.new_graph(cg);
  }
  for (const unsigned batch : {1U, 3U}) {
    const Expressions xs = inputs(cg, 4, batch);
    const Expressions outputs = both.transduce(xs);
    Expressions below = xs;
    Expression ends;
    for (auto& layer : by_hand) {
      const Expressions forward = read(layer.forward, below);
      Expressions backward = read(layer.backward, {below.rbegin(), below.rend()});
      ends = concatenate({forward.back(), backward.back()});
      std::reverse(backward.begin(), backward.end());
      for (std::size_t i = 0; i < below.size(); ++i) {
        below[i] = concatenate({forward[i], backward[i]});
      }
    }
    EXPECT_EQ(outputs[0].dim(), Dim({8}, batch));
    EXPECT_EQ(values_of(outputs), values_of(below));
    EXPECT_EQ(values_of({both.back()}), values_of({ends}));

    const auto steps = both.add_inputs(xs);
    ASSERT_EQ(steps.size(), 4U);
    const auto& top = both.builder_layers.back();
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Expression here = concatenate(
          {top.forward.get_output(steps[i].forward), top.backward.get_output(steps[i].backward)});
      EXPECT_EQ(values_of({here}), values_of({outputs[i]})) << i;
    }
    EXPECT_EQ(values_of({both.back()}), values_of({ends}));
  }
  EXPECT_TRUE(both.transduce({}).empty());
  EXPECT_TRUE(both.add_inputs({}).empty());
  EXPECT_THROW(static_cast<void>(both.back()), errors::StateError);  // there is no last place
}

TYPED_TEST(BiRNN, GradientsAgreeWithDifferences) {
  const testing::DefaultDevice scope(testing::double_device());
  ParameterCollection model;
  BiRNNBuilder<TypeParam> both(2, 3, 4, model);
  both.set_dropout(0.25F);
  testing::draw_values(model);
  testing::expect_gradients(
      model,
      [&](ComputationGraph& cg) {
        reset_rng(3);  // the same masks each time
        both.new_graph(cg);
        const Expressions hs = both.transduce(inputs(cg, 3));
        return squared_norm(concatenate(hs)) + sum_elems(both.back()) * 0.5F;
      },
      10);
}

/// Forward calls that compute sequences of these lengths.
template <class Builder>
std::size_t calls_for(const std::vector<unsigned>& lengths) {
  ParameterCollection model;
  BiRNNBuilder<Builder> both(2, 3, 4, model);
  ComputationGraph cg(true);
  both.new_graph(cg);
  Expressions all;
  for (const unsigned length : lengths) {
    const float shift = 0.125F * static_cast<float>(all.size());
    const Expressions hs = both.transduce(inputs(cg, length, 1, shift));
    all.insert(all.end(), hs.begin(), hs.end());
  }
  const VariableIndex end = all.back().i + 1;
  return testing::calls_for(cg, sum(all), end);
}

TYPED_TEST(BiRNN, SequencesOfDifferentLengthsMerge) {
  const std::size_t one = calls_for<TypeParam>({9});
  const std::size_t most = one + one / 20;
  EXPECT_LE(calls_for<TypeParam>({9, 4}), most);
  EXPECT_LE(calls_for<TypeParam>({5, 9, 2, 7, 1, 8}), most);
}

TEST(BiRNNDropout, IsThatOfItsBuilders) {
  ParameterCollection model;
  BiRNNBuilder<VanillaLSTMBuilder> both(2, 3, 8, model);
  const auto output = [&] {
    ComputationGraph cg;
    both.new_graph(cg);
    return values_of(both.transduce(inputs(cg, 3)));
  };
  const auto plain = output();
  both.set_dropout(0.5F);
  for (const auto& layer : both.builder_layers) {
    EXPECT_EQ(layer.forward.dropout_rate_h, 0.5F);
    EXPECT_EQ(layer.backward.dropout_rate_h, 0.5F);
  }
  EXPECT_NE(output(), output());
  both.set_dropout(0.5F, 0.25F);
  EXPECT_EQ(both.builder_layers[1].backward.dropout_rate_h, 0.25F);
  EXPECT_THROW(both.set_dropout(2.0F), errors::ValueError);
  both.disable_dropout();
  EXPECT_EQ(output(), plain);
}

TEST(BiRNNOptions, ReachTheBuilders) {
  ParameterCollection model;
  const BiRNNBuilder<VanillaLSTMBuilder> both(1, 3, 4, model, true, 0.5F);
  EXPECT_TRUE(both.builder_layers[0].backward.ln_lstm);
  EXPECT_EQ(both.builder_layers[0].forward.forget_bias, 0.5F);
}

TEST(BiRNNCopies, ShareParameters) {
  ParameterCollection model;
  BiRNNBuilder<GRUBuilder> one(2, 3, 4, model);
  BiRNNBuilder<GRUBuilder> other(2, 3, 4, model);
  EXPECT_EQ(one.get_parameter_collection().get_fullname(), "/birnn/");
  EXPECT_EQ(other.get_parameter_collection().get_fullname(), "/birnn_1/");
  const auto output = [](BiRNNBuilder<GRUBuilder>& builder) {
    ComputationGraph cg;
    builder.new_graph(cg);
    return values_of(builder.transduce(inputs(cg, 3)));
  };
  EXPECT_NE(output(one), output(other));
  other.copy(one);
  EXPECT_EQ(output(one), output(other));
  BiRNNBuilder<GRUBuilder> copied = one;
  EXPECT_EQ(output(one), output(copied));
  BiRNNBuilder<GRUBuilder> flat(1, 3, 4, model);
  EXPECT_THROW(flat.copy(one), errors::ValueError);
  BiRNNBuilder<GRUBuilder> wide(2, 3, 6, model);
  EXPECT_THROW(wide.copy(one), errors::ValueError);
}

/// The text of an error.
template <class Error, class Function>
std::string mistake(const Function& function) {
  try {
    function();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

TEST(BiRNNMistakes, AreNamed) {
  using Both = BiRNNBuilder<GRUBuilder>;
  ParameterCollection model;
  EXPECT_EQ(mistake<errors::ValueError>([&] { Both(0, 3, 4, model); }),
            "BiRNNBuilder: 0 layers; want 1 or more");
  EXPECT_EQ(mistake<errors::ValueError>([&] { Both(1, 3, 5, model); }),
            "BiRNNBuilder: a hidden size of 5; want an even one");
  EXPECT_TRUE(model.parameters_list().empty());
  Both none;
  ComputationGraph cg;
  none.new_graph(cg);  // nothing to add
  EXPECT_EQ(mistake<errors::StateError>([&] { none.transduce({}); }),
            "BiRNNBuilder: transduce: the builder was made without layers");
  EXPECT_EQ(mistake<errors::StateError>([&] { static_cast<void>(none.back()); }),
            "BiRNNBuilder: back: the builder was made without layers");
  Both both(1, 3, 4, model);
  const Expressions xs = inputs(cg, 2);
  EXPECT_THROW(both.transduce(xs), errors::StateError);
  both.new_graph(cg);
  // An input of another size names the user's line, and the next sequence is as if it had not been.
  const auto want = values_of(both.transduce(xs));
  const std::string wrong =
      mistake<errors::ShapeError>([&] { both.transduce({xs[0], ones(cg, {2})}); });
  EXPECT_NE(wrong.find("birnn_test.cc"), std::string::npos) << wrong;
  EXPECT_EQ(values_of(both.transduce(xs)), want);
}

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Python's file of BiRNNBuilder(2, 3, 4, m, SimpleRNNBuilder) with the numbers -1, -3/8, ...
std::string file_of_python() {
  std::string text;
  int count = 0;
  for (unsigned builder = 0; builder < 4; ++builder) {
    const std::string name =
        "/birnn/simple-rnn-builder" + (builder == 0 ? "" : "_" + std::to_string(builder)) + "/_";
    const int read = builder < 2 ? 3 : 4;
    const std::vector<std::pair<std::string, int>> parameters = {
        {"0 {2," + std::to_string(read) + "}", 2 * read}, {"1 {2,2}", 4}, {"2 {2}", 2}};
    for (const auto& [number_and_shape, size] : parameters) {
      std::string values;
      for (const int end = count + size; count < end; ++count) {
        char value[32];
        std::snprintf(value, sizeof value, "%+.8e ", (5 * count % 17 - 8) / 8.0);
        values += value;
      }
      text.append("#Parameter# ").append(name).append(number_and_shape).append(" ");
      text.append(std::to_string(values.size() + 1)).append(" ZERO_GRAD\n");
      text.append(values).append("\n");
    }
  }
  return text;
}

// The Python twin of this test is in test_bidirectional.py.
TEST(BiRNNFiles, AreThoseOfPython) {
  const testing::ModelFile file;
  std::ofstream(file.name()) << file_of_python();
  ParameterCollection model;
  BiRNNBuilder<SimpleRNNBuilder> both(2, 3, 4, model);
  TextFileLoader(file.name()).populate(model);
  ComputationGraph cg;
  both.new_graph(cg);
  const Expressions hs =
      both.transduce({input(cg, {3}, {1.0F, 0.5F, -1.0F}), input(cg, {3}, {0.0F, 2.0F, 0.25F})});
  const std::vector<Values> want = {{0.392278921F, -0.427513163F, 0.930411257F, -0.627345569F},
                                    {0.473251684F, 0.857373694F, 0.506432379F, -0.949177684F}};
  for (std::size_t i = 0; i < want.size(); ++i) {
    const Values got = as_vector(hs[i].value());
    ASSERT_EQ(got.size(), 4U);
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_FLOAT_EQ(got[j], want[i][j]) << i << " " << j;
    }
  }
  file.save(model);
  EXPECT_EQ(text_of(file.name()), file_of_python());
}

}  // namespace
}  // namespace dynet
