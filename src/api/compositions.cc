#include "dynet/expr/compositions.h"

#include <string>

#include "dynet/except.h"
#include "dynet/expr/arithmetic.h"
#include "dynet/expr/linear.h"
#include "dynet/expr/pick.h"
#include "dynet/expr/random.h"
#include "dynet/expr/recurrent.h"
#include "dynet/expr/shape.h"

namespace dynet {

namespace {

Expression max_of(const Expression* xs, std::size_t count, const char* file, unsigned line) {
  if (count == 0) {
    throw ValueError("max: the list of arguments is empty; want at least one\n  built at " +
                     std::string(file) + ":" + std::to_string(line));
  }
  Expression best = xs[0];
  for (std::size_t i = 1; i < count; ++i) {
    best = max(best, xs[i], file, line);
  }
  return best;
}

}  // namespace

Expression operator/(const detail::Located& x, const Expression& y) {
  return cdiv(x.e, y, x.file, x.line);
}

Expression max(const std::initializer_list<Expression>& xs, const char* file, unsigned line) {
  return max_of(xs.begin(), xs.size(), file, line);
}
Expression max(const std::vector<Expression>& xs, const char* file, unsigned line) {
  return max_of(xs.data(), xs.size(), file, line);
}

Expression concatenate_cols(const std::initializer_list<Expression>& xs, const char* file,
                            unsigned line) {
  return concatenate(xs, 1, file, line);
}
Expression concatenate_cols(const std::vector<Expression>& xs, const char* file, unsigned line) {
  return concatenate(xs, 1, file, line);
}

Expression pickrange(const Expression& x, unsigned s, unsigned e, const char* file, unsigned line) {
  return pick_range(x, s, e, 0, file, line);
}

Expression vanilla_lstm_gates(const Expression& x_t, const Expression& h_tm1, const Expression& wx,
                              const Expression& wh, const Expression& b, real weightnoise_std,
                              const char* file, unsigned line) {
  if (weightnoise_std == 0.0F) {
    return lstm_gates(affine_transform({b, wx, x_t, wh, h_tm1}, file, line), 1.0F, file, line);
  }
  const Expression noisy_wx = noise(wx, weightnoise_std, file, line);
  const Expression noisy_wh = noise(wh, weightnoise_std, file, line);
  return lstm_gates(affine_transform({b, noisy_wx, x_t, noisy_wh, h_tm1}, file, line), 1.0F, file,
                    line);
}

}  // namespace dynet
