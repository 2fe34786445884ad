#include <algorithm>
#include <utility>

#include "program.h"

namespace examples {

void check_not_blank(const std::string& file, std::size_t found) {
  if (found == 0) {
    throw DataError(file, 1, 1, "nothing but blank lines in this file");
  }
}

std::vector<std::size_t> random_order(std::size_t n, Random& random) {
  std::vector<std::size_t> order(n);
  for (std::size_t i = 0; i < n; ++i) {
    order[i] = i;
  }
  for (std::size_t i = n; i > 1; --i) {
    std::swap(order[i - 1], order[random.below(static_cast<unsigned>(i))]);
  }
  return order;
}

const std::vector<std::size_t>& Minibatches::next() {
  if (at_ == order_.size()) {
    order_ = random_order(count_, random_);
    at_ = 0;
  }
  const std::size_t end = std::min(at_ + size_, order_.size());
  batch_.assign(order_.begin() + static_cast<std::ptrdiff_t>(at_),
                order_.begin() + static_cast<std::ptrdiff_t>(end));
  at_ = end;
  return batch_;
}

}  // namespace examples
