// Cells of programs: the same values and gradients as the function without a cell, in random
// functions and in recurrences; the number of nodes; refusals.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "dynet/cell.h"
#include "dynet/evaluating.h"
#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/inference.h"
#include "dynet/init.h"
#include "dynet/model.h"

#include "api/graph_state.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/random.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Nodes = std::vector<Expression>;
using testing::Random;

constexpr unsigned kH = 5;

/// A function of three vectors {h}, made of some random operations and parameters. Running it twice
/// adds the same operations.
class RandomFunction {
 public:
  RandomFunction(std::uint64_t seed, ParameterCollection& model) : seed_(seed) {
    for (unsigned i = 0; i < 4; ++i) {
      matrices_.push_back(model.add_parameters({kH, kH}));
      vectors_.push_back(model.add_parameters({kH}));
    }
  }

  [[nodiscard]] std::vector<Parameter> parameters() const {
    std::vector<Parameter> all = matrices_;
    all.insert(all.end(), vectors_.begin(), vectors_.end());
    return all;
  }
  Nodes operator()(ComputationGraph& cg, const Nodes& args) const {
    Random random(seed_);
    Nodes values = args;
    const unsigned steps = 3 + random.below(14);
    for (unsigned i = 0; i < steps; ++i) {
      values.push_back(step(cg, random, values));
    }
    Nodes results{values.back()};
    const unsigned more = random.below(3);
    for (unsigned k = 0; k < more; ++k) {
      results.push_back(values[random.below(static_cast<unsigned>(values.size()))]);
    }
    // Each result depends on the state, and so has the batch.
    for (Expression& r : results) {
      r = r + 0.1F * (args[0] + args[1] + args[2]);
    }
    return results;
  }

 private:
  Expression step(ComputationGraph& cg, Random& random, const Nodes& values) const {
    const auto any = [&] { return values[random.below(static_cast<unsigned>(values.size()))]; };
    const auto matrix = [&] { return parameter(cg, matrices_[random.below(4)]); };
    const auto vector = [&] { return parameter(cg, vectors_[random.below(4)]); };
    switch (random.below(18)) {
      case 0:
      case 1:
        return affine_transform({vector(), matrix(), any(), matrix(), any()});
      case 2:
        return affine_transform({any(), matrix(), any()});
      case 3:
        return matrix() * any();
      case 4:
        return tanh(any());
      case 5:
        return logistic(any());
      case 6:
        return cmult(any(), any());
      case 7:
        return any() - any();
      case 8:
        return 0.5F * any() + 0.25F;
      case 9:
        return pick_range(concatenate({any(), any()}), 2, 2 + kH);
      case 10:
        return softmax(any());
      case 11:
        return sum({any(), any(), any()});
      case 12:
        return transpose(matrix()) * any();
      case 13:
        return cmult(vector(), any());
      case 14:
        return reshape(reshape(any(), {1, kH}), {kH});
      case 15:
        return any() * (pick(any(), 1U) * 0.3F);
      case 16:
        return cmult(constant(cg, {kH}, 0.7F), any());
      default:
        return tanh(cmult(vector(), vector())) + any();
    }
  }

  std::uint64_t seed_;
  std::vector<Parameter> matrices_, vectors_;
};

using Step = std::function<Nodes(const Nodes&)>;
using Numbers = std::vector<std::vector<double>>;

/// Value and all gradients of a program that calls a function of three vectors over some sequences.
struct Recurrence {
  ParameterCollection& model;
  std::vector<Parameter> parameters;
  LookupParameter words;
  unsigned batch;  ///< examples of each word

  Expression loss(ComputationGraph& cg, std::uint64_t seed, const Step& step,
                  Nodes* asked = nullptr) const {
    Random random(seed);
    Nodes losses;
    for (unsigned s = 0; s < 4; ++s) {
      Expression h = lookup(cg, words, batched(random));
      Expression c = random.chance(0.3) ? h : lookup(cg, words, batched(random));
      const unsigned length = 1 + random.below(4);
      for (unsigned t = 0; t < length; ++t) {
        const Nodes out = step({lookup(cg, words, batched(random)), h, c});
        h = out[0];
        c = out.back();
        losses.push_back(sum_elems(cmult(h, h)));
        if (asked != nullptr) {
          asked->push_back(h);
        }
      }
      losses.push_back(sum_elems(c));
    }
    const Expression all = sum(losses);
    return batch == 1 ? all : sum_batches(all);
  }
  Numbers gradients() const {
    Numbers all;
    for (const Parameter& p : parameters) {
      all.push_back(testing::numbers(p.get_storage().g));
    }
    all.push_back(testing::numbers(words.get_storage().all_grads));
    return all;
  }
  [[nodiscard]] std::vector<unsigned> batched(Random& random) const {
    std::vector<unsigned> all(batch);
    for (unsigned& i : all) {
      i = random.below(6);
    }
    return all;
  }
};

Numbers run(const Recurrence& of, bool batching, std::uint64_t seed,
            const std::function<Nodes(ComputationGraph&, const Nodes&)>& step) {
  of.model.reset_gradient();
  ComputationGraph cg(batching);
  Nodes states;
  const Expression loss = of.loss(cg, seed, [&](const Nodes& in) { return step(cg, in); }, &states);
  Numbers all{testing::numbers(cg.forward(loss))};
  cg.backward(loss);
  const Numbers gradients = of.gradients();
  all.insert(all.end(), gradients.begin(), gradients.end());
  for (const Expression& h : states) {
    all.push_back(testing::numbers(h.value()));
    all.push_back(testing::numbers(h.gradient()));
  }
  return all;
}

void expect_equal(const Numbers& found, const Numbers& wanted, const std::string& what,
                  double bound = tolerance::kMergedInDouble) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(found[i].size(), wanted[i].size()) << what << ", list " << i;
    for (std::size_t k = 0; k < wanted[i].size(); ++k) {
      const double scale = std::max(1.0, std::abs(wanted[i][k]));
      ASSERT_NEAR(found[i][k] / scale, wanted[i][k] / scale, bound)
          << what << ", list " << i << ", number " << k;
    }
  }
}

/// Compares random functions with their nodes, on the default device.
void compare_functions(std::uint64_t seeds, double bound) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    ParameterCollection model;
    const RandomFunction function(seed, model);
    const Recurrence of{model, function.parameters(), model.add_lookup_parameters(6, {kH}),
                        seed % 3 == 0 ? 3U : 1U};
    const std::vector<unsigned> inputs =
        seed % 4 == 0 ? std::vector<unsigned>{} : std::vector<unsigned>{0};
    Cell cell("random", function, inputs);
    const auto recorded = [&](ComputationGraph&, const Nodes& in) { return cell(in); };
    const Numbers wanted = run(of, false, seed, function);
    const std::string what = "seed " + std::to_string(seed);
    expect_equal(run(of, true, seed, recorded), wanted, what + " merged", bound);
    expect_equal(run(of, false, seed, recorded), wanted, what + " one by one", bound);
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST(UserCells, RandomFunctionsHaveTheValuesAndGradientsOfTheirNodes) {
  const testing::DefaultDevice in_double(testing::double_device());
  compare_functions(400, tolerance::kMergedInDouble);
}

/// A GPU has no double.
TEST(UserCells, RandomFunctionsOnTheDeviceOfThisRun) {
  compare_functions(30, tolerance::kFloatAgainstDouble);
}

/// Parameters of an LSTM with a matrix for each gate, and its step on x, h and c.
struct Lstm {
  explicit Lstm(ParameterCollection& model) {
    for (unsigned g = 0; g < 4; ++g) {
      b.push_back(model.add_parameters({kH}));
      w.push_back(model.add_parameters({kH, kH}));
      u.push_back(model.add_parameters({kH, kH}));
    }
  }
  Nodes operator()(ComputationGraph& cg, const Nodes& in) const {
    const auto gate = [&](unsigned g) {
      return affine_transform(
          {parameter(cg, b[g]), parameter(cg, w[g]), in[0], parameter(cg, u[g]), in[1]});
    };
    const Expression c = cmult(logistic(gate(0)), in[2]) + cmult(logistic(gate(1)), tanh(gate(2)));
    return {cmult(logistic(gate(3)), tanh(c)), c};
  }
  [[nodiscard]] std::vector<Parameter> all() const {
    std::vector<Parameter> list;
    for (const auto* some : {&b, &w, &u}) {
      list.insert(list.end(), some->begin(), some->end());
    }
    return list;
  }
  std::vector<Parameter> b, w, u;
};

struct UserCell : ::testing::Test {
  ParameterCollection model;
  LookupParameter words = model.add_lookup_parameters(6, {kH});
  Lstm lstm{model};
  ComputationGraph cg{true};

  Expression word(unsigned i) { return lookup(cg, words, i); }
};

TEST_F(UserCell, IsANodeForInputsAndOneForTheState) {
  Cell cell("lstm", lstm, {0});
  const Expression x = word(1);
  Nodes state{word(2), word(3)};
  const Nodes first = cell({x, state[0], state[1]});
  const std::size_t before = cg.nodes.size();
  const Nodes second = cell({x, first[0], first[1]});
  EXPECT_EQ(cg.nodes.size(), before + 4 + 2);  // results of the gates' sums, h and c
  EXPECT_EQ(testing::key_of(first[0]), testing::key_of(second[0]));
  EXPECT_EQ(cg.state().graph.describe(second[0].i).find("lstm("),
            std::string("node ").size() + std::to_string(second[0].i).size() + 2);
}

TEST_F(UserCell, StepsOfSequencesRunTogetherAndInputsOfAllStepsAtOnce) {
  Cell cell("lstm", lstm, {0});
  testing::Observed seen;
  testing::observe(cg, &seen);
  Nodes losses;
  for (unsigned s = 0; s < 3; ++s) {
    Nodes state{word(s), word(s + 1)};
    for (unsigned t = 0; t < 4; ++t) {
      state = cell({word(t), state[0], state[1]});
    }
    losses.push_back(sum_elems(state[0]));
  }
  cg.forward(sum(losses));
  std::size_t calls = 0;
  std::size_t members = 0;
  for (const auto& call : seen.calls()) {
    if (cg.state().graph[call.members[0]].record().info->name == "lstm") {
      ++calls;
      members += call.members.size();
    }
  }
  EXPECT_EQ(calls, 1U + 4U);
  EXPECT_EQ(members, 12U + 12U);
  testing::observe(cg, nullptr);
}

/// How many weights have products that were left for the end of a pass.
struct WaitingProducts : execute::Hook {
  explicit WaitingProducts(ComputationGraph& graph) : cg(graph) {}
  void before_delivery() override {
    const execute::Products& products = cg.state().executor.products();
    count =
        static_cast<std::size_t>(std::count_if(products.weights().begin(), products.weights().end(),
                                               [&](graph::NodeId n) { return products.has(n); }));
  }
  ComputationGraph& cg;
  std::size_t count = 0;
};

TEST_F(UserCell, GradientsOfWeightsAreOneProductForAllSteps) {
  Cell cell("lstm", lstm, {0});
  Nodes state{word(1), word(2)};
  for (unsigned t = 0; t < 4; ++t) {
    state = cell({word(t), state[0], state[1]});
  }
  cg.forward(sum_elems(state[0]));
  WaitingProducts seen(cg);
  testing::observe(cg, &seen);
  cg.backward(sum_elems(state[0]));
  EXPECT_EQ(seen.count, 8U);  // of the gates, with x and h
  testing::observe(cg, nullptr);
}

TEST_F(UserCell, CellsOfEqualStepsRunTogether) {
  const Lstm other(model);
  Cell a("lstm", lstm);
  Cell b("lstm", other);
  const Nodes in{word(1), word(2), word(3)};
  EXPECT_EQ(testing::key_of(a(in)[0]), testing::key_of(b(in)[0]));
  Cell c("another name", other);
  EXPECT_NE(testing::key_of(a(in)[0]), testing::key_of(c(in)[0]));
}

/// A call of which backward needs some members, and with an argument that all members share.
TEST(UserCells, SharedArgumentsAndMembersWithoutGradient) {
  const testing::DefaultDevice in_double(testing::double_device());
  ParameterCollection model;
  LookupParameter words = model.add_lookup_parameters(6, {kH});
  const Parameter w = model.add_parameters({kH, kH});
  const Parameter u = model.add_parameters({kH, kH});
  const auto function = [&](ComputationGraph& cg, const Nodes& in) {
    const Expression context = parameter(cg, u) * tanh(parameter(cg, u) * in[1]);
    return Nodes{tanh(parameter(cg, w) * cmult(in[0], softmax(context))) + cmult(context, in[0]),
                 logistic(context)};
  };
  Cell cell("shared", function);
  // Backward of these calls takes the scratch memory that backward of the others had.
  Cell before("before", [](ComputationGraph&, const Nodes& in) {
    return Nodes{cmult(tanh(in[0]), logistic(in[0]))};
  });
  const auto run_once = [&](bool is_recorded) {
    model.reset_gradient();
    ComputationGraph cg(true);
    const Expression context = before({lookup(cg, words, 5U)})[0];
    Nodes losses;
    Numbers all;
    for (unsigned i = 0; i < 5; ++i) {
      const Nodes in{before({lookup(cg, words, i)})[0], context};
      const Nodes out = is_recorded ? cell(in) : function(cg, in);
      losses.push_back(sum_elems(cmult(out[0], out[0])));
      losses.push_back(sum_elems(cmult(out[1], out[1])));
    }
    static_cast<void>(cg.forward(sum(losses)));
    cg.backward(
        sum({losses[2], losses[3], losses[8], losses[9]}));  // nothing of members 0, 2 and 3
    for (const Expression& e : losses) {
      all.push_back(testing::numbers(e.value()));
    }
    for (const Parameter& p : {w, u}) {
      all.push_back(testing::numbers(p.get_storage().g));
    }
    all.push_back(testing::numbers(words.get_storage().all_grads));
    cg.backward(sum({losses[4], losses[5]}));
    all.push_back(testing::numbers(words.get_storage().all_grads));
    return all;
  };
  expect_equal(run_once(true), run_once(false), "shared");
}

TEST(UserCells, GradientsOfGradientsGoThroughTheSteps) {
  const testing::DefaultDevice in_double(testing::double_device());
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    ParameterCollection model;
    const RandomFunction function(seed, model);
    const Recurrence of{model, function.parameters(), model.add_lookup_parameters(6, {kH}),
                        seed % 3 == 0 ? 2U : 1U};
    Cell cell("random", function, {0});
    const auto run_twice = [&](bool is_recorded) {
      model.reset_gradient();
      ComputationGraph cg(true);
      Nodes states;
      const Expression loss = of.loss(
          cg, seed, [&](const Nodes& in) { return is_recorded ? cell(in) : function(cg, in); },
          &states);
      const Nodes slopes = gradient(loss, {states[0], states[1], parameter(cg, of.parameters[0])});
      Nodes parts;
      Numbers all;
      for (const Expression& g : slopes) {
        const Expression part = sum_elems(cmult(g, g));
        parts.push_back(g.dim().bd == 1 ? part : sum_batches(part));
        all.push_back(testing::numbers(g.value()));
      }
      cg.backward(sum(parts));
      const Numbers gradients = of.gradients();
      all.insert(all.end(), gradients.begin(), gradients.end());
      return all;
    };
    expect_equal(run_twice(true), run_twice(false), "seed " + std::to_string(seed));
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST_F(UserCell, WithinAnotherCellIsPartOfIt) {
  Cell inner("inner", lstm);
  Cell outer("outer", [&](ComputationGraph& g, const Nodes& in) {
    const Nodes once = inner(in);
    return inner({in[0], once[0], parameter(g, lstm.b[0]) + once[1]});
  });
  const Nodes in{word(1), word(2), word(3)};
  const Expression found = outer(in)[0];
  const Nodes once = lstm(cg, in);
  const Nodes twice = lstm(cg, {in[0], once[0], parameter(cg, lstm.b[0]) + once[1]});
  for (unsigned i = 0; i < kH; ++i) {
    EXPECT_NEAR(as_vector(found.value())[i], as_vector(twice[0].value())[i],
                tolerance::kCellInFloat);
  }
}

TEST_F(UserCell, ReadsParametersAsTheyAre) {
  Parameter p = model.add_parameters({kH}, ParameterInitConst(1.0F));
  Cell cell("sum",
            [&](ComputationGraph& g, const Nodes& in) { return Nodes{in[0] + parameter(g, p)}; });
  const Expression zero = zeros(cg, {kH});
  EXPECT_EQ(as_vector(cell({zero})[0].value())[0], 1.0F);
  cg.checkpoint();
  p.set_value(std::vector<float>(kH, 2.0F));
  cg.revert();
  ComputationGraph other;
  EXPECT_EQ(as_vector(cell({zeros(other, {kH})})[0].value())[0], 2.0F);
  cg.clear();
  EXPECT_EQ(as_vector(cell({zeros(cg, {kH})})[0].value())[0], 2.0F);
  const InferenceScope inference;
  EXPECT_EQ(as_vector(cell({zeros(cg, {kH})})[0].value())[4], 2.0F);
}

TEST_F(UserCell, NumbersOfTheFunctionArePartOfIt) {
  const Nodes in{word(1)};
  const auto times = [&](float factor) {
    Cell cell("times",
              [factor](ComputationGraph&, const Nodes& x) { return Nodes{factor * x[0]}; });
    return as_vector(cell(in)[0].value())[0];
  };
  EXPECT_EQ(times(2.0F), 2.0F * as_vector(in[0].value())[0]);
  EXPECT_EQ(times(4.0F), 4.0F * as_vector(in[0].value())[0]);
}

/// More sums of inputs than a node has results.
TEST_F(UserCell, WithManyGatesLeavesSomeInputsWithTheState) {
  const Lstm second(model);
  const auto function = [&](ComputationGraph& g, const Nodes& in) {
    const Nodes a = lstm(g, in);
    const Nodes b = second(g, {tanh(in[0]), in[1], in[2]});
    return Nodes{a[0] + b[0], a[1] + b[1]};
  };
  Cell cell("two", function, {0});
  const Nodes in{word(1), word(2), word(3)};
  const std::size_t before = cg.nodes.size();
  const Nodes found = cell(in);
  EXPECT_EQ(cg.nodes.size(), before + 24 + 4 + 2);
  const Nodes wanted = function(cg, in);
  for (unsigned i = 0; i < kH; ++i) {
    EXPECT_NEAR(as_vector(found[0].value())[i], as_vector(wanted[0].value())[i],
                tolerance::kCellInFloat);
  }
}

TEST_F(UserCell, WithoutRecordingRunsItsFunction) {
  unsigned calls = 0;
  const auto function = [&](ComputationGraph& g, const Nodes& in) {
    ++calls;
    return lstm(g, in);
  };
  const Nodes in{word(1), word(2), word(3)};
  Cell plain("lstm", function, {0}, false);
  plain(in);
  plain(in);
  EXPECT_EQ(calls, 2U);
  Cell cell("lstm", function, {0});
  cell(in);
  cell(in);
  EXPECT_EQ(calls, 3U);
  cell({word(1), in[1], lookup(cg, words, std::vector<unsigned>{1, 2})});  // with a batch
  EXPECT_EQ(calls, 4U);
}

// ---- refusals

std::string refusal(ComputationGraph& cg, const Nodes& args, const Cell::Function& function) {
  const std::size_t before = cg.nodes.size();
  Cell cell("bad", function);
  std::string text;
  try {
    cell(args);
  } catch (const errors::Error& e) {
    text = e.message();
  }
  EXPECT_EQ(cg.nodes.size(), before);
  const Expression still = args.empty() ? Expression() : args[0];
  EXPECT_TRUE(args.empty() || !still.is_stale());
  return text;
}

TEST_F(UserCell, RefusesWhatAProgramCannotHold) {
  const Expression x = word(1);
  const Expression outside = tanh(x);
  const auto refused = [&](const Cell::Function& f) { return refusal(cg, {x}, f); };
  using G = ComputationGraph&;
  const auto begins = [](const std::string& text, const std::string& with) {
    EXPECT_EQ(text.substr(0, with.size()), with);
  };
  begins(
      refused([](G, const Nodes& in) { return Nodes{dropout(in[0], 0.5F)}; }),
      "cell(bad): dropout draws random numbers, new ones for each call; want it outside of the "
      "cell, or the function called without a cell\n  node 1, dropout(v0, p=0.5) {5}, built at ");
  begins(refused([&](G g, const Nodes& in) { return Nodes{in[0] + lookup(g, words, 2U)}; }),
         "cell(bad): its function looks up a row; want the lookup outside, and the row as an "
         "argument\n  node 1, lookup(");
  begins(refused([](G g, const Nodes& in) { return Nodes{in[0] + input(g, 2.0F)}; }),
         "cell(bad): its function makes an input of numbers; want it outside, as an argument\n");
  begins(
      refused([](G, const Nodes& in) {
        return Nodes{as_scalar(sum_elems(in[0]).value()) > 0.0F ? in[0] : -in[0]};
      }),
      "cell(bad): its function asks for a value that depends on argument 0, but it runs once for "
      "all values; want the value asked for outside and passed as a number, or the function "
      "called without a cell");
  begins(refused([](G, const Nodes& in) { return Nodes{sum_batches(in[0])}; }),
         "cell(bad): sum_batches mixes the examples of a batch; want it outside of the cell\n");
  EXPECT_NE(refused([&](G, const Nodes& in) { return Nodes{in[0] + outside}; })
                .find("\n  in cell bad, whose function may use its arguments and parameters; want "
                      "other expressions passed as arguments"),
            std::string::npos);
  begins(refused([&](G, const Nodes&) { return Nodes{outside}; }),
         "cell(bad): a result of its function is an expression from outside; want results of the "
         "call\n");
  begins(refused([](G, const Nodes& in) { return Nodes(5, in[0]); }),
         "cell(bad): its function has 5 results; want 1 to 4 expressions");
  begins(refused([](G g, const Nodes&) { return Nodes{zeros(g, {kH})}; }),
         "cell(bad): its results depend on no argument");
  static const unsigned index = 1;
  begins(refused([](G, const Nodes& in) { return Nodes{pick(in[0], &index)}; }),
         "cell(bad): pick reads numbers behind a pointer; want them by value\n");
  begins(refusal(cg, {}, [](G, const Nodes& in) { return in; }),
         "cell(bad): there are no arguments; want at least one expression");
  begins(refused([](G, const Nodes& in) { return Nodes{affine_transform({in[0], in[0]})}; }),
         "affine_transform(");
}

TEST_F(UserCell, RefusesAResultWithoutTheBatch) {
  const Nodes args{lookup(cg, words, std::vector<unsigned>{1, 2, 3}), word(1)};
  EXPECT_EQ(
      refusal(cg, args,
              [](ComputationGraph&, const Nodes& in) { return Nodes{in[0] + in[1], tanh(in[1])}; })
          .substr(0, 82),
      "cell(bad): a result has 1 examples beside arguments of 3; want results that depend");
}

TEST_F(UserCell, RecordsDropoutForEvaluationAlone) {
  Cell cell("drop",
            [](ComputationGraph&, const Nodes& in) { return Nodes{tanh(dropout(in[0], 0.5F))}; });
  const Expression x = word(1);
  {
    const Evaluating evaluating;
    EXPECT_EQ(as_vector(cell({x})[0].value()), as_vector(tanh(x).value()));
  }
  EXPECT_THROW(cell({x}), errors::UsageError);
}

TEST_F(UserCell, RefusesArgumentsOfTwoGraphsAndStaleOnes) {
  Cell cell("lstm", lstm);
  const Nodes in{word(1), word(2), word(3)};
  cell(in);
  ComputationGraph other;
  EXPECT_THROW(cell({in[0], in[1], lookup(other, words, 1U)}), errors::GraphError);
  cg.clear();
  EXPECT_THROW(cell(in), errors::StaleExpression);
}

}  // namespace
}  // namespace dynet
