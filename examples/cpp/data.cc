#include "data.h"

#include <algorithm>
#include <utility>

namespace examples {

void for_each_line(const std::string& file,
                   const std::function<void(std::string_view text, std::size_t line)>& read) {
  dynet::text::Lines lines(file);
  std::string_view text;
  std::size_t found = 0;
  for (; lines.next_with_words(text); ++found) {
    read(text, lines.number());
  }
  check_not_blank(file, found);
}

void check_not_blank(const std::string& file, std::size_t found) {
  if (found == 0) {
    throw DataError(file, 1, 1, "nothing but blank lines in this file");
  }
}

Vocabulary::Vocabulary() { number("<unk>"); }

Vocabulary::Vocabulary(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    number(word);
  }
  freeze();
}

unsigned Vocabulary::number(std::string_view word) {
  const auto found = numbers_.find(std::string(word));
  if (found != numbers_.end()) {
    return found->second;
  }
  if (is_frozen_) {
    return 0;
  }
  const unsigned number = size();
  words_.emplace_back(word);
  numbers_.emplace(words_.back(), number);
  return number;
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
