#include "data.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace examples {

DataError::DataError(const std::string& file, std::size_t line, std::size_t column,
                     const std::string& reason)
    : std::runtime_error(file + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " +
                         reason),
      line_(line),
      column_(column) {}

void for_each_line(const std::string& file,
                   const std::function<void(const std::string& text, std::size_t line)>& read) {
  std::ifstream in(file);
  if (!in) {
    throw std::runtime_error("cannot open '" + file + "'");
  }
  std::string text;
  std::size_t found = 0;
  for (std::size_t line = 1; std::getline(in, text); ++line) {
    if (!std::all_of(text.begin(), text.end(), is_space)) {
      read(text, line);
      ++found;
    }
  }
  if (in.bad()) {
    throw std::runtime_error("cannot read '" + file + "'");
  }
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
