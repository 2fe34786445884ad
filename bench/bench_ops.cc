// Every operation of the list, twice.
//
// First on its first example: 64 nodes of it in one graph, run one by one and merged. All nodes
// share the arguments that may be shared, except for the last argument: one weight, and an input
// for each node. Then on the sizes of bench/ops/cases.txt, one node after the other: bench/ops/run
// puts these figures beside PyTorch's.

#include <cstdint>
#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/all.h"

#include "op_cases.h"
#include "report.h"

namespace dynet::bench {

namespace {

constexpr unsigned kNodes = 64;

std::vector<float> numbers(const Dim& dim, double low, double high) {
  std::vector<float> x(static_cast<std::size_t>(dim.elements()));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double share = static_cast<double>(i * 7 % 16 + 1) / 17;
    x[i] = static_cast<float>(low + (high - low) * share);
  }
  return x;
}

/// An operation and its first example.
struct Sample {
  const ext::Record& record;
  const void* op;
  const ext::ExampleCall& example;
};

class Nodes {
 public:
  explicit Nodes(const Sample& sample) : sample_(sample) {}

  /// The sum of all results.
  Expression operator()(ComputationGraph& cg) {
    const auto& [record, op, example] = sample_;
    std::vector<Expression> args(example.inputs.size());
    std::vector<Expression> sums;
    for (unsigned n = 0; n < kNodes; ++n) {
      for (std::size_t a = 0; a < args.size(); ++a) {
        const bool may_share = record.role(a) != ext::Role::kStacked && a + 1 < args.size();
        if (n == 0 || !may_share) {
          const Dim& dim = example.inputs[a];
          args[a] = ext::is_absent(dim) ? Expression()
                                        : input(cg, dim, numbers(dim, example.low, example.high));
        }
      }
      ext::NodePayload payload;
      if (!example.indices.empty()) {
        payload = ext::NodePayload::of(example.indices);
      } else if (!example.values.empty()) {
        payload = ext::NodePayload::of(example.values);
      }
      sums.push_back(
          sum_batches(sum_elems(ext::add_node(record, op, &cg, args, payload, Where()))));
    }
    return sum(sums);
  }

 private:
  Sample sample_;
};

struct Times {
  double forward, backward;  ///< nanoseconds a node, with its share of inputs and sums
};

Times times_of(const Sample& sample, bool batching) {
  ComputationGraph cg(batching);
  const Expression all = Nodes(sample)(cg);
  const double forward = seconds_a_call([&] { cg.forward(all); }, 0.002);
  const double backward = seconds_a_call([&] { cg.backward(all, true); }, 0.002);
  return {forward * 1e9 / kNodes, backward * 1e9 / kNodes};
}

void add_row(Report& report, const Sample& sample) {
  std::string name(sample.record.info->name);
  for (const Dim& dim : sample.example.inputs) {
    name += ext::is_absent(dim) ? " absent" : ' ' + to_string(dim);
  }
  const Times off = times_of(sample, false);
  const Times on = times_of(sample, true);
  char note[160];
  std::snprintf(note, sizeof note, "forward %.0f, backward %.0f; one by one %.0f and %.0f",
                on.forward, on.backward, off.forward, off.backward);
  report.add({"operations, 64 of each merged", name, on.forward + on.backward, "ns/node",
              Want::kNothing, 0, note});
}

constexpr const char* kCases = DYNET_BENCH_DIR "/ops/cases.txt";

/// A smoke test runs only small cases.
void add_case(Report& report, const OpCase& c, const Settings& settings) {
  std::int64_t numbers = 0;
  for (const Dim& dim : c.in) {
    numbers += ext::is_absent(dim) ? 0 : dim.elements();
  }
  if (settings.is_quick && numbers > 5000) {
    return;
  }
  const OpSeconds seconds = op_seconds(c, settings.is_quick ? 0 : 0.002, 3);
  char note[80];
  std::snprintf(note, sizeof note, "with backward %.2f; floor %.2f", seconds.backward * 1e6,
                seconds.floor * 1e6);
  report.add(
      {"operations, one node", c.text, seconds.forward * 1e6, "us", Want::kNothing, 0, note});
}

}  // namespace

void print_op_cases() {
  for (const OpCase& c : op_cases(kCases)) {
    std::printf("%s\n", c.text.c_str());
  }
}

void serve_op_cases() {
  std::printf("%s\n", __DATE__);
  std::fflush(stdout);
  double round_seconds = 0;
  int rounds = 0;
  for (std::string text;
       std::cin >> round_seconds >> rounds && std::getline(std::cin >> std::ws, text);) {
    const OpSeconds seconds = op_seconds(op_case(text), round_seconds, rounds);
    std::printf("%lld %.9g %.9g %.9g\n", static_cast<long long>(seconds.numbers), seconds.forward,
                seconds.backward, seconds.floor);
    std::fflush(stdout);
  }
}

void measure_ops(Report& report, const Settings& settings) {
  for (const OpCase& c : op_cases(kCases)) {
    add_case(report, c, settings);
  }
  ops::AllOps::for_each([&]<class Op>() {
    if (!ext::kRecord<Op>.is_leaf()) {
      const ext::Example<Op> example = Op::examples().front();
      add_row(report, {ext::kRecord<Op>, &example.op, example});
    }
  });
}

}  // namespace dynet::bench
