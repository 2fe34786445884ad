// Positions of the largest numbers along a dimension. On the host: programs read the positions
// there anyway.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/except.h"
#include "dynet/index-tensor.h"
#include "dynet/tensor.h"

#include "params/host.h"
#include "params/random_streams.h"

namespace dynet {

namespace {

/// The numbers of a tensor along one dimension: element i of line l is at first(l) + i * stride.
struct Lines {
  std::size_t stride;
  std::size_t length;
  std::size_t count;
  [[nodiscard]] std::size_t first(std::size_t line) const {
    return line / stride * stride * length + line % stride;
  }
};

Lines lines_of(const char* operation, const Tensor& t, unsigned dim, unsigned num) {
  if (dim >= t.d.nd || num == 0 || t.d[dim] < num) {
    throw errors::ShapeError(std::string(operation) + ": " + std::to_string(num) +
                             " along dimension " + std::to_string(dim) + " of " + to_string(t.d));
  }
  Lines lines{1, t.d[dim], 0};
  for (unsigned i = 0; i < dim; ++i) {
    lines.stride *= t.d[i];
  }
  lines.count = static_cast<std::size_t>(t.d.elements()) / lines.length;
  return lines;
}

/// Numbers in the order of their positions, and the indices.
struct Found {
  std::vector<Eigen::DenseIndex> indices;
  std::vector<float> numbers;
};

/// The `num` largest of `x` in each line.
std::shared_ptr<Found> find_largest(const Lines& lines, const std::vector<double>& x,
                                    unsigned num) {
  auto found = std::make_shared<Found>();
  found->indices.resize(lines.count * num);
  found->numbers.resize(lines.count * num);
  std::vector<std::size_t> order(lines.length);
  for (std::size_t line = 0; line < lines.count; ++line) {
    const double* const from = x.data() + lines.first(line);
    const auto at = [&](std::size_t i) { return from[i * lines.stride]; };
    // NaN is the largest number, above infinity, too.
    const auto is_larger = [&](std::size_t a, std::size_t b) {
      return at(a) > at(b) || (std::isnan(at(a)) && !std::isnan(at(b)));
    };
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(order.begin(), order.begin() + num, order.end(),
                      [&](std::size_t a, std::size_t b) {
                        return is_larger(a, b) || (!is_larger(b, a) && a < b);
                      });
    const std::size_t to = line / lines.stride * lines.stride * num + line % lines.stride;
    for (std::size_t k = 0; k < num; ++k) {
      found->indices[to + k * lines.stride] = static_cast<Eigen::DenseIndex>(order[k]);
      found->numbers[to + k * lines.stride] = static_cast<float>(at(order[k]));
    }
  }
  return found;
}

IndexTensor indices_of(const Tensor& t, unsigned dim, unsigned num,
                       const std::shared_ptr<Found>& found) {
  Dim d = t.d;
  d.d[dim] = num;
  IndexTensor result(d, found->indices.data(), nullptr, DeviceMempool::NONE);
  result.memory = found;
  return result;
}

void want_one(const char* operation, unsigned num) {
  if (num != 1) {
    throw errors::UsageError(std::string(operation) + ": num is " + std::to_string(num) +
                             "; want 1");
  }
}

void write(const Tensor& to, const std::vector<double>& numbers) {
  params::overwrite(to, [&](auto* x, std::int64_t) {
    using Number = std::remove_pointer_t<decltype(x)>;
    std::transform(numbers.begin(), numbers.end(), x,
                   [](double number) { return static_cast<Number>(number); });
  });
}

}  // namespace

std::vector<Eigen::DenseIndex> as_vector(const IndexTensor& v) {
  return {v.v, v.v + v.d.elements()};
}

IndexTensor TensorTools::argmax(const Tensor& v, unsigned dim, unsigned num) {
  want_one("argmax", num);
  const Lines lines = lines_of("argmax", v, dim, 1);
  return indices_of(v, dim, 1, find_largest(lines, as_double_vector(v), 1));
}

IndexTensor TensorTools::categorical_sample_log_prob(const Tensor& v, unsigned dim, unsigned num) {
  want_one("categorical_sample_log_prob", num);
  const Lines lines = lines_of("categorical_sample_log_prob", v, dim, 1);
  // The largest of v - log(-log(U)) is at i with probability exp(v_i) / sum_j exp(v_j) (Gumbel).
  std::uniform_real_distribution<double> draw(std::numeric_limits<double>::min(), 1.0);
  return detail::with_typed_allocation([&] {
    std::vector<double> x = as_double_vector(v);
    return params::draw_repeatably([&] {
      for (double& number : x) {
        number -= std::log(-std::log(draw(*rndeng)));
      }
      return indices_of(v, dim, 1, find_largest(lines, x, 1));
    });
  });
}

std::pair<Tensor, IndexTensor> TensorTools::topk(const Tensor& v, unsigned dim, unsigned num) {
  const Lines lines = lines_of("topk", v, dim, num);
  const std::shared_ptr<Found> found = find_largest(lines, as_double_vector(v), num);
  const IndexTensor indices = indices_of(v, dim, num, found);
  return {Tensor(indices.d, found->numbers.data(), nullptr, DeviceMempool::NONE), indices};
}

void TensorTools::logsumexp(const Tensor& x, Tensor& m, Tensor& z, unsigned d) {
  const Lines lines = lines_of("logsumexp", x, d, 1);
  for (const Tensor* to : {&m, &z}) {
    if (to->d.elements() != static_cast<std::int64_t>(lines.count)) {
      throw errors::ShapeError("logsumexp: a result is " + to_string(to->d) + "; want " +
                               std::to_string(lines.count) + " elements for dimension " +
                               std::to_string(d) + " of " + to_string(x.d));
    }
  }
  const std::vector<double> numbers = as_double_vector(x);
  std::vector<double> largest(lines.count);
  std::vector<double> logs(lines.count);
  for (std::size_t line = 0; line < lines.count; ++line) {
    const double* const from = numbers.data() + lines.first(line);
    double most = from[0];
    for (std::size_t i = 1; i < lines.length; ++i) {
      most = std::max(most, from[i * lines.stride]);
    }
    double sum = 0.0;
    for (std::size_t i = 0; i < lines.length; ++i) {
      sum += std::exp(from[i * lines.stride] - most);
    }
    largest[line] = most;
    logs[line] = std::isinf(most) ? most : most + std::log(sum);
  }
  write(m, largest);
  write(z, logs);
}

}  // namespace dynet
