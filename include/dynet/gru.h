#pragma once

#include "dynet/rnn.h"

namespace dynet {

/// The gated recurrent unit (Cho et al., 2014):
///
///   z = logistic(bz + x2z x + h2z h'),  r = logistic(br + x2r x + h2r h'),
///   h = (1 - z) * h' + z * tanh(bh + x2h x + h2h (r * h'))
///
/// Parameters of a layer, in the collection `gru-builder`: x2z {h,in}, h2z {h,h}, bz {h}, x2r, h2r,
/// br, x2h, h2h, bh; biases 0. Dropout is drawn anew at each step, on the layers' inputs and on the
/// output of add_input; the state stays whole.
///
/// With `reset_after` the reset gate stands behind the product, as in PyTorch, cuDNN and Keras:
///
///   h = (1 - z) * h' + z * tanh(bh + x2h x + r * (bc + h2h h'))
///
/// with one more parameter behind bh, bc {h} (0). A step is four nodes then.
struct GRUBuilder : public LayeredRNNBuilder {
  GRUBuilder() = default;
  explicit GRUBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                      ParameterCollection& model, bool reset_after = false);

  void set_dropout(float d) override;
  void set_dropout_masks(unsigned batch_size = 1) = delete;  ///< there are none

  bool reset_after = false;  ///< set by the constructor

 protected:
  [[nodiscard]] const char* name() const override { return "GRUBuilder"; }
  [[nodiscard]] bool has_masks() const override { return false; }
  [[nodiscard]] Expression returned(const Expression& output) const override;
  LayerState add_layer(unsigned layer, const Expression& x, const LayerState* before) override;
  Expression layer_input(unsigned layer, const Expression& below, const Expression& x) override;

 private:
  [[nodiscard]] Expression add_reset_after(unsigned layer, const Expression& x,
                                           const LayerState* before) const;
};

}  // namespace dynet
