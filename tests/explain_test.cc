// The statements of explain_batch about two nodes are true, over graphs of every operation.

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"

#include "support/generator.h"
#include "support/observe.h"
#include "support/samples.h"
#include "testing/sanitized.h"

namespace dynet::testing {
namespace {

constexpr std::uint64_t kGraphs = trials(150, 15);

/// The kind of a reason: the text before its colon, without the number of an argument.
std::string kind_of(const std::string& why) {
  if (why.find("runs alone") != std::string::npos) {
    return "runs alone";
  }
  const std::string before = why.substr(0, why.find(": "));
  return before.rfind("argument ", 0) == 0
             ? why.find("as the node has") == std::string::npos ? "shape" : "examples"
             : before;
}

/// A reason "name: this != that" has two different texts and belongs to different keys; the reason
/// "equal keys" belongs to equal keys.
void expect_true(const std::string& why, const Expression& a, const Expression& b) {
  const std::string of = explain_batch(b, a) + ", the other way round";
  const std::size_t middle = why.find(" != ");
  if (middle != std::string::npos) {
    const std::size_t begin = why.find(": ") + 2;
    EXPECT_NE(why.substr(begin, middle - begin), why.substr(middle + 4)) << of;
    EXPECT_NE(key_of(a), key_of(b)) << why;
  } else if (why.rfind("equal keys", 0) == 0) {
    EXPECT_EQ(key_of(a), key_of(b)) << of;
  } else {
    const std::string kind = kind_of(why);
    EXPECT_TRUE(kind == "runs alone" || kind == "one node" || kind == "parameters are not computed")
        << why;
  }
}

/// Every pair of them, and how often each kind of reason was given.
void expect_all_true(const std::vector<Expression>& nodes, std::map<std::string, long>& kinds) {
  for (std::size_t a = 0; a < nodes.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      const std::string why = explain_batch(nodes[a], nodes[b]);
      ++kinds[kind_of(why)];
      expect_true(why, nodes[a], nodes[b]);
    }
  }
}

TEST(Explain, NamesARealDifferenceInRandomGraphs) {
  const std::vector<Combination> combinations = combinations_of(all_samples());
  std::map<std::string, long> kinds;
  for (std::uint64_t seed = 1; seed <= kGraphs; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Program program = random_program(seed, combinations, {});
    LiveProgram live(program, float_device(), true);
    std::vector<Expression> nodes;
    for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
      live.build(i);
      nodes.push_back(live.expression({i, 0}));
    }
    expect_all_true(nodes, kinds);
  }
  // Nodes that run alone are rare here; the examples below have them all.
  for (const char* kind : {"operation", "attributes", "shape", "equal keys"}) {
    EXPECT_GT(kinds[kind], 0) << kind;
  }
}

/// The operation of an example, with batches of `batch` as the combination says, and `lists` lists
/// of indices.
Expression node_of(ComputationGraph& cg, const Combination& c, unsigned batch, unsigned lists) {
  const Sample& s = *c.sample;
  std::vector<Expression> args;
  for (std::size_t i = 0; i < s.inputs.size(); ++i) {
    Dim dim = s.inputs[i];
    if (c.batched[i] != 0) {
      dim.bd = batch;
    }
    args.push_back(ext::is_absent(dim) ? Expression() : ones(cg, dim));
  }
  std::vector<unsigned> indices;
  ext::NodePayload payload;  // views them
  if (!s.indices.empty()) {
    for (unsigned i = 0; i < lists; ++i) {
      indices.insert(indices.end(), s.indices.begin(), s.indices.end());
    }
    payload = ext::NodePayload::of(indices);
  } else if (!s.values.empty()) {
    payload = ext::NodePayload::of(s.values);
  }
  return ext::add_node(*s.record, s.op.get(), &cg, args, payload, Where::here());
}

TEST(Explain, NamesARealDifferenceOfAllExamples) {
  std::map<const ext::Record*, std::vector<Combination>> by_operation;
  for (const Combination& c : combinations_of(all_samples())) {
    by_operation[c.sample->record].push_back(c);
  }
  std::map<std::string, long> kinds;
  for (const auto& [record, combinations] : by_operation) {
    SCOPED_TRACE(record->info->name);
    ComputationGraph cg(true);
    std::vector<Expression> nodes;
    for (const Combination& c : combinations) {
      for (const unsigned batch : {2U, 3U}) {
        for (const unsigned lists : {1U, batch}) {
          try {
            nodes.push_back(node_of(cg, c, batch, lists));
          } catch (const std::invalid_argument&) {
            continue;  // wants one example, or another number of lists
          }
        }
      }
    }
    expect_all_true(nodes, kinds);
  }
  for (const char* kind :
       {"attributes", "shape", "examples", "runs alone", "equal keys", "one node"}) {
    EXPECT_GT(kinds[kind], 0) << kind;
  }
}

}  // namespace
}  // namespace dynet::testing
