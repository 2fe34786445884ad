#pragma once

// LSTMs as recurrent builders (rnn.h). `LSTMBuilder` is the LSTM with coupled gates of the DyNet
// paper; -DDYNET_LSTM_VANILLA makes it the standard LSTM, as in DyNet 2.1.

#include <vector>

#include "dynet/rnn.h"

namespace dynet {

/// Base of all LSTMs: layers with cells.
struct LSTMBuilderBase : public LayeredRNNBuilder {
 protected:
  using LayeredRNNBuilder::LayeredRNNBuilder;
  [[nodiscard]] bool has_cells() const final { return true; }
};

/// Base of LSTMs with the forget gate 1 - input gate:
///
///   i = logistic(bi + x2i x + h2i h' [+ c2i c']),  g = tanh(bc + x2c x + h2c h'),
///   c = (1 - i) * c' + i * g,  o = logistic(bo + x2o x + h2o h' [+ c2o c]),  h = o * tanh(c)
///
/// Parameters of a layer: x2i {h,in}, h2i {h,h}, c2i, bi {h}, x2o, h2o, c2o, bo, x2c, h2c, bc;
/// biases 0.
struct CoupledGatesBuilder : public LSTMBuilderBase {
 protected:
  CoupledGatesBuilder() = default;
  /// `above`: size of the inputs of all layers but the lowest. `peephole_cols`: columns of c2i and
  /// c2o.
  CoupledGatesBuilder(const char* collection, unsigned layer_count, unsigned input_size,
                      unsigned above, unsigned hidden_dim, unsigned peephole_cols,
                      ParameterCollection& model);
  /// Whether the output gate reads the new cell, and the input gate the cell before, if there is
  /// one.
  [[nodiscard]] virtual bool has_peepholes(bool is_first_step) const = 0;
  LayerState add_layer(unsigned layer, const Expression& x, const LayerState* before) override;

 private:
  LayerState add_first(unsigned layer, const Expression& x);
  LayerState add_masked(unsigned layer, const Expression& x, const LayerState& before);
  [[nodiscard]] LayerState add_output(unsigned layer, const Expression& cell,
                                      const Expression& o) const;
  [[nodiscard]] Expression seen(unsigned layer, const Expression& cell) const;
  static LayerState state_of(const Expression& cell);
};

/// The LSTM whose forget gate is 1 - input gate, with full peephole matrices:
///
///   i = logistic(bi + x2i x + h2i h' + c2i c'),  g = tanh(bc + x2c x + h2c h'),
///   c = (1 - i) * c' + i * g,  o = logistic(bo + x2o x + h2o h' + c2o c),  h = o * tanh(c)
///
/// Parameters of a layer, in the collection `lstm-builder`: x2i {h,in}, h2i, c2i {h,h}, bi {h},
/// x2o, h2o, c2o, bo, x2c, h2c, bc; biases 0. Dropout: one mask per sequence, on inputs, on h' and
/// on cells if a peephole reads them.
///
/// Python: it is `LSTMBuilder`, unless the program starts with DYNET_LSTM=vanilla or --dynet-lstm
/// vanilla. A call with `ln_lstm` or `forget_bias` makes a `VanillaLSTMBuilder`, which has them.
struct CoupledLSTMBuilder : public CoupledGatesBuilder {
  CoupledLSTMBuilder() = default;
  explicit CoupledLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model);
  template <class Bool>
  CoupledLSTMBuilder(unsigned, unsigned, unsigned, ParameterCollection&, Bool, float = 1.0F) {
    static_assert(sizeof(Bool) == 0,
                  "ln_lstm and forget_bias are options of VanillaLSTMBuilder: name that class, or "
                  "compile with -DDYNET_LSTM_VANILLA");
  }

  /// C++: All three rates are `d`.
  void set_dropout(float d) override;
  /// The rates of dropout of the layers' inputs, of their hidden states, and of cells that a
  /// peephole reads.
  void set_dropout(float d, float d_h, float d_c);

  float dropout_rate_c = 0.0F;

 protected:
  [[nodiscard]] const char* name() const override { return "CoupledLSTMBuilder"; }
  [[nodiscard]] float cell_rate() const override { return dropout_rate_c; }
  [[nodiscard]] bool has_peepholes(bool /*is_first_step*/) const override { return true; }
};

/// Base of the standard LSTMs:
///
///   [i; f; o; g] = bi + x2i x + h2i h',  c = logistic(f + forget_bias) * c' + logistic(i) *
///   tanh(g), h = logistic(o) * tanh(c)
///
/// VanillaLSTMBuilder describes `ln_lstm`.
struct StandardLSTMBuilder : public LSTMBuilderBase {
  void copy(const RNNBuilder& params) override;
  /// Sets the number that layer normalisation adds to variances, from the next step on; above 0,
  /// else ValueError. The default 1e-16 is the number of DyNet 2.1: for equal numbers the gradient
  /// of the argument is 1e8 times as large as the gradient of the result. PyTorch has 1e-5.
  void set_ln_epsilon(float epsilon);

  std::vector<std::vector<Parameter>> ln_params;  ///< [layer][gh, bh, gx, bx, gc, bc]
  std::vector<std::vector<Expression>> ln_param_vars;
  bool ln_lstm = false;
  float forget_bias = 1.0F;

 protected:
  StandardLSTMBuilder() = default;
  StandardLSTMBuilder(unsigned layer_count, unsigned input_size, unsigned hidden_dim,
                      bool use_ln_lstm, float bias)
      : LSTMBuilderBase(layer_count, input_size, hidden_dim),
        ln_lstm(use_ln_lstm),
        forget_bias(bias) {}
  /// Makes one layer's ln_params, if there are some.
  void add_normalisation(ParameterCollection& model);
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  LayerState add_layer(unsigned layer, const Expression& x, const LayerState* before) override;
  /// x2i, h2i and bi of a layer.
  [[nodiscard]] virtual const std::vector<Expression>& weights(unsigned layer) const {
    return param_vars[layer];
  }

 private:
  LayerState add_normalised(unsigned layer, const Expression& x, const LayerState* before);

  float ln_epsilon_ = 1e-16F;
};

/// The standard LSTM (StandardLSTMBuilder has the formula).
///
/// Parameters of a layer, in the collection `vanilla-lstm-builder`: x2i {4h,in}, h2i {4h,h}, bi
/// {4h} (0). Dropout: one mask per sequence, on inputs and on h'.
///
/// With `ln_lstm` the two products and the cell inside the last tanh go through layer
/// normalisation; its parameters are made in the collection `model` itself as in DyNet 2.1: gh {4h}
/// (1), bh (0), gx (1), bx (0), gc {h} (1), bc (0) per layer.
struct VanillaLSTMBuilder : public StandardLSTMBuilder {
  VanillaLSTMBuilder() = default;
  explicit VanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model, bool ln_lstm = false,
                              float forget_bias = 1.0F);

 protected:
  [[nodiscard]] const char* name() const override { return "VanillaLSTMBuilder"; }
};

/// The standard LSTM (StandardLSTMBuilder has the formula) with matrices of which most elements can
/// be held at 0, and with `ln_lstm` as in VanillaLSTMBuilder.
///
/// Parameters of a layer, in a collection `vanilla-lstm-builder`, made in this order: x2i {4h,in},
/// h2i {4h,h}, masks of these of 1 and 0 (1), which trainers leave, and bi {4h} (0). Dropout: one
/// mask per sequence, on inputs and on h'.
///
/// C++: `params` has x2i, h2i, bi, then the masks; `param_vars` has the masked x2i and h2i, and bi.
///
/// Python: `get_parameters()` and `get_parameter_expressions()` give the same lists.
struct SparseLSTMBuilder : public StandardLSTMBuilder {
  SparseLSTMBuilder() = default;
  explicit SparseLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                             ParameterCollection& model, bool ln_lstm = false,
                             float forget_bias = 1.0F);

  /// Holds this share (0 to 1) of all elements of the matrices at 0: the elements with the smallest
  /// absolute values now. Elements held at 0 before count as 0. ValueError for another share.
  void set_sparsity(float percent);

 protected:
  [[nodiscard]] const char* name() const override { return "SparseLSTMBuilder"; }
  void new_graph_impl(ComputationGraph& cg, bool update) override;
};

/// The standard LSTM (StandardLSTMBuilder has the formula) with a forget bias of 1, as model files
/// of DyNet's CompactVanillaLSTMBuilder have it, and with noise on its matrices.
///
/// Parameters of a layer, in the collection `compact-vanilla-lstm-builder`: Wx {4h,in}, Wh {4h,h},
/// b {4h} (0). Dropout: one mask per sequence, on inputs and on h'.
struct CompactVanillaLSTMBuilder : public StandardLSTMBuilder {
  CompactVanillaLSTMBuilder() = default;
  explicit CompactVanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                                     ParameterCollection& model);

  /// Adds normal noise of this deviation to the matrices, drawn once per sequence (Graves, 2011); 0
  /// for none. It holds from the next start_new_sequence on, but for steps within an Evaluating
  /// scope. ValueError for a negative one.
  void set_weightnoise(float std);

  float weightnoise_std = 0.0F;

 protected:
  [[nodiscard]] const char* name() const override { return "CompactVanillaLSTMBuilder"; }
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  void begin_steps(const Expression& x) override;
  [[nodiscard]] const std::vector<Expression>& weights(unsigned layer) const override;

 private:
  void draw_noise(float std);
  void use_drawn_noise();

  std::vector<std::vector<Expression>> noisy_;
  float undrawn_noise_ = 0.0F;  ///< for the sequence; 0: it is drawn, or there is none
};

#ifdef DYNET_LSTM_VANILLA
using LSTMBuilder = VanillaLSTMBuilder;
#else
using LSTMBuilder = CoupledLSTMBuilder;
#endif

}  // namespace dynet
