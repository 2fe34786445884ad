// Learns to walk through a maze by trial and error (REINFORCE, Williams, 1992). Each step is drawn
// from the network's distribution, so the graph grows by decisions that its own values take; the
// walks of one update are coroutines, and each round of questions is one plan for all walks.

#include <array>
#include <cstdio>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "dynet/tasks.h"

#include "example.h"

namespace example {
namespace {

constexpr unsigned kSide = 5;
constexpr unsigned kCells = kSide * kSide;
constexpr unsigned kActions = 4;
constexpr unsigned kMostSteps = 30;
/// '#': a wall; S and G: where walks start and end.
constexpr std::array<const char*, kSide> kMaze{"S.#..",  //
                                               ".##..",  //
                                               "....#",  //
                                               ".##..",  //
                                               "#..#G"};

bool is_at(unsigned cell, char what) { return kMaze[cell / kSide][cell % kSide] == what; }
bool is_goal(unsigned cell) { return is_at(cell, 'G'); }

/// The cell after a step: the same cell if a wall is there.
unsigned step(unsigned cell, unsigned action) {
  const int row = static_cast<int>(cell / kSide) + (action == 0 ? -1 : action == 1 ? 1 : 0);
  const int column = static_cast<int>(cell % kSide) + (action == 2 ? -1 : action == 3 ? 1 : 0);
  const int side = static_cast<int>(kSide);
  const bool is_inside = row >= 0 && row < side && column >= 0 && column < side;
  const auto there = is_inside ? static_cast<unsigned>(row * side + column) : cell;
  return is_at(there, '#') ? cell : there;
}

class Policy {
 public:
  ParameterCollection m;

  Policy()
      : cells_(m.add_lookup_parameters(kCells, {16})),
        weights_(m.add_parameters({kActions, 16})),
        bias_(m.add_parameters({kActions}, ParameterInitConst(0))) {}
  void new_graph(ComputationGraph& cg) {
    w_ = parameter(cg, weights_);
    b_ = parameter(cg, bias_);
  }
  /// Log-probabilities of the actions, {actions}.
  Expression operator()(ComputationGraph& cg, unsigned cell) {
    const Expression h = tanh(lookup(cg, cells_, cell));
    return log_softmax(affine_transform({b_, w_, h}));
  }

 private:
  LookupParameter cells_;
  Parameter weights_, bias_;
  Expression w_, b_;  // in the graph
};

struct Walk {
  unsigned cell = 0;
  Expressions chosen{};  ///< log-probabilities of the steps that were taken
  [[nodiscard]] bool is_over() const { return is_goal(cell) || chosen.size() == kMostSteps; }
  /// A tenth is lost with each step, two are won at the goal.
  [[nodiscard]] float reward() const {
    return (is_goal(cell) ? 2.0F : 0.0F) - 0.1F * static_cast<float>(chosen.size());
  }
};

/// A walk whose steps are drawn. It waits for each of its distributions, as the others do.
Task<Walk> walk(ComputationGraph& cg, Policy& policy, std::mt19937& random) {
  Walk walk;
  while (!walk.is_over()) {
    const Expression answer = policy(cg, walk.cell);
    const std::vector<float> odds = as_vector(co_await value(exp(answer)));
    const auto action = std::discrete_distribution<unsigned>(odds.begin(), odds.end())(random);
    walk.chosen.push_back(pick(answer, action));
    walk.cell = step(walk.cell, action);
  }
  co_return walk;
}

void learn_to_walk(const Options& options) {
  Policy policy;
  AdamTrainer trainer(policy.m, static_cast<float>(options.learning_rate));
  Updates updates(trainer);  // each rank has walks of its own
  std::mt19937 random(options.seed + (ranks() == nullptr ? 0 : ranks()->rank()));
  float usual = 0;  // recent earnings of walks: the baseline
  for (std::size_t update = 1; update <= options.updates; ++update) {
    ComputationGraph cg;
    policy.new_graph(cg);
    std::vector<Task<Walk>> tasks;
    tasks.reserve(options.minibatch);
    for (unsigned i = 0; i < options.minibatch; ++i) {
      tasks.push_back(walk(cg, policy, random));
    }
    const std::vector<Walk> walks = run_together(cg, std::move(tasks));
    Expressions losses;
    float earned = 0;
    for (const Walk& walk : walks) {
      losses.push_back(sum(walk.chosen) * (usual - walk.reward()));
      earned += walk.reward() / static_cast<float>(walks.size());
    }
    cg.backward(sum(losses));
    updates.update();
    earned = static_cast<float>(updates.sum(static_cast<double>(earned)) /
                                static_cast<double>(updates.size()));
    usual = 0.9F * usual + 0.1F * earned;
    if (update % 50 == 0) {
      std::printf("update %zu: reward %.2f\n", update, static_cast<double>(usual));
    }
  }
}

}  // namespace
}  // namespace example

int main(int argc, char** argv) {
  return example::run(argc, argv, "Learns to walk through a maze by trial and error.",
                      {.updates = 300, .minibatch = 16, .learning_rate = 0.02},
                      example::learn_to_walk);
}
