// Operations from outside the tree, written against the installed package (C++20).

#include <cmath>
#include <cstdio>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ext/testing.h"

namespace {

struct Squareplus {
  static constexpr dynet::ext::Info kInfo{
      .name = "squareplus", .args = {"x"}, .formula = "y = (x + sqrt(x^2 + 4)) / 2"};
  dynet::Dim shape(const dynet::ext::Shapes& in) const { return in[0]; }
  DYNET_DEVICE_FN auto value(auto x) const {
    using dynet::rule::sqrt;
    return 0.5 * (x + sqrt(x * x + 4.0));
  }
  /// y^2 = x y + 1
  DYNET_DEVICE_FN auto slope(auto /*x*/, auto y) const { return y * y / (y * y + 1.0); }
  static std::vector<dynet::ext::Example<Squareplus>> examples() { return {{{}, {{4, 3}}}}; }
};

dynet::Expression squareplus(const dynet::detail::Located& x) {
  return dynet::ext::add_node(Squareplus{}, x);
}

/// Some rows of a matrix: one list of any length per node, whatever its batch.
struct SelectRows {
  static constexpr dynet::ext::Payload kPayload = dynet::ext::Payload::kIndices;
  static constexpr dynet::ext::IndicesPer kIndicesPer = dynet::ext::IndicesPer::kNode;
  static constexpr bool kPartialGradient = true;
  static constexpr dynet::ext::Info kInfo{.name = "select_rows",
                                          .args = {"x"},
                                          .payload = "rows",
                                          .formula = "y[i, j] = x[rows[i], j]"};
  dynet::Dim shape(const dynet::ext::Shapes& in) const { return {in.payload(), in[0].cols()}; }
  unsigned index_limit(const dynet::ext::Shapes& in) const { return in[0].rows(); }
  void forward(dynet::ext::Call& c) const {
    dynet::ext::Move m = rows(c);
    m.from_stride[1] = c.in[0].dim.rows();
    m.to_stride[0] = 1;
    m.to_stride[1] = c.out[0].dim.rows();
    m.from_index_stride = 1;
    c.kernels.move(m, c.in[0], c.out[0]);
  }
  void backward(dynet::ext::Call& c) const {
    dynet::ext::Move m = rows(c);
    m.from_stride[0] = 1;
    m.from_stride[1] = c.out[0].dim.rows();
    m.to_stride[1] = c.in[0].dim.rows();
    m.to_index_stride = 1;
    c.kernels.move(m, c.d_out[0], c.d_in[0]);
  }
  static std::vector<dynet::ext::Example<SelectRows>> examples() {
    return {dynet::ext::Example<SelectRows>({}, {{4, 3}}).with_indices({2, 0, 2})};
  }

 private:
  static dynet::ext::Move rows(const dynet::ext::Call& c) {
    dynet::ext::Move m;
    m.box = c.out[0].dim;
    m.index = c.indices;
    m.index_axis = 0;
    return m;
  }
};

/// Three rows of one example, and of a batch of two, in two nodes that are merged or not.
int check_select_rows(bool batching) {
  dynet::ComputationGraph cg(batching);
  const std::vector<unsigned> rows{2, 0, 2};
  const dynet::ext::NodePayload payload = dynet::ext::NodePayload::of(rows);
  const std::vector<float> numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const dynet::Expression one =
      input(cg, {3, 2}, std::vector<float>(numbers.begin(), numbers.begin() + 6));
  const dynet::Expression two = input(cg, dynet::Dim({3, 2}, 2), numbers);
  const dynet::Expression y = dynet::ext::add_node(SelectRows{}, one, payload);
  const dynet::Expression z = dynet::ext::add_node(SelectRows{}, two, payload);
  const dynet::Expression all = sum_elems(y) + sum_batches(sum_elems(z));
  cg.backward(all, true);
  int wrong = 0;
  const auto same = [&wrong](const dynet::Tensor& t, const std::vector<float>& want) {
    wrong += dynet::as_vector(t) == want ? 0 : 1;
  };
  wrong += y.dim() == dynet::Dim({3, 2}) && z.dim() == dynet::Dim({3, 2}, 2) ? 0 : 1;
  same(y.value(), {2, 0, 2, 5, 3, 5});
  same(z.value(), {2, 0, 2, 5, 3, 5, 8, 6, 8, 11, 9, 11});
  same(one.gradient(), {1, 0, 2, 1, 0, 2});
  same(two.gradient(), {1, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 2});
  std::printf("select_rows%s: %d wrong\n", batching ? ", merged" : "", wrong);
  return wrong;
}

}  // namespace

int main() {
  dynet::ComputationGraph cg;
  const dynet::Expression x = input(cg, {3}, std::vector<float>{-1.0F, 0.0F, 2.0F});
  const dynet::Expression y = squareplus(x);
  cg.backward(sum_elems(y), true);
  const std::vector<float> ys = dynet::as_vector(y.value());
  const std::vector<float> dx = dynet::as_vector(x.gradient());
  int wrong = check_select_rows(true) + check_select_rows(false);
  const double at[] = {-1.0, 0.0, 2.0};
  for (std::size_t i = 0; i < 3; ++i) {
    const double value = 0.5 * (at[i] + std::sqrt(at[i] * at[i] + 4.0));
    const double slope = value * value / (value * value + 1.0);
    std::printf("squareplus(%g) = %g, slope %g\n", at[i], static_cast<double>(ys[i]),
                static_cast<double>(dx[i]));
    wrong += std::abs(static_cast<double>(ys[i]) - value) > 1e-5 ? 1 : 0;
    wrong += std::abs(static_cast<double>(dx[i]) - slope) > 1e-5 ? 1 : 0;
  }
  return wrong + dynet::testing::report<Squareplus>() + dynet::testing::report<SelectRows>();
}
