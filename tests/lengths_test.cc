// Sentences of different lengths in one graph: which of their nodes share calls, and that values
// and gradients are the same merged, one by one, and by differences. Example: tanh of {3,2} and of
// {3,5} is one call over seven columns.

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/cell.h"
#include "dynet/debug.h"
#include "dynet/expr.h"
#include "dynet/expr/gradient.h"
#include "dynet/inference.h"
#include "dynet/model.h"

#include "support/differences.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Expressions = std::vector<Expression>;

constexpr unsigned kSize = 3;

/// Parameters of the steps below, and a table of words.
struct Model {
  explicit Model(Device* device)
      : table(all.add_lookup_parameters(7, {kSize}, "words", device)),
        w(add({kSize, kSize}, device)),
        b(add({kSize}, device)),
        gain(add({kSize}, device)),
        one(add({1, kSize}, device)) {
    testing::draw_values(all);
  }
  Parameter add(const Dim& d, Device* device) { return all.add_parameters(d, device); }
  ParameterCollection all;
  LookupParameter table;
  Parameter w, b, gain, one;
};

/// A sentence in a graph: a matrix {3,n}, and the parameters.
struct Sentence {
  Expression x, w, b, gain, one;
  Expression vector;  ///< {3}, of this sentence alone
  Expression first;   ///< the first example of x
};

Expression words(ComputationGraph& cg, const Model& m, unsigned length, unsigned seed,
                 unsigned batch) {
  Expressions all;
  for (unsigned i = 0; i < length; ++i) {
    std::vector<unsigned> rows;
    rows.reserve(batch);
    for (unsigned e = 0; e < batch; ++e) {
      rows.push_back((seed + i * (seed + 3) + 2 * e) % 7);
    }
    all.push_back(lookup(cg, m.table, rows));
  }
  return concatenate_cols(all);
}

Sentence sentence(ComputationGraph& cg, const Model& m, unsigned length, unsigned seed,
                  unsigned batch = 1) {
  return {words(cg, m, length, seed, batch),
          parameter(cg, m.w),
          parameter(cg, m.b),
          parameter(cg, m.gain),
          parameter(cg, m.one),
          lookup(cg, m.table, seed % 7),
          words(cg, m, length, seed, 1)};
}

/// The node of a cell is not cut; its steps are called with whole matrices.
Expression cell_of(const Sentence& s, const Expression& x) {
  static Cell cell("of matrices", [](ComputationGraph& /*cg*/, const Expressions& in) {
    const Expression y = tanh(in[1] * in[0]);
    return Expressions{y + cmult(in[0], softmax(y))};
  });
  return cell({x, s.w})[0];
}

/// Something that a program does with the matrix of a sentence.
struct Step {
  const char* name;
  std::function<Expression(const Sentence&, const Expression& x)> add;
  bool is_cut;  ///< all its nodes share a call whatever their lengths are
};

const std::vector<Step>& steps() {
  static const std::vector<Step> all{
      {"tanh", [](const Sentence&, const Expression& x) { return tanh(x); }, true},
      {"scaled", [](const Sentence&, const Expression& x) { return x * 0.75F + 0.25F; }, true},
      {"product twice",
       [](const Sentence& s, const Expression& x) { return s.w * x - tanh(s.w * x); }, true},
      {"beside one example",
       [](const Sentence& s, const Expression& x) {
         return affine_transform({s.b, s.w, x, s.w, s.first});
       },
       true},
      {"product", [](const Sentence& s, const Expression& x) { return s.w * x; }, true},
      {"affine",
       [](const Sentence& s, const Expression& x) { return affine_transform({s.b, s.w, x}); },
       true},
      {"affine of two",
       [](const Sentence& s, const Expression& x) {
         return affine_transform({x, s.w, tanh(x), s.w, s.x});
       },
       true},
      {"residual", [](const Sentence& s, const Expression& x) { return x + cmult(s.x, x); }, true},
      {"layer norm",
       [](const Sentence& s, const Expression& x) { return layer_norm(x, s.gain, s.b); }, true},
      {"softmax of columns", [](const Sentence&, const Expression& x) { return softmax(x); }, true},
      {"joined rows",
       [](const Sentence& s, const Expression& x) {
         return pick_range(concatenate({x, s.x}), 1, 4);
       },
       false},
      {"scores",
       [](const Sentence& s, const Expression& x) {
         return cmult(x, transpose(softmax(transpose(s.one * x))));
       },
       false},
      {"vector for each", [](const Sentence& s, const Expression& x) { return x + s.vector; },
       false},
      {"self attention",
       [](const Sentence& s, const Expression& x) {
         return x * softmax(transpose(s.w * x) * x / 2.0F);
       },
       false},
      {"cell", cell_of, false},
      {"sums of columns",
       [](const Sentence&, const Expression& x) { return x + transpose(sum_dim(x, {0U})); }, true},
      {"one longer",
       [](const Sentence& s, const Expression& x) { return concatenate_cols({x, s.vector}); },
       false},
  };
  return all;
}

/// Sentences with the same steps, one after the other for each sentence, or for a batch of two.
struct Task {
  std::vector<unsigned> lengths;
  std::vector<unsigned> batches;
  std::vector<std::size_t> steps;
};

/// `whole`: the matrices of the sentences are given as numbers, which have no lengths.
Expression loss_of(ComputationGraph& cg, const Model& m, const Task& task, Expressions* results,
                   bool whole = false) {
  Expressions losses;
  for (unsigned i = 0; i < task.lengths.size(); ++i) {
    Sentence s = sentence(cg, m, task.lengths[i], i, task.batches[i]);
    if (whole) {
      s.x = input(cg, s.x.dim(), as_vector(s.x.value()));
      s.first = input(cg, s.first.dim(), as_vector(s.first.value()));
    }
    Expression x = s.x;
    for (const std::size_t step : task.steps) {
      const unsigned before = x.dim()[1];
      x = steps()[step].add(s, x);
      if (x.dim()[1] != before) {
        s.x = x;
        s.first = concatenate_cols({s.first, s.vector});
      }
    }
    if (results != nullptr) {
      results->push_back(x);
    }
    losses.push_back(sum_batches(squared_norm(x)));
    losses.push_back(sum_batches(dot_product(x.dim().nd == 1 ? x : pick(x, 0U, 1U), s.vector)));
  }
  return sum(losses);
}

Task random_task(testing::Draw& draw) {
  const auto below = [&draw](std::size_t n) {
    return static_cast<std::size_t>(draw(1, 0.0, static_cast<double>(n))[0]) % n;
  };
  Task task;
  for (std::size_t i = 1 + below(6); i != 0; --i) {
    task.lengths.push_back(1 + static_cast<unsigned>(below(6)));
    task.batches.push_back(1 + static_cast<unsigned>(below(4) / 3));
  }
  for (std::size_t i = 1 + below(5); i != 0; --i) {
    task.steps.push_back(below(steps().size()));
  }
  return task;
}

std::string text_of(const Task& task) {
  std::string text = "lengths";
  for (std::size_t i = 0; i < task.lengths.size(); ++i) {
    text += ' ' + std::to_string(task.lengths[i]) + 'x' + std::to_string(task.batches[i]);
  }
  for (const std::size_t step : task.steps) {
    text += std::string(", ") + steps()[step].name;
  }
  return text;
}

std::vector<double> numbers_of(Model& m, const Task& task, bool batching, bool whole = false,
                               bool full = false) {
  m.all.reset_gradient();
  ComputationGraph cg(batching);
  Expressions results;
  const Expression loss = loss_of(cg, m, task, &results, whole);
  std::vector<double> all = as_double_vector(cg.forward(loss));
  cg.backward(loss, full);
  const auto add = [&all](const Tensor& t) {
    const std::vector<double> more = as_double_vector(t);
    all.insert(all.end(), more.begin(), more.end());
  };
  for (const Expression& e : results) {
    add(e.value());
    add(e.gradient());
  }
  for (const auto& p : m.all.parameters_list()) {
    if (p->has_grad()) {
      add(p->g);
    }
  }
  return all;
}

std::vector<double> numbers_on(Device* device, const Task& task, bool batching) {
  const testing::DefaultDevice scope(device);
  Model m(device);
  return numbers_of(m, task, batching);
}

TEST(Lengths, RandomSentencesMergedEqualOneByOne) {
  testing::Draw draw(11);
  int passed_over = 0;
  for (int i = 0; i < 400; ++i) {
    const Task task = random_task(draw);
    SCOPED_TRACE(text_of(task));
    const std::vector<double> expected = numbers_on(testing::double_device(), task, false);
    ASSERT_EQ(testing::compare(numbers_on(testing::double_device(), task, true), expected,
                               tolerance::kMergedInDouble),
              "");
    // A norm of nearly equal numbers: the rounding of float decides, one by one too.
    if (!testing::compare(numbers_on(testing::float_device(), task, false), expected,
                          tolerance::kSumsInFloat)
             .empty()) {
      ++passed_over;
      continue;
    }
    ASSERT_EQ(testing::compare(numbers_on(testing::float_device(), task, true), expected,
                               tolerance::kFloatAgainstDouble),
              "");
  }
  EXPECT_LT(passed_over, 100);
}

/// Columns and whole matrices are two ways through the kernels.
TEST(Lengths, ColumnsComputeWhatWholeMatricesDo) {
  const testing::DefaultDevice scope(testing::double_device());
  Model m(testing::double_device());
  testing::Draw draw(14);
  for (int i = 0; i < 200; ++i) {
    const Task task = random_task(draw);
    SCOPED_TRACE(text_of(task));
    ASSERT_EQ(testing::compare(numbers_of(m, task, true, false, true),
                               numbers_of(m, task, false, true, true), tolerance::kMergedInDouble),
              "");
  }
}

/// Merged and one by one could be wrong together.
TEST(Lengths, GradientsAgreeWithDifferences) {
  const testing::DefaultDevice scope(testing::double_device());
  Model m(testing::double_device());
  testing::Draw draw(12);
  for (int i = 0; i < 25; ++i) {
    const Task task = random_task(draw);
    SCOPED_TRACE(text_of(task));
    testing::expect_gradients(
        m.all, [&](ComputationGraph& cg) { return loss_of(cg, m, task, nullptr); }, 3);
  }
}

/// The numbers of a gradient of gradients of a step for some sentences.
std::vector<double> second_gradients(Model& m, const Step& step, bool batching) {
  m.all.reset_gradient();
  ComputationGraph cg(batching);
  Expressions xs;
  Expressions losses;
  for (const unsigned length : {3U, 1U, 4U, 3U}) {
    const Sentence s = sentence(cg, m, length, length);
    xs.push_back(s.x);
    losses.push_back(squared_norm(step.add(s, s.x)));
  }
  for (Expression& g : xs = gradient(sum(losses), xs)) {
    g = squared_norm(g);
  }
  const Expression loss = sum(xs);
  std::vector<double> all = as_double_vector(cg.forward(loss));
  cg.backward(loss);
  for (const auto& p : m.all.parameters_list()) {
    const std::vector<double> more = as_double_vector(p->g);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST(Lengths, GradientsOfGradientsMergedEqualOneByOne) {
  const testing::DefaultDevice scope(testing::double_device());
  Model m(testing::double_device());
  for (const Step& step : steps()) {
    EXPECT_EQ(testing::compare(second_gradients(m, step, true), second_gradients(m, step, false),
                               tolerance::kMergedInDouble),
              "")
        << step.name;
  }
}

/// An inference scope lays results out by lifetime.
TEST(Lengths, AnInferenceScopeComputesTheSame) {
  const Model m(default_device);
  testing::Draw draw(13);
  for (int i = 0; i < 50; ++i) {
    const Task task = random_task(draw);
    SCOPED_TRACE(text_of(task));
    ComputationGraph cg;
    const Expression loss = loss_of(cg, m, task, nullptr);
    const double expected = as_double_vector(cg.forward(loss))[0];
    cg.invalidate();
    const InferenceScope inference;
    EXPECT_EQ(testing::compare(as_double_vector(cg.forward(loss)), {expected},
                               tolerance::kFloatAgainstDouble),
              "");
  }
}

/// Counts the forward calls of the operations of steps.
struct Calls final : execute::Hook {
  void before_call(const graph::Graph& graph, const execute::Hook::Call& call) override {
    const std::string_view name = graph[call.members[0]].record().info->name;
    count += name == "squared_norm" || name == "sum" ? 0U : 1U;
  }
  std::size_t count = 0;
};

/// The forward calls of a step for sentences of these lengths.
std::size_t calls_of(const Step& step, const std::vector<unsigned>& lengths) {
  const Model m(default_device);
  ComputationGraph cg;
  Calls calls;
  Expressions before;
  Expressions after;
  std::vector<Sentence> all;
  unsigned seed = 0;
  for (const unsigned length : lengths) {
    all.push_back(sentence(cg, m, length, seed++));
    for (const Expression& e : {all.back().x, all.back().vector, all.back().first}) {
      before.push_back(squared_norm(e));
    }
  }
  cg.forward(sum(before));
  for (const Sentence& s : all) {
    after.push_back(squared_norm(step.add(s, s.x)));
  }
  testing::observe(cg, &calls);
  cg.incremental_forward(sum(after));
  testing::observe(cg, nullptr);
  return calls.count;
}

TEST(Lengths, CutStepsHaveTheCallsOfOneSentence) {
  for (const Step& step : steps()) {
    const std::size_t of_one = calls_of(step, {4});
    const std::size_t of_all = calls_of(step, {1, 2, 3, 5});
    if (step.is_cut) {
      EXPECT_EQ(of_all, of_one) << step.name;
    } else {
      EXPECT_LE(of_all, 4 * of_one) << step.name;
    }
  }
}

TEST(Lengths, ExplainSaysWhichNodesHaveCallsOfTheirOwn) {
  const Model m(default_device);
  ComputationGraph cg;
  const Sentence a = sentence(cg, m, 2, 0);
  const Sentence b = sentence(cg, m, 5, 1);
  EXPECT_EQ(explain_batch(tanh(a.x), tanh(b.x)), "equal keys");
  EXPECT_EQ(explain_batch(a.x + a.vector, b.x + b.vector),
            "argument 0: {3,2} != {3,5}; the lengths of lists, but the operation does not take "
            "column by column");
  // A matrix that no list made has no length.
  const Expression c = input(cg, {3, 5}, std::vector<float>(15, 0.5F));
  const Expression d = input(cg, {3, 2}, std::vector<float>(6, 0.5F));
  EXPECT_EQ(explain_batch(tanh(c), tanh(d)), "argument 0: {3,5} != {3,2}");
}

}  // namespace
}  // namespace dynet
