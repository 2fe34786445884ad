#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <type_traits>

#include "dynet/ext/kernels.h"
#include "dynet/tensor.h"

#include "params/host.h"
#include "params/random_streams.h"
#include "util/interrupt.h"
#include "util/number_text.h"

namespace dynet {
namespace {

using params::visit;

/// x = f(x) for all elements.
template <class F>
void map(const Tensor& t, F f) {
  params::change(t, [&](auto* x, std::int64_t n) {
    using Number = std::remove_pointer_t<decltype(x)>;
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = static_cast<Number>(f(x[i]));
    }
  });
}
/// x = draw() for all elements, in memory order. It may be interrupted: then some are as before.
template <class Draw>
void fill_with(const Tensor& t, Draw draw) {
  constexpr std::int64_t kPiece = 4096;
  util::Interrupt interrupt;
  params::overwrite(t, [&](auto* x, std::int64_t n) {
    using Number = std::remove_pointer_t<decltype(x)>;
    for (std::int64_t first = 0; first < n; first += kPiece) {
      interrupt.pass(kPiece / 100);  // 10 ns each
      const std::int64_t end = std::min(first + kPiece, n);
      for (std::int64_t i = first; i < end; ++i) {
        x[i] = static_cast<Number>(draw());
      }
    }
  });
}
void require_same_size(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.d.elements() != b.d.elements()) {
    throw errors::ShapeError(std::string(operation) + ": the target is " + to_string(a.d) +
                             " and the source is " + to_string(b.d) +
                             "; want equal numbers of elements");
  }
}
std::int64_t checked_index(const char* operation, const Tensor& t, std::int64_t index) {
  if (index < 0 || index >= t.d.elements()) {
    throw errors::IndexError(std::string(operation) + ": element " + std::to_string(index) +
                             " of " + to_string(t.d) + ", which has " +
                             std::to_string(t.d.elements()));
  }
  return index;
}
float read(const Tensor& t, std::int64_t index) { return as_scalar(params::element(t, index)); }
void write(const Tensor& t, std::int64_t index, double value) {
  fill_with(params::element(t, index), [&] { return value; });
}
/// a = or += b.
void add(const Tensor& a, const Tensor& b, bool store) {
  if (a.device != nullptr && a.device == b.device) {
    a.device->kernels->add_scaled(1.0, b.v, a.v, a.d.elements(), store);
    return;
  }
  visit(b, [&](const auto* y, std::int64_t) {
    params::change(a, [&](auto* x, std::int64_t n) {
      using Number = std::remove_pointer_t<decltype(x)>;
      for (std::int64_t i = 0; i < n; ++i) {
        x[i] = (store ? Number{0} : x[i]) + static_cast<Number>(y[i]);
      }
    });
  });
}

}  // namespace

void TensorTools::clip(Tensor& d, float left, float right) {
  map(d, [&](auto x) {
    using Number = decltype(x);
    return std::min(std::max(x, Number{left}), Number{right});
  });
}
void TensorTools::scale(Tensor& x, float left, float right) {
  map(x, [&](auto v) { return v * left + right; });
}
void TensorTools::uniform_to_bernoulli(Tensor& x, float p) {
  map(x, [&](auto v) { return std::floor(v + p); });
}
void TensorTools::constant(Tensor& d, float c) {
  fill_with(d, [&] { return c; });
}
/// Not interrupted, as the tensor may be half of a whole, such as the states of a trainer.
void TensorTools::zero(Tensor& d) {
  params::overwrite(d, [](auto* x, std::int64_t n) { std::fill_n(x, n, 0); });
}
void TensorTools::identity(Tensor& val) {
  const std::size_t n = params::square_order(val, "identity");
  std::size_t next = 0;
  std::size_t i = 0;
  fill_with(val, [&] {
    const bool is_diagonal = i++ == next;
    next += is_diagonal ? n + 1 : 0;
    return is_diagonal ? 1.0F : 0.0F;
  });
}

void TensorTools::randomize_bernoulli(Tensor& val, real p, real scale) {
  if (!(p >= 0.0F && p <= 1.0F)) {
    throw errors::DomainError("randomize_bernoulli: p is " + util::text_of(p) +
                              "; want 0 <= p <= 1");
  }
  std::bernoulli_distribution draw(static_cast<double>(p));
  params::draw_repeatably([&] { fill_with(val, [&] { return draw(*rndeng) ? scale : 0.0F; }); });
}
void TensorTools::randomize_normal(Tensor& val, real mean, real stddev) {
  if (!(stddev >= 0.0F)) {
    throw errors::DomainError("randomize_normal: the deviation is " + util::text_of(stddev) +
                              "; want 0 or more");
  }
  if (stddev == 0.0F) {
    return constant(val, mean);
  }
  std::normal_distribution<real> draw(mean, stddev);
  params::draw_repeatably([&] { fill_with(val, [&] { return draw(*rndeng); }); });
}
void TensorTools::randomize_uniform(Tensor& val, real left, real right) {
  if (!(left <= right)) {
    throw errors::DomainError("randomize_uniform: the interval is [" + util::text_of(left) + ", " +
                              util::text_of(right) + ")");
  }
  std::uniform_real_distribution<real> draw(left, right);
  params::draw_repeatably([&] { fill_with(val, [&] { return draw(*rndeng); }); });
}
namespace {
/// The columns of a random orthonormal matrix of order n: Gram-Schmidt on random columns, each
/// orthogonalised twice ("twice is enough", Kahan). A column that is nearly a combination of
/// earlier columns is drawn again.
std::vector<double> draw_orthonormal(std::size_t n) {
  std::uniform_real_distribution<real> draw(-1.0F, 1.0F);
  std::vector<double> q(n * n);
  util::Interrupt interrupt;
  for (std::size_t j = 0; j < n;) {
    double* column = q.data() + j * n;
    for (std::size_t i = 0; i < n; ++i) {
      column[i] = static_cast<double>(draw(*rndeng));
    }
    double norm = 0.0;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t k = 0; k < j; ++k) {
        interrupt.pass(static_cast<std::int64_t>(n / 256));  // two passes over a column
        const double* other = q.data() + k * n;
        double dot = 0.0;
        for (std::size_t i = 0; i < n; ++i) {
          dot += other[i] * column[i];
        }
        for (std::size_t i = 0; i < n; ++i) {
          column[i] -= dot * other[i];
        }
      }
    }
    for (std::size_t i = 0; i < n; ++i) {
      norm += column[i] * column[i];
    }
    norm = std::sqrt(norm);
    if (norm < 1e-6) {
      continue;
    }
    for (std::size_t i = 0; i < n; ++i) {
      column[i] /= norm;
    }
    ++j;
  }
  return q;
}
}  // namespace

void TensorTools::randomize_orthonormal(Tensor& val, real scale) {
  const std::size_t n = params::square_order(val, "randomize_orthonormal");
  params::draw_repeatably([&] {
    const std::vector<double> q = draw_orthonormal(n);
    std::size_t i = 0;
    fill_with(val, [&] { return q[i++] * static_cast<double>(scale); });
  });
}

float TensorTools::access_element(const Tensor& v, int index) {
  return read(v, checked_index("access_element", v, index));
}
float TensorTools::access_element(const Tensor& v, const Dim& index) {
  std::int64_t offset = 0;
  std::int64_t stride = 1;
  for (unsigned i = 0; i < std::max(index.nd, v.d.nd); ++i) {
    const unsigned at = i < index.nd ? index.d[i] : 0;
    if (at >= v.d[i]) {
      throw errors::IndexError("access_element: position " + to_string(index) + " in " +
                               to_string(v.d));
    }
    offset += stride * at;
    stride *= v.d[i];
  }
  return read(v, offset);
}
void TensorTools::set_element(const Tensor& v, int index, float value) {
  write(v, checked_index("set_element", v, index), static_cast<double>(value));
}
void TensorTools::copy_element(const Tensor& l, int lindex, Tensor& r, int rindex) {
  const std::int64_t from = checked_index("copy_element", l, lindex);
  const std::int64_t to = checked_index("copy_element", r, rindex);
  write(r, to, as_double_vector(params::element(l, from))[0]);
}
void TensorTools::set_elements(const Tensor& v, const std::vector<float>& vec) {
  const std::int64_t n = v.d.elements();
  if (static_cast<std::int64_t>(vec.size()) < n) {
    throw errors::SizeError("set_elements: " + std::to_string(vec.size()) + " numbers for " +
                            to_string(v.d) + ", which has " + std::to_string(n));
  }
  if (v.device == nullptr) {
    std::copy_n(vec.begin(), n, v.v);
  } else {
    params::copy_in(*v.device, vec.data(), v.v, n);
  }
}
void TensorTools::copy_elements(Tensor& v, const Tensor& v_src) {
  require_same_size("copy_elements", v, v_src);
  add(v, v_src, true);
}
void TensorTools::accumulate(Tensor& v, const Tensor& v_src) {
  require_same_size("accumulate", v, v_src);
  add(v, v_src, false);
}

}  // namespace dynet
