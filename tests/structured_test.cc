// Trees: the searches and the sums of dynet/structured.h against all trees one by one, forbidden
// arcs, padded batches, gradients, scores far apart, bounds, errors.

#include "dynet/structured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dynet/expr.h"

#include "support/differences.h"
#include "support/observe.h"
#include "support/one_graph.h"
#include "support/trees.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<double>;
using Lengths = std::vector<unsigned>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Sum of the scores {rows,words} of the arcs; `rows` may be more than the words of the tree.
double sum_of_arcs(const Floats& scores, std::size_t rows, const Heads& heads) {
  double sum = 0.0;
  for (std::size_t d = 0; d < heads.size(); ++d) {
    sum += static_cast<double>(scores[(d * rows) + heads[d]]);
  }
  return sum;
}
/// Sum of the scores {rows,rows,labels} of the spans.
double sum_of_spans(const Floats& scores, std::size_t rows, const Spans& spans) {
  double sum = 0.0;
  for (const LabelledSpan& s : spans) {
    sum += static_cast<double>(scores[(((s.label * rows) + s.end - 1) * rows) + s.begin]);
  }
  return sum;
}

/// The logarithm of a sum of exponentials.
double log_sum(const Numbers& logs) {
  const double most = *std::max_element(logs.begin(), logs.end());
  if (std::isinf(most)) {
    return most;
  }
  double sum = 0.0;
  for (const double x : logs) {
    sum += std::exp(x - most);
  }
  return most + std::log(sum);
}

template <class Structure>
Numbers scores_of(const std::vector<Structure>& all,
                  const std::function<double(const Structure&)>& score) {
  Numbers scores;
  scores.reserve(all.size());
  for (const Structure& one : all) {
    scores.push_back(score(one));
  }
  return scores;
}

/// The kinds of dependency trees.
struct Kind {
  const char* name;
  bool projective, single_root;
  [[nodiscard]] Heads best(const Tensor& scores) const {
    if (single_root) {
      return projective ? eisner(scores) : max_spanning_tree(scores);
    }
    return best(scores, {})[0];
  }
  [[nodiscard]] std::vector<Heads> best(const Tensor& scores, const Lengths& lengths) const {
    return projective ? eisner(scores, lengths, single_root)
                      : max_spanning_tree(scores, lengths, single_root);
  }
  [[nodiscard]] Expression log_partition(const Expression& scores,
                                         const Lengths& lengths = {}) const {
    return projective ? eisner_log_partition(scores, lengths, single_root)
                      : spanning_tree_log_partition(scores, lengths, single_root);
  }
  [[nodiscard]] std::vector<Heads> all(unsigned words) const {
    return all_trees(words, single_root, projective);
  }
};

class DependencyTrees : public ::testing::TestWithParam<Kind>, protected OneGraph {
 protected:
  Expression in(const Dim& d, const Floats& numbers) { return input(cg, d, numbers, device); }
  Floats drawn(unsigned words, double scale = 2.0) {
    Floats numbers;
    for (unsigned i = 0; i < (words + 1) * words; ++i) {
      numbers.push_back(static_cast<float>(random.uniform(-scale, scale)));
    }
    return numbers;
  }
  /// Some arcs less; the arcs of a word to itself have a number that must not count.
  void forbid_some(Floats& scores, unsigned words) {
    for (unsigned d = 0; d < words; ++d) {
      for (unsigned h = 0; h <= words; ++h) {
        float& score = scores[(d * (words + 1)) + h];
        score = h == d + 1 ? kNan : (random.uniform(0.0, 1.0) < 0.4 ? -kInf : score);
      }
    }
  }
  [[nodiscard]] Numbers sums(const Floats& scores, unsigned words, std::size_t rows) const {
    return scores_of<Heads>(GetParam().all(words),
                            [&](const Heads& heads) { return sum_of_arcs(scores, rows, heads); });
  }
  Device* device = double_device();
  const DefaultDevice scope{device};
  Random random{5};
};
INSTANTIATE_TEST_SUITE_P(Kinds, DependencyTrees,
                         ::testing::Values(Kind{"SpanningOneRoot", false, true},
                                           Kind{"SpanningManyRoots", false, false},
                                           Kind{"ProjectiveOneRoot", true, true},
                                           Kind{"ProjectiveManyRoots", true, false}),
                         [](const auto& p) { return p.param.name; });

TEST_P(DependencyTrees, TheSuiteKnowsTheirNumber) {
  const Kind& kind = GetParam();
  const std::size_t four =
      kind.projective ? (kind.single_root ? 30 : 55) : (kind.single_root ? 64 : 125);
  EXPECT_EQ(kind.all(4).size(), four);
  EXPECT_NEAR(as_double_vector(kind.log_partition(in({5, 4}, Floats(20, 0.0F))).value())[0],
              std::log(static_cast<double>(four)), tolerance::kSameInDouble);
}

TEST_P(DependencyTrees, TheBestOfAll) {
  for (unsigned words = 1; words <= 5; ++words) {
    const std::vector<Heads> all = GetParam().all(words);
    for (int draw = 0; draw < 20; ++draw) {
      const Floats scores = drawn(words);
      const Numbers each = sums(scores, words, words + 1);
      const auto best = std::max_element(each.begin(), each.end()) - each.begin();
      EXPECT_EQ(GetParam().best(in({words + 1, words}, scores).value()),
                all[static_cast<std::size_t>(best)])
          << words << " words, draw " << draw;
    }
  }
}

/// Scores are whole numbers, so that trees are equally good: the sum decides alone.
TEST_P(DependencyTrees, OfEquallyGoodOnes) {
  for (int draw = 0; draw < 100; ++draw) {
    Floats scores = drawn(4);
    for (float& score : scores) {
      score = std::round(score / 2.0F);
    }
    const Numbers each = sums(scores, 4, 5);
    const Heads heads = GetParam().best(in({5, 4}, scores).value());
    EXPECT_TRUE(is_tree(heads) && (is_projective(heads) || !GetParam().projective));
    EXPECT_EQ(sum_of_arcs(scores, 5, heads), *std::max_element(each.begin(), each.end()));
    EXPECT_EQ(heads, GetParam().best(in({5, 4}, scores).value()));
  }
}

TEST_P(DependencyTrees, ForbiddenArcs) {
  int none = 0;
  for (int draw = 0; draw < 200; ++draw) {
    const unsigned words = 2 + (static_cast<unsigned>(draw) % 3);
    Floats scores = drawn(words);
    forbid_some(scores, words);
    const Numbers each = sums(scores, words, words + 1);
    const double best = *std::max_element(each.begin(), each.end());
    const Expression x = in({words + 1, words}, scores);
    const Expression all = GetParam().log_partition(x);
    EXPECT_EQ(compare(as_double_vector(all.value()), {log_sum(each)}, tolerance::kSameInDouble), "")
        << "draw " << draw;
    cg.backward(all, true);
    for (const double g : as_double_vector(x.gradient())) {
      EXPECT_TRUE(g >= -tolerance::kSameInDouble && g <= 1.0 + tolerance::kSameInDouble) << g;
    }
    if (std::isinf(best)) {
      ++none;
      EXPECT_THROW(static_cast<void>(GetParam().best(x.value())), errors::NumericError);
    } else {
      EXPECT_EQ(sum_of_arcs(scores, words + 1, GetParam().best(x.value())), best);
    }
  }
  EXPECT_GT(none, 10);
  EXPECT_LT(none, 190);
}

TEST_P(DependencyTrees, SumsAndMarginals) {
  for (unsigned words = 1; words <= 5; ++words) {
    const Floats scores = drawn(words);
    const std::vector<Heads> all = GetParam().all(words);
    const Numbers each = sums(scores, words, words + 1);
    const double logarithm = log_sum(each);
    Numbers marginals(scores.size());
    for (std::size_t t = 0; t < all.size(); ++t) {
      for (std::size_t d = 0; d < words; ++d) {
        marginals[(d * (words + 1)) + all[t][d]] += std::exp(each[t] - logarithm);
      }
    }
    const Expression x = in({words + 1, words}, scores);
    const Expression y = GetParam().log_partition(x);
    EXPECT_EQ(y.dim(), Dim({1}));
    EXPECT_EQ(compare(as_double_vector(y.value()), {logarithm}, tolerance::kSameInDouble), "");
    cg.backward(y, true);
    EXPECT_EQ(compare(as_double_vector(x.gradient()), marginals, tolerance::kSameInDouble), "");
    const Expression score = tree_score(x, all.back());
    EXPECT_EQ(score.dim(), Dim({1}));
    EXPECT_EQ(compare(as_double_vector(score.value()), {each.back()}, tolerance::kSameInDouble),
              "");
  }
}

TEST_P(DependencyTrees, GradientsAgreeWithDifferences) {
  ParameterCollection model;
  const Parameter p = model.add_parameters(Dim({6, 5}));
  draw_values(model);
  expect_gradients(model, [&](ComputationGraph& g) {
    const Expression x = parameter(g, p);
    return GetParam().log_partition(x) - tree_score(x, Heads{3, 3, 0, 5, 3});
  });
}

TEST_P(DependencyTrees, MarginalsAsNodesHaveGradients) {
  ParameterCollection model;
  const Parameter p = model.add_parameters(Dim({5, 4}));
  draw_values(model);
  expect_gradients(model, [&](ComputationGraph& g) {
    const Expression x = parameter(g, p);
    return sum_elems(square(gradient(GetParam().log_partition(x), {x})[0]));
  });
}

TEST_P(DependencyTrees, PaddedBatchesAreTheirSentences) {
  const Lengths lengths{3, 5, 1, 4, 5};
  constexpr unsigned kWords = 5;
  Floats scores;
  std::vector<Heads> gold;
  for (const unsigned n : lengths) {
    Floats own = drawn(kWords);
    for (unsigned d = 0; d < kWords; ++d) {
      for (unsigned h = 0; h <= kWords; ++h) {
        if (d >= n || h > n) {
          own[(d * (kWords + 1)) + h] = kNan;  // behind the end
        }
      }
    }
    scores.insert(scores.end(), own.begin(), own.end());
    gold.push_back(GetParam().all(n).back());
  }
  const Expression x = in(Dim({kWords + 1, kWords}, 5), scores);
  const Expression y = GetParam().log_partition(x, lengths);
  const Expression s = tree_score(x, gold);
  EXPECT_EQ(y.dim(), Dim({1}, 5));
  EXPECT_EQ(s.dim(), Dim({1}, 5));
  const std::vector<Heads> best = GetParam().best(x.value(), lengths);
  cg.backward(sum_batches(y - s), true);
  const Numbers gradients = as_double_vector(x.gradient());
  const Numbers values = as_double_vector(y.value());
  const Numbers given = as_double_vector(s.value());
  for (std::size_t e = 0; e < lengths.size(); ++e) {
    const unsigned n = lengths[e];
    Floats own;
    Numbers theirs;
    for (unsigned d = 0; d < kWords; ++d) {
      for (unsigned h = 0; h <= kWords; ++h) {
        const std::size_t i = (((e * kWords) + d) * (kWords + 1)) + h;
        if (d < n && h <= n) {
          own.push_back(scores[i]);
          theirs.push_back(gradients[i]);
        } else {
          EXPECT_EQ(gradients[i], 0.0);
        }
      }
    }
    const Expression alone = in({n + 1, n}, own);
    const Expression one = GetParam().log_partition(alone);
    const Expression score = tree_score(alone, gold[e]);
    EXPECT_EQ(compare({values[e]}, as_double_vector(one.value()), tolerance::kSameInDouble), "");
    EXPECT_EQ(compare({given[e]}, as_double_vector(score.value()), tolerance::kSameInDouble), "");
    cg.backward(one - score, true);
    EXPECT_EQ(compare(theirs, as_double_vector(alone.gradient()), tolerance::kSameInDouble), "");
    EXPECT_EQ(best[e], GetParam().best(alone.value()));
  }
}

/// Words that prefer each other as heads: the determinant of the matrix-tree theorem has lost all
/// digits long before. And numbers whose exponentials are no floats.
TEST_P(DependencyTrees, ScoresFarApart) {
  for (Device* const on : {double_device(), float_device()}) {
    for (int draw = 0; draw < 20; ++draw) {
      const Floats scores = drawn(4, 300.0);
      const Expression y = GetParam().log_partition(input(cg, {5, 4}, scores, on));
      EXPECT_EQ(compare(as_double_vector(y.value()), {log_sum(sums(scores, 4, 5))},
                        on->is_double() ? tolerance::kSameInDouble : tolerance::kFewInFloat),
                "");
    }
  }
}

TEST_P(DependencyTrees, SentencesOfOneLengthMerge) {
  const auto calls = [&](unsigned sentences) {
    ComputationGraph g;
    std::vector<Expression> all;
    all.reserve(sentences);
    for (unsigned i = 0; i < sentences; ++i) {
      all.push_back(GetParam().log_partition(input(g, {5, 4}, drawn(4), device)));
    }
    Observed observed;
    observe(g, &observed);
    static_cast<void>(sum(all).value());
    observe(g, nullptr);
    return observed.calls().size();
  };
  EXPECT_EQ(calls(2), calls(6));
}

TEST(ManyWords, GroupsInGroups) {
  // Each word's best head is the word before it, the first word's the last: a cycle of all words.
  constexpr unsigned kWords = 300;
  Floats scores(std::size_t{kWords + 1} * kWords, 0.0F);
  for (unsigned d = 0; d < kWords; ++d) {
    scores[(d * (kWords + 1)) + (d == 0 ? kWords : d)] = 9.0F;
  }
  scores[std::size_t{7} * (kWords + 1)] = 1.0F;  // of all arcs from the root this one costs least
  ComputationGraph cg;
  const Heads heads = max_spanning_tree(input(cg, {kWords + 1, kWords}, scores).value());
  for (unsigned d = 0; d < kWords; ++d) {
    EXPECT_EQ(heads[d], d == 7 ? 0 : d == 0 ? kWords : d);
  }
}

// ---- constituents

class Constituents : public ::testing::Test, protected OneGraph {
 protected:
  static constexpr unsigned kLabels = 2;
  Floats drawn(unsigned words, double scale = 2.0) {
    Floats numbers;
    for (unsigned i = 0; i < words * words * kLabels; ++i) {
      numbers.push_back(static_cast<float>(random.uniform(-scale, scale)));
    }
    return numbers;
  }
  Expression in(unsigned words, const Floats& numbers) {
    return input(cg, {words, words, kLabels}, numbers, double_device());
  }
  static Numbers sums(const Floats& scores, unsigned words, std::size_t rows) {
    return scores_of<Spans>(all_bracketings(0, words, kLabels),
                            [&](const Spans& spans) { return sum_of_spans(scores, rows, spans); });
  }
  const DefaultDevice scope{double_device()};
  Random random{5};
};

TEST_F(Constituents, TheBestOfAllTheirSumAndMarginals) {
  EXPECT_EQ(all_bracketings(0, 4, 1).size(), 5U);
  for (unsigned words = 1; words <= 4; ++words) {
    const std::vector<Spans> all = all_bracketings(0, words, kLabels);
    for (int draw = 0; draw < 10; ++draw) {
      const Floats scores = drawn(words);
      const Numbers each = sums(scores, words, words);
      const auto best =
          static_cast<std::size_t>(std::max_element(each.begin(), each.end()) - each.begin());
      const double logarithm = log_sum(each);
      Numbers marginals(scores.size());
      for (std::size_t t = 0; t < all.size(); ++t) {
        for (const LabelledSpan& s : all[t]) {
          marginals[(((s.label * words) + s.end - 1) * words) + s.begin] +=
              std::exp(each[t] - logarithm);
        }
      }
      const Expression x = in(words, scores);
      EXPECT_EQ(cky(x.value()), all[best]);
      const Expression y = cky_log_partition(x);
      EXPECT_EQ(y.dim(), Dim({1}));
      EXPECT_EQ(compare(as_double_vector(y.value()), {logarithm}, tolerance::kSameInDouble), "");
      EXPECT_EQ(compare(as_double_vector(spans_score(x, all[best]).value()), {each[best]},
                        tolerance::kSameInDouble),
                "");
      cg.backward(y, true);
      EXPECT_EQ(compare(as_double_vector(x.gradient()), marginals, tolerance::kSameInDouble), "");
    }
  }
}

TEST_F(Constituents, ForbiddenSpans) {
  for (int draw = 0; draw < 50; ++draw) {
    Floats scores = drawn(4, 300.0);
    for (float& score : scores) {
      score = random.uniform(0.0, 1.0) < 0.3 ? -kInf : score;
    }
    const Numbers each = sums(scores, 4, 4);
    const double best = *std::max_element(each.begin(), each.end());
    const Expression x = in(4, scores);
    EXPECT_EQ(compare(as_double_vector(cky_log_partition(x).value()), {log_sum(each)},
                      tolerance::kSameInDouble),
              "");
    if (std::isinf(best)) {
      EXPECT_THROW(static_cast<void>(cky(x.value())), errors::NumericError);
    } else {
      EXPECT_EQ(sum_of_spans(scores, 4, cky(x.value())), best);
    }
  }
}

TEST_F(Constituents, GradientsAgreeWithDifferences) {
  ParameterCollection model;
  const Parameter p = model.add_parameters(Dim({4, 4, kLabels}));
  draw_values(model);
  const Spans gold{{1, 0, 4}, {0, 0, 1}, {1, 1, 4}, {0, 1, 3}, {0, 1, 2}, {0, 2, 3}, {0, 3, 4}};
  expect_gradients(model, [&](ComputationGraph& g) {
    const Expression x = parameter(g, p);
    return cky_log_partition(x) - spans_score(x, gold);
  });
}

TEST_F(Constituents, PaddedBatchesAreTheirSentences) {
  const Lengths lengths{3, 4, 1, 2};
  Floats scores;
  for (std::size_t e = 0; e < lengths.size(); ++e) {
    const Floats own = drawn(4);
    scores.insert(scores.end(), own.begin(), own.end());
  }
  const Expression x = input(cg, Dim({4, 4, kLabels}, 4), scores, double_device());
  const Expression y = cky_log_partition(x, lengths);
  EXPECT_EQ(y.dim(), Dim({1}, 4));
  const std::vector<Spans> best = cky(x.value(), lengths);
  const Numbers given = as_double_vector(spans_score(x, best).value());
  for (std::size_t e = 0; e < lengths.size(); ++e) {
    const Floats own(scores.begin() + static_cast<std::ptrdiff_t>(e * 16 * kLabels), scores.end());
    const Numbers each = sums(own, lengths[e], 4);
    EXPECT_EQ(compare({as_double_vector(y.value())[e]}, {log_sum(each)}, tolerance::kSameInDouble),
              "");
    const double most = *std::max_element(each.begin(), each.end());
    EXPECT_EQ(compare({given[e]}, {most}, tolerance::kSameInDouble), "");
    EXPECT_EQ(sum_of_spans(own, 4, best[e]), most);
  }
}

// ---- errors

class StructuredErrors : public ::testing::Test, protected OneGraph {};

TEST_F(StructuredErrors, LeaveNoNodes) {
  const Expression arcs = ones(cg, Dim({4, 3}, 2));
  const Expression spans = ones(cg, Dim({3, 3, 2}, 2));
  const Expression square = ones(cg, {3, 3});
  refuses<errors::ShapeError>({[&] { return spanning_tree_log_partition(square); },
                               [&] { return eisner_log_partition(square); },
                               [&] { return tree_score(square, Heads{0}); },
                               [&] { return cky_log_partition(arcs); },
                               [&] { return spans_score(arcs, Spans{{0, 0, 1}}); }});
  refuses<errors::ValueError>({[&] { return spanning_tree_log_partition(arcs, {3}); },
                               [&] { return eisner_log_partition(arcs, {3, 3, 3}); },
                               [&] { return cky_log_partition(spans, {3}); },
                               [&] { return tree_score(arcs, Heads{}); },
                               [&] { return tree_score(arcs, Heads{0, 1, 1, 1}); },
                               [&] { return tree_score(arcs, Heads{0, 3, 2}); },
                               [&] { return tree_score(arcs, Heads{0, 2, 1}); },
                               [&] { return tree_score(arcs, std::vector<Heads>{{0}, {0}, {0}}); },
                               [&] { return spans_score(spans, Spans{}); },
                               [&] { return spans_score(spans, std::vector<Spans>{}); }});
  refuses<errors::IndexError>({[&] { return spanning_tree_log_partition(arcs, {3, 0}); },
                               [&] { return eisner_log_partition(arcs, {3, 4}); },
                               [&] { return cky_log_partition(spans, {4, 1}); },
                               [&] { return tree_score(arcs, Heads{0, 1, 4}); },
                               [&] { return tree_score(arcs, Heads{0, 3}); },
                               [&] { return spans_score(spans, Spans{{2, 0, 1}}); },
                               [&] { return spans_score(spans, Spans{{0, 1, 1}}); },
                               [&] { return spans_score(spans, Spans{{0, 2, 4}}); }});
}

TEST_F(StructuredErrors, OfSearches) {
  using errors::NumericError;
  using errors::ShapeError;
  using errors::ValueError;
  const auto text = [](const auto& f) { return text_of_error<std::exception>(f); };
  const Expression batch = ones(cg, Dim({4, 3}, 2));
  EXPECT_EQ(text([&] { static_cast<void>(eisner(batch.value())); }),
            "eisner: scores are {4,3}x2; want one example, or the lengths of a batch");
  EXPECT_EQ(text([&] { static_cast<void>(max_spanning_tree(ones(cg, {3, 3}).value())); }),
            "max_spanning_tree: scores are {3,3}; want {words+1,words}: a row for the root and for "
            "each word as a head, a column for each word");
  EXPECT_EQ(text([&] { static_cast<void>(max_spanning_tree(batch.value(), {3, 4})); }),
            "max_spanning_tree: a length is 4 for {4,3}x2; want 1 to 3");
  EXPECT_EQ(text([&] { static_cast<void>(eisner(batch.value(), {3})); }),
            "eisner: 1 lengths for {4,3}x2; want one for each example");
  EXPECT_EQ(text([&] { static_cast<void>(cky(ones(cg, {4, 3}).value())); }),
            "cky: scores are {4,3}; want {words,words,labels} with a word and a label at least");
  EXPECT_EQ(text([&] { static_cast<void>(cky(input(cg, {1, 1, 2}, {0.0F, kNan}).value())); }),
            "cky: the score of words 0 to 0 with label 1 in {1,1,2} is NaN; want a number or -inf");
  const Floats infinite{0.0F, 0.0F, kInf, 0.0F, 0.0F, 0.0F};
  EXPECT_EQ(text([&] { static_cast<void>(eisner(input(cg, {3, 2}, infinite).value())); }),
            "eisner: the score of head 2 for word 0 in {3,2} is inf; want a number or -inf");
  const Floats two_roots{0.0F, 0.0F, -kInf, 0.0F, -kInf, 0.0F};
  const Expression x = input(cg, {3, 2}, two_roots);
  EXPECT_EQ(text([&] { static_cast<void>(max_spanning_tree(x.value())); }),
            "max_spanning_tree: scores are {3,2}, and each tree with one root has a score of -inf");
  EXPECT_EQ(max_spanning_tree(x.value(), {}, false)[0], (Heads{0, 0}));
  EXPECT_EQ(eisner(x.value(), {}, false)[0], (Heads{0, 0}));
}

}  // namespace
}  // namespace dynet::testing
