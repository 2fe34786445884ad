// An operation from outside the tree, written against the installed package (C++20).

#include <cmath>
#include <cstdio>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"

namespace {

struct Softplus {
  static constexpr dynet::ext::Info kInfo{
      .name = "softplus", .args = {"x"}, .formula = "y = ln(1 + exp(x))"};
  dynet::Dim shape(const dynet::ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using dynet::rule::exp, dynet::rule::log1p;
    return log1p(exp(x));
  }
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const {
    using dynet::rule::exp;
    return 1.0 - exp(-y);
  }
  static std::vector<dynet::ext::Example<Softplus>> examples() { return {{{}, {{4, 3}}}}; }
};

dynet::Expression softplus(const dynet::detail::Located& x) {
  return dynet::ext::add_node(Softplus{}, x);
}

}  // namespace

int main() {
  dynet::ComputationGraph cg;
  const dynet::Expression x = input(cg, {3}, std::vector<float>{-1.0F, 0.0F, 2.0F});
  const dynet::Expression y = softplus(x);
  cg.backward(sum_elems(y), true);
  const std::vector<float> ys = dynet::as_vector(y.value());
  const std::vector<float> dx = dynet::as_vector(x.gradient());
  int wrong = 0;
  const double at[] = {-1.0, 0.0, 2.0};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = std::log1p(std::exp(at[i]));
    const double slope = 1.0 / (1.0 + std::exp(-at[i]));
    std::printf("softplus(%g) = %g, slope %g\n", at[i], static_cast<double>(ys[i]),
                static_cast<double>(dx[i]));
    wrong += std::abs(static_cast<double>(ys[i]) - value) > 1e-5 ? 1 : 0;
    wrong += std::abs(static_cast<double>(dx[i]) - slope) > 1e-5 ? 1 : 0;
  }
  return wrong;
}
