#pragma once

// LSTMs as recurrent builders (rnn.h). `LSTMBuilder` is the one with coupled gates, as in the DyNet
// paper; programs that mean DyNet 2.1's are compiled with -DDYNET_LSTM_VANILLA.

#include <vector>

#include "dynet/rnn.h"

namespace dynet {

/// What the LSTMs share: cells and hidden states of all steps, initial state, dropout masks.
struct LSTMBuilderBase : public RNNBuilder {
  [[nodiscard]] Expression back() const override;
  [[nodiscard]] std::vector<Expression> final_h() const override;
  [[nodiscard]] std::vector<Expression> get_h(RNNPointer i) const override;
  [[nodiscard]] std::vector<Expression> final_s() const override;
  [[nodiscard]] std::vector<Expression> get_s(RNNPointer i) const override;
  [[nodiscard]] unsigned num_h0_components() const override { return 2 * layers; }
  void copy(const RNNBuilder& params) override;
  ParameterCollection& get_parameter_collection() override { return local_model; }
  /// Draws the masks of this sequence now; add_input does it otherwise.
  void set_dropout_masks(unsigned batch_size = 1);

  ParameterCollection local_model;
  std::vector<std::vector<Parameter>> params;       ///< [layer][parameter]
  std::vector<std::vector<Expression>> param_vars;  ///< the same in the current graph
  std::vector<std::vector<Expression>> masks;       ///< [layer][input, recurrent, cell]
  std::vector<std::vector<Expression>> h;           ///< [step][layer]
  std::vector<std::vector<Expression>> c;
  bool has_initial_state = false;
  std::vector<Expression> h0;  ///< [layer], or empty
  std::vector<Expression> c0;
  unsigned layers = 0;
  unsigned input_dim = 0;
  unsigned hid = 0;
  bool dropout_masks_valid = false;
  float dropout_rate_h = 0.0F;

 protected:
  LSTMBuilderBase() = default;
  LSTMBuilderBase(unsigned layer_count, unsigned input_size, unsigned hidden_dim)
      : layers(layer_count), input_dim(input_size), hid(hidden_dim) {}

  void new_graph_impl(ComputationGraph& cg, bool update) override;
  void start_new_sequence_impl(const std::vector<Expression>& h_0) override;
  Expression add_input_impl(int prev, const Expression& x) override;
  Expression set_h_impl(int prev, const std::vector<Expression>& h_new) override;
  Expression set_s_impl(int prev, const std::vector<Expression>& s_new) override;

  [[nodiscard]] virtual const char* name() const = 0;
  /// Rate of the masks on cells; negative: there are none.
  [[nodiscard]] virtual float cell_rate() const { return -1.0F; }
  struct CellState {
    Expression c;
    Expression h;
  };
  /// One layer of one step. `before` is null at the start of a sequence without an initial state.
  virtual CellState add_layer(unsigned layer, const Expression& x, const CellState* before) = 0;

 private:
  [[nodiscard]] bool has_state(RNNPointer i) const { return i >= 0 || has_initial_state; }
  [[nodiscard]] const std::vector<Expression>& hidden(RNNPointer i) const;
  [[nodiscard]] const std::vector<Expression>& cells(RNNPointer i) const;
  [[nodiscard]] Expression old_or_zeros(const std::vector<Expression>& of, unsigned layer) const;
  void push(std::vector<Expression>&& new_h, std::vector<Expression>&& new_c);
  [[nodiscard]] ComputationGraph& graph() const;

  detail::StepMemory memory_h_;
  detail::StepMemory memory_c_;
};

/// LSTM whose forget gate is 1 - input gate, with full peephole matrices:
///
///   i = logistic(bi + x2i x + h2i h' + c2i c'),  g = tanh(bc + x2c x + h2c h'),
///   c = (1 - i) * c' + i * g,  o = logistic(bo + x2o x + h2o h' + c2o c),  h = o * tanh(c)
///
/// Parameters of a layer, in the collection `lstm-builder`: x2i {h,in}, h2i, c2i {h,h}, bi {h},
/// x2o, h2o, c2o, bo, x2c, h2c, bc; biases 0. Dropout: one mask a sequence, on inputs, on h' and on
/// cells where a peephole reads them.
struct CoupledLSTMBuilder : public LSTMBuilderBase {
  CoupledLSTMBuilder() = default;
  explicit CoupledLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model);
  template <class Bool>
  CoupledLSTMBuilder(unsigned, unsigned, unsigned, ParameterCollection&, Bool, float = 1.0F) {
    static_assert(sizeof(Bool) == 0,
                  "ln_lstm and forget_bias are options of VanillaLSTMBuilder: name that class, or "
                  "compile with -DDYNET_LSTM_VANILLA");
  }

  /// All three rates, or each.
  void set_dropout(float d) override;
  void set_dropout(float d, float d_h, float d_c);
  void disable_dropout() override;

  float dropout_rate_c = 0.0F;

 protected:
  [[nodiscard]] const char* name() const override { return "CoupledLSTMBuilder"; }
  [[nodiscard]] float cell_rate() const override { return dropout_rate_c; }
  CellState add_layer(unsigned layer, const Expression& x, const CellState* before) override;
};

/// The standard LSTM:
///
///   [i; f; o; g] = bi + x2i x + h2i h',  c = logistic(f + forget_bias) * c' + logistic(i) *
///   tanh(g), h = logistic(o) * tanh(c)
///
/// With `ln_lstm` the two products and the cell inside the last tanh go through layer
/// normalisation. Parameters of a layer, in the collection `vanilla-lstm-builder`: x2i {4h,in}, h2i
/// {4h,h}, bi {4h} (0). With `ln_lstm` also, in the collection `model` itself as in DyNet 2.1: gh
/// {4h} (1), bh (0), gx (1), bx (0), gc {h} (1), bc (0). Dropout: one mask a sequence, on inputs
/// and on h'.
struct VanillaLSTMBuilder : public LSTMBuilderBase {
  VanillaLSTMBuilder() = default;
  explicit VanillaLSTMBuilder(unsigned layers, unsigned input_dim, unsigned hidden_dim,
                              ParameterCollection& model, bool ln_lstm = false,
                              float forget_bias = 1.0F);

  void copy(const RNNBuilder& params) override;
  /// Both rates, or each.
  void set_dropout(float d) override;
  void set_dropout(float d, float d_r);
  void disable_dropout() override;

  std::vector<std::vector<Parameter>> ln_params;  ///< [layer][gh, bh, gx, bx, gc, bc]
  std::vector<std::vector<Expression>> ln_param_vars;
  bool ln_lstm = false;
  float forget_bias = 1.0F;

 protected:
  void new_graph_impl(ComputationGraph& cg, bool update) override;
  [[nodiscard]] const char* name() const override { return "VanillaLSTMBuilder"; }
  CellState add_layer(unsigned layer, const Expression& x, const CellState* before) override;

 private:
  CellState add_normalised(unsigned layer, const Expression& x, const CellState* before);
};

#ifdef DYNET_LSTM_VANILLA
using LSTMBuilder = VanillaLSTMBuilder;
#else
using LSTMBuilder = CoupledLSTMBuilder;
#endif

}  // namespace dynet
