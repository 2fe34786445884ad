#include "dynet/expr/compositions.h"

#include <array>
#include <span>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/elementary.h"
#include "dynet/expr/leaves.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/random.h"
#include "dynet/expr/recurrent.h"
#include "dynet/expr/reduce.h"
#include "dynet/expr/shape.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/attention.h"
#include "dynet/ops/margin.h"
#include "dynet/ops/sparsemax.h"
#include "dynet/repeatable.h"

#include "api/functions.h"
#include "graph/graph.h"

namespace dynet {

namespace {

using Nodes = std::span<const Expression>;

void check_list(const char* name, Nodes xs, Where where) {
  if (xs.empty()) {
    throw errors::ValueError(std::string(name) +
                             ": the list of arguments is empty; want at least one" +
                             graph::built_at(where));
  }
}

using OfTwo = Expression (*)(const Expression&, const Expression&, Where);

/// max or min of a list. On ties the second of two arguments gets the gradient, and so the first of
/// a list.
Expression extreme_of(const char* name, OfTwo of_two, Nodes xs, Where where) {
  check_list(name, xs, where);
  Expression best = xs[0];
  for (const Expression& x : xs.subspan(1)) {
    best = of_two(x, best, where);
  }
  return best;
}

/// Without a node where nothing changes: aliases run one by one.
Expression as_shape(const Expression& x, const Dim& shape, Where where) {
  return x.dim().single_batch() == shape ? x : reshape(x, shape, where);
}

Expression logsumexp_of(Nodes xs, Where where) {
  check_list("logsumexp", xs, where);
  if (xs.size() == 1) {
    return xs[0];
  }
  const Dim shape = xs[0].dim().single_batch();
  const Dim flat({to_extent(shape.elements(), "logsumexp: the number of elements")});
  std::vector<Expression> columns;
  columns.reserve(xs.size());
  for (const Expression& x : xs) {
    if (x.dim().single_batch().truncate() != shape.truncate()) {
      throw errors::ShapeError("logsumexp(xs): the list has " + to_string(xs[0].dim()) + " and " +
                               to_string(x.dim()) + "; want equal shapes" + graph::built_at(where));
    }
    columns.push_back(as_shape(x, flat, where));
  }
  return as_shape(logsumexp_dim(concatenate(columns, 1, where), 1, where), shape, where);
}

Expression add_hinge_dim(const Expression& x, const ext::NodePayload& indices, unsigned classes,
                         unsigned d, float m, Where where) {
  return ext::add_node(ops::HingeDim{d, m, classes}, {x, where}, indices);
}

/// How many indices each list has.
unsigned length_of(const std::vector<std::vector<unsigned>>& lists, Where where) {
  for (const std::vector<unsigned>& one : lists) {
    if (one.size() != lists[0].size()) {
      throw errors::ValueError("hinge_dim: lists of " + std::to_string(lists[0].size()) +
                               " and of " + std::to_string(one.size()) +
                               " indices; want equally many for each example" +
                               graph::built_at(where));
    }
  }
  return lists.empty() ? 0 : ext::NodePayload::of(lists[0]).count;
}

Expression attend(const std::array<Expression, 3>& args, const ops::AttentionToLengths& op,
                  Where where, const ext::NodePayload& lengths) {
  return ext::add_node(ext::kRecord<ops::AttentionToLengths>, &op, nullptr, args, lengths, where);
}

}  // namespace

Expression operator/(const detail::Located& x, const Expression& y) {
  return cdiv(x.e, y, x.where);
}

Expression max(const std::initializer_list<Expression>& xs, Where where) {
  return extreme_of("max", &max, {xs.begin(), xs.size()}, where);
}
Expression max(const std::vector<Expression>& xs, Where where) {
  return extreme_of("max", &max, xs, where);
}
Expression min(const std::initializer_list<Expression>& xs, Where where) {
  return extreme_of("min", &min, {xs.begin(), xs.size()}, where);
}
Expression min(const std::vector<Expression>& xs, Where where) {
  return extreme_of("min", &min, xs, where);
}
Expression logsumexp(const std::initializer_list<Expression>& xs, Where where) {
  return logsumexp_of({xs.begin(), xs.size()}, where);
}
Expression logsumexp(const std::vector<Expression>& xs, Where where) {
  return logsumexp_of(xs, where);
}

Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d, float m,
                     Where where) {
  const auto payload = ext::NodePayload::of(indices);
  return add_hinge_dim(x, payload, payload.count, d, m, where);
}
Expression hinge_dim(const Expression& x, detail::Pointer<std::vector<unsigned>> indices,
                     unsigned d, float m, Where where) {
  const auto payload = ext::NodePayload::of(api::pointee(indices, "hinge_dim", "indices"));
  return add_hinge_dim(x, payload, payload.count, d, m, where);
}
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d, float m, Where where) {
  const unsigned classes = length_of(indices, where);
  std::vector<unsigned> all;
  for (const std::vector<unsigned>& one : indices) {
    all.insert(all.end(), one.begin(), one.end());
  }
  return add_hinge_dim(x, ext::NodePayload::of(all), classes, d, m, where);
}
Expression hinge_dim(const Expression& x,
                     detail::Pointer<std::vector<std::vector<unsigned>>> indices, unsigned d,
                     float m, Where where) {
  const auto* lists = api::pointee(indices, "hinge_dim", "indices");
  const unsigned classes = length_of(*lists, where);
  return add_hinge_dim(x, ext::NodePayload::of(lists), classes, d, m, where);
}

template <int>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     const std::vector<unsigned>& lengths, unsigned heads, bool causal,
                     Where where) {
  return attend({q, k, v}, {heads, causal}, where, ext::NodePayload::of(lengths));
}
template Expression attention<>(const Expression& q, const Expression& k, const Expression& v,
                                const std::vector<unsigned>& lengths, unsigned heads, bool causal,
                                Where where);
template <int>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     detail::Pointer<std::vector<unsigned>> lengths, unsigned heads, bool causal,
                     Where where) {
  return attend({q, k, v}, {heads, causal}, where,
                ext::NodePayload::of(api::pointee(lengths, "attention", "lengths")));
}
template Expression attention<>(const Expression& q, const Expression& k, const Expression& v,
                                detail::Pointer<std::vector<unsigned>> lengths, unsigned heads,
                                bool causal, Where where);
template <int>
Expression attention(const Expression& q, const Expression& k, const Expression& v,
                     const std::initializer_list<unsigned>& lengths, unsigned heads, bool causal,
                     Where where) {
  return attend({q, k, v}, {heads, causal}, where,
                ext::NodePayload::of(std::span(lengths.begin(), lengths.size())));
}
template Expression attention<>(const Expression& q, const Expression& k, const Expression& v,
                                const std::initializer_list<unsigned>& lengths, unsigned heads,
                                bool causal, Where where);

template <int>
Expression sample_categorical(const Expression& x, GradientMode gradient_mode, Where where) {
  const Dim shape = x.dim();
  detail::RepeatableDraws draws(x.pg);
  const Expression noise = random_gumbel({*x.pg, where}, shape, 0.0F, 1.0F, api::device_of(x));
  const Expression sample = argmax(detail::Located(x, where) + noise, gradient_mode, where);
  draws.keep();
  return sample;
}
template Expression sample_categorical<>(const Expression& x, GradientMode gradient_mode,
                                         Where where);

Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction, unsigned d,
                       Where where) {
  return ext::add_node(ops::RestrictedLogSoftmax{d}, {x, where}, ext::NodePayload::of(restriction));
}
Expression log_softmax(const Expression& x, const std::initializer_list<unsigned>& restriction,
                       unsigned d, Where where) {
  return ext::add_node(ops::RestrictedLogSoftmax{d}, {x, where},
                       ext::NodePayload::of(std::span(restriction.begin(), restriction.size())));
}

Expression concatenate_cols(const std::initializer_list<Expression>& xs, Where where) {
  return concatenate(xs, 1, where);
}
Expression concatenate_cols(const std::vector<Expression>& xs, Where where) {
  return concatenate(xs, 1, where);
}

Expression pickrange(const Expression& x, unsigned s, unsigned e, Where where) {
  return pick_range(x, s, e, 0, where);
}

Expression vanilla_lstm_gates(const Expression& x_t, const Expression& h_tm1, const Expression& wx,
                              const Expression& wh, const Expression& b, real weightnoise_std,
                              Where where) {
  if (weightnoise_std == 0.0F) {
    return lstm_gates(affine_transform({b, wx, x_t, wh, h_tm1}, where), 1.0F, where);
  }
  detail::RepeatableDraws draws(wx.pg);
  const Expression noisy_wx = noise(wx, weightnoise_std, where);
  const Expression noisy_wh = noise(wh, weightnoise_std, where);
  const Expression gates =
      lstm_gates(affine_transform({b, noisy_wx, x_t, noisy_wh, h_tm1}, where), 1.0F, where);
  draws.keep();
  return gates;
}

Expression vanilla_lstm_gates_concat(const std::vector<Expression>& x_t, const Expression& h_tm1,
                                     const Expression& wx, const Expression& wh,
                                     const Expression& b, real weightnoise_std, Where where) {
  return vanilla_lstm_gates(concatenate(x_t, 0, where), h_tm1, wx, wh, b, weightnoise_std, where);
}
Expression vanilla_lstm_gates_dropout(const Expression& x_t, const Expression& h_tm1,
                                      const Expression& wx, const Expression& wh,
                                      const Expression& b, const Expression& dropout_mask_x,
                                      const Expression& dropout_mask_h, real weightnoise_std,
                                      Where where) {
  const Expression x = cmult(x_t, nobackprop(dropout_mask_x, where), where);
  const Expression h = cmult(h_tm1, nobackprop(dropout_mask_h, where), where);
  return vanilla_lstm_gates(x, h, wx, wh, b, weightnoise_std, where);
}
Expression vanilla_lstm_gates_dropout_concat(const std::vector<Expression>& x_t,
                                             const Expression& h_tm1, const Expression& wx,
                                             const Expression& wh, const Expression& b,
                                             const Expression& dropout_mask_x,
                                             const Expression& dropout_mask_h, real weightnoise_std,
                                             Where where) {
  return vanilla_lstm_gates_dropout(concatenate(x_t, 0, where), h_tm1, wx, wh, b, dropout_mask_x,
                                    dropout_mask_h, weightnoise_std, where);
}

}  // namespace dynet
