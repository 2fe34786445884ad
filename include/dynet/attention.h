#pragma once

// Attention as builders: a query gets a weighted sum of the values of a memory, weighted by its
// keys.
//
//   builder.new_graph(cg);                              once for each graph
//   AttentionMemory memory = builder.read(keys);        once for each sequence
//   Expression context = builder.attend(query, memory); for each query, or several side by side
//
// A sequence is a matrix {size,positions}: `concatenate_cols(states)`, or rows of a lookup table by
// `reshape(lookup(cg, table, words), {size, positions})`. A batch {size,positions}xb of sequences
// that are padded comes with lengths; without lengths all positions count. A query is a vector
// {size} or a matrix with a column for each query, and so is the result: 3 queries {8,3} and a
// memory with keys {8,5} and values {6,5} give {6,3}.
//
// MLPAttentionBuilder, DotAttentionBuilder and BiaffineAttentionBuilder differ in the score of a
// key for a query; Transformers (transformer.h) are made of MultiHeadAttentionBuilder. Errors:
// StateError before new_graph, GraphError and StaleExpression for a query or memory of another
// graph, ShapeError with the builder's name for other shapes, ValueError for another number of
// lengths than examples, IndexError for a length of 0 or of too many positions.
//
// Work on each position by itself (projections, the MLP's layer) takes the positions as a batch, so
// sequences of different lengths merge there. Scores, softmax and weighted sums merge among
// sequences of one length (and, padded to it, of any).

#include <cstddef>
#include <vector>

#include "dynet/builder-parameters.h"

namespace dynet {

namespace detail {
class TransformerLayer;
}

/// Keys and values, made by a builder's `read` for the same builder's `attend`. Its nodes get stale
/// with their graph.
///
/// C++: A value, copied freely.
struct AttentionMemory {
  /// {k,positions}xb.
  Expression keys;
  /// {v,positions}xb.
  Expression values;
  /// The number of positions of each example that count; empty: all do.
  std::vector<unsigned> lengths;

  /// Number of positions; 0 for an empty memory.
  [[nodiscard]] unsigned positions() const { return keys.pg == nullptr ? 0 : keys.dim().cols(); }
};

/// For a beam search with checkpoints (beam.h).
template <class F>
void for_each_expression(AttentionMemory& memory, F&& f) {
  if (memory.keys.pg != nullptr) {
    f(memory.keys);
    f(memory.values);
  }
}

/// Base of the attention builders. Copies of a builder share its parameters. Thread rule: one
/// thread at a time, like its graph.
class AttentionBuilder {
 public:
  AttentionBuilder(const AttentionBuilder&) = default;
  AttentionBuilder& operator=(const AttentionBuilder&) = default;
  virtual ~AttentionBuilder();

  /// Uses the parameters in a graph: once for each. Without `update` they get no gradient.
  ///
  /// Python: The graph is this thread's. Without this call the first use in a graph does it.
  void new_graph(ComputationGraph& cg, bool update = true) { parameters_.new_graph(cg, update); }
  /// A memory of these keys and values. `lengths`: the number of positions of each example that
  /// count.
  /// Shapes: {k,positions}xb, {v,positions}xb.
  [[nodiscard]] AttentionMemory read(const Expression& keys, const Expression& values,
                                     const std::vector<unsigned>& lengths = {},
                                     Where where = Where::here()) const;
  /// A memory whose values are the keys.
  [[nodiscard]] AttentionMemory read(const Expression& keys,
                                     const std::vector<unsigned>& lengths = {},
                                     Where where = Where::here()) const {
    return read(keys, keys, lengths, where);
  }
  /// The weighted sums of the values, for each query.
  /// Shapes: {q}xb -> {v}xb, {q,m}xb -> {v,m}xb.
  [[nodiscard]] virtual Expression attend(const Expression& queries, const AttentionMemory& memory,
                                          Where where = Where::here()) const = 0;
  /// The collection of the builder's parameters.
  ParameterCollection& get_parameter_collection() { return parameters_.collection; }
  [[nodiscard]] const std::vector<Parameter>& params() const { return parameters_.params; }

 protected:
  AttentionBuilder() = default;
  /// Keys and values as the memory keeps them.
  virtual AttentionMemory project(const Expression& keys, const Expression& values,
                                  Where where) const;
  void check(const char* call, const Expression& queries, unsigned query_size,
             const AttentionMemory& memory, unsigned key_size, Where where) const;
  [[nodiscard]] AttentionMemory checked_read(const Expression& keys, const Expression& values,
                                             const std::vector<unsigned>& lengths,
                                             Where where) const;

  unsigned key_dim_ = 0;    ///< rows of the keys
  unsigned value_dim_ = 0;  ///< 0: any
  detail::BuilderParameters parameters_;
};

/// Attention that scores each key against each query, and shows its weights.
class ScoringAttentionBuilder : public AttentionBuilder {
 public:
  /// The score of each key for each query, before lengths and the softmax.
  /// Shapes: {q}xb -> {positions}xb, {q,m}xb -> {positions,m}xb.
  [[nodiscard]] virtual Expression scores(const Expression& queries, const AttentionMemory& memory,
                                          Where where = Where::here()) const = 0;
  /// The softmax of the scores over the positions that count; 0 at the others.
  [[nodiscard]] Expression weights(const Expression& queries, const AttentionMemory& memory,
                                   Where where = Where::here()) const;
  /// values * weights.
  [[nodiscard]] Expression attend(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;

 protected:
  ScoringAttentionBuilder() = default;
};

/// Additive attention (Bahdanau et al., 2015): the score of key k for query q is
///
///   v . tanh(wk k + b + wq q)
///
/// Parameters, in the collection `mlp-attention-builder`: wk {h,k}, b {h} (0), wq {h,q}, v {1,h}.
/// The keys' part is computed once, by `read`.
class MLPAttentionBuilder final : public ScoringAttentionBuilder {
 public:
  MLPAttentionBuilder() = default;
  explicit MLPAttentionBuilder(unsigned query_dim, unsigned key_dim, unsigned hidden_dim,
                               ParameterCollection& model);
  [[nodiscard]] Expression scores(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;
  /// Uses the parameters of `other` from the next graph on. ValueError for a builder of other
  /// sizes.
  void copy(const MLPAttentionBuilder& other) { parameters_.share(other.parameters_); }

 private:
  AttentionMemory project(const Expression& keys, const Expression& values,
                          Where where) const override;
  [[nodiscard]] Expression checked_scores(const Expression& queries, const AttentionMemory& memory,
                                          Where where) const;
  unsigned query_dim_ = 0;
  unsigned hidden_dim_ = 0;
};

/// Scaled dot products (Vaswani et al., 2017): the score of key k for query q is k . q /
/// sqrt(dim). No parameters.
class DotAttentionBuilder final : public ScoringAttentionBuilder {
 public:
  DotAttentionBuilder() = default;
  explicit DotAttentionBuilder(unsigned dim, ParameterCollection& model);
  [[nodiscard]] Expression scores(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;
  /// In one node.
  [[nodiscard]] Expression attend(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;
  /// Uses the size of `other`. ValueError for a builder of another size.
  void copy(const DotAttentionBuilder& other);
};

/// Biaffine attention (Dozat and Manning, 2017): the score of key k for query q is
///
///   k . (u q + b)
///
/// Parameters, in the collection `biaffine-attention-builder`: u {k,q}, b {k} (0). (Terms that all
/// keys of a query share would change no weight.)
class BiaffineAttentionBuilder final : public ScoringAttentionBuilder {
 public:
  BiaffineAttentionBuilder() = default;
  explicit BiaffineAttentionBuilder(unsigned query_dim, unsigned key_dim,
                                    ParameterCollection& model);
  [[nodiscard]] Expression scores(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;
  /// Uses the parameters of `other` from the next graph on. ValueError for a builder of other
  /// sizes.
  void copy(const BiaffineAttentionBuilder& other) { parameters_.share(other.parameters_); }

 private:
  unsigned query_dim_ = 0;
};

/// Several scaled dot products side by side (Vaswani et al., 2017): queries, keys and values are
/// projected, their rows cut into one piece per head, each piece attends by itself, and the
/// results, one below the other, are projected again.
///
/// Parameters, in the collection `multi-head-attention-builder`: wq {d,d}, bq {d}, wk {d,memory},
/// bk {d}, wv {d,memory}, bv {d}, wo {d,d}, bo {d}; biases 0.
class MultiHeadAttentionBuilder final : public AttentionBuilder {
 public:
  MultiHeadAttentionBuilder() = default;
  /// `memory_dim`: rows of the memory; 0: `dim`. ValueError unless `heads` divides `dim`.
  explicit MultiHeadAttentionBuilder(unsigned dim, unsigned heads, ParameterCollection& model,
                                     unsigned memory_dim = 0);

  [[nodiscard]] Expression attend(const Expression& queries, const AttentionMemory& memory,
                                  Where where = Where::here()) const override;
  /// Position j of a sequence attends to positions 0 to j, and to no later position.
  /// Shapes: {d,positions}xb -> {d,positions}xb.
  [[nodiscard]] Expression attend_causally(const Expression& queries, const AttentionMemory& memory,
                                           Where where = Where::here()) const;
  /// `memory` with the positions `x` appended: decoding step by step, in which attend(x, memory) is
  /// a column of attend_causally. A memory without positions is the beginning. ValueError for a
  /// memory with lengths. One example of either stands for all of the other's.
  /// Shapes: {memory} or {memory,n}, xb.
  [[nodiscard]] AttentionMemory append(const AttentionMemory& memory, const Expression& x,
                                       Where where = Where::here()) const;
  /// Uses the parameters of `other` from the next graph on. ValueError for a builder of other
  /// sizes.
  void copy(const MultiHeadAttentionBuilder& other);
  [[nodiscard]] unsigned heads() const { return heads_; }

 private:
  friend class detail::TransformerLayer;
  AttentionMemory project(const Expression& keys, const Expression& values,
                          Where where) const override;
  /// w x + b at each position, with the parameters `w` and the one after it.
  [[nodiscard]] Expression of_each(std::size_t w, const Expression& x, const Dim& like,
                                   Where where) const;
  /// For positions as a batch {..}x(n*b) that stand for `like`, {..,n}xb; without checks.
  [[nodiscard]] AttentionMemory project_batch(const Expression& x, const Dim& like,
                                              Where where) const;
  [[nodiscard]] AttentionMemory append_batch(const AttentionMemory& memory, const Expression& x,
                                             const Dim& like, Where where) const;
  [[nodiscard]] Expression attend_batch(const Expression& queries, const Dim& like,
                                        const AttentionMemory& memory, bool is_causal,
                                        Where where) const;
  [[nodiscard]] Expression look(const char* call, const Expression& queries,
                                const AttentionMemory& memory, bool is_causal, Where where) const;
  void check_appended(const char* call, const AttentionMemory& memory, const Expression& x,
                      Where where) const;
  unsigned heads_ = 0;
};

}  // namespace dynet
