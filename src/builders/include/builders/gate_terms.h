#pragma once

// Terms of the sums of a cell's gates, for operations that compute gates. A term has a matrix for
// each gate, and the vector that all matrices multiply. A vector in place of a matrix is not read:
// the gate has no matrix there.

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "dynet/ext/op.h"

#include "builders/give.h"
#include "kernels/starts_cost.h"

namespace dynet::builders {

inline bool is_placeholder(const ext::Operand& w) { return w.dim.nd == 1; }

/// Memory for up to `kMost` objects, each of which is made at its first use: a call has fewer terms
/// than there is room for.
template <class T, std::size_t kMost>
class MadeLater {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  template <class... From>
  T& make(std::size_t i, From&&... from) {
    return *new (data() + i) T{std::forward<From>(from)...};
  }
  [[nodiscard]] T* data() { return reinterpret_cast<T*>(memory_); }
  T& operator[](std::size_t i) { return *std::launder(data() + i); }

 private:
  alignas(T) std::byte memory_[kMost * sizeof(T)];
};

/// Memory for vectors like x side by side, if a term needs it: without the memory every gate would
/// go through the blocks of x, which costs nothing where starts cost (kernels/starts_cost.h).
class Room {
 public:
  [[nodiscard]] static bool is_needed(const ext::Call& call, const ext::Operand& x) {
    return !x.one_block() && !kernels::starts_cost(call);
  }
  Room(const ext::Call& call, const ext::Operand& x)
      : block_{call.scratch(x.examples * x.size() * ext::bytes_of(call.kernels.number())),
               x.examples, true},
        vectors_{.dim = x.dim, .examples = x.examples, .blocks = &block_, .block_count = 1} {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;
  ~Room() = default;
  [[nodiscard]] const ext::Operand& vectors() const { return vectors_; }

 private:
  ext::Block block_;
  ext::Operand vectors_;
};

/// Terms of a cell's gates: `count` matrices from argument `at` on, one for each gate from `gate`
/// on, and behind them the vector that they multiply.
struct GateTerm {
  std::size_t at;
  unsigned count;
  unsigned gate = 0;
  [[nodiscard]] std::size_t vector() const { return at + count; }
};

/// The sums of the gates: products with their terms, which are one list for the device, of up to
/// kMostTerms terms. Lives in one forward call.
template <unsigned kGates, std::size_t kMostTerms>
class GateSums {
 public:
  /// `are_begun`: products are added to the sums. Otherwise each begins with its bias, argument g.
  GateSums(const ext::Call& call, std::span<const ext::Operand> sums, bool are_begun)
      : call_(call), sums_(sums) {
    is_begun_.fill(are_begun);
  }
  void add(const GateTerm& term) {
    if (terms_ == kMostTerms) {
      run();
    }
    const ext::Operand* x = &call_.in[term.vector()];
    if (Room::is_needed(call_, *x)) {
      x = &move_together(*x);
    }
    for (unsigned k = 0; k < term.count; ++k) {
      const ext::Operand& w = call_.in[term.at + k];
      if (!is_placeholder(w)) {
        auto& count = counts_[term.gate + k];
        pairs_[term.gate + k][count++] = {&w, x};
      }
    }
    ++terms_;
  }
  /// Computes the products, and makes each sum without one its bias.
  void finish() {
    run();
    for (std::size_t g = 0; g < kGates; ++g) {
      if (!is_begun_[g]) {
        call_.kernels.move(ext::whole_move(sums_[g].size()), call_.in[g], sums_[g],
                           ext::Write::kStore);
        is_begun_[g] = true;
      }
    }
  }

 private:
  /// A function of its own, because few terms need it.
  [[gnu::noinline]] const ext::Operand& move_together(const ext::Operand& x) {
    const ext::Operand& room = rooms_.make(terms_, call_, x).vectors();
    call_.kernels.move(ext::whole_move(x.size()), x, room, ext::Write::kStore);
    return room;
  }
  void run() {
    MadeLater<ext::ProductSum, kGates> list;
    std::size_t count = 0;
    for (std::size_t g = 0; g < kGates; ++g) {
      if (counts_[g] != 0) {
        list.make(count++, ext::ProductSum{.pairs = {pairs_[g].data(), counts_[g]},
                                           .c = &sums_[g],
                                           .write = ext::Write::kAdd,
                                           .start = is_begun_[g] ? nullptr : &call_.in[g]});
        is_begun_[g] = true;
      }
    }
    if (count != 0) {
      call_.kernels.products({list.data(), count});
    }
    counts_.fill(0);
    terms_ = 0;
  }

  const ext::Call& call_;
  std::span<const ext::Operand> sums_;
  std::array<bool, kGates> is_begun_;
  std::array<std::array<ext::Factors, kMostTerms>, kGates> pairs_;
  std::array<std::size_t, kGates> counts_{};
  MadeLater<Room, kMostTerms> rooms_;
  std::size_t terms_ = 0;
};

/// From the gradients of the sums: the gradients of the matrices, and of the vectors that they
/// multiply, which are one list for the device, of up to kMostTerms terms. Lives in one backward
/// call.
template <unsigned kGates, std::size_t kMostTerms>
class GateGradients {
 public:
  GateGradients(ext::Call& call, std::span<const ext::Operand> d_sums)
      : call_(call), d_sums_(d_sums) {}
  /// Gives the gradients of the term's matrices; `dx`, the gradient of its vector, is written by
  /// finish().
  void add(const GateTerm& term, const ext::Operand& dx) {
    if (terms_ == kMostTerms) {
      finish();
    }
    auto& factors = factors_[terms_];
    std::size_t count = 0;
    for (unsigned k = 0; k < term.count; ++k) {
      const ext::Operand& dy = d_sums_[term.gate + k];
      const std::size_t i = term.at + k;
      if (dy.absent() || is_placeholder(call_.in[i])) {
        give_nothing(call_, i);
        continue;
      }
      give_weight(call_, i, dy, call_.in[term.vector()]);
      factors[count++] = {&call_.in[i], &dy};
    }
    if (dx.absent()) {
      return;
    }
    if (count == 0) {
      give_nothing(call_, dx);
      return;
    }
    to_[terms_] = &dx;
    const ext::Operand* sum = &dx;
    if (Room::is_needed(call_, dx)) {
      sum = &rooms_.make(terms_, call_, dx).vectors();
    }
    list_.make(
        terms_++,
        ext::ProductSum{.pairs = {factors.data(), count}, .c = sum, .ta = ext::Transposed::kYes});
  }
  void finish() {
    if (terms_ != 0) {
      call_.kernels.products({list_.data(), terms_});
    }
    for (std::size_t t = 0; t < terms_; ++t) {
      if (list_[t].c != to_[t]) {
        call_.kernels.move(ext::whole_move(to_[t]->size()), *list_[t].c, *to_[t]);
      }
    }
    terms_ = 0;
  }

 private:
  ext::Call& call_;
  std::span<const ext::Operand> d_sums_;
  std::array<std::array<ext::Factors, kGates>, kMostTerms> factors_;
  MadeLater<ext::ProductSum, kMostTerms> list_;
  std::array<const ext::Operand*, kMostTerms> to_;
  MadeLater<Room, kMostTerms> rooms_;
  std::size_t terms_ = 0;
};

/// Gives the gradients of a term, in nodes.
template <unsigned kGates>
void give_term(auto& to, std::size_t i, const auto& d_sums) {
  for (std::size_t g = 0; g < kGates; ++g) {
    if (to.dim(to.in(i + g)).nd == 1) {
      continue;
    }
    to.give_weight(i + g, d_sums[g], to.in(i + kGates));
    if (to.wants(i + kGates)) {
      to.give(i + kGates, to.product(to.transposed(to.in(i + g)), d_sums[g]));
    }
  }
}

}  // namespace dynet::builders
