#pragma once

// Transformers (Vaswani et al., 2017) as builders: stacks of layers, each of which attends to the
// other positions and then does something to each position by itself.
//
//   encoder.new_graph(cg);                             once for each graph
//   decoder.new_graph(cg);
//   Expression seen = encoder.encode(positions.add(x));
//   TransformerState state = decoder.start(seen);
//   Expression h = decoder.add_input(state, positions.add(y)).output;     a whole sequence at once
//   state = decoder.add_input(state, positions.add(word, t));             or position by position
//
// Sequences are matrices {dim,positions}xb; attention.h says how they are made, what a batch with
// lengths is, which errors there are, and what merges: all but the attention itself and, step by
// step, what the cache holds, whatever the lengths are. Of each length that there is, attention
// takes one call a layer. A sentence of one position has no batch of positions, so that it merges
// only with its like.
//
// A state holds the keys and values of the positions read so far, so a step computes one position.
// States are values: several steps may go on from one, as a beam search does (beam.h). Both ways
// give the same numbers up to rounding. Dropout is drawn anew at each position and each place.

#include <memory>
#include <vector>

#include "dynet/attention.h"

namespace dynet {

/// What layers may have otherwise.
struct TransformerOptions {
  /// Whether what a part of a layer reads is normalised (Xiong et al., 2020), and the output of the
  /// stack once more; otherwise the sum of what a part reads and gives is, as at first.
  bool pre_norm = true;
  /// Whether the feed-forward part has gelu in the place of rectify.
  bool gelu = false;
  /// Decoders: whether layers attend to the memory of an encoder. A language model has none.
  bool has_memory = true;
  /// Decoders: size of the encoder's positions; 0: that of the decoder's.
  unsigned memory_dim = 0;
  /// What layer_norm adds to the variance, at least 0. PyTorch has 1e-5; with 0, numbers that are
  /// all equal have gradients of 1e8.
  float epsilon = 0.0F;
};

/// What a decoder has read so far.
struct TransformerState {
  std::vector<AttentionMemory> layers;  ///< keys and values of the positions read, by layer
  std::shared_ptr<const std::vector<AttentionMemory>>
      memory;         ///< those of the encoder; may be null
  Expression output;  ///< at the positions read last

  /// Number of positions read.
  [[nodiscard]] unsigned positions() const { return layers.empty() ? 0 : layers[0].positions(); }
};

/// For a beam search with checkpoints (beam.h). What the encoder gave is older than the search.
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
  /// What a part of the layer reads, and the layer's numbers after what it gives.
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
  void new_graph(ComputationGraph& cg, bool update = true);
  /// Share of the numbers that are set to 0, from 0 to 1: of what attention and feed-forward
  /// network give, and within the latter.
  void set_dropout(float rate);
  void disable_dropout() { set_dropout(0.0F); }
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
  /// What BuilderParameters::check finds; ShapeError unless there are positions {dim}.
  void check(const char* call, const Expression& x, Where where) const;
  [[nodiscard]] Expression normalised(const Expression& x, Where where) const;

  unsigned dim_ = 0;
  TransformerOptions options_;
  std::vector<TransformerLayer> layers_;
  BuilderParameters parameters_;  ///< of the last normalisation
};

}  // namespace detail

/// Layers in which each position attends to all of its sequence.
///
/// Parameters, in the collection `transformer-encoder`: for each layer a collection
/// `transformer-encoder-layer` with those of MultiHeadAttentionBuilder in their own, then w1
/// {hidden,dim}, b1 {hidden} (0), w2 {dim,hidden}, b2 {dim} (0), self-norm-g {dim} (1), self-norm-b
/// {dim} (0), feed-norm-g, feed-norm-b; with `pre_norm` after all layers norm-g, norm-b.
class TransformerEncoderBuilder final : public detail::TransformerStack {
 public:
  TransformerEncoderBuilder() = default;
  /// ValueError unless `heads` divides `dim`, and without layers.
  explicit TransformerEncoderBuilder(unsigned layers, unsigned dim, unsigned heads,
                                     unsigned hidden_dim, ParameterCollection& model,
                                     const TransformerOptions& options = {});
  /// The output at each position. `lengths`: how many positions of each example count; at the
  /// others there are numbers without meaning. Shapes: {dim,positions}xb -> {dim,positions}xb.
  [[nodiscard]] Expression encode(const Expression& x, const std::vector<unsigned>& lengths = {},
                                  Where where = Where::here()) const;
  /// ValueError for a builder of other sizes or options.
  void copy(const TransformerEncoderBuilder& other) { share(other); }
};

/// Layers in which each position attends to those up to it, and to an encoder's if there is one.
///
/// Parameters, in the collection `transformer-decoder`: for each layer a collection
/// `transformer-decoder-layer` with those of one or two MultiHeadAttentionBuilders in their own (of
/// the sequence, of the memory), then those of an encoder's layer, and with a memory memory-norm-g,
/// memory-norm-b; at last as in TransformerEncoderBuilder.
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
  /// The state after one more position; after `start` also after several, each of which sees those
  /// before it. ValueError for several positions after others. Of x, what the state has read and
  /// the memory, each has the b examples of the step, or one that stands for all of them.
  /// Shapes: {dim}xb or {dim,n}xb; that, with all examples, is also the form of the state's output.
  [[nodiscard]] TransformerState add_input(const TransformerState& state, const Expression& x,
                                           Where where = Where::here()) const;
  /// ValueError for a builder of other sizes or options.
  void copy(const TransformerDecoderBuilder& other) { share(other); }

 private:
  /// Returns the examples of the step.
  [[nodiscard]] unsigned check_state(const TransformerState& state, const Expression& x,
                                     Where where) const;
  [[nodiscard]] TransformerState checked_step(const TransformerState& state, const Expression& x,
                                              Where where) const;
};

/// Numbers that say which position it is, added to each position. Thread rule: one thread at a
/// time.
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
  mutable std::vector<float> numbers_;  ///< of the positions that were asked for so far
};

/// A vector for each position, learned.
///
/// Parameters, in the collection `learned-encoding`: a lookup table of `max_positions` rows {dim}.
class LearnedEncoding final : public PositionalEncoding {
 public:
  explicit LearnedEncoding(unsigned dim, unsigned max_positions, ParameterCollection& model);
  /// Whether the table gets a gradient in the graphs from now on; it does otherwise.
  void set_updated(bool update) { is_updated_ = update; }
  /// IndexError for a position that the table does not have.
  [[nodiscard]] Expression add(const Expression& x, unsigned first = 0,
                               Where where = Where::here()) const override;
  ParameterCollection& get_parameter_collection() { return collection_; }
  [[nodiscard]] const LookupParameter& table() const { return table_; }

 private:
  [[nodiscard]] Expression plus_positions(const Expression& x, unsigned first, Where where) const;
  ParameterCollection collection_;
  LookupParameter table_;
  bool is_updated_ = true;
};

}  // namespace dynet
