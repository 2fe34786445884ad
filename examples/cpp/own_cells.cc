// Recurrent cells of a program's own (own_cells.h) learn to say the first of some symbols: a
// minimal gated unit and an LSTM with projection read the symbols one by one, a GRU joins them in a
// tree. The program prints the accuracy, and the time with and without dynet::Cell.

#include "own_cells.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "dynet/cell.h"
#include "dynet/training.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSize = 16;
constexpr unsigned kSymbols = 4;

using MakeFunction = std::function<Cell::Function(ParameterCollection&)>;

/// Symbols and a cell over them; the class is the first symbol.
class Learner {
 public:
  ParameterCollection m;

  /// `states`: the vectors of the cell's state; 0 for a cell that joins two subtrees.
  Learner(const std::string& name, const MakeFunction& function, unsigned states, bool is_cell)
      : symbols_(m.add_lookup_parameters(kSymbols, {kSize})),
        weights_(m.add_parameters({kSymbols, kSize})),
        cell_(name, function(m), states == 0 ? Numbers{} : Numbers{0}, is_cell),
        states_(states) {}

  Expression scores(ComputationGraph& cg, const Numbers& words) {
    const Expression last = states_ == 0 ? tree(cg, words, 0, words.size()) : sequence(cg, words);
    return parameter(cg, weights_) * last;
  }

 private:
  Expression sequence(ComputationGraph& cg, const Numbers& words) {
    Expressions state(states_, zeros(cg, {kSize}));
    for (const unsigned word : words) {
      Expressions in{lookup(cg, symbols_, word)};
      in.insert(in.end(), state.begin(), state.end());
      state = cell_(in);
    }
    return state[0];
  }
  Expression tree(ComputationGraph& cg, const Numbers& words, std::size_t begin, std::size_t end) {
    if (end - begin == 1) {
      return lookup(cg, symbols_, words[begin]);
    }
    const std::size_t middle = begin + (end - begin + 2) / 3;
    return cell_({tree(cg, words, begin, middle), tree(cg, words, middle, end)})[0];
  }

  LookupParameter symbols_;
  Parameter weights_;
  Cell cell_;
  unsigned states_;
};

Numbers drawn(std::mt19937& random) {
  Numbers words(2 + random() % 7);
  for (unsigned& word : words) {
    word = random() % kSymbols;
  }
  return words;
}

/// Seconds of the training.
double train(Learner& learner, const Options& options) {
  AdamTrainer trainer(learner.m, static_cast<float>(options.learning_rate));
  std::mt19937 random(options.seed);
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t update = 0; update < options.updates; ++update) {
    ComputationGraph cg;
    Expressions losses;
    for (unsigned i = 0; i < options.minibatch; ++i) {
      const Numbers words = drawn(random);
      losses.push_back(pickneglogsoftmax(learner.scores(cg, words), words[0]));
    }
    cg.backward(sum(losses));
    trainer.update();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The share of new symbols with the right answer, in per cent.
double accuracy(Learner& learner, unsigned seed) {
  constexpr unsigned kTests = 200;
  std::mt19937 random(seed + 1);
  unsigned right = 0;
  for (unsigned i = 0; i < kTests; ++i) {
    ComputationGraph cg;
    const Numbers words = drawn(random);
    const std::vector<float> scores = as_vector(learner.scores(cg, words).value());
    right += std::max_element(scores.begin(), scores.end()) - scores.begin() == words[0] ? 1 : 0;
  }
  return 100.0 * right / kTests;
}

struct Result {
  double seconds, right;
};

void compare(const std::string& name, const MakeFunction& function, unsigned states,
             const Options& options) {
  const auto result = [&](bool is_cell) {
    Learner learner(name, function, states, is_cell);
    const double seconds = train(learner, options);
    return Result{seconds, accuracy(learner, options.seed)};
  };
  const Result cell = result(true);
  const Result nodes = result(false);
  std::printf("%-18s accuracy %.1f %%; as nodes %.1f %%; %.2f s and %.2f s\n", name.c_str(),
              cell.right, nodes.right, cell.seconds, nodes.seconds);
}

void learn_first_symbols(const Options& options) {
  compare(
      "minimal gated unit",
      [](ParameterCollection& m) { return own_cells::MinimalGatedUnit(m, kSize, kSize); }, 1,
      options);
  compare(
      "projected LSTM",
      [](ParameterCollection& m) { return own_cells::ProjectedLstm(m, kSize, kSize, kSize); }, 2,
      options);
  compare(
      "tree GRU", [](ParameterCollection& m) { return own_cells::BinaryTreeGru(m, kSize); }, 0,
      options);
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "Learns with recurrent cells of its own.",
                      {.updates = 250, .minibatch = 16, .learning_rate = 0.01},
                      example::learn_first_symbols);
}
