// The CRF builder: against all sequences of tags one by one, batches of different lengths,
// constraints, gradients, merging, files, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "dynet/crf-builder.h"
#include "dynet/io.h"
#include "dynet/training.h"

#include "support/differences.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Tags = std::vector<unsigned>;
constexpr unsigned kTags = 3;
constexpr double kMinusInf = -std::numeric_limits<double>::infinity();

/// All sequences of `steps` tags.
std::vector<Tags> all_sequences(unsigned steps) {
  std::vector<Tags> all{{}};
  for (unsigned k = 0; k < steps; ++k) {
    std::vector<Tags> longer;
    for (const Tags& tags : all) {
      for (unsigned t = 0; t < kTags; ++t) {
        longer.push_back(tags);
        longer.back().push_back(t);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The parameters as numbers, with -inf for forbidden tags and transitions.
struct ByHand {
  std::vector<double> transitions, start, end;
  explicit ByHand(const CRFBuilder& crf)
      : transitions(as_double_vector(crf.params()[0].get_storage().values)),
        start(as_double_vector(crf.params()[1].get_storage().values)),
        end(as_double_vector(crf.params()[2].get_storage().values)) {}
  [[nodiscard]] double score(const std::vector<float>& scores, const Tags& tags) const {
    double all = start[tags.front()] + end[tags.back()];
    for (std::size_t k = 0; k < tags.size(); ++k) {
      all += static_cast<double>(scores[(k * kTags) + tags[k]]);
      all += k > 0 ? transitions[(tags[k - 1] * kTags) + tags[k]] : 0.0;
    }
    return all;
  }
  [[nodiscard]] double log_sum(const std::vector<float>& scores, unsigned steps) const {
    double all = 0.0;
    for (const Tags& tags : all_sequences(steps)) {
      all += std::exp(score(scores, tags));
    }
    return std::log(all);
  }
  [[nodiscard]] Tags best(const std::vector<float>& scores, unsigned steps) const {
    const std::vector<Tags> all = all_sequences(steps);
    return *std::max_element(all.begin(), all.end(), [&](const Tags& a, const Tags& b) {
      return score(scores, a) < score(scores, b);
    });
  }
};

class CRF : public ::testing::Test {
 protected:
  CRF() : crf(kTags, model) { testing::draw_values(model); }
  std::vector<float> drawn(unsigned steps) {
    return draw(static_cast<std::int64_t>(steps) * kTags, -2.0, 2.0);
  }
  const testing::DefaultDevice scope{testing::double_device()};
  ParameterCollection model;
  CRFBuilder crf;
  testing::Draw draw{3};
};

double value_of(const Expression& e) { return as_double_vector(e.value())[0]; }

TEST_F(CRF, IsTheSumOverAllSequences) {
  ComputationGraph cg;
  crf.new_graph(cg);
  const ByHand by_hand(crf);
  for (const unsigned steps : {1U, 2U, 4U}) {
    const std::vector<float> numbers = drawn(steps);
    const Expression scores = input(cg, {kTags, steps}, numbers);
    const double all = by_hand.log_sum(numbers, steps);
    for (const Tags& tags : all_sequences(steps)) {
      const Expression loss = crf.neg_log_likelihood(scores, tags);
      EXPECT_EQ(loss.dim(), Dim({1}));
      EXPECT_NEAR(value_of(loss), all - by_hand.score(numbers, tags), tolerance::kThroughFloat);
    }
    const ScoredTags best = crf.viterbi(scores);
    EXPECT_EQ(best.tags, by_hand.best(numbers, steps));
    EXPECT_NEAR(best.score, by_hand.score(numbers, best.tags), tolerance::kThroughFloat);
  }
}

TEST_F(CRF, BatchesOfDifferentLengths) {
  ComputationGraph cg;
  crf.new_graph(cg);
  const ByHand by_hand(crf);
  const std::vector<float> numbers = drawn(12);
  const Expression scores = input(cg, Dim({kTags, 4}, 3), numbers);
  const std::vector<Tags> tags{{0, 1, 2, 1}, {2}, {1, 1, 0}};
  const Expression losses = crf.neg_log_likelihood(scores, tags);
  EXPECT_EQ(losses.dim(), Dim({1}, 3));
  const std::vector<double> values = as_double_vector(losses.value());
  const std::vector<ScoredTags> best = crf.viterbi(scores, {4, 1, 3});
  ASSERT_EQ(best.size(), 3U);
  for (std::size_t e = 0; e < 3; ++e) {
    const auto steps = static_cast<unsigned>(tags[e].size());
    const std::vector<float> own(numbers.begin() + static_cast<std::ptrdiff_t>(e * 4 * kTags),
                                 numbers.end());
    EXPECT_NEAR(values[e], by_hand.log_sum(own, steps) - by_hand.score(own, tags[e]),
                tolerance::kThroughFloat);
    EXPECT_EQ(best[e].tags, by_hand.best(own, steps));
    EXPECT_NEAR(best[e].score, by_hand.score(own, best[e].tags), tolerance::kThroughFloat);
  }
  EXPECT_EQ(crf.viterbi(scores, Tags()).size(), 3U) << "without lengths all steps count";
  EXPECT_EQ(crf.viterbi(scores, Tags())[1].tags.size(), 4U);
}

TEST_F(CRF, WhatIsForbiddenHasNoProbability) {
  crf.forbid(0, 1);
  crf.forbid(2, 2);
  crf.forbid_start(2);
  crf.forbid_end(0);
  ByHand by_hand(crf);
  by_hand.transitions[1] = by_hand.transitions[8] = by_hand.start[2] = by_hand.end[0] = kMinusInf;
  ComputationGraph cg;
  crf.new_graph(cg);
  for (int k = 0; k < 20; ++k) {
    const std::vector<float> numbers = drawn(4);
    const Expression scores = input(cg, {kTags, 4}, numbers);
    EXPECT_EQ(crf.viterbi(scores).tags, by_hand.best(numbers, 4));
    const Expression loss = crf.neg_log_likelihood(scores, Tags{1, 2, 0, 2});
    EXPECT_NEAR(value_of(loss), by_hand.log_sum(numbers, 4) - by_hand.score(numbers, {1, 2, 0, 2}),
                tolerance::kThroughFloat);
    cg.backward(loss);
    for (const Parameter& p : crf.params()) {
      for (const double g : as_double_vector(p.get_storage().g)) {
        EXPECT_TRUE(std::isfinite(g));
      }
    }
    EXPECT_EQ(as_double_vector(crf.params()[0].get_storage().g)[1], 0.0);
  }
  const Expression scores = input(cg, {kTags, 3}, drawn(3));
  for (const Tags& tags : {Tags{2, 1}, Tags{1, 0, 1}, Tags{1, 0}, Tags{1, 2, 2}}) {
    EXPECT_THROW(crf.neg_log_likelihood(scores, tags), errors::ValueError);
  }
  EXPECT_THROW(crf.forbid(0, kTags), errors::IndexError);
  EXPECT_THROW(crf.forbid_start(kTags), errors::IndexError);
  EXPECT_THROW(crf.forbid_end(kTags), errors::IndexError);
  crf.forbid_start(0);
  crf.forbid_start(1);
  ComputationGraph other;
  crf.new_graph(other);
  EXPECT_THROW(crf.viterbi(input(other, {kTags, 2}, drawn(2))), errors::NumericError);
}

TEST_F(CRF, ScoresThatAreNaNHaveNoBestTags) {
  ComputationGraph cg;
  crf.new_graph(cg);
  std::vector<float> scores = drawn(4);
  scores[kTags + 1] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(testing::text_of_error<errors::NumericError>(
                [&] { crf.viterbi(input(cg, Dim({kTags, 2}, 2), scores), {2, 2}); }),
            "CRFBuilder: viterbi: scores are {3,2}x2, and the best sequence of example 0 has a "
            "score of NaN");
  // The graph stays usable, and scores beyond a sequence's end are not looked at.
  EXPECT_EQ(crf.viterbi(input(cg, Dim({kTags, 2}, 2), scores), {1, 2})[0].tags.size(), 1U);
}

TEST_F(CRF, TheBestOfAllInTheirOrder) {
  crf.forbid(0, 1);
  crf.forbid_end(2);
  ByHand by_hand(crf);
  by_hand.transitions[1] = by_hand.end[2] = kMinusInf;
  ComputationGraph cg;
  crf.new_graph(cg);
  const std::vector<float> numbers = drawn(12);
  const Expression scores = input(cg, Dim({kTags, 4}, 3), numbers);
  const std::vector<unsigned> lengths{4, 1, 3};
  for (const unsigned n : {1U, 5U, 1000U}) {
    const std::vector<std::vector<ScoredTags>> found = crf.n_best(scores, n, lengths);
    ASSERT_EQ(found.size(), 3U);
    for (std::size_t e = 0; e < 3; ++e) {
      const std::vector<float> own(numbers.begin() + static_cast<std::ptrdiff_t>(e * 4 * kTags),
                                   numbers.end());
      std::vector<Tags> wanted;
      for (const Tags& tags : all_sequences(lengths[e])) {
        if (by_hand.score(own, tags) != kMinusInf) {
          wanted.push_back(tags);
        }
      }
      std::sort(wanted.begin(), wanted.end(), [&](const Tags& a, const Tags& b) {
        return by_hand.score(own, a) > by_hand.score(own, b);
      });
      wanted.resize(std::min<std::size_t>(n, wanted.size()));
      ASSERT_EQ(found[e].size(), wanted.size());
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        EXPECT_EQ(found[e][k].tags, wanted[k]);
        EXPECT_NEAR(found[e][k].score, by_hand.score(own, wanted[k]), tolerance::kThroughFloat);
      }
    }
  }
}

/// All scores are 0: the order is the order of crf_viterbi.
TEST_F(CRF, OfEquallyGoodSequencesTheFirstFromTheEnd) {
  ParameterCollection other;
  CRFBuilder equal(2, other);
  ComputationGraph cg;
  equal.new_graph(cg);
  const std::vector<ScoredTags> found = equal.n_best(zeros(cg, {2, 2}), 4);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].tags, (Tags{0, 0}));
  EXPECT_EQ(found[1].tags, (Tags{1, 0}));
  EXPECT_EQ(found[2].tags, (Tags{0, 1}));
  EXPECT_EQ(found[3].tags, (Tags{1, 1}));
}

TEST_F(CRF, MarginalsAreTheGradientsOfTheSum) {
  crf.forbid(2, 2);
  ByHand by_hand(crf);
  by_hand.transitions[8] = kMinusInf;
  ComputationGraph cg;
  crf.new_graph(cg);
  const std::vector<float> numbers = drawn(12);
  const Expression scores = input(cg, Dim({kTags, 4}, 3), numbers);
  const std::vector<unsigned> lengths{4, 1, 3};
  const std::vector<float> shares = crf.marginals(scores, lengths);
  ASSERT_EQ(shares.size(), numbers.size());
  std::vector<double> wanted(numbers.size());
  for (std::size_t e = 0; e < 3; ++e) {
    const std::vector<float> own(numbers.begin() + static_cast<std::ptrdiff_t>(e * 4 * kTags),
                                 numbers.end());
    const double all = by_hand.log_sum(own, lengths[e]);
    for (const Tags& tags : all_sequences(lengths[e])) {
      for (std::size_t k = 0; k < tags.size(); ++k) {
        wanted[(((e * 4) + k) * kTags) + tags[k]] += std::exp(by_hand.score(own, tags) - all);
      }
    }
  }
  EXPECT_EQ(testing::compare({shares.begin(), shares.end()}, wanted, tolerance::kThroughFloat), "");
}

/// Whether these names of tags are spans of BIO, or of BIOES if all spans are closed.
bool is_well_formed(const std::vector<std::string>& names, bool closed) {
  for (std::size_t k = 0; k < names.size(); ++k) {
    const char letter = names[k][0];
    const std::string before = k > 0 ? names[k - 1] : "O";
    const std::string after = k + 1 < names.size() ? names[k + 1] : "O";
    const bool goes_on = letter == 'I' || letter == 'E';
    const bool follows =
        (before[0] == 'B' || before[0] == 'I') && before.substr(1) == names[k].substr(1);
    if (goes_on && !follows) {
      return false;
    }
    const bool open = closed && (letter == 'B' || letter == 'I');
    const bool continued =
        (after[0] == 'I' || after[0] == 'E') && after.substr(1) == names[k].substr(1);
    if (open && !continued) {
      return false;
    }
  }
  return true;
}

/// The number of well-formed sequences of these tags.
std::size_t count_well_formed(const std::vector<std::string>& names, unsigned steps, bool closed) {
  std::size_t count = 0;
  std::vector<std::size_t> sequence(steps);
  std::vector<std::string> texts(steps, names[0]);
  for (;;) {
    count += is_well_formed(texts, closed) ? 1 : 0;
    std::size_t k = 0;
    while (k < steps && ++sequence[k] == names.size()) {
      sequence[k] = 0;
      texts[k++] = names[0];
    }
    if (k == steps) {
      return count;
    }
    texts[k] = names[sequence[k]];
  }
}

TEST_F(CRF, BioForbidsAllSequencesThatAreNotWellFormed) {
  const std::vector<std::vector<std::string>> schemes{
      {"O", "B-X", "I-X", "B-Y", "I-Y"},
      {"I-X", "O", "E-X", "B-X", "S-X", "B-Y-Z", "E-Y-Z"},
      {"B-X", "I-X"}};
  for (const std::vector<std::string>& names : schemes) {
    const bool closed = names.size() > 5;
    const auto tags = static_cast<unsigned>(names.size());
    ParameterCollection other;
    CRFBuilder bio(tags, other);
    bio.forbid_bio(names);
    ComputationGraph cg;
    bio.new_graph(cg);
    for (const unsigned steps : {1U, 2U, 3U}) {
      const auto found = bio.n_best(zeros(cg, {tags, steps}), 1000);
      EXPECT_EQ(found.size(), count_well_formed(names, steps, closed));
      for (const ScoredTags& best : found) {
        std::vector<std::string> texts(steps);
        std::transform(best.tags.begin(), best.tags.end(), texts.begin(),
                       [&](unsigned tag) { return names[tag]; });
        EXPECT_TRUE(is_well_formed(texts, closed)) << texts[0];
      }
    }
  }
}

TEST_F(CRF, ErrorsOfSearchesAndNames) {
  const auto text = [](const auto& call) { return testing::text_of_error<std::exception>(call); };
  ComputationGraph cg;
  EXPECT_EQ(text([&] { crf.forbid_bio({"O", "B-X"}); }),
            "CRFBuilder: forbid_bio: 2 names; want one for each of 3 tags");
  EXPECT_EQ(text([&] { crf.forbid_bio({"O", "I-X", "L-X"}); }),
            "CRFBuilder: forbid_bio: the tag 'L-X'; want O, or B, I, E or S with '-' and a type, "
            "such as B-PER");
  EXPECT_EQ(text([&] { crf.forbid_bio({"O", "I-X", "I-X"}); }),
            "CRFBuilder: forbid_bio: the tag 'I-X' stands twice");
  crf.new_graph(cg);
  EXPECT_EQ(crf.n_best(zeros(cg, {kTags, 2}), 100).size(), 9U) << "names refused forbid nothing";
  const Expression scores = ones(cg, Dim({kTags, 2}, 2));
  EXPECT_EQ(text([&] { static_cast<void>(crf.n_best(scores, 0, {2, 2})); }),
            "CRFBuilder: n_best: n is 0; want at least 1");
  EXPECT_EQ(text([&] { static_cast<void>(crf.n_best(scores, 2)); }),
            "CRFBuilder: n_best: scores are {3,2}x2; want one example, or the lengths of a batch");
  EXPECT_EQ(text([&] { static_cast<void>(crf.marginals(scores, {3, 1})); }),
            "CRFBuilder: marginals: a length is 3 for {3,2}x2; want 1 to 2");
  EXPECT_EQ(text([&] { static_cast<void>(crf.marginals(ones(cg, {2, 2}))); }),
            "CRFBuilder: marginals: scores are {2,2}; want {3,steps} with a step at least");
  std::vector<float> numbers(6, 0.0F);
  numbers[4] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(text([&] { static_cast<void>(crf.n_best(input(cg, {kTags, 2}, numbers), 1)); }),
            "CRFBuilder: n_best: the score of tag 1 at step 1 in {3,2} is NaN; want a number or "
            "-inf");
  std::fill(numbers.begin(), numbers.end(), -std::numeric_limits<float>::infinity());
  const Expression none = input(cg, {kTags, 2}, numbers);
  EXPECT_EQ(text([&] { static_cast<void>(crf.n_best(none, 1)); }),
            "CRFBuilder: n_best: scores are {3,2}, and each sequence has a score of -inf");
  EXPECT_EQ(text([&] { static_cast<void>(crf.marginals(none)); }),
            "CRFBuilder: marginals: scores are {3,2}, and each sequence has a score of -inf");
}

/// Constraints count for the scores and for the tags at the same time.
TEST_F(CRF, ConstraintsHoldFromTheNextGraphOn) {
  ComputationGraph cg;
  crf.new_graph(cg);
  const std::vector<float> numbers = drawn(3);
  const Expression scores = input(cg, {kTags, 3}, numbers);
  const Tags tags{1, 2, 0};
  const double before = value_of(crf.neg_log_likelihood(scores, tags));
  crf.forbid_start(1);
  crf.forbid(1, 2);
  crf.forbid_end(0);
  EXPECT_EQ(value_of(crf.neg_log_likelihood(scores, tags)), before);
  ByHand by_hand(crf);
  EXPECT_EQ(crf.viterbi(scores).tags, by_hand.best(numbers, 3));
  crf.new_graph(cg);
  EXPECT_THROW(crf.neg_log_likelihood(scores, tags), errors::ValueError);
  by_hand.start[1] = by_hand.transitions[(1 * kTags) + 2] = by_hand.end[0] = kMinusInf;
  EXPECT_EQ(crf.viterbi(scores).tags, by_hand.best(numbers, 3));
  CRFBuilder shared(kTags, model);
  shared.new_graph(cg);
  shared.copy(crf);
  shared.new_graph(cg);
  EXPECT_THROW(shared.neg_log_likelihood(scores, tags), errors::ValueError);
}

TEST_F(CRF, GradientsAgreeWithDifferences) {
  const Parameter scores = model.add_parameters({kTags, 8});
  for (const bool is_constrained : {false, true}) {
    if (is_constrained) {
      crf.forbid(2, 0);
    }
    testing::draw_values(model);
    testing::expect_gradients(model, [&](ComputationGraph& cg) {
      crf.new_graph(cg);
      const Expression all = parameter(cg, scores);
      const Expression batch =
          concatenate_to_batch({pick_range(all, 0, 4, 1), pick_range(all, 4, 8, 1)});
      return crf.neg_log_likelihood(pick_range(all, 1, 4, 1), Tags{0, 1, 2}) +
             sum_batches(square(crf.neg_log_likelihood(batch, {{1, 2}, {0, 0, 1, 2}})));
    });
  }
}

/// Forward calls for sentences of these lengths, each a node of its own.
std::size_t calls_for(CRFBuilder& crf, const std::vector<unsigned>& lengths) {
  ComputationGraph cg(true);
  crf.new_graph(cg);
  std::vector<Expression> losses;
  losses.reserve(lengths.size());
  for (const unsigned steps : lengths) {
    const Expression scores =
        input(cg, {kTags, steps}, std::vector<float>(std::size_t{steps} * kTags, 0.5F));
    losses.push_back(crf.neg_log_likelihood(scores, Tags(steps, 1)));
  }
  testing::Observed observed;
  testing::observe(cg, &observed);
  static_cast<void>(sum(losses).value());
  testing::observe(cg, nullptr);
  return observed.calls().size();
}

TEST_F(CRF, SequencesOfOneLengthMerge) {
  const std::size_t two = calls_for(crf, {4, 4});
  EXPECT_EQ(calls_for(crf, std::vector<unsigned>(40, 4)), two);
  // Each further length has an input, a partition function and a score of its own.
  EXPECT_LE(calls_for(crf, {4, 4, 5, 5, 6, 6, 5, 6}), two + 6);
  crf.forbid(0, 1);
  EXPECT_LE(calls_for(crf, std::vector<unsigned>(40, 4)), two + 2);
}

TEST_F(CRF, ComesBackFromAFileAndIsCopied) {
  const testing::TemporaryFolder folder;
  TextFileSaver saver(folder.file("model"));
  saver.save(crf.get_parameter_collection(), "/crf");
  saver.close();
  ParameterCollection other;
  CRFBuilder read(kTags, other);
  const std::vector<float> numbers = drawn(4);
  const auto loss_of = [&](CRFBuilder& b) {
    ComputationGraph cg;
    b.new_graph(cg);
    return value_of(b.neg_log_likelihood(input(cg, {kTags, 4}, numbers), Tags{0, 1, 2, 0}));
  };
  EXPECT_NE(loss_of(read), loss_of(crf));
  TextFileLoader(folder.file("model")).populate(read.get_parameter_collection(), "/crf");
  EXPECT_NEAR(loss_of(read), loss_of(crf), tolerance::kThroughFloat);
  CRFBuilder shared(kTags, other);
  crf.forbid(0, 0);
  shared.copy(crf);
  EXPECT_EQ(shared.params()[0].p, crf.params()[0].p);
  EXPECT_EQ(loss_of(shared), loss_of(crf));
  CRFBuilder larger(kTags + 1, other);
  EXPECT_THROW(larger.copy(crf), errors::ValueError);
  EXPECT_EQ(model.parameters_list()[0]->name, "/crf-builder/transitions");
  EXPECT_EQ(model.parameters_list()[1]->name, "/crf-builder/start");
  EXPECT_EQ(model.parameters_list()[2]->name, "/crf-builder/end");
}

TEST_F(CRF, WithoutUpdateParametersGetNoGradient) {
  for (const bool update : {false, true}) {
    ComputationGraph cg;
    crf.new_graph(cg, update);
    const Parameter scores = model.add_parameters({kTags, 3});
    cg.backward(crf.neg_log_likelihood(parameter(cg, scores), Tags{0, 1, 2}));
    EXPECT_EQ(crf.params()[0].p->has_grad(), update);
  }
}

TEST_F(CRF, Errors) {
  ComputationGraph cg;
  const Expression scores = input(cg, {kTags, 3}, drawn(3));
  EXPECT_THROW(crf.neg_log_likelihood(scores, Tags{0, 1, 2}), errors::StateError);
  EXPECT_THROW(CRFBuilder().new_graph(cg), errors::StateError);
  EXPECT_THROW(CRFBuilder(0, model), errors::ValueError);
  crf.new_graph(cg);
  const std::size_t nodes = cg.nodes.size();
  ComputationGraph other;
  EXPECT_THROW(crf.viterbi(ones(other, {kTags, 3})), errors::GraphError);
  EXPECT_THROW(crf.neg_log_likelihood(scores, Tags{}), errors::ValueError);
  EXPECT_THROW(crf.neg_log_likelihood(scores, Tags{0, 1, 2, 0}), errors::ValueError);
  EXPECT_THROW(crf.neg_log_likelihood(scores, Tags{0, kTags, 0}), errors::IndexError);
  EXPECT_THROW(crf.neg_log_likelihood(scores, std::vector<Tags>{{0}, {1}}), errors::ValueError);
  EXPECT_THROW(crf.viterbi(scores, Tags{4}), errors::IndexError);
  EXPECT_THROW(crf.viterbi(scores, Tags{0}), errors::IndexError);
  EXPECT_THROW(crf.viterbi(scores, Tags{1, 1}), errors::ValueError);
  EXPECT_EQ(cg.nodes.size(), nodes) << "errors leave no nodes";
  EXPECT_THROW(crf.viterbi(ones(cg, Dim({kTags, 3}, 2))), errors::ShapeError);
  const auto text_of = [](const auto& call) {
    try {
      call();
    } catch (const errors::Error& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  EXPECT_EQ(text_of([&] { crf.viterbi(ones(cg, {kTags + 1, 5})); }),
            "CRFBuilder: viterbi: scores are {4,5}; want {3,steps} with a step at least");
  EXPECT_EQ(text_of([&] { crf.viterbi(scores, Tags{4}); }),
            "CRFBuilder: viterbi: a length is 4 for {3,3}; want 1 to 3");
  EXPECT_EQ(text_of([&] { crf.viterbi(scores, Tags{1, 1}); }),
            "CRFBuilder: viterbi: 2 lengths for {3,3}; want one for each example");
  EXPECT_EQ(text_of([&] { CRFBuilder().new_graph(cg); }),
            "a builder without parameters: new_graph: it was made by the default constructor; want "
            "one with sizes");
}

/// Tag 1 never follows tag 1, and scores say nothing: the transitions alone can learn that.
TEST(CRFTraining, LearnsTransitions) {
  ParameterCollection model;
  CRFBuilder crf(2, model);
  AdamTrainer trainer(model, 0.05F);
  for (int i = 0; i < 200; ++i) {
    ComputationGraph cg;
    crf.new_graph(cg);
    const Expression scores = zeros(cg, Dim({2, 5}, 2));
    cg.backward(mean_batches(crf.neg_log_likelihood(scores, {{1, 0, 1, 0, 1}, {0, 1, 0, 1, 0}})));
    trainer.update();
  }
  ComputationGraph cg;
  crf.new_graph(cg);
  EXPECT_EQ(crf.viterbi(input(cg, {2, 4}, {0, 3, 0, 0.1F, 0, 0.1F, 0, 0.1F})).tags,
            (Tags{1, 0, 1, 0}));
}

}  // namespace
}  // namespace dynet
