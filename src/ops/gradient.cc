#include "dynet/ext/gradient.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/elementary.h"
#include "dynet/ops/linear.h"
#include "dynet/ops/order.h"
#include "dynet/ops/pick.h"
#include "dynet/ops/reduce.h"
#include "dynet/ops/select.h"
#include "dynet/ops/shape.h"

namespace dynet::ext {

/// Formulas have some dozens of steps.
std::uint16_t Formula::add(const Step& step) {
  const auto found = std::find(steps.begin(), steps.end(), step);
  const auto number = static_cast<std::uint16_t>(found - steps.begin());
  if (found == steps.end()) {
    steps.push_back(step);
  }
  return number;
}

using Node = GradientBuilder::Node;

Node GradientBuilder::transposed(Node x) {
  ops::Transpose op;
  const unsigned nd = std::max(dim(x).nd, 2U);
  op.dims.count = nd;
  for (unsigned k = 0; k < nd; ++k) {
    op.dims.items[k] = k < 2 ? 1 - k : k;
  }
  return add(op, x);
}

Node GradientBuilder::product(Node x, Node y) { return add(ops::MatMul{}, x, y); }

Node GradientBuilder::summed_along(Node x, unsigned d) {
  Dim kept = dim(x);
  kept.d[d] = 1;
  return reshaped(add(ops::SumDim{{{d}, 1}}, x), kept);
}

void GradientBuilder::give_weight(std::size_t i, Node dy, Node x) {
  if (!wants(i)) {
    return;
  }
  const Dim g = dim(dy);
  const Dim v = dim(x);
  const Count columns = Count(g.cols()) * g.bd;
  if (dim(in(i)).bd == 1 && g.bd > 1 && v.bd == g.bd && columns.fits(std::int64_t{0xFFFFFFFF})) {
    // The columns of all examples, side by side.
    const auto n = static_cast<unsigned>(columns.value());
    dy = reshaped(dy, Dim({g.rows(), n}));
    x = reshaped(x, Dim({v.rows(), n}));
  }
  give(i, product(dy, transposed(x)));
}

void GradientBuilder::give_examples() {
  const Dim x = dim(in(0));
  const Node dy = d_out();
  const auto n = static_cast<unsigned>(x.example_elements());
  const Node columns = reshaped(dy, Dim({n, dim(dy).bd}));
  give(0, reshaped(scattered(columns, x.bd, 1, kSame), x));
}

Node GradientBuilder::part(Node x, unsigned from, unsigned count, unsigned d) {
  return add(ops::PickRange{from, from + count, d}, x);
}

Node GradientBuilder::padded(Node x, unsigned from, unsigned extent, unsigned d) {
  Dim zeros = dim(x).single_batch();
  const unsigned count = zeros[d];
  std::vector<Node> parts;
  const auto add_zeros = [&](unsigned n) {
    if (n != 0) {
      zeros.nd = std::max(zeros.nd, d + 1);
      zeros.d[d] = n;
      parts.push_back(constant(zeros, 0.0));
    }
  };
  add_zeros(from);
  parts.push_back(x);
  add_zeros(extent - from - count);
  const ops::Concatenate op{d};
  return parts.size() == 1 ? x : add(kRecord<ops::Concatenate>, &op, parts, {});
}

Node GradientBuilder::scattered(Node x, unsigned rows, unsigned d, const Indices& indices) {
  return add_indexed(ops::ScatterAdd{rows, dim(x)[d], d}, x, indices);
}

Node GradientBuilder::gathered(Node x, unsigned count, unsigned d, const Indices& indices) {
  return add_indexed(ops::Gather{count, d}, x, indices);
}

Node GradientBuilder::summed_onward(Node x, unsigned d) {
  std::vector<unsigned> backwards(dim(x)[d]);
  std::iota(backwards.rbegin(), backwards.rend(), 0U);
  const auto n = static_cast<unsigned>(backwards.size());
  const Node turned = gathered(x, n, d, {.given = backwards});
  return gathered(add(ops::CumSum{d}, turned), n, d, {.given = backwards});
}

Node GradientBuilder::repeated(Node x, const Dim& shape) {
  return add(ops::Add{}, x, constant(shape, 0.0));
}

Node GradientBuilder::spread(Node x, const Dim& shape, std::span<const unsigned> from,
                             std::span<const unsigned> strides) {
  for (unsigned k = 0; k < shape.nd; ++k) {
    std::vector<unsigned> places(dim(x)[k]);
    for (unsigned i = 0; i < places.size(); ++i) {
      places[i] = from[k] + i * strides[k];
    }
    x = strides[k] == 1 ? padded(x, from[k], shape[k], k)
                        : scattered(x, shape[k], k, {.given = places});
  }
  return x;
}

Node GradientBuilder::positions(unsigned extent, unsigned d) {
  Dim line;
  line.nd = d + 1;
  line.d[d] = extent;
  return add(ops::Subtract{}, add(ops::CumSum{d}, constant(line, 1.0)), constant({1}, 1.0));
}

/// One entry after the other, compared with the numbers of all places. Few entries are put: the
/// largest ones, or the largest one.
Node GradientBuilder::put_at(Node x, Node places, unsigned extent, unsigned d) {
  const Node place = positions(extent, d);
  const Node fixed = add(ops::NoBackprop{}, places);
  const Node zero = constant({1}, 0.0);
  std::vector<Node> terms;
  for (unsigned i = 0; i < dim(x)[d]; ++i) {
    const Node is_elsewhere = add(ops::Subtract{}, place, part(fixed, i, 1, d));
    terms.push_back(add(ops::Choose{}, is_elsewhere, zero, part(x, i, 1, d)));
  }
  const ops::Sum sum;
  return terms.size() == 1 ? terms[0] : add(kRecord<ops::Sum>, &sum, terms, {});
}

}  // namespace dynet::ext
