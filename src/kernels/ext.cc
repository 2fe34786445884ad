// The functions of ext/kernels.h and ext/memory.h that devices do not implement.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "dynet/ext/info.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/memory.h"

#include "kernels/elements.h"

namespace dynet::ext {

void Memory::copy_to(const void* from, Memory& other, void* to, std::size_t bytes) {
  const auto staged = std::make_unique<std::byte[]>(bytes);
  copy_out(from, staged.get(), bytes);
  other.copy_in(staged.get(), to, bytes);
}

void strides_of(const Dim& d, std::int64_t (&stride)[DYNET_MAX_TENSOR_DIM]) {
  std::int64_t step = 1;
  for (unsigned i = 0; i < DYNET_MAX_TENSOR_DIM; ++i) {
    stride[i] = step;
    step *= d[i];
  }
}

Move whole_move(std::int64_t elements, double scale) {
  // An extent has 32 bits; the box of a larger tensor gets a second dimension.
  constexpr std::int64_t kRow = (std::int64_t{1} << 32) - 1;
  Move m;
  m.scale = scale;
  if (elements <= kRow) {
    m.box.nd = 1;
    m.box.d[0] = static_cast<unsigned>(elements);
    m.from_stride[0] = m.to_stride[0] = 1;
    return m;
  }
  std::int64_t rows = 1;
  while (elements / rows > kRow || elements % rows != 0) {
    ++rows;
  }
  m.box = Dim({static_cast<unsigned>(elements / rows), static_cast<unsigned>(rows)});
  strides_of(m.box, m.from_stride);
  strides_of(m.box, m.to_stride);
  return m;
}

Move reversed(Move m) {
  std::swap(m.from_stride, m.to_stride);
  std::swap(m.from_offset, m.to_offset);
  std::swap(m.from_index_stride, m.to_index_stride);
  return m;
}

void Kernels::products(std::span<const ProductSum> all) const {
  for (const ProductSum& s : all) {
    Write write = s.write;
    if (s.start != nullptr) {
      Move m;
      m.box = s.c->dim;
      m.from_stride[0] = 1;
      strides_of(s.c->dim, m.to_stride);
      move(m, *s.start, *s.c, Write::kStore);
      write = Write::kAdd;
    }
    for (const Factors& f : s.pairs) {
      product(*f.a, s.ta, *f.b, Transposed::kNo, *s.c, write);
      write = Write::kAdd;
    }
  }
}

void Kernels::transposed_products(std::span<const Factors> all, const Operand& c,
                                  Write write) const {
  const ProductSum sum{.pairs = all, .c = &c, .ta = Transposed::kYes, .write = write};
  products({&sum, 1});
}

void Kernels::product_plus(const Operand& start, const Operand& a, const Operand& b,
                           const Operand& c) const {
  const Factors pair{&a, &b};
  const ProductSum sum{.pairs = {&pair, 1}, .c = &c, .start = &start};
  products({&sum, 1});
}

std::optional<double> Kernels::product_with_norm(const Operand& a, const Operand& b,
                                                 const Operand& c) const {
  product(a, Transposed::kNo, b, Transposed::kYes, c);
  return std::nullopt;
}

void Kernels::run_all(const RuleInfo& rule, Direction direction, const void* op,
                      std::span<const RuleRun> runs) const {
  for (const RuleRun& r : runs) {
    run(rule, direction, op, r.in, r.out, r.n);
  }
}

void Kernels::add_all(double scale, std::span<const Addition> all, std::int64_t n) const {
  for (const Addition& a : all) {
    add_scaled(scale, a.from, a.to, n, a.stores);
  }
}

void Kernels::add_squared_norms(std::span<const NumberRun> all, double* sum) const {
  for (const NumberRun& x : all) {
    add_squared_norm(x.data, x.n, sum);
  }
}

void weight_gradient(Call& call, std::size_t operand, const Operand& dy, const Operand& x) {
  const Operand& d_weight = call.d_in[operand];
  // The sink takes products of whole examples: all of the weight's gradient, column by column,
  // whatever the dimensions of the weight are.
  const bool is_left =
      d_weight.sink != nullptr && d_weight.examples == 1 && dy.examples == x.examples &&
      std::int64_t{dy.dim.rows()} * x.dim.rows() == kernels::elements_of(d_weight.dim) &&
      dy.dim.cols() == x.dim.cols();
  if (is_left) {
    d_weight.sink->push(dy, x);
    call.left_for_later |= std::uint64_t{1} << operand;
  } else {
    call.kernels.product(dy, Transposed::kNo, x, Transposed::kYes, d_weight);
  }
}

}  // namespace dynet::ext
