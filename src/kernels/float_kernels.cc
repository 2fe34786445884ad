// The float device: walks blocks, examples and boxes, and hands rows of numbers to the loops.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "dynet/ext/rule_loop.h"

#include "chain.h"
#include "float_loops.h"
#include "float_move.h"
#include "float_product.h"
#include "float_rows.h"
#include "kernels/kernels.h"
#include "lines.h"
#include "lu.h"
#include "operands.h"

namespace dynet::kernels {
namespace {

using ext::Distribution;
using ext::Move;
using ext::RandomKey;
using ext::Transposed;

/// Written by choose_float_loops() before anything computes, then only read.
constinit FloatLoops table{};

/// The steps of chains on vectors.
struct VectorSteps {
  static float arrive(const float* before, const float* emissions, const float* end, std::int64_t n,
                      float* a) {
    return float_loops().chain_arrive(before, emissions, end, n, a);
  }
  static void add(const float* row, std::int64_t n, float* to) {
    float_loops().add_scaled(1.0F, row, to, n, false);
  }
  static void sum(const ChainStep<float>& step, float* y) { float_loops().chain_sum(step, y); }
  static void best(const ChainStep<float>& step, float* y) { float_loops().chain_best(step, y); }
  static void pull(const ChainStep<float>& step, const float* y, const float* dy, float* da,
                   float* dw) {
    float_loops().chain_pull(step, y, dy, da, dw);
  }
};

// ---- the device
// ------------------------------------------------------------------------------------

class FloatKernels final : public ext::Kernels {
 public:
  FloatKernels() { choose_float_loops(); }

  [[nodiscard]] ext::Number number() const override { return ext::Number::kFloat; }
  [[nodiscard]] const void* zero() const override { return &kZero; }

  void run(const ext::RuleInfo& rule, ext::Direction direction, const void* op,
           const ext::Stream* in, const ext::Stream* out, std::int64_t n) const override {
    const ext::RuleLoops& loops = *rule.loops;
    const bool is_forward = direction == ext::Direction::kForward;
    (is_forward ? loops.forward_float : loops.backward_float)(op, in, out, n);
  }

  void run_rows(const ext::RowRule& rule, ext::Direction direction,
                const ext::RowCall& call) const override {
    float_rows(rule, direction, call);
  }

  void move(const Move& m, const Operand& x, const Operand& y, Write write) const override {
    float_move(m, x, y, write);
  }

  void product(const Operand& a, Transposed ta, const Operand& b, Transposed tb, const Operand& c,
               Write write) const override {
    float_product(a, ta == Transposed::kYes, b, tb == Transposed::kYes, c, write);
  }
  void transposed_products(std::span<const ext::Factors> all, const Operand& c,
                           Write write) const override {
    if (!float_transposed_products(all, c, write)) {
      Kernels::transposed_products(all, c, write);
    }
  }
  [[nodiscard]] std::optional<double> product_with_norm(const Operand& a, const Operand& b,
                                                        const Operand& c) const override {
    return float_product_with_norm(a, b, c);
  }
  void product_plus(const Operand& start, const Operand& a, const Operand& b,
                    const Operand& c) const override {
    if (start.examples == 1 && a.examples == 1 && b.examples == c.examples) {
      float_product_plus(start.data<float>(), a, b, c);
    } else {
      Kernels::product_plus(start, a, b, c);
    }
  }

  void scan(unsigned axis, ext::ScanFrom from, const Operand& x, const Operand& y) const override {
    scan_lines<float>(axis, from, x, y);
  }
  void select(unsigned axis, ext::Order order, const Operand& x,
              const Operand& places) const override {
    select_lines<float>(axis, order, x, places);
  }
  void invert(const Operand& a, const Operand& inverse, const Operand& log_det) const override {
    invert_matrices<float>(a, inverse, log_det,
                           [](std::int64_t m, std::int64_t n, std::int64_t k, const float* left,
                              std::int64_t lda, const float* right, float* c, std::int64_t ldc) {
                             float_loops().gemm({m, n, k, left, lda, false, right, 1, k, c, ldc,
                                                 false, nullptr, nullptr});
                           });
  }

  void chain(const ext::Chain& c, ext::Direction direction) const override {
    walk_chains<float, VectorSteps>(c, direction);
  }

  void random(Distribution kind, double a, double b, const RandomKey& key, void* out,
              std::int64_t n) const override {
    auto* to = static_cast<float*>(out);
    const PhiloxKey philox_key(key);
    const auto first = static_cast<float>(a);
    switch (kind) {
      case Distribution::kBernoulli:
        float_loops().bernoulli(bernoulli_threshold(a), static_cast<float>(b), philox_key, to, n);
        break;
      case Distribution::kNormal:
        float_loops().normal(first, static_cast<float>(b), philox_key, to, n);
        break;
      case Distribution::kGumbel:
        float_loops().gumbel(first, static_cast<float>(b), philox_key, to, n);
        break;
      case Distribution::kUniform:
        float_loops().uniform(first, static_cast<float>(b - a), philox_key, to, n);
        if (a < b) {  // rounding may have reached the bound
          const float top = std::nextafter(static_cast<float>(b), first);
          std::transform(to, to + n, to, [top](float v) { return std::min(v, top); });
        }
        break;
    }
  }

  void fill(void* out, double value, std::int64_t n) const override {
    const auto number = static_cast<float>(value);
    if (n > 0 && std::bit_cast<std::uint32_t>(number) == 0) {
      // The C library knows how to clear much.
      std::memset(out, 0, static_cast<std::size_t>(n) * sizeof(float));
    } else {
      float_loops().repeat(number, static_cast<float*>(out), n, true);
    }
  }

  void add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store) const override {
    float_loops().add_scaled(static_cast<float>(scale), static_cast<const float*>(x),
                             static_cast<float*>(y), n, store);
  }

  void add_squared_norm(const void* x, std::int64_t n, double* sum) const override {
    *sum += float_loops().squared_norm(static_cast<const float*>(x), n);
  }
};

}  // namespace

const FloatLoops& float_loops() { return table; }

void choose_float_loops() {
  choose_vector_loops(table);
  choose_random_loops(table);
  choose_gemm_loops(table);
  choose_chain_loops(table);
}

const ext::Kernels& cpu_kernels() {
  static const auto& kernels = *new FloatKernels;  // never destroyed: graphs may outlive main()
  return kernels;
}

}  // namespace dynet::kernels
