// Costs of the framework: building, scheduling and running nodes that compute next to nothing.

#include <functional>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/model.h"
#include "dynet/rnn.h"
#include "dynet/tree-builders.h"
#include "dynet/treelstm.h"

#include "api/graph_state.h"
#include "report.h"
#include "schedule/policy.h"
#include "scheduled.h"

namespace dynet::bench {

namespace {

constexpr unsigned kNodes = 4000;

/// Appends nodes to a graph and returns the last of them.
using Program = std::function<Expression(ComputationGraph&)>;

Expression chain(ComputationGraph& cg, unsigned size) {
  Expression x = input(cg, {size}, std::vector<float>(size, 0.5F));
  for (unsigned i = 0; i < kNodes; ++i) {
    x = rectify(x);
  }
  return x;
}

/// Independent nodes, joined in one sum.
Expression fan(ComputationGraph& cg, unsigned size) {
  const Expression x = input(cg, {size}, std::vector<float>(size, 0.5F));
  std::vector<Expression> all;
  all.reserve(kNodes);
  for (unsigned i = 0; i < kNodes; ++i) {
    all.push_back(rectify(x));
  }
  return sum(all);
}

Expression pairs(ComputationGraph& cg, unsigned size) {
  Expression x = input(cg, {size}, std::vector<float>(size, 0.5F));
  Expression y = x;
  for (unsigned i = 0; i < kNodes / 2; ++i) {
    x = cmult(x, y);
    y = x + y;
  }
  return y;
}

/// Nanoseconds a node to build `program` in a graph that has been used before.
double build_nanoseconds(const Program& program) {
  ComputationGraph cg;
  std::size_t nodes = 0;
  const double seconds = seconds_a_call([&] {
    cg.clear();
    program(cg);
    nodes = cg.nodes.size();
  });
  return seconds * 1e9 / static_cast<double>(nodes);
}

double forward_nanoseconds(const Program& program, bool batching) {
  ComputationGraph cg(batching);
  const Expression last = program(cg);
  const double seconds = seconds_a_call([&] { cg.forward(last); });
  return seconds * 1e9 / static_cast<double>(cg.nodes.size());
}

/// The cost of a program that reads the value of each node before it builds the next one.
double read_nanoseconds() {
  ComputationGraph cg;
  float sum = 0;
  const double seconds = seconds_a_call([&] {
    cg.clear();
    Expression x = input(cg, 0.5F);
    for (unsigned i = 0; i < kNodes; ++i) {
      x = rectify(x);
      sum += as_scalar(x.value());
    }
  });
  return seconds * 1e9 / kNodes;
}

struct Schedule {
  double nanoseconds;  ///< a node
  double groups_to_bound;
};
Schedule schedule_nanoseconds(const Program& program, std::string_view policy) {
  ComputationGraph cg;
  program(cg);
  const graph::Graph& nodes = cg.state().graph;
  const std::vector<graph::NodeId> wanted = scheduled_nodes(nodes);
  schedule::Scheduler scheduler;
  scheduler.choose(policy);
  schedule::Plan plan;
  const double seconds = seconds_a_call([&] { scheduler.plan(nodes, wanted, plan); });
  const double ratio = plan.bound == 0 ? 0 : static_cast<double>(plan.groups.size()) / plan.bound;
  return {seconds * 1e9 / static_cast<double>(wanted.size()), ratio};
}

/// A left-branching tree of 19 words with a loss at each node, as in the models.
class Tree {
 public:
  Tree()
      : words_(parameters_.add_lookup_parameters(100, {16})),
        builder_(16, 16, parameters_),
        classifier_(parameters_.add_parameters({5, 16})) {}
  Expression operator()(ComputationGraph& cg) {
    builder_.new_graph(cg);
    const Expression weights = parameter(cg, classifier_);
    losses_.clear();
    auto state = builder_.add_input(lookup(cg, words_, 0U));
    losses_.push_back(pickneglogsoftmax(weights * state.h, 1U));
    for (unsigned word = 1; word < 19; ++word) {
      const auto leaf = builder_.add_input(lookup(cg, words_, word));
      losses_.push_back(pickneglogsoftmax(weights * leaf.h, word % 5));
      state = builder_.add_input(state, leaf);
      losses_.push_back(pickneglogsoftmax(weights * state.h, word % 5));
    }
    return sum(losses_);
  }

 private:
  ParameterCollection parameters_;
  LookupParameter words_;
  BinaryTreeLSTMBuilder builder_;
  Parameter classifier_;
  std::vector<Expression> losses_;
};

}  // namespace

void measure_graph(Report& report, const Settings& /*settings*/) {
  const Program tiny_chain = [](ComputationGraph& cg) { return chain(cg, 1); };
  const Program tiny_fan = [](ComputationGraph& cg) { return fan(cg, 1); };
  const Program vectors = [](ComputationGraph& cg) { return pairs(cg, 64); };
  Tree tree_program;
  const Program tree = [&](ComputationGraph& cg) { return tree_program(cg); };

  const auto add = [&](const std::string& name, double ns, double most, const std::string& note) {
    report.add({"framework, C++", name, ns, "ns/node", most > 0 ? Want::kAtMost : Want::kNothing,
                most, note});
  };
  add("build a node: one argument", build_nanoseconds(tiny_chain), 25, "a chain");
  add("build a node: two arguments", build_nanoseconds(vectors), 25, "{64}");
  add("build a node: a tree of 19 words", build_nanoseconds(tree), 25, "builder, lookups, losses");

  const Schedule one = schedule_nanoseconds(tiny_chain, schedule::kOneByOne);
  const Schedule alone = schedule_nanoseconds(tiny_chain, schedule::kBatching);
  const Schedule wide = schedule_nanoseconds(tiny_fan, schedule::kBatching);
  const Schedule tree_plan = schedule_nanoseconds(tree, schedule::kBatching);
  add("schedule a node: one by one", one.nanoseconds, 0, "a chain");
  add("schedule a node: batching, nothing to merge", alone.nanoseconds, 15, "a chain");
  add("schedule a node: batching, all in one group", wide.nanoseconds, 15, "");
  add("schedule a node: batching, a tree of 19 words", tree_plan.nanoseconds, 15, "");
  report.add({"framework, C++", "groups to the lower bound, that tree", tree_plan.groups_to_bound,
              "", Want::kAtMost, 1.05, ""});

  const double off = forward_nanoseconds(tiny_chain, false);
  const double on = forward_nanoseconds(tiny_chain, true);
  const double merged = forward_nanoseconds(tiny_fan, true);
  add("run a node of one number, batching off", off, 0, "all of forward");
  add("run a node of one number, nothing to merge", on, 0, "all of forward");
  add("run a node of one number, all in one group", merged, 0, "all of forward");
  add("build a node, run it and read its number", read_nanoseconds(), 700, "a decision per node");
  add("dispatch a kernel: forward less scheduling", off - one.nanoseconds, 20,
      "layout, operands, call, one number");
}

}  // namespace dynet::bench
