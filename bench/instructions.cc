// Programs whose instructions are counted: building, scheduling and running a tagger and a tree
// LSTM with nodes of the smallest size, cells, and the networks in plain operations of networks.cc.
// tools/checks/instructions runs this program under callgrind, which counts each call of a
// `stage_*` function for itself, and compares the counts with instructions.txt. Times vary from run
// to run, and counts hardly do: a slower framework shows even on a busy machine.
//
// Prints "PROGRAM STAGE NODES" for each counted call, in order, and "PROGRAM groups NUMBER BOUND".

#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/cell.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
#include "networks.h"
#include "own_cells.h"
#include "schedule/policy.h"
#include "scheduled.h"

namespace dynet::bench {
namespace {

constexpr unsigned kSize = 8;
constexpr unsigned kWords = 24;

/// Two LSTMs over a sentence, a hidden layer and a loss at each word.
class Tagger {
 public:
  Tagger()
      : words_(parameters_.add_lookup_parameters(kWords, {kSize})),
        forward_(1, kSize, kSize, parameters_),
        backward_(1, kSize, kSize, parameters_),
        hidden_(parameters_.add_parameters({kSize, 2 * kSize})),
        output_(parameters_.add_parameters({kSize, kSize})) {}
  Expression add(ComputationGraph& cg) {
    forward_.new_graph(cg);
    backward_.new_graph(cg);
    forward_.start_new_sequence();
    backward_.start_new_sequence();
    const Expression hidden = parameter(cg, hidden_);
    const Expression output = parameter(cg, output_);
    inputs_.clear();
    left_.clear();
    losses_.clear();
    for (unsigned word = 0; word < kWords; ++word) {
      inputs_.push_back(lookup(cg, words_, word));
      left_.push_back(forward_.add_input(inputs_.back()));
    }
    for (unsigned word = kWords; word-- > 0;) {
      const Expression both = concatenate({left_[word], backward_.add_input(inputs_[word])});
      losses_.push_back(pickneglogsoftmax(output * tanh(hidden * both), word % kSize));
    }
    return sum(losses_);
  }

 private:
  ParameterCollection parameters_;
  LookupParameter words_;
  VanillaLSTMBuilder forward_;
  VanillaLSTMBuilder backward_;
  Parameter hidden_;
  Parameter output_;
  std::vector<Expression> inputs_;
  std::vector<Expression> left_;
  std::vector<Expression> losses_;
};

/// A tree over words with a loss at each node.
class Tree {
 public:
  Tree()
      : words_(parameters_.add_lookup_parameters(kWords, {kSize})),
        builder_(kSize, kSize, parameters_),
        classifier_(parameters_.add_parameters({5, kSize})) {}
  Expression add(ComputationGraph& cg) {
    builder_.new_graph(cg);
    weights_ = parameter(cg, classifier_);
    losses_.clear();
    add_node(cg, 0, kWords);
    return sum(losses_);
  }

 private:
  TreeState add_node(ComputationGraph& cg, unsigned first, unsigned words) {
    // Uneven, as real trees are.
    const unsigned left_words = (words + 2) / 3;
    TreeState state;
    if (words == 1) {
      state = builder_.add_input(lookup(cg, words_, first));
    } else {
      const auto left = add_node(cg, first, left_words);
      const auto right = add_node(cg, first + left_words, words - left_words);
      state = builder_.add_input(left, right);
    }
    losses_.push_back(pickneglogsoftmax(weights_ * state.h, first % 5));
    return state;
  }

  ParameterCollection parameters_;
  LookupParameter words_;
  BinaryTreeLSTMBuilder builder_;
  Parameter classifier_;
  Expression weights_;
  std::vector<Expression> losses_;
};

/// The steps of an LSTM with a matrix for all gates: x, h, c -> h, c.
struct PlainLstm {
  explicit PlainLstm(ParameterCollection& m)
      : b(m.add_parameters({4 * kSize})),
        w(m.add_parameters({4 * kSize, kSize})),
        u(m.add_parameters({4 * kSize, kSize})) {}
  std::vector<Expression> operator()(ComputationGraph& cg,
                                     const std::vector<Expression>& in) const {
    const Expression gates =
        affine_transform({parameter(cg, b), parameter(cg, w), in[0], parameter(cg, u), in[1]});
    const auto part = [&](unsigned g) { return pick_range(gates, g * kSize, (g + 1) * kSize); };
    const Expression c = cmult(logistic(part(0)), in[2]) + cmult(logistic(part(1)), tanh(part(2)));
    return {cmult(logistic(part(3)), tanh(c)), c};
  }
  Parameter b, w, u;
};

using MakeFunction = std::function<Cell::Function(ParameterCollection&)>;

/// Sentences, or trees of them, with the steps of a cell, and a loss for each.
class Steps {
 public:
  static constexpr unsigned kSentences = 8;
  static constexpr unsigned kSteps = kSentences * (kWords - 1);

  /// `states`: the vectors of a state. 0: the cell joins two subtrees.
  Steps(const char* name, const MakeFunction& function, unsigned states, bool is_recorded)
      : words_(parameters_.add_lookup_parameters(kWords, {kSize})),
        cell_(name, function(parameters_),
              states == 0 ? std::vector<unsigned>{} : std::vector<unsigned>{0}, is_recorded),
        states_(states) {}
  Expression add(ComputationGraph& cg) {
    losses_.clear();
    for (unsigned s = 0; s < kSentences; ++s) {
      const Expression last = states_ == 0 ? tree(cg, s, 0, kWords) : sequence(cg, s);
      losses_.push_back(pickneglogsoftmax(last, s));
    }
    return sum(losses_);
  }

 private:
  Expression sequence(ComputationGraph& cg, unsigned first) {
    std::vector<Expression> state(states_, lookup(cg, words_, first));
    for (unsigned word = 1; word < kWords; ++word) {
      in_.assign(1, lookup(cg, words_, word));
      in_.insert(in_.end(), state.begin(), state.end());
      state = cell_(in_);
    }
    return state[0];
  }
  Expression tree(ComputationGraph& cg, unsigned sentence, unsigned first, unsigned words) {
    const unsigned left = (words + 2) / 3;
    return words == 1 ? lookup(cg, words_, (first + sentence) % kWords)
                      : cell_({tree(cg, sentence, first, left),
                               tree(cg, sentence, first + left, words - left)})[0];
  }

  ParameterCollection parameters_;
  LookupParameter words_;
  Cell cell_;
  unsigned states_;
  std::vector<Expression> losses_, in_;
};

/// The same sentences with a builder.
class BuilderSteps {
 public:
  BuilderSteps()
      : words_(parameters_.add_lookup_parameters(kWords, {kSize})),
        builder_(1, kSize, kSize, parameters_) {}
  Expression add(ComputationGraph& cg) {
    builder_.new_graph(cg);
    losses_.clear();
    for (unsigned s = 0; s < Steps::kSentences; ++s) {
      builder_.start_new_sequence({lookup(cg, words_, s), lookup(cg, words_, s)});
      for (unsigned word = 1; word < kWords; ++word) {
        builder_.add_input(lookup(cg, words_, word));
      }
      losses_.push_back(pickneglogsoftmax(builder_.back(), s));
    }
    return sum(losses_);
  }

 private:
  ParameterCollection parameters_;
  LookupParameter words_;
  VanillaLSTMBuilder builder_;
  std::vector<Expression> losses_;
};

/// The input and the output of scheduling, made before the counting.
struct Plans {
  std::vector<graph::NodeId> wanted;
  schedule::Scheduler scheduler;
  schedule::Plan plan;

  explicit Plans(const graph::Graph& nodes, std::string_view policy = schedule::kBatching)
      : wanted(scheduled_nodes(nodes)) {
    scheduler.choose(policy);
    scheduler.plan(nodes, wanted, plan);
    scheduler.plan(nodes, wanted, plan);  // warms up the memory
  }
};

/// Keeps the compiler from moving code out of a counted function, and from ending it with a jump.
void barrier() { asm volatile("" ::: "memory"); }

// The counted functions, found by name.
#ifdef __clang__
#define DYNET_BENCH_STAGE __attribute__((noinline))
#else
#define DYNET_BENCH_STAGE __attribute__((noinline, noclone))
#endif

DYNET_BENCH_STAGE Expression stage_build(ComputationGraph& cg, const Network& program) {
  barrier();
  const Expression loss = program.add(cg);
  barrier();
  return loss;
}
DYNET_BENCH_STAGE void stage_schedule(const graph::Graph& nodes, Plans& plans) {
  barrier();
  plans.scheduler.plan(nodes, plans.wanted, plans.plan);
  barrier();
}
DYNET_BENCH_STAGE void stage_forward(ComputationGraph& cg, const Expression& loss) {
  barrier();
  cg.forward(loss);
  barrier();
}
DYNET_BENCH_STAGE void stage_backward(ComputationGraph& cg, const Expression& loss) {
  barrier();
  cg.backward(loss);
  barrier();
}

void print_groups(const char* prefix, const Network& program, const schedule::Plan& plan) {
  std::printf("%s%s groups %zu %u\n", prefix, program.name, plan.groups.size(), plan.bound);
}

/// Runs all stages three times to warm up the memory, then the counted functions once. Runs without
/// batching do not count building, which is the same.
/// `steps`: counted in place of nodes, unless 0; then building is counted, too.
void count_stages(const char* prefix, const Network& program, bool batching, unsigned steps = 0) {
  ComputationGraph cg(batching);
  for (int i = 0; i < 3; ++i) {
    cg.clear();
    const Expression loss = program.add(cg);
    cg.forward(loss);
    cg.backward(loss);
  }
  cg.clear();
  const Expression loss = batching || steps != 0 ? stage_build(cg, program) : program.add(cg);
  Plans plans(cg.state().graph, batching ? schedule::kBatching : schedule::kOneByOne);
  stage_schedule(cg.state().graph, plans);
  stage_forward(cg, loss);
  stage_backward(cg, loss);
  for (const char* stage : {"build", "schedule", "forward", "backward"}) {
    if (!batching && steps == 0 && std::string_view(stage) == "build") {
      continue;
    }
    std::printf("%s%s %s %zu\n", prefix, program.name, stage,
                steps == 0 ? plans.wanted.size() : steps);
  }
  if (batching) {
    print_groups(prefix, program, plans.plan);
  }
}

/// Instructions for each step of a cell: as nodes, as a Cell, and with a builder; merged, and one
/// by one.
void count_cell(const std::string& name, const MakeFunction& function, unsigned states) {
  for (const bool is_recorded : {false, true}) {
    const std::string row = name + (is_recorded ? "-cell" : "-nodes");
    Steps steps(name.c_str(), function, states, is_recorded);
    const Network network{row.c_str(), [&](ComputationGraph& cg) { return steps.add(cg); }};
    count_stages("", network, true, Steps::kSteps);
    count_stages("off-", network, false, Steps::kSteps);
  }
}

void count_cells() {
  count_cell(
      "mgu", [](ParameterCollection& m) { return own_cells::MinimalGatedUnit(m, kSize, kSize); },
      1);
  count_cell(
      "projected",
      [](ParameterCollection& m) { return own_cells::ProjectedLstm(m, kSize, kSize, kSize); }, 2);
  count_cell(
      "tree-gru", [](ParameterCollection& m) { return own_cells::BinaryTreeGru(m, kSize); }, 0);
  count_cell("lstm", [](ParameterCollection& m) { return PlainLstm(m); }, 2);
  BuilderSteps steps;
  const Network network{"lstm-builder", [&](ComputationGraph& cg) { return steps.add(cg); }};
  count_stages("", network, true, Steps::kSteps);
  count_stages("off-", network, false, Steps::kSteps);
}

void count_all() {
  DynetParams params;
  params.random_seed = 1;
  params.threads = 1;
  initialize(params);
  Tagger tagger;
  Tree tree;
  count_stages("", {"tagger", [&](ComputationGraph& cg) { return tagger.add(cg); }}, true);
  count_stages("", {"tree", [&](ComputationGraph& cg) { return tree.add(cg); }}, true);
  count_cells();
  for (const Network& network : networks()) {
    count_stages("plain-", network, true);
    if (std::string_view(network.name) == "tree") {
      count_stages("off-", network, false);  // batching off: the cost of a call
    }
  }
}

}  // namespace
}  // namespace dynet::bench

int main() {
  try {
    dynet::bench::count_all();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "dynet_instructions: %s\n", e.what());
    return 1;
  }
}
