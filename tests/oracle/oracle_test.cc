// Operations against the tables beside this file, which tests/oracle/make.py writes: values and
// gradients, in double and in float on every SIMD target.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/globals.h"
#include "dynet/ops/all.h"

#include "support/named_operations.h"
#include "support/samples.h"
#include "testing/program.h"
#include "testing/targets.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Numbers = std::vector<double>;

struct Result {
  Dim dim;
  Numbers numbers, seed;
};
struct Argument {
  Dim dim;  ///< ext::absent() for an absent one
  std::vector<float> numbers;
};
struct Case {
  std::string name, file;
  int line = 0;
  std::map<std::string, std::string> attributes;
  std::vector<unsigned> indices;
  std::vector<float> values;
  std::vector<Argument> in;
  std::vector<Result> out;
  std::map<std::size_t, Numbers> gradients;

  [[nodiscard]] std::string text() const { return name + ", " + file + ":" + std::to_string(line); }
};

template <class T>
std::vector<T> rest_of(std::istringstream& words) {
  std::vector<T> all;
  for (std::string word; words >> word;) {
    all.push_back(static_cast<T>(std::stod(word)));  // denormal numbers too
  }
  return all;
}

void read_line(const std::string& line, std::vector<Case>& to) {
  std::istringstream words(line);
  std::string kind;
  std::string shape;
  words >> kind;
  if (kind == "case") {
    Case& c = to.emplace_back();
    words >> c.name;
    for (std::string word; words >> word;) {
      const std::size_t equals = word.find('=');
      c.attributes[word.substr(0, equals)] = word.substr(equals + 1);
    }
    return;
  }
  Case& c = to.back();
  if (kind == "indices") {
    c.indices = rest_of<unsigned>(words);
  } else if (kind == "values") {
    c.values = rest_of<float>(words);
  } else if (kind == "absent") {
    c.in.push_back({ext::absent(), {}});
  } else if (kind == "in") {
    words >> shape;
    c.in.push_back({shape_of_text(shape), rest_of<float>(words)});
  } else if (kind == "out") {
    words >> shape;
    c.out.push_back({shape_of_text(shape), rest_of<double>(words), {}});
  } else if (kind == "seed") {
    c.out.back().seed = rest_of<double>(words);
  } else if (kind == "grad") {
    std::size_t argument = 0;
    words >> argument;
    c.gradients[argument] = rest_of<double>(words);
  } else {
    throw std::invalid_argument("a table has the line " + line);
  }
}

std::vector<Case> read_tables() {
  std::vector<Case> all;
  const auto folder = std::filesystem::path(DYNET_SOURCE_DIR) / "tests" / "oracle";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".txt") {
      files.insert(entry.path());
    }
  }
  for (const std::filesystem::path& file : files) {
    std::ifstream in(file);
    int number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (line.empty() || line[0] == '#') {
        continue;
      }
      const std::size_t before = all.size();
      read_line(line, all);
      if (all.size() > before) {
        all.back().file = file.filename();
        all.back().line = number;
      }
    }
  }
  return all;
}
const std::vector<Case>& cases() {
  static const std::vector<Case> all = read_tables();
  return all;
}

/// Functions that are no operation of the list but several of them, by the tables' names.
using Composition = std::function<Expression(const std::vector<Expression>&, const Case&)>;
const std::map<std::string, Composition>& compositions() {
  using Xs = std::vector<Expression>;
  static const std::map<std::string, Composition> all{
      {"contract3d_1d_1d",
       [](const Xs& xs, const Case&) {
         return xs.size() == 3 ? contract3d_1d_1d(xs[0], xs[1], xs[2])
                               : contract3d_1d_1d(xs[0], xs[1], xs[2], xs[3]);
       }},
      {"trace_of_product",
       [](const Xs& xs, const Case&) { return trace_of_product(xs[0], xs[1]); }},
      {"colwise_add", [](const Xs& xs, const Case&) { return colwise_add(xs[0], xs[1]); }},
      {"max(list)", [](const Xs& xs, const Case&) { return max(xs); }},
      {"min(list)", [](const Xs& xs, const Case&) { return min(xs); }},
      {"logsumexp(list)", [](const Xs& xs, const Case&) { return logsumexp(xs); }},
  };
  return all;
}

struct Found {
  std::vector<Numbers> values;
  std::vector<Dim> dims;
  std::vector<Numbers> gradients;  ///< of the arguments; empty for an absent one
};

/// The first result of the case's function.
Expression build(const Case& c, const std::vector<Expression>& in, ComputationGraph& graph) {
  const auto composition = compositions().find(c.name);
  if (composition != compositions().end()) {
    return composition->second(in, c);
  }
  const NamedOperation named = named_operation(c.name, c.attributes);
  if (named.record == nullptr) {
    throw std::invalid_argument("there is no operation " + c.name);
  }
  const auto payload = !c.indices.empty()  ? ext::NodePayload::of(c.indices)
                       : !c.values.empty() ? ext::NodePayload::of(c.values)
                                           : ext::NodePayload();
  return ext::add_node(*named.record, named.op.get(), &graph, in, payload, Where::here());
}

Found compute(const Case& c, Device* device) {
  ComputationGraph graph(true);
  std::vector<Expression> in;
  in.reserve(c.in.size());
  for (const Argument& x : c.in) {
    in.push_back(ext::is_absent(x.dim) ? Expression() : input(graph, x.dim, x.numbers, device));
  }
  const Expression first = build(c, in, graph);
  std::vector<Expression> terms;
  Found found;
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    const Expression y(first.pg, first.i + static_cast<VariableIndex>(k), first.graph_id);
    found.dims.push_back(y.dim());
    const std::vector<float> seed(c.out[k].seed.begin(), c.out[k].seed.end());
    terms.push_back(sum_batches(dot_product(y, input(graph, c.out[k].dim, seed, device))));
  }
  graph.backward(sum(terms), true);
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    const Expression y(first.pg, first.i + static_cast<VariableIndex>(k), first.graph_id);
    found.values.push_back(numbers(y.value()));
  }
  for (const Expression& x : in) {
    found.gradients.push_back(x.pg == nullptr ? Numbers() : numbers(x.gradient()));
  }
  return found;
}

void expect_as_said(const Case& c, Device* device, double bound, const std::string& where) {
  const Found found = compute(c, device);
  for (std::size_t k = 0; k < c.out.size(); ++k) {
    EXPECT_EQ(found.dims[k], c.out[k].dim) << c.text();
    EXPECT_EQ(compare(found.values[k], c.out[k].numbers, bound), "")
        << "result " << k << " of " << c.text() << where;
  }
  for (const auto& [argument, numbers] : c.gradients) {
    EXPECT_EQ(compare(found.gradients[argument], numbers, bound), "")
        << "gradient of argument " << argument << " of " << c.text() << where;
  }
}

class Oracle : public ::testing::TestWithParam<std::size_t> {};
TEST_P(Oracle, SaysTheSame) {
  const Case& c = cases()[GetParam()];
  expect_as_said(c, double_device(), tolerance::kLongInDouble, " in double");
  const SimdTarget usual;
  for (const std::string& target : kernels::supported_targets()) {
    SimdTarget::use(target);
    expect_as_said(c, float_device(), tolerance::kFloatAgainstDouble, " in float on " + target);
  }
}

std::string case_name(const ::testing::TestParamInfo<std::size_t>& p) {
  const Case& c = cases()[p.param];
  std::string name;
  for (const char ch : c.name + "_" + std::to_string(p.param)) {
    name += std::isalnum(static_cast<unsigned char>(ch)) != 0 ? ch : '_';
  }
  return name;
}
std::vector<std::size_t> all_cases() {
  std::vector<std::size_t> all(cases().size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  return all;
}
INSTANTIATE_TEST_SUITE_P(All, Oracle, ::testing::ValuesIn(all_cases()), case_name);

/// A comparison that sees nothing would pass always.
TEST(OracleTables, AWrongNumberIsSeen) {
  const auto sine =
      std::find_if(cases().begin(), cases().end(), [](const Case& c) { return c.name == "sin"; });
  ASSERT_NE(sine, cases().end());
  const Found found = compute(*sine, double_device());
  Numbers wrong = sine->gradients.at(0);
  wrong[1] += 2 * tolerance::kLongInDouble;
  EXPECT_NE(compare(found.gradients[0], wrong, tolerance::kLongInDouble), "");
}

/// Random operations have distributions instead (random_distribution_test).
TEST(OracleTables, EveryOperationHasOne) {
  std::set<std::string> names;
  for (const Case& c : cases()) {
    names.insert(c.name);
  }
  ops::AllOps::for_each([&]<class Op>() {
    const ext::Record& record = ext::kRecord<Op>;
    const bool needs_none = record.is_leaf() || record.random || record.arg_count == 0;
    EXPECT_TRUE(needs_none || names.contains(std::string(Op::kInfo.name)))
        << Op::kInfo.name << " has no case in tests/oracle/make.py";
  });
}

}  // namespace
}  // namespace dynet::testing
