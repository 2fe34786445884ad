// Transformers: whole sequences against step by step, batches against their examples, the positions
// that a position sees, gradients, merging, encodings, dropout, files, errors. Values and gradients
// against PyTorch: python/tests/test_transformers.py.

#include "dynet/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet/init.h"
#include "dynet/io.h"

#include "support/differences.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/program.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Lengths = std::vector<unsigned>;
using Numbers = std::vector<double>;
constexpr unsigned kDim = 4;
constexpr unsigned kHeads = 2;
constexpr unsigned kHidden = 5;
constexpr unsigned kLayers = 2;
constexpr unsigned kMemory = 3;

TransformerOptions options_of(bool pre_norm, bool gelu, bool has_memory = true) {
  TransformerOptions options;
  options.pre_norm = pre_norm;
  options.gelu = gelu;
  options.has_memory = has_memory;
  options.memory_dim = kMemory;
  return options;
}

Numbers numbers_of(const Expression& e) { return as_double_vector(e.value()); }
void expect_same(const Expression& a, const Expression& b) {
  EXPECT_EQ(a.dim(), b.dim());
  EXPECT_EQ(testing::compare(numbers_of(a), numbers_of(b), tolerance::kMergedInDouble), "");
}
Expression columns(const Expression& x, unsigned from, unsigned to) {
  return pick_range(x, from, to, 1);
}

/// With normalisation before and after, rectify and gelu.
class Transformer : public ::testing::TestWithParam<bool> {
 protected:
  Transformer()
      : encoder(kLayers, kDim, kHeads, kHidden, model, options_of(GetParam(), !GetParam())),
        decoder(kLayers, kDim, kHeads, kHidden, model, options_of(GetParam(), !GetParam())),
        language_model(kLayers, kDim, kHeads, kHidden, model,
                       options_of(GetParam(), !GetParam(), false)) {
    testing::draw_values(model);
    new_graph(cg);
  }
  void new_graph(ComputationGraph& graph) {
    encoder.new_graph(graph);
    decoder.new_graph(graph);
    language_model.new_graph(graph);
  }
  Expression drawn(const Dim& d) { return input(cg, d, draw(d.elements(), -1.0, 1.0)); }

  const testing::DefaultDevice scope{testing::double_device()};
  ParameterCollection model;
  TransformerEncoderBuilder encoder;
  TransformerDecoderBuilder decoder;
  TransformerDecoderBuilder language_model;
  testing::Draw draw{3};
  ComputationGraph cg;
};
INSTANTIATE_TEST_SUITE_P(Norm, Transformer, ::testing::Values(true, false),
                         [](const auto& norm) { return norm.param ? "before" : "after"; });

TEST_P(Transformer, StepByStepIsTheWholeSequence) {
  for (const unsigned batch : {1U, 3U}) {
    const Expression seen = drawn(Dim({kMemory, 6}, batch));
    const Lengths lengths = batch == 1 ? Lengths() : Lengths{6, 2, 1};
    const Expression x = drawn(Dim({kDim, 5}, batch));
    for (const bool has_memory : {true, false}) {
      const TransformerDecoderBuilder& b = has_memory ? decoder : language_model;
      const TransformerState start = has_memory ? b.start(seen, lengths) : b.start();
      EXPECT_EQ(start.positions(), 0U);
      const TransformerState whole = b.add_input(start, x);
      EXPECT_EQ(whole.output.dim(), x.dim());
      EXPECT_EQ(whole.positions(), 5U);
      TransformerState state = start;
      for (unsigned t = 0; t < 5; ++t) {
        state = b.add_input(state, pick(x, t, 1));
        EXPECT_EQ(state.positions(), t + 1);
        expect_same(state.output, pick(whole.output, t, 1));
      }
      // The first three at once, then one by one, as columns.
      state = b.add_input(start, columns(x, 0, 3));
      state = b.add_input(state, columns(x, 3, 4));
      EXPECT_EQ(b.add_input(state, columns(x, 4, 5)).output.dim(), Dim({kDim, 1}, batch));
      expect_same(b.add_input(state, columns(x, 4, 5)).output, columns(whole.output, 4, 5));
    }
  }
}

TEST_P(Transformer, NoPositionSeesALaterOne) {
  const Expression x = drawn({kDim, 4});
  const Expression other = drawn({kDim, 4});
  const Expression mixed = concatenate_cols({columns(x, 0, 2), columns(other, 2, 4)});
  const Expression a = language_model.add_input(language_model.start(), x).output;
  const Expression b = language_model.add_input(language_model.start(), mixed).output;
  expect_same(columns(a, 0, 2), columns(b, 0, 2));
  EXPECT_NE(numbers_of(columns(a, 2, 3)), numbers_of(columns(b, 2, 3)));
  // In an encoder all do.
  EXPECT_NE(numbers_of(columns(encoder.encode(x), 0, 1)),
            numbers_of(columns(encoder.encode(mixed), 0, 1)));
}

TEST_P(Transformer, APaddedBatchIsWhatItsExamplesAre) {
  const Lengths lengths{3, 5, 1};
  const Expression x = drawn(Dim({kDim, 5}, 3));
  const Expression y = drawn(Dim({kDim, 2}, 3));
  const Expression seen = drawn(Dim({kMemory, 5}, 3));
  const Expression encoded = encoder.encode(x, lengths);
  EXPECT_EQ(encoded.dim(), x.dim());
  const Expression decoded = decoder.add_input(decoder.start(seen, lengths), y).output;
  for (unsigned e = 0; e < 3; ++e) {
    const auto own = [&](const Expression& of) {
      return columns(pick_batch_elem(of, e), 0, lengths[e]);
    };
    expect_same(own(encoded), encoder.encode(own(x)));
    const TransformerState state = decoder.start(own(seen));
    expect_same(pick_batch_elem(decoded, e),
                decoder.add_input(state, pick_batch_elem(y, e)).output);
  }
  // The examples in another order.
  const Expression turned = encoder.encode(pick_batch_elems(x, Lengths{2, 0, 1}), {1, 3, 5});
  expect_same(pick_batch_elem(turned, 2U), pick_batch_elem(encoded, 1U));
  // A vector is a sequence of one position.
  const Expression one = drawn({kDim});
  expect_same(encoder.encode(one), reshape(encoder.encode(reshape(one, {kDim, 1})), {kDim}));
}

/// x, earlier positions and the memory: one example in one of them stands for all.
TEST_P(Transformer, OneExampleStandsForAll) {
  const Expression seen = drawn(Dim({kMemory, 4}, 3));
  const Expression one = drawn({kDim, 2});
  const Expression next = drawn({kDim});
  const Expression batch = drawn(Dim({kDim}, 3));
  const TransformerState whole = decoder.add_input(decoder.start(seen), one);
  EXPECT_EQ(whole.output.dim(), Dim({kDim, 2}, 3));
  const TransformerState step = decoder.add_input(whole, next);  // two further steps
  const TransformerState last = decoder.add_input(step, batch);
  // A beginning that all examples have, read once.
  const TransformerState begun = language_model.add_input(language_model.start(), one);
  const TransformerState of_all = language_model.add_input(begun, batch);
  const TransformerState again = language_model.add_input(of_all, next);
  for (unsigned e = 0; e < 3; ++e) {
    const auto own = [&](const Expression& of) { return pick_batch_elem(of, e); };
    TransformerState state = decoder.add_input(decoder.start(own(seen)), one);
    expect_same(own(whole.output), state.output);
    state = decoder.add_input(state, next);
    expect_same(own(step.output), state.output);
    expect_same(own(last.output), decoder.add_input(state, own(batch)).output);
    state = language_model.add_input(begun, own(batch));
    expect_same(own(of_all.output), state.output);
    expect_same(own(again.output), language_model.add_input(state, next).output);
  }
  const Expression two = drawn(Dim({kDim}, 2));
  EXPECT_THROW(static_cast<void>(decoder.add_input(whole, two)), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(decoder.add_input(decoder.start(seen), two)), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(language_model.add_input(of_all, two)), errors::ShapeError);
  const TransformerState first = decoder.add_input(decoder.start(columns(seen, 0, 1)), one);
  TransformerState mixed = first;
  mixed.memory = decoder.start(drawn(Dim({kMemory, 4}, 2))).memory;
  EXPECT_THROW(static_cast<void>(decoder.add_input(mixed, next)), errors::ShapeError);
}

TEST_P(Transformer, SentencesOfOnePosition) {
  const Expression x = drawn({kDim});
  const Expression column = reshape(x, {kDim, 1});
  const Expression seen = drawn({kMemory});
  expect_same(reshape(encoder.encode(x), {kDim, 1}), encoder.encode(column));
  // The same as in a longer sentence of which no other position counts.
  const Expression padded = concatenate_cols({x, drawn({kDim, 2})});
  expect_same(columns(encoder.encode(padded, {1}), 0, 1), encoder.encode(column));
  const Expression decoded = decoder.add_input(decoder.start(seen), x).output;
  EXPECT_EQ(decoded.dim(), Dim({kDim}));
  const TransformerState start = decoder.start(reshape(seen, {kMemory, 1}));
  expect_same(reshape(decoded, {kDim, 1}), decoder.add_input(start, column).output);
  const Expression batch = concatenate_to_batch({x, drawn({kDim})});
  expect_same(pick_batch_elem(decoder.add_input(start, batch).output, 0U), decoded);
}

TEST_P(Transformer, StatesAreValues) {
  const TransformerState start = language_model.start();
  const TransformerState one = language_model.add_input(start, drawn({kDim}));
  const Expression a = drawn({kDim});
  const Expression b = drawn({kDim});
  const TransformerState left = language_model.add_input(one, a);
  const TransformerState right = language_model.add_input(one, b);
  expect_same(language_model.add_input(one, a).output, left.output);
  EXPECT_NE(numbers_of(left.output), numbers_of(right.output));
  EXPECT_EQ(one.positions(), 1U);
}

TEST_P(Transformer, GradientsAgreeWithDifferences) {
  const Parameter x = model.add_parameters({kDim, 3});
  const Parameter seen = model.add_parameters({kMemory, 4});
  LearnedEncoding positions(kDim, 4, model);
  testing::draw_values(model);
  testing::expect_gradients(model, [&](ComputationGraph& graph) {
    new_graph(graph);
    const Expression in = positions.add(parameter(graph, x));
    const Expression memory = parameter(graph, seen);
    const Expression encoded = encoder.encode(in);
    const Expression decoded = decoder.add_input(decoder.start(memory, {3}), in).output;
    TransformerState state = language_model.add_input(language_model.start(), columns(in, 0, 2));
    state = language_model.add_input(state, pick(in, 2U, 1));
    const auto mixed = [](const Expression& y) {
      return sum_elems(cube(y)) + squared_norm(y + 0.5F);
    };
    return mixed(encoded) + mixed(decoded) + mixed(state.output);
  });
}

// ---- merging
// --------------------------------------------------------------------------------------

/// Forward calls for sentences of these lengths, each encoded and decoded by itself.
std::size_t calls_for(const Lengths& lengths, bool step_by_step = false) {
  ParameterCollection model;
  TransformerEncoderBuilder encoder(kLayers, kDim, kHeads, kHidden, model);
  TransformerDecoderBuilder decoder(kLayers, kDim, kHeads, kHidden, model);
  const SinusoidalEncoding positions(kDim);
  const LookupParameter table = model.add_lookup_parameters(9, {kDim});
  ComputationGraph cg(true);
  encoder.new_graph(cg);
  decoder.new_graph(cg);
  std::vector<Expression> outputs;
  for (const unsigned n : lengths) {
    const Expression x = reshape(lookup(cg, table, Lengths(n, 2)), {kDim, n});
    TransformerState state = decoder.start(encoder.encode(positions.add(x)));
    if (step_by_step) {
      for (unsigned t = 0; t < 3; ++t) {
        state = decoder.add_input(state, positions.add(lookup(cg, table, t), t));
      }
    } else {
      state = decoder.add_input(state, positions.add(x));
    }
    outputs.push_back(sum_elems(state.output));
  }
  testing::Observed observed;
  testing::observe(cg, &observed);
  static_cast<void>(sum(outputs).value());
  testing::observe(cg, nullptr);
  return observed.forward_calls();
}

TEST(TransformerMerging, SentencesOfDifferentLengths) {
  const std::size_t two = calls_for({5, 5});
  EXPECT_EQ(calls_for(Lengths(20, 5)), two);
  // For each further length: attention once in an encoder's and twice in a decoder's layers, the
  // input of the encodings (twice) and the sum of the output.
  EXPECT_LE(calls_for({5, 6, 7, 5, 6, 7, 7, 6}), two + 18);
}

TEST(TransformerMerging, HypothesesStepByStep) {
  const std::size_t two = calls_for({5, 5}, true);
  EXPECT_EQ(calls_for(Lengths(10, 5), true), two);
  // Calls of each further length: attention to the encoder's output, at each of three steps.
  EXPECT_LE(calls_for({5, 6, 5, 6}, true), two + 10);
}

// ---- positions
// ------------------------------------------------------------------------------------

TEST(Encodings, Sinusoidal) {
  const testing::DefaultDevice scope(testing::double_device());
  ComputationGraph cg;
  for (const unsigned dim : {4U, 5U}) {
    const SinusoidalEncoding encoding(dim);
    for (const unsigned first : {7U, 0U, 2U}) {
      const Expression y = encoding.add(zeros(cg, Dim({dim, 3}, 2)), first);
      EXPECT_EQ(y.dim(), Dim({dim, 3}, 2));
      Numbers wanted;
      for (unsigned e = 0; e < 2; ++e) {
        for (unsigned t = first; t < first + 3; ++t) {
          for (unsigned i = 0; i < dim; ++i) {
            const double turn = t / std::pow(10000.0, 2.0 * std::floor(i / 2.0) / dim);
            wanted.push_back(i % 2 == 0 ? std::sin(turn) : std::cos(turn));
          }
        }
      }
      EXPECT_EQ(testing::compare(numbers_of(y), wanted, tolerance::kThroughFloat), "");
    }
    const Expression one = encoding.add(ones(cg, {dim}), 1);
    EXPECT_EQ(one.dim(), Dim({dim}));
    EXPECT_NEAR(numbers_of(one)[0], 1.0 + std::sin(1.0), tolerance::kThroughFloat);
    EXPECT_THROW(static_cast<void>(encoding.add(ones(cg, {dim + 1, 2}))), errors::ShapeError);
  }
}

TEST(Encodings, Learned) {
  const testing::DefaultDevice scope(testing::double_device());
  ParameterCollection model;
  LearnedEncoding encoding(2, 3, model);
  EXPECT_EQ(model.lookup_parameters_list()[0]->name, "/learned-encoding/_0");
  for (unsigned t = 0; t < 3; ++t) {
    encoding.table().initialize(t, {static_cast<float>(t), 0.5F});
  }
  ComputationGraph cg;
  EXPECT_EQ(numbers_of(encoding.add(ones(cg, {2, 2}), 1)), (Numbers{2, 1.5, 3, 1.5}));
  EXPECT_EQ(numbers_of(encoding.add(ones(cg, Dim({2}, 2)), 2)), (Numbers{3, 1.5, 3, 1.5}));
  // Positions 1 and 2 of both examples.
  EXPECT_EQ(numbers_of(encoding.add(input(cg, Dim({2, 2}, 2), {1, 1, 2, 1, 3, 1, 4, 1}), 1)),
            (Numbers{2, 1.5, 4, 1.5, 4, 1.5, 6, 1.5}));
  EXPECT_THROW(static_cast<void>(encoding.add(ones(cg, {2, 2}), 2)), errors::IndexError);
  EXPECT_THROW(static_cast<void>(encoding.add(ones(cg, {2}), 3)), errors::IndexError);
  for (const bool update : {false, true}) {
    encoding.set_updated(update);
    const Parameter x = model.add_parameters({2});
    cg.backward(sum_elems(encoding.add(parameter(cg, x))));
    EXPECT_EQ(encoding.table().p->has_grad(), update);
  }
}

// ---- dropout, copies, files, errors
// ---------------------------------------------------------------

TEST_P(Transformer, Dropout) {
  const Expression x = drawn({kDim, 4});
  const Numbers without = numbers_of(encoder.encode(x));
  encoder.set_dropout(0.5F);
  const Numbers one = numbers_of(encoder.encode(x));
  EXPECT_NE(one, without);
  EXPECT_NE(numbers_of(encoder.encode(x)), one) << "drawn anew";
  EXPECT_NE(testing::text_of_error<errors::ValueError>([&] {
              encoder.set_dropout(2.0F);
            }).find(": the dropout rate is 2"),
            std::string::npos);
  encoder.set_dropout(1.0F);
  if (GetParam()) {
    // Nothing but the residual connections is left: each position alone, normalised at the end.
    const Expression other = concatenate_cols({columns(x, 0, 1), drawn({kDim, 3})});
    expect_same(columns(encoder.encode(x), 0, 1), columns(encoder.encode(other), 0, 1));
  }
  encoder.disable_dropout();
  EXPECT_EQ(numbers_of(encoder.encode(x)), without);
  const TransformerState start = decoder.start(drawn({kMemory, 2}));
  const Numbers decoded = numbers_of(decoder.add_input(start, x).output);
  decoder.set_dropout(0.5F);
  const Numbers dropped = numbers_of(decoder.add_input(start, x).output);
  EXPECT_NE(dropped, decoded);
  EXPECT_NE(numbers_of(decoder.add_input(start, x).output), dropped) << "drawn anew";
  decoder.set_dropout(1.0F);
  if (GetParam()) {
    const TransformerState other = decoder.start(drawn({kMemory, 3}));
    expect_same(decoder.add_input(start, x).output, decoder.add_input(other, x).output);
  }
  decoder.disable_dropout();
  EXPECT_EQ(numbers_of(decoder.add_input(start, x).output), decoded);
  EXPECT_THROW(decoder.set_dropout(1.5F), errors::ValueError);
  EXPECT_THROW(encoder.set_dropout(1.5F), errors::ValueError);
  EXPECT_THROW(encoder.set_dropout(-0.5F), errors::ValueError);
}

TEST_P(Transformer, CopiesAndFiles) {
  const Expression x = drawn({kDim, 3});
  const Numbers wanted = numbers_of(encoder.encode(x));
  const testing::TemporaryFolder folder;
  TextFileSaver saver(folder.file("model"));
  saver.save(encoder.get_parameter_collection(), "/encoder");
  saver.close();
  ParameterCollection other;
  const TransformerOptions options = options_of(GetParam(), !GetParam());
  TransformerEncoderBuilder read(kLayers, kDim, kHeads, kHidden, other, options);
  TextFileLoader(folder.file("model")).populate(read.get_parameter_collection(), "/encoder");
  read.new_graph(cg);
  EXPECT_EQ(testing::compare(numbers_of(read.encode(x)), wanted, tolerance::kThroughFloat), "");
  TransformerEncoderBuilder shared(kLayers, kDim, kHeads, kHidden, other, options);
  shared.copy(encoder);
  shared.new_graph(cg);
  EXPECT_EQ(numbers_of(shared.encode(x)), wanted);
  TransformerDecoderBuilder decoder2(kLayers, kDim, kHeads, kHidden, other, options);
  EXPECT_THROW(decoder2.copy(language_model), errors::ValueError);
  const Expression seen = drawn({kMemory, 4});
  const auto decoded = [&](const TransformerDecoderBuilder& b) {
    return numbers_of(b.add_input(b.start(seen), x).output);
  };
  decoder2.new_graph(cg);
  EXPECT_NE(decoded(decoder2), decoded(decoder));
  decoder2.copy(decoder);
  decoder2.new_graph(cg);
  EXPECT_EQ(decoded(decoder2), decoded(decoder));
  for (const auto& wrong :
       {TransformerEncoderBuilder(kLayers + 1, kDim, kHeads, kHidden, other, options),
        TransformerEncoderBuilder(kLayers, kDim, 1, kHidden, other, options),
        TransformerEncoderBuilder(kLayers, kDim, kHeads, kHidden + 1, other, options),
        TransformerEncoderBuilder(kLayers, kDim, kHeads, kHidden, other,
                                  options_of(!GetParam(), GetParam()))}) {
    EXPECT_THROW(shared.copy(wrong), errors::ValueError);
    shared.new_graph(cg);
    EXPECT_EQ(numbers_of(shared.encode(x)), wanted) << "what throws changes nothing";
  }
}

TEST_P(Transformer, WithoutUpdateParametersGetNoGradient) {
  for (const bool update : {false, true}) {
    ComputationGraph graph;
    encoder.new_graph(graph, update);
    decoder.new_graph(graph, update);
    const Parameter x = model.add_parameters({kDim, 3});
    const Parameter memory = model.add_parameters({kMemory, 2});
    const Expression in = parameter(graph, x);
    const Expression read = decoder.add_input(decoder.start(parameter(graph, memory)), in).output;
    graph.backward(squared_norm(encoder.encode(in)) + squared_norm(read));
    EXPECT_TRUE(x.p->has_grad() && memory.p->has_grad());
    for (const auto* own :
         {&encoder.get_parameter_collection(), &decoder.get_parameter_collection()}) {
      for (const auto& p : own->parameters_list()) {
        EXPECT_EQ(p->has_grad(), update) << p->name;
      }
    }
  }
}

TEST(TransformerParameters, OrderAndNames) {
  ParameterCollection model;
  const TransformerDecoderBuilder decoder(2, kDim, kHeads, kHidden, model);
  std::vector<std::string> names;
  for (const auto& p : model.parameters_list()) {
    names.push_back(p->name);
  }
  ASSERT_EQ(names.size(), 2U * (8 + 8 + 10) + 2);
  const std::string layer = "/transformer-decoder/transformer-decoder-layer";
  EXPECT_EQ(names[0], layer + "/multi-head-attention-builder/wq");
  EXPECT_EQ(names[8], layer + "/multi-head-attention-builder_1/wq");
  EXPECT_EQ(names[16], layer + "/w1");
  EXPECT_EQ(names[20], layer + "/self-norm-g");
  EXPECT_EQ(names[22], layer + "/feed-norm-g");
  EXPECT_EQ(names[25], layer + "/memory-norm-b");
  EXPECT_EQ(names[26], layer + "_1/multi-head-attention-builder/wq");
  EXPECT_EQ(names[53], "/transformer-decoder/norm-b");
}

TEST_P(Transformer, Errors) {
  const auto refuses = [](const auto& exception, const std::function<void()>& call) {
    EXPECT_THROW(call(), std::decay_t<decltype(exception)>);
  };
  const errors::ShapeError shape("");
  const errors::ValueError value("");
  const errors::IndexError index("");
  const errors::StateError state_error("");
  const errors::GraphError graph_error("");
  const Expression x = drawn({kDim, 3});
  const Expression seen = drawn({kMemory, 2});
  ComputationGraph other;
  const Expression elsewhere = ones(other, {kDim, 3});
  const Expression wrong = drawn({kDim + 1, 3});
  const Expression none = drawn({kDim, 0});
  const TransformerState start = decoder.start(seen);
  const TransformerState read = decoder.add_input(start, x);
  const TransformerState three = decoder.add_input(start, drawn(Dim({kDim}, 3)));
  const Expression batch = drawn(Dim({kDim}, 2));
  const std::size_t nodes = cg.nodes.size();
  refuses(shape, [&] { static_cast<void>(encoder.encode(wrong)); });
  refuses(shape, [&] { static_cast<void>(encoder.encode(none)); });
  refuses(index, [&] { static_cast<void>(encoder.encode(x, {4})); });
  refuses(index, [&] { static_cast<void>(encoder.encode(x, {0})); });
  refuses(value, [&] { static_cast<void>(encoder.encode(x, {1, 1})); });
  refuses(graph_error, [&] { static_cast<void>(encoder.encode(elsewhere)); });
  refuses(state_error, [&] { static_cast<void>(decoder.start()); });
  refuses(state_error, [&] { static_cast<void>(language_model.start(seen)); });
  refuses(shape, [&] { static_cast<void>(decoder.start(x)); });
  refuses(index, [&] { static_cast<void>(decoder.start(seen, {3})); });
  refuses(state_error, [&] { static_cast<void>(decoder.add_input(language_model.start(), x)); });
  refuses(state_error, [&] { static_cast<void>(language_model.add_input(start, x)); });
  refuses(state_error, [&] { static_cast<void>(decoder.add_input(TransformerState(), x)); });
  refuses(value, [&] { static_cast<void>(decoder.add_input(read, x)); });
  refuses(shape, [&] { static_cast<void>(decoder.add_input(three, batch)); });
  refuses(graph_error, [&] { static_cast<void>(decoder.add_input(start, elsewhere)); });
  EXPECT_EQ(cg.nodes.size(), nodes);
  decoder.new_graph(other);
  refuses(graph_error, [&] { static_cast<void>(decoder.add_input(read, ones(other, {kDim}))); });
  ParameterCollection more;
  const std::size_t parameters = model.parameters_list().size();
  refuses(value, [&] { TransformerEncoderBuilder(0, kDim, kHeads, kHidden, model); });
  refuses(value, [&] { TransformerEncoderBuilder(1, kDim, 3, kHidden, model); });
  refuses(value, [&] { TransformerEncoderBuilder(1, kDim, 0, kHidden, model); });
  refuses(value, [&] { TransformerEncoderBuilder(1, kDim, kHeads, 0, model); });
  EXPECT_EQ(model.parameters_list().size(), parameters);
  const TransformerEncoderBuilder fresh(1, kDim, kHeads, kHidden, more);
  refuses(state_error, [&] { static_cast<void>(fresh.encode(x)); });
  try {
    static_cast<void>(encoder.encode(wrong));
  } catch (const errors::ShapeError& e) {
    EXPECT_EQ(std::string(e.what()),
              "TransformerEncoderBuilder: encode: x is {5,3}; want {4} or {4,positions} with a "
              "position at least");
  }
}

}  // namespace
}  // namespace dynet
