// The plain scalar device in double: the oracle. Everything here is meant to be obviously right;
// speed does not matter.
//
// Fresh results are first set to zero, and then only added to. So results that are summed over, or
// visited twice, need no care.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "dynet/ext/chain.h"
#include "dynet/ext/rows.h"
#include "dynet/ext/rule_loop.h"

#include "chain.h"
#include "kernels/kernels.h"
#include "lines.h"
#include "lu.h"
#include "operands.h"
#include "philox.h"

namespace dynet::kernels {
namespace {

using ext::Distribution;
using ext::Move;
using ext::RandomKey;
using ext::Transposed;

bool is_fresh(const Operand& y, std::int64_t e, Write write) {
  if (write != Write::kAsBlocks) {
    return write == Write::kStore;
  }
  const Block* block = y.blocks;
  for (std::int64_t left = y.examples == 1 ? 0 : e; left >= block->examples; ++block) {
    left -= block->examples;
  }
  return block->fresh;
}

/// Example e of a result, ready to be added to.
double* begin_write(const Operand& y, std::int64_t e, Write write = Write::kAsBlocks) {
  auto* to = y.example<double>(e);
  const bool is_first_visit = y.examples != 1 || e == 0;
  if (is_first_visit && is_fresh(y, e, write)) {
    std::fill_n(to, elements_of(y.dim), 0.0);
  }
  return to;
}

/// Calls f(from, to) with the offsets, in example e, of every element of the box.
template <class F>
void for_each_element(const Move& m, std::int64_t e, F f) {
  const unsigned* index = m.index.absent() ? nullptr : m.index.example<const unsigned>(e);
  std::int64_t count = 1;
  for (unsigned k = 0; k < m.box.nd; ++k) {
    count *= m.box.d[k];
  }
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t from = m.from_offset;
    std::int64_t to = m.to_offset;
    std::int64_t rest = i;
    std::int64_t at = 0;  // which of the example's indices
    for (unsigned k = 0; k < m.box.nd; ++k) {
      const std::int64_t i_k = rest % m.box.d[k];
      from += i_k * m.from_stride[k];
      to += i_k * m.to_stride[k];
      at = k == m.index_axis ? i_k : at;
      rest /= m.box.d[k];
    }
    at = m.index_axis == Move::kPerElement ? i : at;
    if (index != nullptr) {
      from += index[at] * m.from_index_stride;
      to += index[at] * m.to_index_stride;
    }
    f(from, to);
  }
}

class DoubleKernels final : public ext::Kernels {
 public:
  [[nodiscard]] ext::Number number() const override { return ext::Number::kDouble; }
  [[nodiscard]] const void* zero() const override { return &kZero; }

  void run(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
           const ext::Stream* in, const ext::Stream* out, std::int64_t n) const override {
    const ext::RuleLoops& loops = *rule.loops;
    const bool is_forward = direction == ext::Direction::kForward;
    (is_forward ? loops.forward_double : loops.backward_double)(op, in, out, n);
  }

  void run_rows(const ext::RowRule& rule, ext::Direction direction,
                const ext::RowCall& call) const override {
    const ext::RowLoops& loops = *rule.loops;
    const bool is_forward = direction == ext::Direction::kForward;
    (is_forward ? loops.forward_double : loops.backward_double)(call);
  }

  void move(const Move& m, const Operand& x, const Operand& y, Write write) const override {
    const std::int64_t n = common_examples(x, y);
    // Only the places of the box are stored to: elsewhere another move may have written. A sum over
    // nothing is zero; sums of something begin with -0, to which a number may be added without
    // change.
    const double nothing = m.box.example_elements() == 0 ? 0.0 : -0.0;
    Move places = m;
    for (unsigned k = 0; k < m.box.nd; ++k) {
      const bool has_index = k == m.index_axis || m.index_axis == Move::kPerElement;
      places.box.d[k] = m.to_stride[k] == 0 && !has_index ? 1 : m.box.d[k];
    }
    for (std::int64_t e = 0; e < n; ++e) {
      if (is_fresh(y, e, write)) {
        auto* to = y.example<double>(e);
        for_each_element(places, e, [&](std::int64_t, std::int64_t i) { to[i] = nothing; });
      }
    }
    for (std::int64_t e = 0; e < n; ++e) {
      const double* from = x.example<double>(e);
      auto* to = y.example<double>(e);
      for_each_element(m, e, [&](std::int64_t i, std::int64_t j) {
        to[j] = write == Write::kMax ? larger(to[j], m.scale * from[i]) : to[j] + m.scale * from[i];
      });
    }
  }

  void product(const Operand& a, Transposed ta, const Operand& b, Transposed tb, const Operand& c,
               Write write) const override {
    const std::int64_t rows = ta == Transposed::kNo ? a.dim[0] : a.dim[1];
    const std::int64_t inner = ta == Transposed::kNo ? a.dim[1] : a.dim[0];
    const std::int64_t columns = tb == Transposed::kNo ? b.dim[1] : b.dim[0];
    const auto at = [](const double* x, const Dim& d, Transposed t, std::int64_t i,
                       std::int64_t j) {
      return t == Transposed::kNo ? x[i + j * d[0]] : x[j + i * d[0]];
    };
    const std::int64_t n = std::max({a.examples, b.examples, c.examples});
    const bool is_empty = a.examples == 0 || b.examples == 0;  // a sum over nothing is zero
    for (std::int64_t e = 0; e < n; ++e) {
      double* to = begin_write(c, e, write);
      if (is_empty) {
        continue;
      }
      const double* left = a.example<double>(e);
      const double* right = b.example<double>(e);
      for (std::int64_t j = 0; j < columns; ++j) {
        for (std::int64_t i = 0; i < rows; ++i) {
          for (std::int64_t k = 0; k < inner; ++k) {
            to[i + j * rows] += at(left, a.dim, ta, i, k) * at(right, b.dim, tb, k, j);
          }
        }
      }
    }
  }

  void scan(unsigned axis, ext::ScanFrom from, const Operand& x, const Operand& y) const override {
    scan_lines<double>(axis, from, x, y);
  }
  void select(unsigned axis, ext::Order order, const Operand& x,
              const Operand& places) const override {
    select_lines<double>(axis, order, x, places);
  }
  void invert(const Operand& a, const Operand& inverse, const Operand& log_det) const override {
    invert_matrices<double>(a, inverse, log_det,
                            [](std::int64_t m, std::int64_t n, std::int64_t k, const double* left,
                               std::int64_t lda, const double* right, double* c, std::int64_t ldc) {
                              for (std::int64_t j = 0; j < n; ++j) {
                                for (std::int64_t p = 0; p < k; ++p) {
                                  for (std::int64_t i = 0; i < m; ++i) {
                                    c[i + j * ldc] += left[i + p * lda] * right[p + j * k];
                                  }
                                }
                              }
                            });
  }

  void chain(const ext::Chain& c, ext::Direction direction) const override {
    walk_chains<double, PlainSteps>(c, direction);
  }

  void random(Distribution kind, double a, double b, const RandomKey& key, void* out,
              std::int64_t n) const override {
    auto* to = static_cast<double*>(out);
    const PhiloxKey philox_key(key);
    constexpr double kTiniest = 1e-20;
    const auto unit = [](std::uint32_t word) { return (word >> 8) * 0x1p-24; };
    for (std::int64_t i = 0; i < n; ++i) {
      const auto words = philox(philox_key, static_cast<std::uint64_t>(i) / 4);
      const auto place = static_cast<std::size_t>(i % 4);
      if (kind == Distribution::kBernoulli) {
        to[i] = (words[place] >> 8) < bernoulli_threshold(a) ? b : 0.0;
      } else if (kind == Distribution::kUniform) {
        to[i] = a + (b - a) * unit(words[place]);
      } else if (kind == Distribution::kGumbel) {
        // u is 0 once in 2^24 draws; u below 1 keeps ln(u) from 0.
        to[i] = a - b * std::log(-std::log(std::max(unit(words[place]), kTiniest)));
      } else {
        // Box and Muller: words 0 and 1 give elements 0 and 1, words 2 and 3 the others.
        const std::size_t pair = place / 2 * 2;
        const double radius = std::sqrt(-2.0 * std::log(unit(words[pair]) + 0x1p-24));
        const double angle = 2.0 * std::numbers::pi * unit(words[pair + 1]);
        to[i] = a + b * radius * (place % 2 == 0 ? std::cos(angle) : std::sin(angle));
      }
    }
  }

  void fill(void* out, double value, std::int64_t n) const override {
    std::fill_n(static_cast<double*>(out), n, value);
  }

  void add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store) const override {
    const auto* from = static_cast<const double*>(x);
    auto* to = static_cast<double*>(y);
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = (store ? 0.0 : to[i]) + scale * from[i];
    }
  }

  void add_squared_norm(const void* x, std::int64_t n, double* sum) const override {
    const auto* from = static_cast<const double*>(x);
    double squares = 0.0;
    for (std::int64_t i = 0; i < n; ++i) {
      squares += from[i] * from[i];
    }
    *sum += squares;
  }
};

}  // namespace

std::uint32_t bernoulli_threshold(double probability) {
  return static_cast<std::uint32_t>(std::ceil(std::clamp(probability, 0.0, 1.0) * 0x1p24));
}

const ext::Kernels& double_kernels() {
  static const auto& kernels = *new DoubleKernels;  // never destroyed: graphs may outlive main()
  return kernels;
}

}  // namespace dynet::kernels
