#pragma once

// All recurrent builders of the library as parameters of tests.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "recurrent_oracle.h"

namespace dynet::builder_tests {

using Owned = std::unique_ptr<LayeredRNNBuilder>;

/// A class of builders, its formula, and the parameters of one layer in the order of making.
struct Kind {
  const char* name;
  const char* collection;
  std::vector<Dim> (*shapes)(unsigned in);
  Owned (*make)(unsigned layers, unsigned in, unsigned hidden, ParameterCollection& model);
  Owned (*make_empty)();
  void (*assign)(const LayeredRNNBuilder& from, LayeredRNNBuilder& to);
  Layers (*step)(const LayeredRNNBuilder& b, const Numbers& x, const Layers& before,
                 const Masks& masks);
  Numbers (*output)(const LayeredRNNBuilder& b, const Layers& layers);
};
template <class Builder>
Kind kind(const char* name, const char* collection, std::vector<Dim> (*shapes)(unsigned in)) {
  return {
      name,
      collection,
      shapes,
      [](unsigned layers, unsigned in, unsigned hidden, ParameterCollection& model) -> Owned {
        return std::make_unique<Builder>(layers, in, hidden, model);
      },
      []() -> Owned { return std::make_unique<Builder>(); },
      [](const LayeredRNNBuilder& from, LayeredRNNBuilder& to) {
        dynamic_cast<Builder&>(to) = dynamic_cast<const Builder&>(from);
      },
      [](const LayeredRNNBuilder& b, const Numbers& x, const Layers& before, const Masks& masks) {
        return builder_tests::step(dynamic_cast<const Builder&>(b), x, before, masks);
      },
      [](const LayeredRNNBuilder& b, const Layers& layers) {
        return builder_tests::output(dynamic_cast<const Builder&>(b), layers);
      }};
}

inline std::vector<Dim> coupled_shapes(unsigned in, unsigned peephole) {
  return {{4, in},       {4, 4}, {4, peephole}, {4},    {4, in}, {4, 4},
          {4, peephole}, {4},    {4, in},       {4, 4}, {4}};
}
inline std::vector<Dim> standard_shapes(unsigned in) { return {{16, in}, {16, 4}, {16}}; }

/// A gated recurrent unit as PyTorch has it.
struct ResetAfterGru : public GRUBuilder {
  ResetAfterGru() = default;
  ResetAfterGru(unsigned count, unsigned in, unsigned hidden, ParameterCollection& model)
      : GRUBuilder(count, in, hidden, model, true) {}
};

inline std::vector<Kind> kinds() {
  using Shapes = std::vector<Dim>;
  return {
      kind<SimpleRNNBuilder>("Simple", "simple-rnn-builder",
                             [](unsigned in) { return Shapes{{4, in}, {4, 4}, {4}}; }),
      kind<GRUBuilder>("Gru", "gru-builder",
                       [](unsigned in) {
                         return Shapes{{4, in}, {4, 4},  {4},    {4, in}, {4, 4},
                                       {4},     {4, in}, {4, 4}, {4}};
                       }),
      kind<ResetAfterGru>("GruResetAfter", "gru-builder",
                          [](unsigned in) {
                            return Shapes{{4, in}, {4, 4},  {4},    {4, in}, {4, 4},
                                          {4},     {4, in}, {4, 4}, {4},     {4}};
                          }),
      kind<VanillaLSTMBuilder>("Vanilla", "vanilla-lstm-builder", standard_shapes),
      kind<SparseLSTMBuilder>(
          "Sparse", "vanilla-lstm-builder",
          [](unsigned in) { return Shapes{{16, in}, {16, 4}, {16, in}, {16, 4}, {16}}; }),
      kind<CompactVanillaLSTMBuilder>("Compact", "compact-vanilla-lstm-builder", standard_shapes),
      kind<CoupledLSTMBuilder>("Coupled", "lstm-builder",
                               [](unsigned in) { return coupled_shapes(in, 4); }),
      kind<FastLSTMBuilder>("Fast", "fast-lstm-builder",
                            [](unsigned in) { return coupled_shapes(in, 1); }),
      kind<DeepLSTMBuilder>("Deep", "deep-lstm-builder",
                            [](unsigned in) { return coupled_shapes(in == 4 ? 7 : in, 4); })};
}

/// Two layers of four numbers over inputs of three.
class RecurrentTest : public testing::TestWithParam<Kind> {
 protected:
  RecurrentTest()
      : owned(GetParam().make(2, 3, 4, model)),
        rnn(*owned),
        has_cells(rnn.num_h0_components() == 4),
        has_masks(dynamic_cast<const GRUBuilder*>(owned.get()) == nullptr) {
    set_values(model);
  }
  static Layers step(const LayeredRNNBuilder& b, const Numbers& x, const Layers& before,
                     const Masks& masks = {}) {
    return GetParam().step(b, x, before, masks);
  }
  static Numbers output(const LayeredRNNBuilder& b, const Layers& layers) {
    return GetParam().output(b, layers);
  }
  Expression in(const Numbers& x) {
    return input(cg, {static_cast<unsigned>(x.size())}, std::vector<float>(x.begin(), x.end()));
  }
  void start() {
    rnn.new_graph(cg);
    rnn.start_new_sequence();
  }
  [[nodiscard]] Layers some_state() const {
    Layers s{{{}, sample(4, 4)}, {{}, sample(5, 4)}};
    if (has_cells) {
      s[0].c = sample(2, 4);
      s[1].c = sample(3, 4);
    }
    return s;
  }
  std::vector<Expression> hidden_of(const Layers& s) { return {in(s[0].h), in(s[1].h)}; }
  std::vector<Expression> whole(const Layers& s) {
    if (!has_cells) {
      return hidden_of(s);
    }
    return {in(s[0].c), in(s[1].c), in(s[0].h), in(s[1].h)};
  }
  static void expect_state(const std::vector<Expression>& got, const Layers& want) {
    const bool cells = !want[0].c.empty();
    ASSERT_EQ(got.size(), cells ? 4U : 2U);
    for (std::size_t layer = 0; layer < 2; ++layer) {
      expect_near(numbers_of(got[got.size() - 2 + layer]), want[layer].h);
      if (cells) {
        expect_near(numbers_of(got[layer]), want[layer].c);
      }
    }
  }

  ParameterCollection model;
  Owned owned;
  LayeredRNNBuilder& rnn;
  ComputationGraph cg;
  bool has_cells;
  bool has_masks;
};

}  // namespace dynet::builder_tests
