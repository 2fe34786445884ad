// Programs whose instructions are counted: building, scheduling and running a tagger and a tree
// LSTM with nodes of the smallest size, and scheduling the networks in plain operations of
// networks.cc. tools/checks/instructions runs this program under callgrind, which counts each call
// of a `stage_*` function for itself, and compares the counts with instructions.txt. Times vary
// from run to run, and counts hardly do: a slower framework shows even on a busy machine.
//
// Prints "PROGRAM STAGE NODES" for each counted call, in order, and "PROGRAM groups NUMBER BOUND".

#include <cstdio>
#include <exception>
#include <string_view>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
#include "networks.h"
#include "schedule/policy.h"

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

/// The input and the output of scheduling, made before the counting.
struct Plans {
  std::vector<graph::NodeId> wanted;
  schedule::Scheduler scheduler;
  schedule::Plan plan;

  explicit Plans(const graph::Graph& nodes, std::string_view policy = schedule::kBatching) {
    scheduler.choose(policy);
    for (graph::NodeId n = 0; n < nodes.size(); ++n) {
      if (nodes[n].record().reads_storage != ext::Storage::kWhole && nodes[n].output == 0) {
        wanted.push_back(n);
      }
    }
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
/// batching are for the networks, and do not count building: the networks mostly look up their
/// weights by name there.
void count_stages(const char* prefix, const Network& program, bool batching) {
  ComputationGraph cg(batching);
  for (int i = 0; i < 3; ++i) {
    cg.clear();
    const Expression loss = program.add(cg);
    cg.forward(loss);
    cg.backward(loss);
  }
  cg.clear();
  const Expression loss = batching ? stage_build(cg, program) : program.add(cg);
  Plans plans(cg.state().graph, batching ? schedule::kBatching : schedule::kOneByOne);
  stage_schedule(cg.state().graph, plans);
  stage_forward(cg, loss);
  stage_backward(cg, loss);
  for (const char* stage : {"build", "schedule", "forward", "backward"}) {
    if (!batching && std::string_view(stage) == "build") {
      continue;
    }
    std::printf("%s%s %s %zu\n", prefix, program.name, stage, plans.wanted.size());
  }
  if (batching) {
    print_groups(prefix, program, plans.plan);
  }
}

void count_schedule(const Network& program) {
  ComputationGraph cg(true);
  program.add(cg);
  Plans plans(cg.state().graph);
  stage_schedule(cg.state().graph, plans);
  std::printf("plain-%s schedule %zu\n", program.name, plans.wanted.size());
  print_groups("plain-", program, plans.plan);
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
  for (const Network& network : networks()) {
    count_schedule(network);
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
