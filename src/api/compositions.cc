#include "dynet/expr/compositions.h"

#include <string>

#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/random.h"
#include "dynet/expr/recurrent.h"
#include "dynet/expr/shape.h"

#include "graph/graph.h"

namespace dynet {

namespace {

Expression max_of(const Expression* xs, std::size_t count, Where where) {
  if (count == 0) {
    throw ValueError("max: the list of arguments is empty; want at least one" +
                     graph::built_at(where));
  }
  Expression best = xs[0];
  for (std::size_t i = 1; i < count; ++i) {
    best = max(best, xs[i], where);
  }
  return best;
}

}  // namespace

Expression operator/(const detail::Located& x, const Expression& y) {
  return cdiv(x.e, y, x.where);
}

Expression max(const std::initializer_list<Expression>& xs, Where where) {
  return max_of(xs.begin(), xs.size(), where);
}
Expression max(const std::vector<Expression>& xs, Where where) {
  return max_of(xs.data(), xs.size(), where);
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
  const Expression noisy_wx = noise(wx, weightnoise_std, where);
  const Expression noisy_wh = noise(wh, weightnoise_std, where);
  return lstm_gates(affine_transform({b, noisy_wx, x_t, noisy_wh, h_tm1}, where), 1.0F, where);
}

}  // namespace dynet
