// The builder for segments: against all segmentations one by one, batches of different lengths,
// gradients, merging, files, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/io.h"
#include "dynet/semi-crf-builder.h"

#include "support/differences.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Segments = std::vector<LabelledSpan>;
constexpr unsigned kLabels = 2;
constexpr unsigned kMost = 3;
constexpr float kMinusInf = -std::numeric_limits<float>::infinity();

/// All segmentations of the steps from `begin` on.
std::vector<Segments> all_from(unsigned begin, unsigned steps) {
  if (begin == steps) {
    return {{}};
  }
  std::vector<Segments> all;
  for (unsigned end = begin + 1; end <= std::min(steps, begin + kMost); ++end) {
    for (const Segments& rest : all_from(end, steps)) {
      for (unsigned label = 0; label < kLabels; ++label) {
        all.push_back({{label, begin, end}});
        all.back().insert(all.back().end(), rest.begin(), rest.end());
      }
    }
  }
  return all;
}

/// Scores of one example with `width` steps, and the parameters, as numbers.
struct ByHand {
  std::vector<double> transitions, start, end;
  explicit ByHand(const SemiCRFBuilder& crf)
      : transitions(as_double_vector(crf.params()[0].get_storage().values)),
        start(as_double_vector(crf.params()[1].get_storage().values)),
        end(as_double_vector(crf.params()[2].get_storage().values)) {}
  [[nodiscard]] double score(const float* scores, std::size_t width,
                             const Segments& segments) const {
    double sum = start[segments.front().label] + end[segments.back().label];
    for (std::size_t k = 0; k < segments.size(); ++k) {
      const LabelledSpan& s = segments[k];
      const std::size_t length = s.end - s.begin;
      sum += static_cast<double>(scores[s.label + (kLabels * (s.begin + (width * (length - 1))))]);
      sum += k > 0 ? transitions[(segments[k - 1].label * kLabels) + s.label] : 0.0;
    }
    return sum;
  }
  [[nodiscard]] double log_sum(const float* scores, std::size_t width, unsigned steps) const {
    double sum = 0.0;
    for (const Segments& segments : all_from(0, steps)) {
      sum += std::exp(score(scores, width, segments));
    }
    return std::log(sum);
  }
  [[nodiscard]] Segments best(const float* scores, std::size_t width, unsigned steps) const {
    const std::vector<Segments> all = all_from(0, steps);
    return *std::max_element(all.begin(), all.end(), [&](const Segments& a, const Segments& b) {
      return score(scores, width, a) < score(scores, width, b);
    });
  }
};

class SemiCRF : public ::testing::Test {
 protected:
  SemiCRF() : crf(kLabels, kMost, model) { testing::draw_values(model); }
  std::vector<float> drawn(unsigned steps) {
    return draw(static_cast<std::int64_t>(steps) * kLabels * kMost, -2.0, 2.0);
  }
  const testing::DefaultDevice scope{testing::double_device()};
  ParameterCollection model;
  SemiCRFBuilder crf;
  testing::Draw draw{3};
};

double value_of(const Expression& e) { return as_double_vector(e.value())[0]; }

TEST_F(SemiCRF, IsTheSumOverAllSegmentations) {
  EXPECT_EQ(all_from(0, 4).size(), 52U);  // 16 + 8 + 8 + 8 + 4 + 4 + 4: by the lengths
  ComputationGraph cg;
  crf.new_graph(cg);
  const ByHand by_hand(crf);
  for (const unsigned steps : {1U, 2U, 4U, 5U}) {
    const std::vector<float> numbers = drawn(steps);
    const Expression scores = input(cg, {kLabels, steps, kMost}, numbers);
    const double all = by_hand.log_sum(numbers.data(), steps, steps);
    for (const Segments& segments : all_from(0, steps)) {
      const Expression loss = crf.neg_log_likelihood(scores, segments);
      EXPECT_EQ(loss.dim(), Dim({1}));
      EXPECT_NEAR(value_of(loss), all - by_hand.score(numbers.data(), steps, segments),
                  tolerance::kThroughFloat);
    }
    const ScoredSegments best = crf.viterbi(scores);
    EXPECT_EQ(best.segments, by_hand.best(numbers.data(), steps, steps));
    EXPECT_NEAR(best.score, by_hand.score(numbers.data(), steps, best.segments),
                tolerance::kThroughFloat);
  }
}

TEST_F(SemiCRF, BatchesOfDifferentLengths) {
  constexpr unsigned kSteps = 5;
  ComputationGraph cg;
  crf.new_graph(cg);
  const ByHand by_hand(crf);
  std::vector<float> numbers = drawn(3 * kSteps);
  const std::vector<Segments> gold{
      {{0, 0, 1}, {1, 1, 2}}, {{1, 0, 3}, {1, 3, 4}, {0, 4, 5}}, {{1, 0, 1}}};
  const std::vector<unsigned> lengths{2, 5, 1};
  const std::size_t size = std::size_t{kSteps} * kLabels * kMost;
  for (std::size_t e = 0; e < 3; ++e) {  // numbers that do not count
    for (unsigned length = 1; length <= kMost; ++length) {
      for (unsigned begin = 0; begin < kSteps; ++begin) {
        if (begin + length > lengths[e]) {
          numbers[(e * size) + (std::size_t{kLabels} * (begin + (kSteps * (length - 1))))] =
              std::numeric_limits<float>::quiet_NaN();
        }
      }
    }
  }
  const Expression scores = input(cg, Dim({kLabels, kSteps, kMost}, 3), numbers);
  const Expression losses = crf.neg_log_likelihood(scores, gold);
  EXPECT_EQ(losses.dim(), Dim({1}, 3));
  const std::vector<double> values = as_double_vector(losses.value());
  const std::vector<ScoredSegments> best = crf.viterbi(scores, lengths);
  for (std::size_t e = 0; e < 3; ++e) {
    const float* const own = numbers.data() + (e * size);
    EXPECT_NEAR(values[e],
                by_hand.log_sum(own, kSteps, lengths[e]) - by_hand.score(own, kSteps, gold[e]),
                tolerance::kThroughFloat);
    EXPECT_EQ(best[e].segments, by_hand.best(own, kSteps, lengths[e]));
  }
  cg.backward(sum_batches(losses), true);
  for (const double g : as_double_vector(scores.gradient())) {
    EXPECT_TRUE(std::isfinite(g));
  }
}

TEST_F(SemiCRF, SumsOfSteps) {
  ComputationGraph cg;
  crf.new_graph(cg);
  for (const unsigned steps : {1U, 2U, 5U}) {
    const std::vector<float> numbers = draw(std::int64_t{2} * steps * kLabels, -1.0, 1.0);
    const Expression scores = crf.segment_scores(input(cg, Dim({kLabels, steps}, 2), numbers));
    EXPECT_EQ(scores.dim(), Dim({kLabels, steps, kMost}, 2));
    const std::vector<double> sums = as_double_vector(scores.value());
    for (std::size_t e = 0; e < 2; ++e) {
      for (unsigned begin = 0; begin < steps; ++begin) {
        for (unsigned length = 1; length <= kMost && begin + length <= steps; ++length) {
          for (std::size_t label = 0; label < kLabels; ++label) {
            double sum = 0.0;
            for (std::size_t k = begin; k < begin + length; ++k) {
              sum += static_cast<double>(numbers[(((e * steps) + k) * kLabels) + label]);
            }
            const std::size_t place =
                label + (kLabels * (begin + (steps * (length - 1 + (kMost * e)))));
            EXPECT_NEAR(sums[place], sum, tolerance::kThroughFloat);
          }
        }
      }
    }
  }
}

TEST_F(SemiCRF, ForbiddenSegments) {
  ComputationGraph cg;
  crf.new_graph(cg);
  const ByHand by_hand(crf);
  for (int k = 0; k < 20; ++k) {
    std::vector<float> numbers = drawn(4);
    for (std::size_t i = 0; i < numbers.size(); i += 3) {
      numbers[(i + static_cast<std::size_t>(k)) % numbers.size()] = kMinusInf;
    }
    const Expression scores = input(cg, {kLabels, 4, kMost}, numbers);
    const Segments best = by_hand.best(numbers.data(), 4, 4);
    EXPECT_EQ(crf.viterbi(scores).segments, best);
    const Expression loss = crf.neg_log_likelihood(scores, best);
    EXPECT_NEAR(value_of(loss),
                by_hand.log_sum(numbers.data(), 4, 4) - by_hand.score(numbers.data(), 4, best),
                tolerance::kThroughFloat);
    cg.backward(loss, true);
    for (const double g : as_double_vector(scores.gradient())) {
      EXPECT_TRUE(std::isfinite(g));
    }
  }
}

TEST_F(SemiCRF, GradientsAgreeWithDifferences) {
  const Parameter p = model.add_parameters({kLabels, 5, kMost});
  const Parameter steps = model.add_parameters({kLabels, 4});
  testing::draw_values(model);
  testing::expect_gradients(model, [&](ComputationGraph& cg) {
    crf.new_graph(cg);
    return crf.neg_log_likelihood(parameter(cg, p), Segments{{1, 0, 2}, {0, 2, 3}, {1, 3, 5}}) +
           crf.neg_log_likelihood(crf.segment_scores(parameter(cg, steps)),
                                  Segments{{1, 0, 3}, {1, 3, 4}});
  });
}

TEST_F(SemiCRF, SegmentsOfOneStepAreTags) {
  ParameterCollection other;
  SemiCRFBuilder tags(kLabels, 1, other);
  testing::draw_values(other);
  ComputationGraph cg;
  tags.new_graph(cg);
  const auto& p = tags.params();
  const Expression scores = input(cg, {kLabels, 4}, draw(std::int64_t{4} * kLabels, -2.0, 2.0));
  const Expression all =
      crf_log_partition(scores, parameter(cg, p[0]), parameter(cg, p[1]), parameter(cg, p[2]));
  const Expression one = crf_score(scores, parameter(cg, p[0]), std::vector<unsigned>{1, 1, 0, 1},
                                   parameter(cg, p[1]), parameter(cg, p[2]));
  const Segments segments{{1, 0, 1}, {1, 1, 2}, {0, 2, 3}, {1, 3, 4}};
  EXPECT_NEAR(value_of(tags.neg_log_likelihood(scores, segments)), value_of(all) - value_of(one),
              tolerance::kSameInDouble);
}

TEST_F(SemiCRF, SequencesOfOneLengthMerge) {
  const auto calls = [&](unsigned sentences) {
    ComputationGraph cg(true);
    crf.new_graph(cg);
    std::vector<Expression> losses;
    for (unsigned i = 0; i < sentences; ++i) {
      const Expression scores = input(cg, {kLabels, 4, kMost}, drawn(4));
      losses.push_back(crf.neg_log_likelihood(scores, Segments{{0, 0, 2}, {1, 2, 4}}));
    }
    testing::Observed observed;
    testing::observe(cg, &observed);
    static_cast<void>(sum(losses).value());
    testing::observe(cg, nullptr);
    return observed.calls().size();
  };
  EXPECT_EQ(calls(2), calls(7));
}

TEST_F(SemiCRF, ComesBackFromAFileAndIsCopied) {
  const testing::TemporaryFolder folder;
  const std::string file = folder.file("model");
  TextFileSaver(file).save(model);
  ParameterCollection other;
  SemiCRFBuilder read(kLabels, kMost, other);
  TextFileLoader(file).populate(other);
  const std::vector<float> numbers = drawn(3);
  const auto loss_of = [&](SemiCRFBuilder& b) {
    ComputationGraph cg;
    b.new_graph(cg);
    return value_of(b.neg_log_likelihood(input(cg, {kLabels, 3, kMost}, numbers),
                                         Segments{{1, 0, 1}, {0, 1, 3}}));
  };
  EXPECT_NEAR(loss_of(read), loss_of(crf), tolerance::kThroughFloat);
  SemiCRFBuilder shared(kLabels, kMost, other);
  shared.copy(read);
  EXPECT_EQ(loss_of(shared), loss_of(read));
  SemiCRFBuilder longer(kLabels, kMost + 1, other);
  EXPECT_THROW(longer.copy(read), errors::ValueError);
  SemiCRFBuilder larger(kLabels + 1, kMost, other);
  EXPECT_THROW(larger.copy(read), errors::ValueError);
}

TEST_F(SemiCRF, Errors) {
  const auto text = [](const auto& call) { return testing::text_of_error<std::exception>(call); };
  ComputationGraph cg;
  const Expression scores = input(cg, {kLabels, 4, kMost}, drawn(4));
  EXPECT_THROW(crf.neg_log_likelihood(scores, Segments{{0, 0, 3}, {0, 3, 4}}), errors::StateError);
  EXPECT_THROW(SemiCRFBuilder().new_graph(cg), errors::StateError);
  EXPECT_EQ(text([&] { SemiCRFBuilder(2, 0, model); }),
            "SemiCRFBuilder: 2 labels, and segments of at most 0 steps; want at least 1 of each");
  crf.new_graph(cg);
  ComputationGraph other;
  EXPECT_THROW(static_cast<void>(crf.viterbi(ones(other, {kLabels, 4, kMost}))),
               errors::GraphError);
  const std::size_t nodes = cg.nodes.size();
  const std::string begin = "SemiCRFBuilder: neg_log_likelihood: scores are {2,4,3}, and ";
  const auto loss = [&](const Segments& segments) {
    return text([&] { crf.neg_log_likelihood(scores, segments); });
  };
  EXPECT_EQ(loss({}), begin + "a list of segments is empty; want segments from step 0 on");
  EXPECT_EQ(loss({{0, 0, 2}, {1, 3, 4}}),
            begin + "segment (label 1, begin 3, end 4) does not begin at step 2");
  EXPECT_EQ(loss({{0, 0, 4}}),
            begin + "segment (label 0, begin 0, end 4) is not 1 to 3 of the 4 steps");
  EXPECT_EQ(loss({{0, 0, 3}, {0, 3, 5}}),
            begin + "segment (label 0, begin 3, end 5) is not 1 to 3 of the 4 steps");
  EXPECT_EQ(loss({{2, 0, 1}}), "SemiCRFBuilder: neg_log_likelihood: label 2 of 2");
  EXPECT_EQ(text([&] { crf.neg_log_likelihood(scores, std::vector<Segments>{}); }),
            "SemiCRFBuilder: neg_log_likelihood: scores are {2,4,3} and there are 0 lists of "
            "segments; want one for each example");
  EXPECT_EQ(text([&] { static_cast<void>(crf.viterbi(scores, {5})); }),
            "SemiCRFBuilder: viterbi: a length is 5 for {2,4,3}; want 1 to 4");
  EXPECT_EQ(cg.nodes.size(), nodes) << "errors leave no nodes";
  EXPECT_EQ(text([&] { static_cast<void>(crf.viterbi(ones(cg, {kLabels, 4, 2}))); }),
            "SemiCRFBuilder: viterbi: scores are {2,4,2}; want {2,steps,3} with a step at least");
  EXPECT_EQ(text([&] { static_cast<void>(crf.segment_scores(ones(cg, {3, 4}))); }),
            "SemiCRFBuilder: segment_scores: emissions are {3,4}; want {2,steps} with a step at "
            "least");
  EXPECT_EQ(text([&] { static_cast<void>(crf.viterbi(ones(cg, Dim({2, 4, 3}, 2)))); }),
            "SemiCRFBuilder: viterbi: scores are {2,4,3}x2; want one example, or the lengths of a "
            "batch");
  const Expression none = input(cg, {2, 1, 3}, std::vector<float>(6, kMinusInf));
  EXPECT_EQ(text([&] { static_cast<void>(crf.viterbi(none)); }),
            "SemiCRFBuilder: viterbi: scores are {2,1,3}, and all segments have a score of -inf");
}

}  // namespace
}  // namespace dynet
