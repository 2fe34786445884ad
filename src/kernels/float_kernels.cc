// The float device: walks blocks, examples and boxes, and hands rows of numbers to the loops.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>

#include "dynet/ext/rule_loop.h"

#include "chain.h"
#include "float_loops.h"
#include "float_move.h"
#include "float_product.h"
#include "float_rows.h"
#include "kernels/kernels.h"
#include "kernels/team.h"
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

// ---- shares of elementwise loops
// -------------------------------------------------------------------

/// Nanoseconds for each number that a loop reads or writes; loops with exponentials take longer.
constexpr double kOneNumber = 0.15;
/// Shares begin at multiples of so many numbers, which are two lines of a cache.
constexpr std::size_t kSharedNumbers = 32;
/// Squares are added up in pieces of so many numbers, and the pieces in order, on any number of
/// threads.
constexpr std::int64_t kNormPiece = std::int64_t{1} << 15;

/// Whether elements of a rule's results are places of their own, or places of the same element.
/// Example: of members f(p, q) and f(q, r), p beside q beside r, one gradient of q is an element's
/// first result, the other one its neighbour's second.
bool results_lie_apart(const ext::Stream* out, std::size_t results, std::int64_t n) {
  for (std::size_t j = 0; j < results; ++j) {
    if (out[j].mode == ext::Stream::kSum) {
      return false;
    }
    for (std::size_t i = 0; i < j; ++i) {
      const auto* const x = static_cast<const float*>(out[i].data);
      const auto* const y = static_cast<const float*>(out[j].data);
      const bool is_skipped =
          out[i].mode == ext::Stream::kSkip || out[j].mode == ext::Stream::kSkip;
      if (!is_skipped && x != y && x < y + n && y < x + n) {
        return false;
      }
    }
  }
  return true;
}

/// Streams from element `first` on.
void streams_from(const ext::Stream* all, std::size_t count, std::size_t first, ext::Stream* to) {
  for (std::size_t k = 0; k < count; ++k) {
    to[k] = all[k];
    const bool moves = all[k].mode != ext::Stream::kRepeat && all[k].mode != ext::Stream::kSkip;
    to[k].data = moves ? static_cast<float*>(all[k].data) + first : all[k].data;
  }
}

/// A rule's loop on several threads.
void run_rule_in_shares(unsigned shares, ext::RuleLoop loop, const void* op, const ext::Stream* in,
                        std::size_t inputs, const ext::Stream* out, std::size_t results,
                        std::int64_t n) {
  constexpr std::size_t kMost = 64;
  run_shares(shares, [&](unsigned share) {
    const Range mine(static_cast<std::size_t>(n), kSharedNumbers, share, shares);
    ext::Stream streams[2 * kMost];
    streams_from(in, inputs, mine.first, streams);
    streams_from(out, results, mine.first, streams + kMost);
    if (!mine.empty()) {
      loop(op, streams, streams + kMost, static_cast<std::int64_t>(mine.last - mine.first));
    }
  });
}

/// Calls f(first, count) for shares of n numbers.
template <class F>
void cut_numbers(std::int64_t n, double numbers_of_each, const F& f) {
  cut(static_cast<std::size_t>(std::max<std::int64_t>(n, 0)), kSharedNumbers,
      kOneNumber * numbers_of_each * static_cast<double>(n),
      [&](std::size_t first, std::size_t last) {
        f(static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first));
      });
}

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
    const ext::RuleLoop loop = is_forward ? loops.forward_float : loops.backward_float;
    const auto [inputs, results] = rule.streams[is_forward ? 0 : 1];
    const bool adds_up = rule.summed && is_forward;
    const unsigned shares =
        adds_up ? 1 : shares_of(kOneNumber * static_cast<double>((inputs + results) * n));
    if (shares > 1 && results_lie_apart(out, results, n)) {
      run_rule_in_shares(shares, loop, op, in, inputs, out, results, n);
    } else {
      loop(op, in, out, n);
    }
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
  void products(std::span<const ext::ProductSum> all) const override {
    for (const ext::ProductSum& s : all) {
      const auto& [a, b] = s.pairs.front();
      if (s.start == nullptr) {
        if (s.ta == Transposed::kNo || !float_transposed_products(s.pairs, *s.c, s.write)) {
          add_products(s, s.pairs, s.write);
        }
      } else if (s.ta == Transposed::kNo && s.start->examples == 1 && a->examples == 1 &&
                 b->examples == s.c->examples) {
        float_product_plus(s.start->data<float>(), *a, *b, *s.c);
        add_products(s, s.pairs.subspan(1), Write::kAdd);
      } else {
        Kernels::products({&s, 1});
      }
    }
  }
  [[nodiscard]] std::optional<double> product_with_norm(const Operand& a, const Operand& b,
                                                        const Operand& c) const override {
    return float_product_with_norm(a, b, c);
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
      cut_numbers(n, 0.5, [out](std::int64_t first, std::int64_t count) {
        std::memset(static_cast<float*>(out) + first, 0,
                    static_cast<std::size_t>(count) * sizeof(float));
      });
    } else {
      float_loops().repeat(number, static_cast<float*>(out), n, true);
    }
  }

  void add_scaled(double scale, const void* x, void* y, std::int64_t n, bool store) const override {
    cut_numbers(n, store ? 2.0 : 3.0, [&](std::int64_t first, std::int64_t count) {
      float_loops().add_scaled(static_cast<float>(scale), static_cast<const float*>(x) + first,
                               static_cast<float*>(y) + first, count, store);
    });
  }

  void add_squared_norm(const void* x, std::int64_t n, double* sum) const override {
    const auto* const from = static_cast<const float*>(x);
    constexpr std::int64_t kMost = 64;  // pieces whose sums are kept at a time
    for (std::int64_t begin = 0; begin < n; begin += kMost * kNormPiece) {
      const std::int64_t numbers = std::min(n - begin, kMost * kNormPiece);
      const std::int64_t pieces = (numbers + kNormPiece - 1) / kNormPiece;
      double squares[kMost];
      cut(static_cast<std::size_t>(pieces), 1, kOneNumber * static_cast<double>(numbers),
          [&](std::size_t first, std::size_t last) {
            for (auto i = static_cast<std::int64_t>(first); i < static_cast<std::int64_t>(last);
                 ++i) {
              squares[i] = float_loops().squared_norm(
                  from + begin + i * kNormPiece, std::min(kNormPiece, numbers - i * kNormPiece));
            }
          });
      *sum = std::accumulate(squares, squares + pieces, *sum);
    }
  }

 private:
  /// Stores or adds the product of the first pair, and adds all others.
  static void add_products(const ext::ProductSum& s, std::span<const ext::Factors> pairs,
                           Write write) {
    for (const ext::Factors& f : pairs) {
      float_product(*f.a, s.ta == Transposed::kYes, *f.b, false, *s.c, write);
      write = Write::kAdd;
    }
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
