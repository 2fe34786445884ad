#include "dynet/tensor.h"

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>

#include "params/host.h"

namespace dynet {

float* Tensor::at(unsigned b) const {
  const std::int64_t offset =
      static_cast<std::int64_t>(b % std::max(d.bd, 1U)) * d.example_elements();
  if (is_double()) {
    return reinterpret_cast<float*>(reinterpret_cast<double*>(v) + offset);
  }
  return v + offset;
}

bool Tensor::is_valid() const {
  return params::visit(*this, [](const auto* x, std::int64_t n) {
    return std::all_of(x, x + n, [](auto number) { return std::isfinite(number); });
  });
}

Tensor Tensor::batch_elem(unsigned b) const {
  if (d.bd == 1) {
    return *this;
  }
  if (b >= d.bd) {
    throw errors::UsageError("Tensor::batch_elem(" + std::to_string(b) + ") of " + to_string(d) +
                             ": there is no such example");
  }
  return {d.single_batch(), at(b), device, mem_pool};
}

std::vector<Tensor> Tensor::batch_elems() const {
  std::vector<Tensor> all;
  all.reserve(d.bd);
  for (unsigned b = 0; b < d.bd; ++b) {
    all.push_back(batch_elem(b));
  }
  return all;
}

std::ostream& operator<<(std::ostream& os, const Tensor& t) {
  if (t.d.bd != 1 || t.d.nd > 2) {
    throw errors::ShapeError("printing a tensor " + to_string(t.d) +
                             ": want a matrix without a batch");
  }
  const std::int64_t rows = t.d.rows();
  const std::int64_t cols = t.d.cols();
  params::visit(t, [&](const auto* x, std::int64_t) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) {
        os << (j != 0 ? " " : "") << x[i + j * rows];
      }
      if (i + 1 < rows) {
        os << '\n';
      }
    }
  });
  return os;
}

real as_scalar(const Tensor& t) {
  if (t.d.elements() != 1) {
    throw errors::UsageError("as_scalar of " + to_string(t.d) + ": want one element");
  }
  return params::visit(t, [](const auto* x, std::int64_t) { return static_cast<real>(x[0]); });
}

std::vector<real> as_vector(const Tensor& t) {
  return params::visit(t, [](const auto* x, std::int64_t n) {
    std::vector<real> all(static_cast<std::size_t>(n));
    std::transform(x, x + n, all.begin(), [](auto number) { return static_cast<real>(number); });
    return all;
  });
}

std::vector<real> as_scale_vector(const Tensor& v, float a) {
  std::vector<real> all = as_vector(v);
  for (real& number : all) {
    number *= a;
  }
  return all;
}

template <int>
std::vector<double> as_double_vector(const Tensor& t) {
  return params::visit(t,
                       [](const auto* x, std::int64_t n) { return std::vector<double>(x, x + n); });
}
template std::vector<double> as_double_vector<>(const Tensor& t);

real rand01() { return std::uniform_real_distribution<real>(0.0F, 1.0F)(*rndeng); }

int rand0n(int n) {
  if (n <= 0) {
    throw errors::UsageError("rand0n(" + std::to_string(n) + "): want a positive number");
  }
  // rand01() rounds up to 1 once in a while
  return std::min(static_cast<int>(static_cast<double>(rand01()) * n), n - 1);
}

real rand_normal() { return std::normal_distribution<real>(0.0F, 1.0F)(*rndeng); }

namespace params {

unsigned square_order(const Tensor& t, const char* operation) {
  if (t.d.nd != 2 || t.d.d[0] != t.d.d[1] || t.d.bd != 1) {
    throw errors::UsageError(std::string(operation) + " of " + to_string(t.d) +
                             ": want a square matrix {n,n}");
  }
  return t.d.d[0];
}

}  // namespace params
}  // namespace dynet
