#pragma once

// Transformers (Vaswani et al., 2017) as builders: stacks of layers with attention to other
// positions and a feed-forward network for each position.
//
//   encoder.new_graph(cg);                             once for each graph
//   decoder.new_graph(cg);
//   Expression seen = encoder.encode(positions.add(x));
//   TransformerState state = decoder.start(seen);
//   Expression h = decoder.add_input(state, positions.add(y)).output;     a whole sequence at once
//   state = decoder.add_input(state, positions.add(word, t));             or position by position
//
// Sequences are matrices {dim,positions}xb; attention.h explains their making, batches with
// lengths, and errors. Sequences of any lengths merge, except in the attention itself and, step by
// step, in the cache: attention takes one call a layer for each length. Example: sentences of 5, 5
// and 7 words need two attention calls a layer. A sentence of one position has no batch of
// positions and merges only with others of one position.
//
// A state holds the keys and values of the positions read so far, so a step computes one position.
// States are values: several steps may continue the same state, as in a beam search (beam.h). Both
// ways give the same numbers up to rounding. Dropout is drawn anew at each position and each place.

#include <memory>
#include <vector>

#include "dynet/attention.h"

namespace dynet {

/// Options of the layers.
struct TransformerOptions {
  /// Whether the input of attention and of the feed-forward network is normalised (Xiong et al.,
  /// 2020), and the output of the stack once more; otherwise the sum of input and output is
  /// normalised, as in the first paper.
  bool pre_norm = true;
  /// Whether the feed-forward network has gelu in place of rectify.
  bool gelu = false;
  /// Decoders: whether layers attend to the memory of an encoder. A language model has none.
  bool has_memory = true;
  /// Decoders: size of the encoder's positions; 0: as the decoder's.
  unsigned memory_dim = 0;
  /// The number that layer_norm adds to the variance, at least 0. PyTorch has 1e-5; with 0, equal
  /// numbers have gradients of 1e8.
  float epsilon = 0.0F;
};

/// The positions that a decoder has read so far.
struct TransformerState {
  std::vector<AttentionMemory> layers;  ///< keys and values of the positions read, by layer
  std::shared_ptr<const std::vector<AttentionMemory>>
      memory;  ///< keys and values of the encoder; may be null
  /// The output at the positions that were read last, if there are any.
  Expression output;

  /// Number of positions read.
  [[nodiscard]] unsigned positions() const { return layers.empty() ? 0 : layers[0].positions(); }
};

/// For a beam search with checkpoints (beam.h). The encoder's output is older than the search.
template <class F>
void for_each_expression(TransformerState& state, F&& f) {
  for (AttentionMemory& read : state.layers) {
    for_each_expression(read, f);
  }
  if (state.output.pg != nullptr) {
    f(state.output);
  }
}

namespace detail {

/// One layer: attention to the sequence, attention to a memory (some decoders), and a feed-forward
/// network, each with a residual connection, layer normalisation and dropout.
class TransformerLayer {
 public:
  TransformerLayer() = default;
  TransformerLayer(const char* builder, const char* collection, unsigned dim, unsigned heads,
                   unsigned hidden_dim, ParameterCollection& model,
                   const TransformerOptions& options);

  void new_graph(ComputationGraph& cg, bool update);
  void set_dropout(float rate) { dropout_rate_ = rate; }
  void share(const TransformerLayer& other);

  // On positions as a batch {dim}x(n*b) that stand for `like`, {dim,n}xb; without checks.
  [[nodiscard]] Expression encode(const Expression& x, const Dim& like,
                                  const std::vector<unsigned>& lengths, Where where) const;
  /// Appends the positions to `read`. `memory`: null if there is none.
  [[nodiscard]] Expression decode(const Expression& x, const Dim& like, AttentionMemory& read,
                                  const AttentionMemory* memory, Where where) const;
  [[nodiscard]] AttentionMemory read_memory(const Expression& seen,
                                            const std::vector<unsigned>& lengths,
                                            Where where) const {
    return cross_.read(seen, lengths, where);
  }

  BuilderParameters parameters;

 private:
  /// The input of attention or feed-forward network, and the layer's numbers with its output added.
  [[nodiscard]] Expression before(const Expression& x, std::size_t norm, Where where) const;
  [[nodiscard]] Expression after(const Expression& x, const Expression& y, std::size_t norm,
                                 Where where) const;
  [[nodiscard]] Expression feed_forward(const Expression& x, Where where) const;

  TransformerOptions options_;
  float dropout_rate_ = 0.0F;
  MultiHeadAttentionBuilder self_;
  MultiHeadAttentionBuilder cross_;  ///< without parameters if there is no memory
};

/// Layers one above the other. Copies share parameters. Thread rule: one thread at a time, like its
/// graph.
class TransformerStack {
 public:
  /// Uses the parameters in a graph: once for each. Without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first use in a graph does it.
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Share of the numbers that are set to 0, from 0 to 1: in the outputs of attention and
  /// feed-forward network, and within the latter.
  void set_dropout(float rate);
  /// No dropout any more.
  void disable_dropout() { set_dropout(0.0F); }
  /// The collection of the builder's parameters.
  ParameterCollection& get_parameter_collection() { return parameters_.collection; }

  [[nodiscard]] unsigned layers() const { return static_cast<unsigned>(layers_.size()); }
  [[nodiscard]] unsigned dim() const { return dim_; }

 protected:
  TransformerStack() = default;
  TransformerStack(const char* builder, const char* collection, const char* layer, unsigned layers,
                   unsigned dim, unsigned heads, unsigned hidden_dim, ParameterCollection& model,
                   const TransformerOptions& options);
  /// ValueError for other sizes or options.
  void share(const TransformerStack& other);
  /// The result of BuilderParameters::check; ShapeError unless there are positions {dim}.
  void check(const char* call, const Expression& x, Where where) const;
  [[nodiscard]] Expression normalised(const Expression& x, Where where) const;

  unsigned dim_ = 0;
  TransformerOptions options_;
  std::vector<TransformerLayer> layers_;
  BuilderParameters parameters_;  ///< of the last normalisation
};

}  // namespace detail

/// Layers in which each position attends to all of its sequence (Vaswani et al., 2017).
///
/// Parameters, in the collection `transformer-encoder`: for each layer a collection
/// `transformer-encoder-layer` with the collection of a MultiHeadAttentionBuilder, then w1
/// {hidden,dim}, b1 {hidden} (0), w2 {dim,hidden}, b2 {dim} (0), self-norm-g {dim} (1), self-norm-b
/// {dim} (0), feed-norm-g, feed-norm-b; with `pre_norm` after all layers norm-g, norm-b.
class TransformerEncoderBuilder final : public detail::TransformerStack {
 public:
  TransformerEncoderBuilder() = default;
  /// ValueError unless `heads` divides `dim`, and without layers.
  explicit TransformerEncoderBuilder(unsigned layers, unsigned dim, unsigned heads,
                                     unsigned hidden_dim, ParameterCollection& model,
                                     const TransformerOptions& options = {});
  /// The output at each position. `lengths`: the number of positions of each example that count;
  /// the outputs of other positions have no meaning. Shapes: {dim,positions}xb ->
  /// {dim,positions}xb.
  [[nodiscard]] Expression encode(const Expression& x, const std::vector<unsigned>& lengths = {},
                                  Where where = Where::here()) const;
  /// Uses the parameters of `other` from the next graph on. ValueError for a builder of other sizes
  /// or options.
  void copy(const TransformerEncoderBuilder& other) { share(other); }
};

/// Layers in which each position attends to itself and earlier positions, and to an encoder's if
/// there is one.
///
/// Parameters, in the collection `transformer-decoder`: for each layer a collection
/// `transformer-decoder-layer` with the collections of one or two MultiHeadAttentionBuilders (of
/// the sequence, of the memory), then as in an encoder's layer, and with a memory memory-norm-g,
/// memory-norm-b; at last as in TransformerEncoderBuilder.
///
/// Python: With `has_memory` there is an encoder, whose output has `memory_dim` rows (0: `dim`).
class TransformerDecoderBuilder final : public detail::TransformerStack {
 public:
  TransformerDecoderBuilder() = default;
  /// ValueError unless `heads` divides `dim`, and without layers.
  explicit TransformerDecoderBuilder(unsigned layers, unsigned dim, unsigned heads,
                                     unsigned hidden_dim, ParameterCollection& model,
                                     const TransformerOptions& options = {});
  /// The state before the first position, for a decoder without memory. StateError for another.
  [[nodiscard]] TransformerState start() const;
  /// The state before the first position. `seen`: the encoder's output, of which `lengths` count.
  /// StateError for a decoder without memory.
  /// Shapes: {memory_dim,positions}xb.
  [[nodiscard]] TransformerState start(const Expression& seen,
                                       const std::vector<unsigned>& lengths = {},
                                       Where where = Where::here()) const;
  /// The state after one more position; after `start` also after several positions, each attending
  /// to the positions before. ValueError for several positions after others. x, the read positions
  /// and the memory each have the b examples of the step, or one example that stands for all.
  /// Shapes: {dim}xb or {dim,n}xb; the state's output has the same shape, with all examples.
  [[nodiscard]] TransformerState add_input(const TransformerState& state, const Expression& x,
                                           Where where = Where::here()) const;
  /// Uses the parameters of `other` from the next graph on. ValueError for a builder of other sizes
  /// or options.
  void copy(const TransformerDecoderBuilder& other) { share(other); }

 private:
  /// Returns the examples of the step.
  [[nodiscard]] unsigned check_state(const TransformerState& state, const Expression& x,
                                     Where where) const;
  [[nodiscard]] TransformerState checked_step(const TransformerState& state, const Expression& x,
                                              Where where) const;
};

/// Numbers that encode a position, added to each position.
///
/// C++: Thread rule: one thread at a time.
class PositionalEncoding {
 public:
  PositionalEncoding(const PositionalEncoding&) = default;
  PositionalEncoding& operator=(const PositionalEncoding&) = default;
  virtual ~PositionalEncoding();
  /// x plus the encodings of the positions `first`, `first` + 1, ...
  /// Shapes: {dim}xb or {dim,n}xb -> the same.
  [[nodiscard]] virtual Expression add(const Expression& x, unsigned first = 0,
                                       Where where = Where::here()) const = 0;
  [[nodiscard]] unsigned dim() const { return dim_; }

 protected:
  explicit PositionalEncoding(unsigned dim) : dim_(dim) {}
  unsigned dim_;
};

/// Sines and cosines, without parameters, for any number of positions (Vaswani et al., 2017):
///
///   p_2i = sin(position / 10000^(2i / dim)),  p_(2i+1) = cos(position / 10000^(2i / dim))
class SinusoidalEncoding final : public PositionalEncoding {
 public:
  explicit SinusoidalEncoding(unsigned dim) : PositionalEncoding(dim) {}
  [[nodiscard]] Expression add(const Expression& x, unsigned first = 0,
                               Where where = Where::here()) const override;

 private:
  [[nodiscard]] Expression plus_positions(const Expression& x, unsigned first, Where where) const;
  mutable std::vector<float> numbers_;  ///< of the positions encoded so far
};

/// A vector for each position, learned.
///
/// Parameters, in the collection `learned-encoding`: a lookup table of `max_positions` rows {dim}.
class LearnedEncoding final : public PositionalEncoding {
 public:
  explicit LearnedEncoding(unsigned dim, unsigned max_positions, ParameterCollection& model);
  /// Whether the table gets a gradient in the graphs from now on; true by default.
  void set_updated(bool update) { is_updated_ = update; }
  /// IndexError for a position that the table does not have.
  [[nodiscard]] Expression add(const Expression& x, unsigned first = 0,
                               Where where = Where::here()) const override;
  /// The collection of the table.
  ParameterCollection& get_parameter_collection() { return collection_; }
  [[nodiscard]] const LookupParameter& table() const { return table_; }

 private:
  [[nodiscard]] Expression plus_positions(const Expression& x, unsigned first, Where where) const;
  ParameterCollection collection_;
  LookupParameter table_;
  bool is_updated_ = true;
};

}  // namespace dynet
