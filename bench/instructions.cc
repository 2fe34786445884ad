// Programs whose instructions are counted: building, scheduling and running the nodes of a tagger
// and of a tree LSTM that are as small as they can be. tools/checks/instructions runs this under
// callgrind, which counts each `stage_*` function for itself, and holds the counts against
// instructions.txt. Times vary from run to run, counts hardly do: they show a slower framework on a
// busy machine, too.
//
// Prints "PROGRAM NODES": what a count is divided by.

#include <cstdio>
#include <exception>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/lstm.h"
#include "dynet/model.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
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

/// A tree over words, its halves joined, with a loss at each node.
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

/// What scheduling needs, made before it is counted.
struct Plans {
  std::vector<graph::NodeId> wanted;
  schedule::Scheduler scheduler;
  schedule::Plan plan;
};

void plan_anew(const graph::Graph& nodes, Plans& plans) {
  plans.scheduler.plan(nodes, plans.wanted, plans.plan);
}

/// Nothing of a counted function moves out of it, and its last call is not its end.
void barrier() { asm volatile("" ::: "memory"); }

template <class Program>
Expression build(ComputationGraph& cg, Program& program) {
  barrier();
  const Expression loss = program.add(cg);
  barrier();
  return loss;
}
void schedule_nodes(const graph::Graph& nodes, Plans& plans) {
  barrier();
  plan_anew(nodes, plans);
  barrier();
}
void run_forward(ComputationGraph& cg, const Expression& loss) {
  barrier();
  cg.forward(loss);
  barrier();
}
void run_backward(ComputationGraph& cg, const Expression& loss) {
  barrier();
  cg.backward(loss);
  barrier();
}

// The counted functions, one a program and stage, found by their names.
#ifdef __clang__
#define DYNET_BENCH_STAGE __attribute__((noinline))
#else
#define DYNET_BENCH_STAGE __attribute__((noinline, noclone))
#endif

DYNET_BENCH_STAGE Expression stage_build_tagger(ComputationGraph& cg, Tagger& program) {
  return build(cg, program);
}
DYNET_BENCH_STAGE Expression stage_build_tree(ComputationGraph& cg, Tree& program) {
  return build(cg, program);
}
DYNET_BENCH_STAGE void stage_schedule_tagger(const graph::Graph& nodes, Plans& plans) {
  schedule_nodes(nodes, plans);
}
DYNET_BENCH_STAGE void stage_schedule_tree(const graph::Graph& nodes, Plans& plans) {
  schedule_nodes(nodes, plans);
}
DYNET_BENCH_STAGE void stage_forward_tagger(ComputationGraph& cg, const Expression& loss) {
  run_forward(cg, loss);
}
DYNET_BENCH_STAGE void stage_forward_tree(ComputationGraph& cg, const Expression& loss) {
  run_forward(cg, loss);
}
DYNET_BENCH_STAGE void stage_backward_tagger(ComputationGraph& cg, const Expression& loss) {
  run_backward(cg, loss);
}
DYNET_BENCH_STAGE void stage_backward_tree(ComputationGraph& cg, const Expression& loss) {
  run_backward(cg, loss);
}

template <class Program>
struct Stages {
  Expression (*build)(ComputationGraph&, Program&);
  void (*schedule)(const graph::Graph&, Plans&);
  void (*forward)(ComputationGraph&, const Expression&);
  void (*backward)(ComputationGraph&, const Expression&);
};

/// Everything three times in memory that is warm, the counted functions once.
template <class Program>
void count(const char* name, const Stages<Program>& stages) {
  Program program;
  ComputationGraph cg(true);
  Plans plans;
  for (int i = 0; i < 3; ++i) {
    cg.clear();
    const Expression loss = program.add(cg);
    cg.forward(loss);
    cg.backward(loss);
  }
  cg.clear();
  const Expression loss = stages.build(cg, program);
  const graph::Graph& nodes = cg.state().graph;
  for (graph::NodeId n = 0; n < nodes.size(); ++n) {
    if (nodes[n].record().leaf != ext::Leaf::kParameter && nodes[n].output == 0) {
      plans.wanted.push_back(n);
    }
  }
  plan_anew(nodes, plans);
  plan_anew(nodes, plans);
  stages.schedule(nodes, plans);
  stages.forward(cg, loss);
  stages.backward(cg, loss);
  std::printf("%s %zu\n", name, plans.wanted.size());
}

void count_all() {
  DynetParams params;
  params.random_seed = 1;
  initialize(params);
  count<Tagger>("tagger", {stage_build_tagger, stage_schedule_tagger, stage_forward_tagger,
                           stage_backward_tagger});
  count<Tree>("tree",
              {stage_build_tree, stage_schedule_tree, stage_forward_tree, stage_backward_tree});
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
