#pragma once

#include "dynet/lstm.h"

namespace dynet {

/// The LSTM whose layers all read the input and all show in the output: a layer above the lowest
/// reads [h of the layer below; x], and the output of a step is [h of layer 0; h of layer 1; ...],
/// {layers * h}.
///
/// Each layer computes as in CoupledLSTMBuilder, except that in a first step without an initial
/// state the output gate does not read the cell. Parameters of a layer, in the collection
/// `deep-lstm-builder`: x2i {h,in} (above the lowest {h,h+in}), h2i, c2i {h,h}, bi {h}, x2o, h2o,
/// c2o, bo, x2c, h2c, bc; biases 0. Dropout: one mask per sequence, on the layers' inputs and on
/// h'.
struct DeepLSTMBuilder : public CoupledGatesBuilder {
  DeepLSTMBuilder() = default;
  explicit DeepLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                           ParameterCollection& model);
  /// The output at the current step: {layers * h}.
  [[nodiscard]] Expression back() const override;

 protected:
  [[nodiscard]] const char* name() const override { return "DeepLSTMBuilder"; }
  [[nodiscard]] bool has_peepholes(bool is_first_step) const override { return !is_first_step; }
  Expression layer_input(unsigned layer, const Expression& below, const Expression& x) override;
  [[nodiscard]] Expression output_of(const std::vector<Expression>& hidden_states) const override;
};

}  // namespace dynet
