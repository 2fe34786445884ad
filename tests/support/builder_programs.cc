#include "support/builder_programs.h"

#include <algorithm>

#include "testing/program.h"

namespace dynet::testing {

Part::~Part() = default;

Expression Making::any() {
  const auto count = static_cast<unsigned>(vectors.size());
  constexpr unsigned kLate = 6;
  const unsigned among = random.chance(0.5) ? std::min(count, kLate) : count;
  return vectors[count - 1 - random.below(among)];
}

Expression Making::leaf() {
  const unsigned examples = random.chance(0.5) ? batch : 1;
  return input(cg, Dim({size}, examples), numbers(size * examples));
}

Expression Making::fresh() {
  const Expression x = leaf();
  if (random.chance(0.5)) {
    return x;
  }
  const Expression y = leaf();
  return average({tanh(logistic(x)), tanh(logistic(y)), logistic(tanh(x)), logistic(tanh(y))});
}

std::vector<Expression> Making::some(unsigned least, unsigned most) {
  std::vector<Expression> list;
  const unsigned count = least + random.below(most - least + 1);
  list.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    list.push_back(any());
  }
  return list;
}

std::vector<Expression> Making::sentence(unsigned least, unsigned most) {
  std::vector<Expression> words(least + random.below(most - least + 1));
  for (Expression& word : words) {
    word = fresh();
  }
  return words;
}

void Making::offer(const Expression& y, Where where) {
  vectors.push_back(y.dim().rows() == size ? y : pick_range(y, 0, size, 0, where));
}

Expression Making::columns(const std::vector<Expression>& items) const {
  if (form == Form::kUsual) {
    return concatenate_cols(items);
  }
  std::vector<Expression> flat;  // the first dimension of a list is no length
  for (const Expression& x : items) {
    flat.push_back(reshape(x, Dim({x.dim().rows() * x.dim().cols()}, x.dim().bd)));
  }
  const Expression all = concatenate(flat);
  return reshape(all, Dim({size, all.dim().rows() / size}, all.dim().bd));
}

void Making::ask(const Expression& x) { asked.push_back(testing::numbers(x.value())); }

std::vector<float> Making::numbers(unsigned count) {
  std::vector<float> list;
  list.reserve(count);
  for (unsigned i = 0; i < count; ++i) {
    list.push_back(static_cast<float>(random.uniform(-1.0, 1.0)));
  }
  return list;
}

const std::vector<PartKind>& part_kinds() {
  static const std::vector<PartKind> all = [] {
    std::vector<PartKind> kinds;
    add_recurrent_kinds(kinds);
    add_tree_kinds(kinds);
    add_attention_kinds(kinds);
    add_loss_kinds(kinds);
    add_sentence_kinds(kinds);
    add_cell_kinds(kinds);
    return kinds;
  }();
  return all;
}

}  // namespace dynet::testing
