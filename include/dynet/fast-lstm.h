#pragma once

#include "dynet/lstm.h"

namespace dynet {

/// The LSTM whose forget gate is 1 - input gate, without peepholes:
///
///   i = logistic(bi + x2i x + h2i h'),  g = tanh(bc + x2c x + h2c h'),
///   c = (1 - i) * c' + i * g,  o = logistic(bo + x2o x + h2o h'),  h = o * tanh(c)
///
/// Parameters of a layer, in the collection `fast-lstm-builder`: x2i {h,in}, h2i {h,h}, c2i {h,1},
/// bi {h}, x2o, h2o, c2o, bo, x2c, h2c, bc; biases 0. c2i and c2o are for model files: nothing is
/// computed with them. Dropout: one mask per sequence, on inputs and on h'.
struct FastLSTMBuilder : public CoupledGatesBuilder {
  FastLSTMBuilder() = default;
  explicit FastLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model);

 protected:
  [[nodiscard]] const char* name() const override { return "FastLSTMBuilder"; }
  [[nodiscard]] bool has_peepholes(bool /*is_first_step*/) const override { return false; }
};

}  // namespace dynet
