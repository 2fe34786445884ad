#pragma once

// Leaves: where numbers enter the graph. The library writes the values of inputs, parameters and
// lookups itself (ext::Record::is_leaf); their functions are written by hand (expr.h).

#include "dynet/ops/common.h"

namespace dynet::ops {

/// Numbers given by value or re-read through a pointer at each run.
struct Input {
  Dim dim;

  static constexpr ext::Info kInfo{.name = "input",
                                   .attrs = {"dim"},
                                   .payload = "data",
                                   .formula = "y = data",
                                   .summary =
                                       "Numbers of the program, column by column, the examples of "
                                       "a batch one after the other.",
                                   .shapes = "-> dim",
                                   .errors = "ValueError if data has fewer elements than dim",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  static constexpr bool kPayloadIsValue = true;
  static constexpr bool kMinusInfinity = true;  // the program's masks
  static constexpr ext::GradientTo kGradientGoesTo = ext::GradientTo::kNowhere;
  Dim shape(const ext::Shapes& in) const {
    if (in.payload() < dim.elements()) {
      in.fail_value(std::to_string(dim.elements()) + " numbers for " + to_string(dim) + ", not " +
                    std::to_string(in.payload()));
    }
    return dim;
  }
  static std::vector<ext::Example<Input>> examples() {
    return {ext::Example<Input>{{{3}}, {}}.with_values({1.0F, -2.0F, 0.5F}),
            ext::Example<Input>{{{1}}, {}}.with_values({4.0F})};
  }
};

/// A parameter, or a whole lookup table. Its storage is the node's payload.
struct Parameter {
  Dim dim;
  bool trainable = true;

  static constexpr ext::Info kInfo{.name = "parameter",
                                   .attrs = {"dim", "trainable"},
                                   .formula = "y = the stored values, decayed as they are now",
                                   .summary = "A parameter of the model.",
                                   .shapes = "-> dim",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr ext::Storage kReadsStorage = ext::Storage::kWhole;
  static constexpr ext::GradientTo kGradientGoesTo = ext::GradientTo::kStorage;
  [[nodiscard]] bool is_trainable() const { return trainable; }
  Dim shape(const ext::Shapes& /*in*/) const { return dim; }
  static std::vector<ext::Example<Parameter>> examples() { return {{{{4, 3}, true}, {}}}; }
};

/// One row of a table for each index. `dim` is the shape of one row.
struct Lookup {
  Dim dim;
  bool trainable = true;

  static constexpr ext::Info kInfo{
      .name = "lookup",
      .attrs = {"dim", "trainable"},
      .payload = "index",
      .formula = "y = row `index` of the table",
      .summary =
          "A row of a lookup table; with several indices a batch of "
          "rows.",
      .shapes = "-> dim x number of indices",
      .errors = "IndexError if an index is not below the number of rows",
      .cpp = "-",
      .python = "-"};
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr ext::Storage kReadsStorage = ext::Storage::kRows;
  static constexpr ext::GradientTo kGradientGoesTo = ext::GradientTo::kRows;
  [[nodiscard]] bool is_trainable() const { return trainable; }
  Dim shape(const ext::Shapes& /*in*/) const { return dim; }
  static std::vector<ext::Example<Lookup>> examples() {
    return {ext::Example<Lookup>{{{5}, true}, {}}.with_indices({1})};
  }
};

struct Constant {
  Dim dim;
  float value = 0.0F;

  static constexpr bool kMinusInfinity = true;
  static constexpr ext::Info kInfo{.name = "constant",
                                   .attrs = {"dim", "value"},
                                   .formula = "y_i = value",
                                   .summary = "The same number in every element.",
                                   .shapes = "-> dim",
                                   .cpp = "-",
                                   .python = "-"};
  Dim shape(const ext::Shapes& /*in*/) const { return dim; }
  void forward(ext::Call& call) const {
    const ext::Operand& y = call.out[0];
    for (std::int64_t b = 0; b < y.block_count; ++b) {
      call.kernels.fill(y.blocks[b].data, static_cast<double>(value),
                        y.blocks[b].examples * y.size());
    }
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<Constant>> examples() {
    return {{{{4, 3}, 1.5F}, {}},    {{{1}, 0.0F}, {}},
            {{{7}, -2.0F}, {}},      {{{17}, 0.25F}, {}},
            {{{1, 1, 3}, 1.0F}, {}}, {{{2, 3, 2}, 3.0F}, {}},
            {{{3, 0}, 1.0F}, {}},    {{{1, 2, 1, 2, 1, 2, 2}, -0.5F}, {}}};
  }
};

using InputOps = ext::OpList<Input, Parameter, Lookup, Constant>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::InputOps)
