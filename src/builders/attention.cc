#include "dynet/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "dynet/except.h"

#include "api/lengths.h"
#include "builders/columns.h"

namespace dynet {

using api::check_lengths;
using builders::as_batch;
using builders::as_columns;
using builders::check_columns;
using detail::Located;

namespace {

const ParameterInitConst kZero(0.0F);

/// 0 for a position that counts, else -inf. Shapes: {positions,1}xb.
Expression mask_of(const AttentionMemory& memory, Where where) {
  const Dim& d = memory.keys.dim();
  std::vector<float> mask(std::size_t{d.cols()} * d.bd, 0.0F);
  for (std::size_t e = 0; e < memory.lengths.size(); ++e) {
    const auto first = mask.begin() + static_cast<std::ptrdiff_t>(e * d.cols());
    std::fill(first + memory.lengths[e], first + d.cols(), -std::numeric_limits<float>::infinity());
  }
  return input({*memory.keys.pg, where}, Dim({d.cols(), 1}, d.bd), mask,
               get_device_manager()->get_global_device(memory.keys.get_device_name()));
}

/// attention() over the positions that count.
Expression attend_to(const Expression& q, const AttentionMemory& memory, unsigned heads,
                     bool is_causal, Where where) {
  if (memory.lengths.empty()) {
    return attention(q, memory.keys, memory.values, heads, is_causal, where);
  }
  return attention(q, memory.keys, memory.values, memory.lengths, heads, is_causal, where);
}

}  // namespace

// ---- shared by all

AttentionBuilder::~AttentionBuilder() = default;

AttentionMemory AttentionBuilder::read(const Expression& keys, const Expression& values,
                                       const std::vector<unsigned>& lengths, Where where) const {
  return detail::with_typed_allocation([&] { return checked_read(keys, values, lengths, where); });
}

AttentionMemory AttentionBuilder::checked_read(const Expression& keys, const Expression& values,
                                               const std::vector<unsigned>& lengths,
                                               Where where) const {
  parameters_.check("read", {keys, values}, where);
  const std::string at = parameters_.at("read");
  check_columns(at, "keys are", keys, key_dim_);
  check_columns(at, "values are", values, value_dim_);
  const Dim& k = keys.dim();
  const Dim& v = values.dim();
  if (k.cols() != v.cols() || k.bd != v.bd) {
    throw errors::ShapeError(at + "keys are " + to_string(k) + " and values " + to_string(v) +
                             "; want as many positions and examples");
  }
  check_lengths(at, keys.dim(), keys.dim().cols(), lengths);
  AttentionMemory memory = project(keys, values, where);
  memory.lengths = lengths;
  return memory;
}

AttentionMemory AttentionBuilder::project(const Expression& keys, const Expression& values,
                                          Where /*where*/) const {
  return {keys, values, {}};
}

void AttentionBuilder::check(const char* call, const Expression& queries, unsigned query_size,
                             const AttentionMemory& memory, unsigned key_size, Where where) const {
  if (memory.keys.pg == nullptr) {
    throw errors::StateError(parameters_.at(call) + "of a memory that nothing was read into");
  }
  parameters_.check(call, {queries, memory.keys, memory.values}, where);
  check_columns(parameters_.at(call), "queries are", queries, query_size);
  const Dim& q = queries.dim();
  const Dim& k = memory.keys.dim();
  if (k.rows() != key_size || (q.bd != k.bd && q.bd != 1 && k.bd != 1)) {
    throw errors::ShapeError(parameters_.at(call) + "queries are " + to_string(q) +
                             " and the memory's keys " + to_string(k) + "; want keys {" +
                             std::to_string(key_size) +
                             ",positions} of as many examples, read by this builder");
  }
}

// ---- scores, weights, sums

Expression ScoringAttentionBuilder::weights(const Expression& queries,
                                            const AttentionMemory& memory, Where where) const {
  return detail::with_typed_allocation([&] {
    Expression s = scores(queries, memory, where);
    if (!memory.lengths.empty()) {
      const Expression mask = mask_of(memory, where);
      s = Located(s, where) + (s.dim().nd == 1 ? reshape(mask, {s.dim().rows()}, where) : mask);
    }
    return softmax(s, 0, where);
  });
}

Expression ScoringAttentionBuilder::attend(const Expression& queries, const AttentionMemory& memory,
                                           Where where) const {
  const Expression w = weights(queries, memory, where);
  return Located(memory.values, where) * w;
}

// ---- by a layer

namespace {
enum { kWk, kB, kWq, kV };
}  // namespace

MLPAttentionBuilder::MLPAttentionBuilder(unsigned query_dim, unsigned key_dim, unsigned hidden_dim,
                                         ParameterCollection& model)
    : query_dim_(query_dim), hidden_dim_(hidden_dim) {
  key_dim_ = key_dim;
  parameters_ = {"MLPAttentionBuilder", "mlp-attention-builder", model};
  parameters_.add({hidden_dim, key_dim}, "wk");
  parameters_.add({hidden_dim}, "b", kZero);
  parameters_.add({hidden_dim, query_dim}, "wq");
  parameters_.add({1, hidden_dim}, "v");
}

AttentionMemory MLPAttentionBuilder::project(const Expression& keys, const Expression& values,
                                             Where where) const {
  const Expression batch =
      affine_transform({parameters_[kB], parameters_[kWk], as_batch(keys, where)}, where);
  return {as_columns(batch, keys.dim(), where), values, {}};
}

Expression MLPAttentionBuilder::scores(const Expression& queries, const AttentionMemory& memory,
                                       Where where) const {
  return detail::with_typed_allocation([&] { return checked_scores(queries, memory, where); });
}

Expression MLPAttentionBuilder::checked_scores(const Expression& queries,
                                               const AttentionMemory& memory, Where where) const {
  check("scores", queries, query_dim_, memory, hidden_dim_, where);
  const Dim q = queries.dim();
  const unsigned n = memory.positions();
  const unsigned m = q.cols();
  const Expression of_queries =
      as_columns(Located(parameters_[kWq], where) * as_batch(queries, where), q, where);
  const unsigned examples = std::max(q.bd, memory.keys.dim().bd);
  const Expression k = reshape(memory.keys, Dim({hidden_dim_, n, 1}, memory.keys.dim().bd), where);
  const Expression of_each = reshape(of_queries, Dim({hidden_dim_, 1, m}, q.bd), where);
  const unsigned pairs =
      to_extent(ext::Count(n) * m * examples, parameters_.at("scores") + "pairs of key and query");
  // A batch of pairs, because then the layer merges with any number of keys.
  const Expression sum = reshape(Located(k, where) + of_each, Dim({hidden_dim_}, pairs), where);
  const Expression s = Located(parameters_[kV], where) * tanh(sum, where);
  return reshape(s, q.nd == 1 ? Dim({n}, examples) : Dim({n, m}, examples), where);
}

// ---- by products

namespace {
Expression products(const AttentionMemory& memory, const Expression& queries, Where where) {
  return Located(transpose(Located(memory.keys, where)), where) * queries;
}
}  // namespace

DotAttentionBuilder::DotAttentionBuilder(unsigned dim, ParameterCollection& model) {
  key_dim_ = dim;
  parameters_ = {"DotAttentionBuilder", "dot-attention-builder", model};
}

Expression DotAttentionBuilder::scores(const Expression& queries, const AttentionMemory& memory,
                                       Where where) const {
  return detail::with_typed_allocation([&] {
    check("scores", queries, key_dim_, memory, key_dim_, where);
    const auto scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(key_dim_)));
    return Located(products(memory, queries, where), where) * scale;
  });
}

Expression DotAttentionBuilder::attend(const Expression& queries, const AttentionMemory& memory,
                                       Where where) const {
  return detail::with_typed_allocation([&] {
    check("attend", queries, key_dim_, memory, key_dim_, where);
    return attend_to(queries, memory, 1, false, where);
  });
}

void DotAttentionBuilder::copy(const DotAttentionBuilder& other) {
  if (key_dim_ != other.key_dim_) {
    throw errors::ValueError("DotAttentionBuilder: cannot copy a builder of size " +
                             std::to_string(other.key_dim_) + ", not " + std::to_string(key_dim_));
  }
}

BiaffineAttentionBuilder::BiaffineAttentionBuilder(unsigned query_dim, unsigned key_dim,
                                                   ParameterCollection& model)
    : query_dim_(query_dim) {
  key_dim_ = key_dim;
  parameters_ = {"BiaffineAttentionBuilder", "biaffine-attention-builder", model};
  parameters_.add({key_dim, query_dim}, "u");
  parameters_.add({key_dim}, "b", kZero);
}

Expression BiaffineAttentionBuilder::scores(const Expression& queries,
                                            const AttentionMemory& memory, Where where) const {
  return detail::with_typed_allocation([&] {
    check("scores", queries, query_dim_, memory, key_dim_, where);
    const Expression batch =
        affine_transform({parameters_[1], parameters_[0], as_batch(queries, where)}, where);
    return products(memory, as_columns(batch, queries.dim(), where), where);
  });
}

// ---- several heads

namespace {
enum { kHeadsWq, kHeadsBq, kHeadsWk, kHeadsBk, kHeadsWv, kHeadsBv, kHeadsWo, kHeadsBo };
}  // namespace

MultiHeadAttentionBuilder::MultiHeadAttentionBuilder(unsigned dim, unsigned heads,
                                                     ParameterCollection& model,
                                                     unsigned memory_dim)
    : heads_(heads) {
  if (heads == 0 || dim == 0 || dim % heads != 0) {
    throw errors::ValueError("MultiHeadAttentionBuilder: " + std::to_string(heads) +
                             " heads of a dimension of " + std::to_string(dim) +
                             "; want a number that divides it");
  }
  key_dim_ = value_dim_ = memory_dim == 0 ? dim : memory_dim;
  parameters_ = {"MultiHeadAttentionBuilder", "multi-head-attention-builder", model};
  parameters_.add({dim, dim}, "wq");
  parameters_.add({dim}, "bq", kZero);
  parameters_.add({dim, key_dim_}, "wk");
  parameters_.add({dim}, "bk", kZero);
  parameters_.add({dim, key_dim_}, "wv");
  parameters_.add({dim}, "bv", kZero);
  parameters_.add({dim, dim}, "wo");
  parameters_.add({dim}, "bo", kZero);
}

AttentionMemory MultiHeadAttentionBuilder::project(const Expression& keys, const Expression& values,
                                                   Where where) const {
  return {of_each(kHeadsWk, as_batch(keys, where), keys.dim(), where),
          of_each(kHeadsWv, as_batch(values, where), values.dim(), where),
          {}};
}

Expression MultiHeadAttentionBuilder::of_each(std::size_t w, const Expression& x, const Dim& like,
                                              Where where) const {
  return as_columns(affine_transform({parameters_[w + 1], parameters_[w], x}, where), like, where);
}

AttentionMemory MultiHeadAttentionBuilder::project_batch(const Expression& x, const Dim& like,
                                                         Where where) const {
  return {of_each(kHeadsWk, x, like, where), of_each(kHeadsWv, x, like, where), {}};
}

AttentionMemory MultiHeadAttentionBuilder::append_batch(const AttentionMemory& memory,
                                                        const Expression& x, const Dim& like,
                                                        Where where) const {
  AttentionMemory last = project_batch(x, like, where);
  if (memory.positions() == 0) {
    return last;
  }
  return {concatenate_cols({memory.keys, last.keys}, where),
          concatenate_cols({memory.values, last.values}, where),
          {}};
}

Expression MultiHeadAttentionBuilder::attend_batch(const Expression& queries, const Dim& like,
                                                   const AttentionMemory& memory, bool is_causal,
                                                   Where where) const {
  const Expression q = of_each(kHeadsWq, queries, like, where);
  const Expression heads = as_batch(attend_to(q, memory, heads_, is_causal, where), where);
  return affine_transform({parameters_[kHeadsBo], parameters_[kHeadsWo], heads}, where);
}

Expression MultiHeadAttentionBuilder::look(const char* call, const Expression& queries,
                                           const AttentionMemory& memory, bool is_causal,
                                           Where where) const {
  const unsigned dim = parameters_.params.empty() ? 0 : parameters_.params[kHeadsWq].dim().rows();
  return detail::with_typed_allocation([&] {
    check(call, queries, dim, memory, dim, where);
    Dim like = queries.dim();
    const Expression y = attend_batch(as_batch(queries, where), like, memory, is_causal, where);
    like.bd = std::max(like.bd, memory.keys.dim().bd);
    return as_columns(y, like, where);
  });
}

Expression MultiHeadAttentionBuilder::attend(const Expression& queries,
                                             const AttentionMemory& memory, Where where) const {
  return look("attend", queries, memory, false, where);
}

Expression MultiHeadAttentionBuilder::attend_causally(const Expression& queries,
                                                      const AttentionMemory& memory,
                                                      Where where) const {
  parameters_.check("attend_causally", {queries}, where);
  if (queries.dim().cols() != memory.positions()) {
    throw errors::ShapeError(parameters_.at("attend_causally") + "queries are " +
                             to_string(queries.dim()) + " and the memory has " +
                             std::to_string(memory.positions()) + " positions; want as many");
  }
  return look("attend_causally", queries, memory, true, where);
}

void MultiHeadAttentionBuilder::check_appended(const char* call, const AttentionMemory& memory,
                                               const Expression& x, Where where) const {
  parameters_.check(call, {x}, where);
  check_columns(parameters_.at(call), "x is", x, key_dim_);
  if (memory.positions() == 0) {
    return;
  }
  parameters_.check(call, {memory.keys, memory.values}, where);
  const Dim& k = memory.keys.dim();
  if (k.rows() != parameters_.params[kHeadsWk].dim().rows() ||
      (k.bd != x.dim().bd && k.bd != 1 && x.dim().bd != 1)) {
    throw errors::ShapeError(parameters_.at(call) + "x is " + to_string(x.dim()) +
                             " and the memory's keys " + to_string(k) +
                             "; want as many examples, or one that stands for all");
  }
  if (!memory.lengths.empty()) {
    throw errors::ValueError(parameters_.at(call) + "to a memory " + to_string(k) +
                             " of sequences of different lengths");
  }
}

AttentionMemory MultiHeadAttentionBuilder::append(const AttentionMemory& memory,
                                                  const Expression& x, Where where) const {
  return detail::with_typed_allocation([&] {
    check_appended("append", memory, x, where);
    return append_batch(memory, as_batch(x, where), x.dim(), where);
  });
}

void MultiHeadAttentionBuilder::copy(const MultiHeadAttentionBuilder& other) {
  if (heads_ != other.heads_) {
    throw errors::ValueError("MultiHeadAttentionBuilder: cannot copy a builder with " +
                             std::to_string(other.heads_) + " heads, not " +
                             std::to_string(heads_));
  }
  parameters_.share(other.parameters_);
}

}  // namespace dynet
