// Conditional random fields and CTC: paths that are equally good or that do not exist, padded
// sequences, bounds of tags, labels and lengths, numbers so large that a plain formula breaks, and
// merging. tests/oracle compares values and gradients with all sequences, one by one.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ops/chain.h"

#include "support/one_graph.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;
using Tags = std::vector<unsigned>;
using Lists = std::vector<Tags>;
using Numbers = std::vector<double>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr unsigned kMinusOne = std::numeric_limits<unsigned>::max();

/// On the float device, and on the one in double.
class Chains : public ::testing::TestWithParam<bool>, protected OneGraph {
 protected:
  [[nodiscard]] Device* device() const { return GetParam() ? double_device() : float_device(); }
  [[nodiscard]] double bound() const {
    return GetParam() ? tolerance::kSameInDouble : tolerance::kSumsInFloat;
  }
  Expression in(const Dim& d, const Floats& numbers) { return input(cg, d, numbers, device()); }
  /// Numbers from -2 to 2, others for each seed.
  Expression drawn(const Dim& d, unsigned seed) {
    Floats numbers;
    for (std::int64_t i = 0; i < d.elements(); ++i) {
      seed = seed * 1103515245U + 12345U;
      numbers.push_back(static_cast<float>(seed >> 8 & 0xFFFFU) / 16384.0F - 2.0F);
    }
    return in(d, numbers);
  }
  static Numbers value_of(const Expression& e) { return numbers(e.value()); }
  /// Against formulas of numbers that went through float.
  void expect(const Expression& e, const Numbers& wanted) {
    const double there = std::max(bound(), tolerance::kThroughFloat);
    EXPECT_EQ(compare(value_of(e), wanted, there), "");
  }
  Numbers gradient(const Expression& y, const Expression& x) {
    cg.backward(sum_batches(y), true);
    return numbers(x.gradient());
  }
};
INSTANTIATE_TEST_SUITE_P(Both, Chains, ::testing::Bool(),
                         [](const auto& p) { return p.param ? "Double" : "Float"; });

// ---- conditional random fields
// -------------------------------------------------------------------

/// Scores are small whole numbers, so that many are equal. The sequence whose last tag is the first
/// is found by trying all.
TEST_P(Chains, OfEquallyGoodSequencesTheFirstFromTheEnd) {
  constexpr unsigned kTags = 3;
  constexpr unsigned kSteps = 4;
  for (unsigned seed = 0; seed < 40; ++seed) {
    unsigned state = seed * 77777U + 1;
    const auto draw = [&](std::size_t n) {
      Floats numbers(n);
      for (float& v : numbers) {
        state = state * 1103515245U + 12345U;
        v = static_cast<float>(state >> 16 & 1U);
      }
      return numbers;
    };
    const Floats e = draw(std::size_t{kTags} * kSteps);
    const Floats a = draw(std::size_t{kTags} * kTags);
    Numbers best;
    float top = -1.0F;
    for (unsigned code = 0; code < 81; ++code) {  // the last tag counts most
      const unsigned path[kSteps] = {code % 3, code / 3 % 3, code / 9 % 3, code / 27};
      float score = 0.0F;
      for (unsigned k = 0; k < kSteps; ++k) {
        score += e[k * kTags + path[k]];
        score += k == 0 ? 0.0F : a[path[k] + kTags * path[k - 1]];
      }
      if (score > top) {
        top = score;
        best.assign(path, path + kSteps);
      }
    }
    const auto [tags, score] = crf_viterbi(in({kTags, kSteps}, e), in({kTags, kTags}, a));
    EXPECT_EQ(value_of(tags), best) << "seed " << seed;
    EXPECT_EQ(value_of(score), Numbers{static_cast<double>(top)}) << "seed " << seed;
  }
}

TEST_P(Chains, TheBestSequenceHasItsScoreAndAllHaveLess) {
  const Expression e = drawn({19, 7}, 1);
  const Expression a = drawn({19, 19}, 2);
  const Expression start = drawn({19}, 3);
  const Expression end = drawn({19}, 4);
  const auto [tags, best] = crf_viterbi(e, a, start, end);
  Tags path;
  for (const double t : value_of(tags)) {
    path.push_back(static_cast<unsigned>(t));
  }
  const Expression score = crf_score(e, a, path, start, end);
  EXPECT_EQ(compare(value_of(best), value_of(score), bound()), "");
  for (const Expression& x : {e, a, start, end}) {
    EXPECT_EQ(gradient(best, x), gradient(score, x));
    EXPECT_EQ(gradient(sum_elems(tags), x), Numbers(static_cast<std::size_t>(x.dim().size())));
  }
  EXPECT_GT(value_of(crf_log_partition(e, a, start, end))[0], value_of(best)[0]);
}

TEST_P(Chains, MarginalsAreDistributions) {
  const Expression e = drawn({5, 6}, 5);
  const Expression a = drawn({5, 5}, 6);
  const Expression y = crf_log_partition(e, a);
  const Numbers tags = gradient(y, e);
  for (std::size_t k = 0; k < 6; ++k) {
    const auto at = tags.begin() + static_cast<std::ptrdiff_t>(5 * k);
    EXPECT_NEAR(std::accumulate(at, at + 5, 0.0), 1.0, bound());
    EXPECT_GT(*std::min_element(at, at + 5), 0.0);
  }
  const Numbers pairs = numbers(a.gradient());
  EXPECT_NEAR(std::accumulate(pairs.begin(), pairs.end(), 0.0) / 5.0, 1.0, bound());
}

TEST_P(Chains, TransitionsGoFromColumnsToRows) {
  const Expression e = in({2, 2}, {0, 0, 0, 0});
  const Expression a = in({2, 2}, {0, 0, 7, 0});  // row 0, column 1
  EXPECT_EQ(value_of(crf_viterbi(e, a)[0]), (Numbers{1, 0}));
  EXPECT_EQ(value_of(crf_score(e, a, {1, 0})), Numbers{7});
  EXPECT_EQ(value_of(crf_score(e, a, {0, 1})), Numbers{0});
}

TEST_P(Chains, OneTagAndOneStep) {
  const Expression one = in({1, 1}, {0.5F});
  const Expression a = in({1, 1}, {0.25F});
  const Expression start = in({1}, {2});
  const Expression end = in({1}, {4});
  expect(crf_log_partition(one, a), {0.5});
  expect(crf_log_partition(one, a, start, end), {6.5});
  expect(crf_log_partition(in({1, 3}, {1, 2, 3}), a, start, end), {12.5});
  expect(crf_score(one, a, Tags{0}, start, end), {6.5});
  expect(crf_viterbi(one, a, start, end)[1], {6.5});
  expect(crf_log_partition(in({2}, {0, 0}), in({2, 2}, {9, 9, 9, 9})), {std::log(2.0)});
}

TEST_P(Chains, PaddingIsNotRead) {
  const Expression a = drawn({3, 3}, 7);
  const Expression start = drawn({3}, 8);
  const Expression end = drawn({3}, 9);
  const Floats numbers{0.5F, 1, -1, 2, 0, 0.25F, -1, 1, 0.5F};
  Floats padded = numbers;
  padded.insert(padded.end(), numbers.begin(), numbers.begin() + 3);
  padded.resize(18, kNan);
  const Expression batch = in(Dim({3, 3}, 2), padded);
  const Expression first = in({3, 3}, numbers);
  const Expression second = in({3, 1}, numbers);
  const Expression y = crf_log_partition(batch, a, start, end, {3, 1});
  EXPECT_EQ(value_of(y), (Numbers{value_of(crf_log_partition(first, a, start, end))[0],
                                  value_of(crf_log_partition(second, a, start, end))[0]}));
  const Numbers slopes = gradient(y, batch);
  EXPECT_EQ(Numbers(slopes.begin() + 12, slopes.end()), Numbers(6, 0.0));
  for (const double v : testing::numbers(a.gradient())) {
    EXPECT_TRUE(std::isfinite(v));
  }
  const auto [tags, best] = crf_viterbi(batch, a, start, end, {3, 1});
  const Numbers path = value_of(crf_viterbi(first, a, start, end)[0]);
  const Numbers found = value_of(tags);
  EXPECT_EQ(Numbers(found.begin(), found.begin() + 3), path);
  EXPECT_EQ(Numbers(found.begin() + 4, found.end()), (Numbers{0, 0}));
  const Numbers score = value_of(crf_score(batch, a, Lists{{0, 2, 1}, {2}}, start, end));
  EXPECT_EQ(score, (Numbers{value_of(crf_score(first, a, {0, 2, 1}, start, end))[0],
                            value_of(crf_score(second, a, Tags{2}, start, end))[0]}));
}

TEST_P(Chains, SeveralSequencesOfOneSentence) {
  const Expression e = drawn({3, 4}, 10);
  const Expression a = drawn({3, 3}, 11);
  const Expression both = crf_score(e, a, Lists{{0, 1, 2, 0}, {2, 2}});
  EXPECT_EQ(both.dim(), Dim({1}, 2));
  EXPECT_EQ(value_of(both), (Numbers{value_of(crf_score(e, a, {0, 1, 2, 0}))[0],
                                     value_of(crf_score(e, a, {2, 2}))[0]}));
}

TEST_P(Chains, NumbersOutOfTheRangeOfExponentials) {
  const Expression flat = in({2, 2}, {0, 0, 0, 0});
  expect(crf_log_partition(in({2, 2}, {1000, 1000, -3000, -3000}), flat), {std::log(4.0) - 2000.0});
  // The path to the second tag, with a low score, is the only one that goes on.
  const Expression a = in({2, 2}, {0, -kInf, -kInf, 500});
  expect(crf_log_partition(in({2, 2}, {0, -300, 0, 0}), a), {200.0});
  const Numbers marginals = gradient(crf_log_partition(in({2, 2}, {0, 0, 0, 0}), a), a);
  expect(in({4}, Floats(marginals.begin(), marginals.end())), {0.0, 0.0, 0.0, 1.0});
  const Expression huge = in({2, 1}, {1e30F, 1e30F});
  expect(crf_log_partition(huge, flat), {static_cast<double>(1e30F)});
}

TEST_P(Chains, WhereNoSequenceExists) {
  const Expression e = in({2, 2}, {0, 1, -kInf, -kInf});
  const Expression a = drawn({2, 2}, 12);
  const Expression y = crf_log_partition(e, a);
  EXPECT_EQ(value_of(y), Numbers{-static_cast<double>(kInf)});
  EXPECT_EQ(gradient(y, e), Numbers(4, 0.0));
  EXPECT_EQ(numbers(a.gradient()), Numbers(4, 0.0));
  const auto [tags, best] = crf_viterbi(e, a);
  EXPECT_EQ(value_of(best), Numbers{-static_cast<double>(kInf)});
  EXPECT_EQ(gradient(best, a), Numbers(4, 0.0));
  // One tag that cannot be takes no part.
  const Expression some = in({2, 2}, {0, -kInf, 0, 0});
  expect(crf_log_partition(some, in({2, 2}, {1, 2, 3, 4})), {2.0 + std::log1p(std::exp(-1.0))});
}

TEST_P(Chains, NanCountsAsTheLargest) {
  const Expression a = in({2, 2}, {0, 0, 0, 0});
  const auto [tags, best] = crf_viterbi(in({2, 2}, {9, kNan, 1, 2}), a);
  EXPECT_EQ(value_of(tags), (Numbers{1, 0}));
  EXPECT_TRUE(std::isnan(value_of(best)[0]));
  EXPECT_TRUE(std::isnan(value_of(crf_log_partition(in({2, 1}, {kNan, 1}), a))[0]));
}

TEST_P(Chains, RefusesWhatIsNoCrf) {
  const Expression e = drawn(Dim({3, 4}, 2), 13);
  const Expression a = drawn({3, 3}, 14);
  const Expression v = drawn({3}, 15);
  const Expression four = drawn({4}, 1);
  const Expression wide = drawn({3, 2}, 1);
  const Expression large = drawn({4, 4}, 1);
  const Expression cube = drawn({3, 2, 2}, 1);
  const Expression no_steps = drawn({3, 0}, 1);
  const Expression no_tags = drawn({0, 3}, 1);
  const Expression nothing = drawn({0, 0}, 1);
  refuses<errors::ShapeError>({[&] { return crf_log_partition(e, v); },
                               [&] { return crf_log_partition(e, large, {}, {}, {1, 2}); },
                               [&] { return crf_log_partition(no_steps, a); },
                               [&] { return crf_log_partition(no_tags, nothing); },
                               [&] { return crf_log_partition(cube, a); },
                               [&] { return crf_log_partition(e, a, v, four); },
                               [&] { return crf_viterbi(e, v, {}, {}, {1, 2})[0]; },
                               [&] { return crf_score(e, a, {0, 0, 0, 0, 0}); },
                               [&] { return crf_score(e, a, Lists{{0, 0, 0, 0, 0}, {0}}); },
                               [&] { return crf_score(e, wide, Tags{0}); }});
  refuses<errors::ShapeError>(
      {[&] { return crf_log_partition(e, a, v); }, [&] { return crf_log_partition(e, a, {}, v); }});
  refuses<errors::IndexError>({[&] { return crf_score(e, a, {0, 3}); },
                               [&] { return crf_score(e, a, {0, kMinusOne}); },
                               [&] { return crf_score(e, a, Lists{{0}, {1, 3}}); },
                               [&] { return crf_log_partition(e, a, {}, {}, {0, 4}); },
                               [&] { return crf_log_partition(e, a, {}, {}, {4, 5}); },
                               [&] { return crf_viterbi(e, a, {}, {}, {kMinusOne, 4})[0]; }});
  refuses<errors::ValueError>({[&] { return crf_log_partition(e, a, {}, {}, {4}); },
                               [&] { return crf_score(e, a, Tags()); },
                               [&] { return crf_score(e, a, Lists{{0}, {}}); },
                               [&] { return crf_score(e, a, Lists{{0}, {1}, {2}}); },
                               [&] { return crf_score(e, a, Lists()); }});
  EXPECT_EQ(value_of(crf_log_partition(e, a, {}, {}, {4, 4})), value_of(crf_log_partition(e, a)));
  EXPECT_EQ(value_of(crf_score(e, a, {2, 0})).size(), 2U);
}

/// Attributes that only programs which build the nodes themselves can get wrong.
TEST_P(Chains, AttributesAtTheirBounds) {
  const Expression e = drawn({3, 4}, 13);
  const Expression a = drawn({3, 3}, 14);
  const Tags tags(4, 1);
  const auto score = [&](unsigned steps, std::size_t count) {
    const Tags given(tags.begin(), tags.begin() + static_cast<std::ptrdiff_t>(count));
    return ext::add_node(ops::CrfScore{steps}, e, a, ext::NodePayload::of(given));
  };
  const auto ctc = [&](unsigned labels, unsigned blank, std::size_t count) {
    const Tags given(tags.begin(), tags.begin() + static_cast<std::ptrdiff_t>(count));
    return ext::add_node(ops::CtcLoss{labels, blank}, e, ext::NodePayload::of(given));
  };
  refuses<errors::ShapeError>({[&] { return score(0, 0); }, [&] { return score(0, 1); },
                               [&] { return score(5, 4); }, [&] { return score(kMinusOne, 1); },
                               [&] { return ctc(0, 0, 0); }, [&] { return ctc(kMinusOne, 0, 1); },
                               [&] { return ctc(1, 3, 1); }, [&] { return ctc(1, kMinusOne, 1); }});
  EXPECT_EQ(score(4, 4).dim(), Dim({1}));
  EXPECT_EQ(ctc(1, 2, 1).dim(), Dim({1}));
}

TEST_P(Chains, SentencesOfOneLengthMerge) {
  const Expression a = drawn({3, 3}, 16);
  const Expression other = drawn({3, 3}, 17);
  const Expression x = drawn({3, 4}, 18);
  const Expression y = drawn({3, 4}, 19);
  const Expression z = drawn({3, 5}, 20);
  EXPECT_EQ(explain_batch(crf_log_partition(x, a), crf_log_partition(y, a)), "equal keys");
  EXPECT_EQ(explain_batch(crf_log_partition(x, a), crf_log_partition(y, other)), "equal keys");
  EXPECT_EQ(explain_batch(crf_score(x, a, {0, 1, 2, 0}), crf_score(y, a, {2, 2, 2, 2})),
            "equal keys");
  EXPECT_EQ(explain_batch(crf_viterbi(x, a)[0], crf_viterbi(y, a)[0]), "equal keys");
  EXPECT_NE(explain_batch(crf_log_partition(x, a), crf_log_partition(z, a)), "equal keys");
  const Tags one{1, 2};
  const Tags two{2, 0};
  EXPECT_EQ(explain_batch(ctc_loss(x, one), ctc_loss(y, Tags{2, 2})), "equal keys");
  EXPECT_NE(explain_batch(ctc_loss(x, one), ctc_loss(y, Tags{2})), "equal keys");
  EXPECT_THROW(static_cast<void>(ctc_loss(x, two)), errors::ValueError);
}

// ---- connectionist temporal classification
// ------------------------------------------------------

TEST_P(Chains, CtcByHand) {
  // Probabilities of blank, a, b at two steps.
  const auto ln = [](float p) { return std::log(p); };
  const Expression x = in({3, 2}, {ln(0.5F), ln(0.25F), ln(0.25F), ln(0.25F), ln(0.5F), ln(0.25F)});
  // a: blank a, a blank, a a
  expect(ctc_loss(x, Tags{1}), {-std::log(0.5 * 0.5 + 0.25 * 0.25 + 0.25 * 0.5)});
  expect(ctc_loss(x, {1, 2}), {-std::log(0.25 * 0.25)});
  expect(ctc_loss(x, Tags()), {-std::log(0.5 * 0.25)});
  expect(ctc_loss(x, Tags{0}, {}, 2), {-std::log(0.5 * 0.25 + 0.25 * 0.25 + 0.5 * 0.25)});
  expect(ctc_loss(in({1, 1}, {-0.5F}), Tags()), {0.5});
  expect(ctc_loss(in({2, 1}, {-0.5F, -3.0F}), Tags{1}), {3.0});
}

TEST_P(Chains, CtcOfTooManyLabels) {
  const Expression x = drawn({3, 2}, 21);
  for (const Tags& labels : {Tags{1, 1}, Tags{1, 2, 1}, Tags{2, 2, 2, 2}}) {
    const Expression y = ctc_loss(x, labels);
    EXPECT_EQ(value_of(y), Numbers{static_cast<double>(kInf)});
    EXPECT_EQ(gradient(y, x), Numbers(6, 0.0));
  }
}

TEST_P(Chains, CtcOfListsOfAllLengths) {
  const Floats numbers{-1, -2, -3, -0.5F, -1, -2, -1, -1, -4, -2, -0.25F, -1};
  Floats padded = numbers;
  padded.insert(padded.end(), numbers.begin(), numbers.end());
  padded.insert(padded.end(), numbers.begin(), numbers.begin() + 6);
  padded.resize(36, kNan);
  const Expression batch = in(Dim({3, 4}, 3), padded);
  const Expression whole = in({3, 4}, numbers);
  const Expression part = in({3, 2}, numbers);
  const Expression y = ctc_loss(batch, Lists{{1, 2, 1}, {}, {2}}, {4, 4, 2});
  EXPECT_EQ(compare(value_of(y),
                    {value_of(ctc_loss(whole, {1, 2, 1}))[0], value_of(ctc_loss(whole, Tags()))[0],
                     value_of(ctc_loss(part, Tags{2}))[0]},
                    bound()),
            "");
  const Numbers slopes = gradient(y, batch);
  EXPECT_EQ(Numbers(slopes.end() - 6, slopes.end()), Numbers(6, 0.0));
  // At each step the states share one path.
  for (const std::size_t step : {0U, 3U, 4U, 7U, 8U, 9U}) {
    const auto at = slopes.begin() + static_cast<std::ptrdiff_t>(3 * step);
    EXPECT_NEAR(std::accumulate(at, at + 3, 0.0), -1.0, bound());
  }
}

TEST_P(Chains, CtcOfLongSequences) {
  constexpr unsigned kSteps = 600;
  Tags labels;
  for (unsigned k = 0; k < 90; ++k) {
    labels.push_back(1 + k * k % 7);
  }
  // Each of the 8^600 sequences has the same probability, which no number can hold.
  const Expression x = constant(cg, {8, kSteps}, -std::log(8.0F), device());
  const Expression y = ctc_loss(x, labels);
  const Numbers slopes = gradient(y, x);
  EXPECT_TRUE(std::isfinite(value_of(y)[0]));
  EXPECT_GT(value_of(y)[0], 100.0);
  EXPECT_NEAR(std::accumulate(slopes.begin(), slopes.end(), 0.0) / kSteps, -1.0, bound());
}

TEST_P(Chains, RefusesWhatIsNoCtc) {
  const Expression x = drawn(Dim({3, 4}, 2), 22);
  const Expression cube = drawn({3, 2, 2}, 1);
  const Expression no_steps = drawn({3, 0}, 1);
  const Expression no_classes = drawn({0, 3}, 1);
  refuses<errors::ShapeError>(
      {[&] { return ctc_loss(cube, Tags{1}); }, [&] { return ctc_loss(no_steps, Tags{1}); },
       [&] { return ctc_loss(no_classes, Tags()); }, [&] { return ctc_loss(x, Tags{1}, {}, 3); },
       [&] { return ctc_loss(x, Tags{1}, {}, kMinusOne); }});
  refuses<errors::IndexError>(
      {[&] { return ctc_loss(x, Tags{3}); }, [&] { return ctc_loss(x, Tags{kMinusOne}); },
       [&] { return ctc_loss(x, Tags{1}, {4, 5}); }, [&] { return ctc_loss(x, Tags{1}, {0, 4}); }});
  refuses<errors::ValueError>(
      {[&] { return ctc_loss(x, Tags{0}); }, [&] { return ctc_loss(x, {1, 2}, {}, 2); },
       [&] { return ctc_loss(x, Tags{1}, {4}); }, [&] { return ctc_loss(x, Lists{{1}, {1}, {1}}); },
       [&] { return ctc_loss(x, Lists()); }});
  EXPECT_TRUE(std::isfinite(value_of(ctc_loss(x, Tags{1}, {}, 2))[0]));
}

}  // namespace
}  // namespace dynet::testing
