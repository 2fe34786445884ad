#include "testing/checks.h"

#include <algorithm>
#include <cstdio>
#include <exception>

#include "api/graph_state.h"
#include "execute/executor.h"
#include "testing/cases.h"
#include "testing/differences.h"
#include "testing/found.h"
#include "testing/targets.h"
#include "testing/tolerance.h"

namespace dynet::testing {

namespace {

Failures gradients_agree_with_differences(const Sample& sample) {
  Found found(sample);
  for (const Case& c : cases_of(sample)) {
    const Result one_by_one = run(c.program, {double_device(), false});
    const Result merged = run(c.program, {double_device(), true});
    found.add(c.name + ", merged against one by one",
              compare(c.program, merged, one_by_one, tolerance::kMergedInDouble));
    if (sample.record->stops_gradient) {
      for (const auto& source : one_by_one.source_gradients) {
        for (const double g : source) {
          found.add(c.name, g == 0.0 ? "" : "a gradient passes an operation that stops it");
        }
      }
      continue;
    }
    if (sample.record->surrogate_gradient) {
      continue;  // tables have the value (tests/oracle)
    }
    found.add(c.name, check_gradients(c.program, one_by_one));
  }
  return found.take();
}

Failures float_agrees_with_double(const Sample& sample) {
  Found found(sample);
  const std::vector<Case> cases = cases_of(sample);
  std::vector<Result> in_double;
  in_double.reserve(cases.size());
  for (const Case& c : cases) {
    in_double.push_back(run(c.program, {double_device(), false}));
  }
  const SimdTarget usual;
  for (const auto& target : kernels::supported_targets()) {
    SimdTarget::use(target);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      for (const bool batching : {false, true}) {
        const Result in_float = run(cases[i].program, {float_device(), batching});
        found.add(
            cases[i].name + ", float on " + target + " against double",
            compare(cases[i].program, in_float, in_double[i], tolerance::kFloatAgainstDouble));
      }
    }
  }
  return found.take();
}

/// Puts the first variant of a nudge that the shape rule accepts into the program's last step.
bool build_nudged(const Nudge& nudge, Program& program) {
  Draw draw(99);
  for (const OpBytes& variant : nudge.variants) {
    Program changed = program;
    changed.steps.back().op = variant;
    try {
      add_terms(changed, draw);
    } catch (const std::invalid_argument&) {
      continue;
    }
    program = std::move(changed);
    return true;
  }
  return false;
}

unsigned key_of_step(const Program& program, std::size_t step) {
  LiveProgram live(program, double_device(), true);
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
  }
  const Expression& e = live.expression({static_cast<int>(step), 0});
  return e.pg->state().graph[e.i].signature->key;
}

std::vector<std::byte> packed(const Sample& sample, const OpBytes& op) {
  std::vector<std::byte> bytes(sample.record->attr_bytes);
  sample.record->pack(op.get(), bytes.data());
  return bytes;
}

Failures attributes_are_in_the_key(const Sample& sample) {
  Found found(sample);
  for (const Nudge& nudge : sample.nudges) {
    found.add(nudge.attribute, nudge.variants.empty() ? "it has no neighbour" : "");
    for (const OpBytes& variant : nudge.variants) {
      found.add(nudge.attribute, packed(sample, sample.op) != packed(sample, variant)
                                     ? ""
                                     : "the key of another value is the same");
    }
    Program program = cases_of(sample).front().program;  // unbatched
    const Step first = program.steps.back();
    program.steps.push_back(first);
    if (!build_nudged(nudge, program)) {
      continue;  // no neighbour fits the example
    }
    const Result one_by_one = run(program, {double_device(), false});
    found.add(nudge.attribute + ", merged against one by one",
              compare(program, run(program, {double_device(), true}), one_by_one,
                      tolerance::kMergedInDouble));
    const std::size_t last = program.steps.size() - 1;
    found.add(nudge.attribute, key_of_step(program, last) != key_of_step(program, last - 1)
                                   ? ""
                                   : "nodes that differ in it have one key");
  }
  return found.take();
}

/// Remembers the forward calls of a graph.
class Calls final : public execute::Hook {
 public:
  struct One {
    std::vector<graph::NodeId> members;
    std::uint64_t shared, args;
  };
  void before_call(const graph::Graph& /*graph*/, const Call& call) override {
    if (!call.backward) {
      all.push_back({{call.members.begin(), call.members.end()}, call.shared, call.args});
    }
  }
  std::vector<One> all;
};

/// The mistake in the calls of three nodes: each call must have all nodes, with the weights shared.
std::string wrong_call(const Sample& sample, const Calls& calls,
                       const std::vector<graph::NodeId>& nodes, const graph::Graph& graph) {
  const graph::Signature& signature = *graph[nodes[0]].signature;
  bool seen = false;
  for (const Calls::One& call : calls.all) {
    if (std::find(call.members.begin(), call.members.end(), nodes[0]) == call.members.end()) {
      continue;
    }
    seen = true;
    if (call.members != nodes) {
      return "a call has " + std::to_string(call.members.size()) + " of three copies";
    }
    for (std::uint32_t a = 0; a < graph.args(nodes[0]).size(); ++a) {
      const std::uint32_t argument = signature.argument(a);
      const bool is_weight = sample.expected.weights.contains(argument);
      if ((call.args >> a & 1) != 0 && ((call.shared >> a & 1) != 0) != is_weight) {
        return "argument " + std::to_string(argument) +
               (is_weight ? " is a weight, and is not shared" : " is shared, and is no weight");
      }
    }
  }
  return seen ? "" : "no call computes the copies";
}

Failures copies_merge(const Sample& sample) {
  Found found(sample);
  if (sample.record->aliases) {
    return {};  // nothing is called
  }
  const Program program = copies_sharing(sample, sample.expected.weights).program;
  LiveProgram live(program, float_device(), true);
  Calls calls;
  live.graph().state().executor.hooks().add(calls);
  std::vector<graph::NodeId> nodes;
  for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
    live.build(i);
    if (program.steps[static_cast<std::size_t>(i)].sample != nullptr) {
      nodes.push_back(live.expression({i, 0}).i);
    }
  }
  static_cast<void>(live.loss().value());
  live.graph().state().executor.hooks().remove_added();
  found.add("three copies", wrong_call(sample, calls, nodes, live.graph().state().graph));
  return found.take();
}

constexpr Check kChecks[] = {
    {"GradientsAgreeWithDifferences", gradients_agree_with_differences},
    {"FloatAgreesWithDouble", float_agrees_with_double},
    {"AttributesAreInTheKey", attributes_are_in_the_key},
    {"CopiesMerge", copies_merge},
    {"SpecialValuesMerge", special_values_merge},
    {"SpecialValuesAsDouble", special_values_as_double},
    {"SpecialValuesStay", special_values_stay},
    {"Calls", calls_by_hand},
};

}  // namespace

std::span<const Check> checks() { return kChecks; }

Failures run_checks(std::span<const Sample> samples) {
  Failures all;
  for (const Sample& sample : samples) {
    for (const Check& check : kChecks) {
      Failures failures;
      try {
        failures = check.run(sample);
      } catch (const std::exception& e) {
        failures.push_back(sample.text() + ": threw " + e.what());
      }
      for (const std::string& failure : failures) {
        all.push_back(std::string(check.name) + ": " + failure);
      }
    }
  }
  return all;
}

int report(const Failures& failures) {
  for (const std::string& failure : failures) {
    std::fprintf(stderr, "%s\n", failure.c_str());
  }
  return failures.empty() ? 0 : 1;
}

}  // namespace dynet::testing
