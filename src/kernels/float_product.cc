// Products of operands: the choice of examples for one matrix product, and of operands in several
// blocks to copy together.
//
// A shared left operand makes one product of all examples' columns. Blocks too short for a product
// of their own are gathered into scratch, a chunk of columns at a time, and results are scattered
// to their blocks in order, stored or added as each block says. Example: 64 examples of a vector
// {n}, in 64 blocks, become one product with a right operand {n,64}.

#include "float_product.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "carried.h"
#include "float_loops.h"
#include "kernels/team.h"
#include "scratch.h"

namespace dynet::kernels {
namespace {

/// Columns gathered at once: enough for the full speed of a product; more if the columns are short,
/// since each chunk goes through the other operand, or the result, once.
constexpr std::int64_t kLeastChunk = 128;
constexpr std::int64_t kMostChunk = 1024;
constexpr std::int64_t kGatheredFloats = 1 << 17;
/// From so many columns on, a block is worth a product of its own.
constexpr std::int64_t kLongRun = 64;

thread_local Scratch left_scratch;
thread_local Scratch right_scratch;
thread_local Scratch result_scratch;
thread_local Scratch sum_scratch;

/// The terms that a product counts as, if products are added to one result: so many products have
/// as many roundings as the terms that a sum may have.
constexpr std::int64_t kTermsOfProduct = 2;

/// Distance of columns in scratch: whole vectors, and not the multiples of 4 KB that compete for
/// the same lines of a cache.
std::int64_t padded(std::int64_t rows) {
  const std::int64_t p = (rows + 15) / 16 * 16;
  return p % 1024 == 0 ? p + 16 : p;
}

/// Copies the columns of the next `examples` examples, `each` columns of `rows` elements in one,
/// and moves the cursor behind them.
void gather(Cursor& x, std::int64_t examples, std::int64_t left, std::int64_t rows,
            std::int64_t each, float* to, std::int64_t stride) {
  for (std::int64_t e = 0; e < examples;) {
    const std::int64_t run = std::min(x.run(), examples - e);
    const float* from = x.at();
    const std::int64_t columns = run * each;
    if (stride == rows) {  // one copy of them all, as calls of memcpy for short columns add up
      to = std::copy_n(from, columns * rows, to);
    } else {
      for (std::int64_t j = 0; j < columns; ++j, from += rows, to += stride) {
        std::copy_n(from, rows, to);
      }
    }
    e += run;
    x.advance(run, left - e);
  }
}

void scatter(Cursor& y, std::int64_t examples, std::int64_t left, std::int64_t rows,
             std::int64_t each, const float* from, std::int64_t stride, Write write) {
  for (std::int64_t e = 0; e < examples;) {
    const std::int64_t run = std::min(y.run(), examples - e);
    float* to = y.at();
    const std::int64_t columns = run * each;
    const bool store = y.stores(write);
    for (std::int64_t j = 0; j < columns; ++j, from += stride, to += rows) {
      float_loops().add_scaled(1.0F, from, to, rows, store);
    }
    e += run;
    y.advance(run, left - e);
  }
}

/// Nanoseconds to copy one number.
constexpr double kCopy = 0.15;

/// gather() on several threads, if it is worth it.
void gather_in_shares(Cursor& x, std::int64_t examples, std::int64_t left, std::int64_t rows,
                      std::int64_t each, float* to, std::int64_t stride) {
  const Cursor begin = x;
  cut(static_cast<std::size_t>(examples), 1, kCopy * static_cast<double>(examples * each * rows),
      [&](std::size_t first, std::size_t last) {
        const auto at = static_cast<std::int64_t>(first);
        const auto n = static_cast<std::int64_t>(last) - at;
        Cursor mine = begin;
        skip(mine, at, left);
        gather(mine, n, left - at, rows, each, to + at * each * stride, stride);
        if (at + n == examples) {
          x = mine;
        }
      });
}

/// scatter() on several threads, if it is worth it and no place is written twice.
void scatter_in_shares(Cursor& y, std::int64_t examples, std::int64_t left, std::int64_t rows,
                       std::int64_t each, const float* from, std::int64_t stride, Write write,
                       bool is_apart) {
  const Cursor begin = y;
  const double time = is_apart ? 2 * kCopy * static_cast<double>(examples * each * rows) : 0.0;
  cut(static_cast<std::size_t>(examples), is_apart ? 1 : static_cast<std::size_t>(examples), time,
      [&](std::size_t first, std::size_t last) {
        const auto at = static_cast<std::int64_t>(first);
        const auto n = static_cast<std::int64_t>(last) - at;
        Cursor mine = begin;
        skip(mine, at, left);
        scatter(mine, n, left - at, rows, each, from + at * each * stride, stride, write);
        if (at + n == examples) {
          y = mine;
        }
      });
}

/// Examples of `each` columns to gather at once, `rows` floats a column.
std::int64_t chunk(std::int64_t rows, std::int64_t each) {
  const std::int64_t columns =
      std::clamp(kGatheredFloats / std::max<std::int64_t>(rows, 1), kLeastChunk, kMostChunk);
  return std::max<std::int64_t>(1, columns / each);
}

/// The number of the next `left` examples to do at once: the examples of a long run, or at most
/// `most` that end before the next long run.
std::int64_t next_part(Cursor x, Cursor y, std::int64_t left, std::int64_t each,
                       std::int64_t most) {
  std::int64_t n = 0;
  while (n < left && n < most) {
    const std::int64_t run = std::min({x.run(), y.run(), left - n});
    if (run * each >= kLongRun) {
      return n == 0 ? run : n;
    }
    n += run;
    x.advance(run, left - n);
    y.advance(run, left - n);
  }
  return n;
}

bool stores(const Operand& c, Write write) {
  return write == Write::kStore || (write == Write::kAsBlocks && c.blocks->fresh);
}

/// c_e = op(a) * b_e for all examples e.
void product_shared_left(Gemm& g, const Operand& b, const Operand& c, Write write) {
  const std::int64_t each = g.n;
  if (b.one_block() && c.one_block()) {
    g.n *= c.examples;
    g.b = b.data<float>();
    g.c = c.data<float>();
    g.store = stores(c, write);
    float_loops().gemm(g);
    return;
  }
  const std::int64_t n = c.examples;
  const std::int64_t most = chunk(c.one_block() ? g.k : std::max(g.k, g.m), each);
  const bool is_apart = lies_apart(c);
  Cursor from(b, n);
  Cursor to(c, n);
  for (std::int64_t left = n; left > 0;) {
    const std::int64_t part = next_part(from, to, left, each, most);
    g.n = part * each;
    if (from.run() >= part) {
      g.b = from.at();
      g.b_column = g.k;
      from.advance(part, left - part);
    } else {
      const std::int64_t stride = padded(g.k);
      float* columns = right_scratch.get(static_cast<std::size_t>(g.n * stride));
      gather_in_shares(from, part, left, g.k, each, columns, stride);
      g.b = columns;
      g.b_column = stride;
    }
    if (to.run() >= part) {
      g.c = to.at();
      g.ldc = g.m;
      g.store = to.stores(write);
      float_loops().gemm(g);
      to.advance(part, left - part);
    } else {
      const std::int64_t stride = padded(g.m);
      g.c = result_scratch.get(static_cast<std::size_t>(g.n * stride));
      g.ldc = stride;
      g.store = true;
      float_loops().gemm(g);
      scatter_in_shares(to, part, left, g.m, each, g.c, stride, write, is_apart);
    }
    left -= part;
  }
}

/// c = sum over e of a_e * transpose(b_e): the columns of all examples are one inner dimension.
/// `squared_norm` as in Gemm.
void product_summed(Gemm& g, const Operand& a, const Operand& b, double* squared_norm) {
  const std::int64_t each = g.k;
  // A sum over nothing is zero, in however many blocks the nothing lies.
  if ((a.one_block() && b.one_block()) || a.examples == 0) {
    g.k *= a.examples;
    g.a = a.data<float>();
    g.b = b.data<float>();
    g.squared_norm = squared_norm;
    float_loops().gemm(g);
    return;
  }
  const std::int64_t n = a.examples;
  const std::int64_t most = chunk(std::max(a.one_block() ? 0 : g.m, b.one_block() ? 0 : g.n), each);
  CarriedSum<float> sum(sum_scratch);
  sum.at(g.c, g.m * g.n);
  Cursor left_at(a, n);
  Cursor right_at(b, n);
  for (std::int64_t left = n; left > 0;) {
    const std::int64_t part = next_part(left_at, right_at, left, each, most);
    g.k = part * each;
    if (left_at.run() >= part) {
      g.a = left_at.at();
      g.lda = g.m;
      left_at.advance(part, left - part);
    } else {
      g.lda = padded(g.m);
      float* columns = left_scratch.get(static_cast<std::size_t>(g.k * g.lda));
      gather_in_shares(left_at, part, left, g.m, each, columns, g.lda);
      g.a = columns;
    }
    if (right_at.run() >= part) {
      g.b = right_at.at();
      g.b_row = g.n;
      right_at.advance(part, left - part);
    } else {
      g.b_row = padded(g.n);
      float* columns = right_scratch.get(static_cast<std::size_t>(g.k * g.b_row));
      gather_in_shares(right_at, part, left, g.n, each, columns, g.b_row);
      g.b = columns;
    }
    g.squared_norm = part == left ? squared_norm : nullptr;
    float_loops().gemm(g);
    g.store = false;
    left -= part;
    sum.added(kTermsOfProduct);
  }
  if (sum.is_carried()) {
    sum.settle();
    if (squared_norm != nullptr) {
      *squared_norm = float_loops().squared_norm(g.c, g.m * g.n);
    }
  }
}

/// The products of examples `first` to `last`, of n, on one thread.
void some_products(Gemm g, const Operand& a, const Operand& b, const Operand& c, Write write,
                   std::int64_t n, std::int64_t first, std::int64_t last) {
  Cursor left_at(a, n);
  Cursor right_at(b, n);
  Cursor to(c, n);
  for (Cursor* const at : {&left_at, &right_at, &to}) {
    skip(*at, first, n);
  }
  for (std::int64_t e = first; e < last; ++e) {
    g.store = to.stores(write);
    g.a = left_at.at();
    g.b = right_at.at();
    g.c = to.at();
    float_loops().gemm(g);
    for (Cursor* const at : {&left_at, &right_at, &to}) {
      at->advance(1, n - e - 1);
    }
  }
}

/// One product after the other; threads share many of them, or each.
void product_by_example(Gemm& g, const Operand& a, const Operand& b, const Operand& c,
                        Write write) {
  const std::int64_t n = std::max({a.examples, b.examples, c.examples});
  const double time = 0.03 * static_cast<double>(n * g.m * g.n) * static_cast<double>(g.k);
  const unsigned shares = c.examples == n && n > 1 ? shares_of(time) : 1;
  if (shares > 1 && n >= shares && lies_apart(c)) {
    run_shares(shares, [&](unsigned share) {
      const Range mine(static_cast<std::size_t>(n), 1, share, shares);
      some_products(g, a, b, c, write, n, static_cast<std::int64_t>(mine.first),
                    static_cast<std::int64_t>(mine.last));
    });
    return;
  }
  Cursor left_at(a, n);
  Cursor right_at(b, n);
  Cursor to(c, n);
  CarriedSum<float> sum(sum_scratch);
  sum.at(to.steps() ? nullptr : to.at(), to.size());
  const auto run = [&](std::int64_t m) {
    g.store = to.stores(write);
    for (std::int64_t e = 0; e < m; ++e) {
      g.a = left_at.at() + e * left_at.stride();
      g.b = right_at.at() + e * right_at.stride();
      g.c = to.at() + e * to.stride();
      float_loops().gemm(g);
    }
    sum.added(kTermsOfProduct);  // m is 1 if the result does not step
  };
  for_each_run(n, to, run, left_at, right_at);
  sum.settle();
}

thread_local Scratch left_panel_scratch;
thread_local Scratch right_panel_scratch;

}  // namespace

Scratch& left_panel() { return left_panel_scratch; }
Scratch& right_panel() { return right_panel_scratch; }

namespace {

/// Whether product_summed() is the way for a * transpose(b).
bool is_summed(const Gemm& g, const Operand& a, const Operand& b, const Operand& c) {
  return c.examples == 1 && a.examples == b.examples && g.k > 0;
}

/// The sizes of one example's product.
Gemm sizes_of(const Operand& a, bool a_transposed, const Operand& b, bool b_transposed) {
  const std::int64_t a_rows = a.dim[0];
  const std::int64_t b_rows = b.dim[0];
  Gemm g{};
  g.m = a_transposed ? a.dim[1] : a_rows;
  g.k = a_transposed ? a_rows : a.dim[1];
  g.n = b_transposed ? b_rows : b.dim[1];
  g.lda = a_rows;
  g.a_transposed = a_transposed;
  g.b_row = b_transposed ? b_rows : 1;
  g.b_column = b_transposed ? 1 : b_rows;
  g.ldc = g.m;
  return g;
}

}  // namespace

void float_product(const Operand& a, bool a_transposed, const Operand& b, bool b_transposed,
                   const Operand& c, Write write) {
  Gemm g = sizes_of(a, a_transposed, b, b_transposed);
  if (g.m == 0 || g.n == 0) {
    return;
  }
  if (a.examples == 1 && !b_transposed && b.examples == c.examples) {
    g.a = a.data<float>();
    product_shared_left(g, b, c, write);
  } else if (!a_transposed && b_transposed && is_summed(g, a, b, c)) {
    g.c = c.data<float>();
    g.store = stores(c, write);
    product_summed(g, a, b, nullptr);
  } else {
    product_by_example(g, a, b, c, write);
  }
}

bool float_transposed_products(std::span<const ext::Factors> all, const Operand& c, Write write) {
  const Operand& a = *all.front().a;
  const Operand& b = *all.front().b;
  const auto fits = [&](const ext::Factors& f) {
    return f.a->examples == 1 && f.a->dim[0] == a.dim[0] && f.b->one_block() &&
           f.b->examples == c.examples;
  };
  const auto more_count = static_cast<std::int64_t>(all.size()) - 1;
  if (more_count > Gemm::kMostMore || !c.one_block() ||
      !std::all_of(all.begin(), all.end(), fits)) {
    return false;
  }
  GemmFactors more[Gemm::kMostMore];
  for (std::int64_t i = 0; i < more_count; ++i) {
    const ext::Factors& f = all[static_cast<std::size_t>(i) + 1];
    more[i] = {f.a->data<float>(), f.b->data<float>()};
  }
  Gemm g = sizes_of(a, true, b, false);
  g.a = a.data<float>();
  g.b = b.data<float>();
  g.c = c.data<float>();
  g.n *= c.examples;
  g.store = stores(c, write);
  g.more = more;
  g.more_count = more_count;
  float_loops().gemm(g);
  return true;
}

std::optional<double> float_product_with_norm(const Operand& a, const Operand& b,
                                              const Operand& c) {
  Gemm g = sizes_of(a, false, b, true);
  if (g.m == 0 || g.n == 0 || !is_summed(g, a, b, c)) {
    float_product(a, false, b, true, c, Write::kAsBlocks);
    return std::nullopt;
  }
  g.c = c.data<float>();
  g.store = stores(c, Write::kAsBlocks);
  double norm = std::numeric_limits<double>::quiet_NaN();
  product_summed(g, a, b, &norm);
  return std::isnan(norm) ? std::nullopt : std::optional(norm);
}

void float_product_plus(const float* start, const Operand& a, const Operand& b, const Operand& c) {
  Gemm g = sizes_of(a, false, b, false);
  if (g.m == 0 || g.n == 0) {
    return;
  }
  g.a = a.data<float>();
  g.start = start;
  product_shared_left(g, b, c, Write::kStore);
}

}  // namespace dynet::kernels
