// Beam search: against all sequences, greedy search, normalisation, ties, pruning, in how many
// plans and in how much memory, over states of recurrent builders and of Transformers.

#include "dynet/beam.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dynet/debug.h"
#include "dynet/gru.h"
#include "dynet/lstm.h"
#include "dynet/transformer.h"

#include "api/graph_state.h"
#include "memory/pool.h"
#include "support/differences.h"
#include "support/observe.h"
#include "testing/program.h"
#include "testing/temporary_folder.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Words = std::vector<unsigned>;
using Found = std::vector<Hypothesis>;
constexpr unsigned kEnd = 0;
constexpr unsigned kBegin = 1;
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<Words> words_of(const Found& found) {
  std::vector<Words> all;
  all.reserve(found.size());
  for (const Hypothesis& h : found) {
    all.push_back(h.words);
  }
  return all;
}
std::vector<double> scores_of(const Found& found) {
  std::vector<double> all;
  all.reserve(found.size());
  for (const Hypothesis& h : found) {
    all.push_back(h.score);
  }
  return all;
}
/// The same hypotheses, numbers up to rounding.
void expect_same(const Found& a, const Found& b) {
  EXPECT_EQ(words_of(a), words_of(b));
  EXPECT_EQ(testing::compare(scores_of(a), scores_of(b), tolerance::kFloatAgainstDouble), "");
}

// ---- a model whose probabilities are known
// --------------------------------------------------------

/// The next word depends on the last one and on how many there are. The state is that number.
struct Chain {
  unsigned words;
  unsigned steps;
  std::vector<std::vector<float>> logs;  ///< [step * words + last][word]

  Chain(unsigned word_count, unsigned step_count, unsigned seed)
      : words(word_count), steps(step_count) {
    testing::Draw draw(seed);
    for (unsigned k = 0; k < words * steps; ++k) {
      std::vector<float> row = draw(words, -2.0, 2.0);
      double all = 0.0;
      for (const float z : row) {
        all += std::exp(static_cast<double>(z));
      }
      for (float& z : row) {
        z -= static_cast<float>(std::log(all));
      }
      logs.push_back(std::move(row));
    }
  }
  [[nodiscard]] const std::vector<float>& after(unsigned step, unsigned last) const {
    return logs[(std::size_t{step} * words) + last];
  }
  [[nodiscard]] auto step(ComputationGraph& cg) const {
    return [this, &cg](unsigned state, unsigned word) {
      return std::make_pair(state + 1, input(cg, {words}, after(state, word)));
    };
  }
  /// All sequences that end, best first.
  [[nodiscard]] Found all(const LengthNorm& norm) const {
    Found done;
    Found open(1);
    for (unsigned t = 0; t < steps; ++t) {
      Found longer;
      for (const Hypothesis& h : open) {
        const unsigned last = h.words.empty() ? kBegin : h.words.back();
        for (unsigned w = 0; w < words; ++w) {
          Hypothesis next = h;
          next.words.push_back(w);
          next.log_probability += static_cast<double>(after(t, last)[w]);
          next.score = next.log_probability / (norm ? norm(t + 1) : 1.0);
          (w == kEnd ? done : longer).push_back(std::move(next));
        }
      }
      open = std::move(longer);
    }
    std::sort(done.begin(), done.end(),
              [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
    return done;
  }
};

BeamOptions options_of(unsigned width, unsigned max_length, unsigned n_best = 1) {
  BeamOptions options;
  options.width = width;
  options.max_length = max_length;
  options.n_best = n_best;
  return options;
}

TEST(Beam, AWideBeamFindsTheBestOfAllSequences) {
  for (unsigned seed = 1; seed < 30; ++seed) {
    const Chain chain(3, 4, seed);
    for (const LengthNorm& norm :
         {LengthNorm(), length_power(1.0), length_power(0.5), length_wu(0.8)}) {
      for (const unsigned n : {1U, 5U, 40U}) {
        BeamOptions options = options_of(81, 4, n);
        options.length_norm = norm;
        ComputationGraph cg;
        const Found found = beam_search(cg, 0U, kBegin, kEnd, chain.step(cg), options);
        Found wanted = chain.all(norm);
        ASSERT_EQ(wanted.size(), 15U);  // 1 + 2 + 4 + 8
        if (n == 40) {
          ASSERT_EQ(found.size(), 31U) << "and those that have not ended: 2^4";
          EXPECT_FALSE(found[15].finished);
          EXPECT_GE(found[15].score, found[16].score);
        } else {
          wanted.resize(n);
        }
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          EXPECT_EQ(found[i].words, wanted[i].words) << "seed " << seed << ", " << i << " of " << n;
          EXPECT_NEAR(found[i].score, wanted[i].score, tolerance::kSameInDouble);
          EXPECT_NEAR(found[i].log_probability, wanted[i].log_probability,
                      tolerance::kSameInDouble);
          EXPECT_TRUE(found[i].finished);
        }
      }
    }
  }
}

TEST(Beam, AWidthOfOneIsGreedy) {
  for (unsigned seed = 1; seed < 50; ++seed) {
    const Chain chain(5, 9, seed);
    Words greedy;
    unsigned last = kBegin;
    for (unsigned t = 0; t < 8 && (t == 0 || last != kEnd); ++t) {
      const std::vector<float>& row = chain.after(t, last);
      last = static_cast<unsigned>(std::max_element(row.begin(), row.end()) - row.begin());
      greedy.push_back(last);
    }
    ComputationGraph cg;
    const Found found = beam_search(cg, 0U, kBegin, kEnd, chain.step(cg), options_of(1, 8));
    EXPECT_EQ(words_of(found), std::vector<Words>{greedy}) << seed;
    EXPECT_EQ(found[0].finished, last == kEnd);
  }
}

TEST(Beam, WiderIsNotWorseThanGreedyAndNBestAreSorted) {
  double gained = 0.0;
  for (unsigned seed = 1; seed < 30; ++seed) {
    const Chain chain(4, 7, seed);
    ComputationGraph cg;
    const Found wide = beam_search(cg, 0U, kBegin, kEnd, chain.step(cg), options_of(6, 7, 5));
    for (std::size_t i = 1; i < wide.size(); ++i) {
      if (wide[i].finished == wide[i - 1].finished) {
        EXPECT_GE(wide[i - 1].score, wide[i].score);
      } else {
        EXPECT_TRUE(wide[i - 1].finished);
      }
    }
    const Found greedy = beam_search(cg, 0U, kBegin, kEnd, chain.step(cg), options_of(1, 7));
    if (greedy[0].finished && wide[0].finished) {
      gained += wide[0].score - greedy[0].score;
    }
  }
  EXPECT_GT(gained, 0.0);
}

TEST(Beam, TiesAreInOrder) {
  ComputationGraph cg;
  const auto even = [&](unsigned state, unsigned /*word*/) {
    return std::make_pair(state, input(cg, {4}, std::vector<float>(4, -2.0F)));
  };
  const Found found = beam_search(cg, 0U, kBegin, kEnd, even, options_of(3, 2, 4));
  // Of four equal continuations 0, 1, 2 are kept; then the first one's continuations.
  EXPECT_EQ(words_of(found), (std::vector<Words>{{0}, {1, 0}, {1, 1}, {1, 2}}));
}

TEST(Beam, PrunedAndImprobable) {
  ComputationGraph cg;
  const auto step = [&](unsigned state, unsigned /*word*/) {
    return std::make_pair(state, input(cg, {4}, {-3.0F, -1.0F, -1.5F, -kInf}));
  };
  BeamOptions options = options_of(4, 2, 20);
  EXPECT_EQ(beam_search(cg, 0U, kBegin, kEnd, step, options).size(), 5U) << "word 3 never";
  options.prune = 0.75;
  EXPECT_EQ(words_of(beam_search(cg, 0U, kBegin, kEnd, step, options)),
            (std::vector<Words>{{1, 1}, {1, 2}, {2, 1}}));
  options.prune = 0.0;
  EXPECT_EQ(words_of(beam_search(cg, 0U, kBegin, kEnd, step, options)),
            (std::vector<Words>{{1, 1}}));
  const auto nothing = [&](unsigned state, unsigned /*word*/) {
    return std::make_pair(state, input(cg, {2}, {-kInf, -kInf}));
  };
  EXPECT_TRUE(beam_search(cg, 0U, kBegin, kEnd, nothing).empty());
}

TEST(Beam, StopsWhenNothingCanBecomeBetter) {
  ComputationGraph cg;
  unsigned calls = 0;
  const auto step = [&](unsigned state, unsigned /*word*/) {
    ++calls;
    return std::make_pair(state, input(cg, {2}, {-1.0F, -1.25F}));
  };
  const Found found = beam_search(cg, 0U, kBegin, kEnd, step, options_of(2, 50));
  EXPECT_EQ(words_of(found), std::vector<Words>{{kEnd}});
  EXPECT_EQ(calls, 1U);
  // With the mean per word a longer one may still be better.
  calls = 0;
  BeamOptions options = options_of(2, 5);
  options.length_norm = length_power(1.0);
  beam_search(cg, 0U, kBegin, kEnd, step, options);
  EXPECT_GT(calls, 1U);
}

TEST(Beam, LengthNorms) {
  EXPECT_EQ(length_power(0.0)(7), 1.0);
  EXPECT_EQ(length_power(1.0)(7), 7.0);
  EXPECT_EQ(length_power(2.0)(3), 9.0);
  EXPECT_EQ(length_wu(1.0)(1), 1.0);
  EXPECT_EQ(length_wu(1.0)(7), 2.0);
  EXPECT_EQ(length_wu(2.0)(13), 9.0);
}

// ---- networks
// -------------------------------------------------------------------------------------

constexpr unsigned kWords = 6;
constexpr unsigned kDim = 4;

/// A language model whose step is made of `Net`.
template <class Net>
class Networks : public ::testing::Test {
 public:
  Networks()
      : words(model.add_lookup_parameters(kWords, {kDim})),
        out(model.add_parameters({kWords, kDim})),
        net(model) {
    testing::draw_values(model, 1.5);
  }
  /// Adds the parameters of a step to a graph once.
  void new_graph(ComputationGraph& cg) {
    net.new_graph(cg);
    w = parameter(cg, out);
  }
  template <class State>
  auto step(ComputationGraph& cg) {
    return [this, &cg](const State& state, unsigned word) {
      auto [next, h] = net.read(state, lookup(cg, words, word));
      return std::make_pair(std::move(next), log_softmax(w * h));
    };
  }
  /// The log-probability of a sequence, read word by word in a graph of its own.
  double log_probability(const Words& sequence) {
    ComputationGraph cg;
    new_graph(cg);
    auto state = net.start();
    unsigned last = kBegin;
    double all = 0.0;
    for (const unsigned word : sequence) {
      auto [next, logs] = step<decltype(state)>(cg)(state, last);
      all += as_double_vector(logs.value())[word];
      state = next;
      last = word;
    }
    return all;
  }
  Found search(ComputationGraph& cg, const BeamOptions& options) {
    new_graph(cg);
    return beam_search(cg, net.start(), kBegin, kEnd, step<decltype(net.start())>(cg), options);
  }
  ParameterCollection model;
  LookupParameter words;
  Parameter out;
  Net net;
  Expression w;
};

/// States by their numbers in the builder.
struct ByPointer {
  static constexpr bool kCarries = false;
  VanillaLSTMBuilder lstm;
  explicit ByPointer(ParameterCollection& model) : lstm(2, kDim, kDim, model) {}
  void new_graph(ComputationGraph& cg) {
    lstm.new_graph(cg);
    lstm.start_new_sequence();
  }
  [[nodiscard]] static RNNPointer start() { return -1; }
  std::pair<RNNPointer, Expression> read(RNNPointer state, const Expression& x) {
    const Expression h = lstm.add_input(state, x);
    return {lstm.state(), h};
  }
};
/// States as lists of expressions.
template <class Builder>
struct ByValue {
  static constexpr bool kCarries = true;
  Builder rnn;
  explicit ByValue(ParameterCollection& model) : rnn(2, kDim, kDim, model) {}
  void new_graph(ComputationGraph& cg) { rnn.new_graph(cg); }
  [[nodiscard]] static std::vector<Expression> start() { return {}; }
  std::pair<std::vector<Expression>, Expression> read(const std::vector<Expression>& state,
                                                      const Expression& x) {
    rnn.start_new_sequence(state);
    const Expression h = rnn.add_input(x);
    return {rnn.final_s(), h};
  }
};
struct ByCache {
  static constexpr bool kCarries = true;
  TransformerDecoderBuilder decoder;
  SinusoidalEncoding positions{kDim};
  Parameter seen;
  TransformerState begin;
  explicit ByCache(ParameterCollection& model)
      : decoder(2, kDim, 2, 8, model), seen(model.add_parameters({kDim, 3})) {}
  void new_graph(ComputationGraph& cg) {
    decoder.new_graph(cg);
    begin = decoder.start(parameter(cg, seen));
  }
  [[nodiscard]] TransformerState start() const { return begin; }
  std::pair<TransformerState, Expression> read(const TransformerState& state, const Expression& x) {
    TransformerState next = decoder.add_input(state, positions.add(x, state.positions()));
    const Expression h = next.output;
    return {std::move(next), h};
  }
};

/// A step also reads the output of the step before.
struct ByOutput : ByCache {
  explicit ByOutput(ParameterCollection& model) : ByCache(model) {}
  std::pair<TransformerState, Expression> read(const TransformerState& state, const Expression& x) {
    return ByCache::read(state, state.positions() == 0 ? x : x + tanh(state.output));
  }
};

using Nets = ::testing::Types<ByPointer, ByValue<CoupledLSTMBuilder>, ByValue<GRUBuilder>, ByCache,
                              ByOutput>;
TYPED_TEST_SUITE(Networks, Nets);

TYPED_TEST(Networks, ScoresAreThoseOfTheSequences) {
  ComputationGraph cg;
  const Found found = this->search(cg, options_of(4, 8, 6));
  ASSERT_FALSE(found.empty());
  for (const Hypothesis& h : found) {
    EXPECT_NEAR(h.log_probability, this->log_probability(h.words), tolerance::kFloatAgainstDouble);
  }
  // As wide as there are sequences: none of them is better.
  ComputationGraph other;
  const Found best = this->search(other, options_of(kWords * kWords * kWords, 3));
  double highest = -std::numeric_limits<double>::infinity();
  for (unsigned a = 0; a < kWords; ++a) {
    for (unsigned b = 0; b < kWords; ++b) {
      const Words tries[] = {{kEnd}, {a, kEnd}, {a, b, kEnd}};
      for (const Words& sequence : tries) {
        const auto first_end = std::find(sequence.begin(), sequence.end(), kEnd);
        if (first_end + 1 == sequence.end()) {
          highest = std::max(highest, this->log_probability(sequence));
        }
      }
    }
  }
  EXPECT_NEAR(best[0].log_probability, highest, tolerance::kFloatAgainstDouble);
}

TYPED_TEST(Networks, CheckpointsGiveTheSameInBoundedMemory) {
  BeamOptions options = options_of(4, 30, 4);
  options.length_norm = length_wu(1.0);
  ComputationGraph cg;
  const Found wanted = this->search(cg, options);
  options.checkpoints = true;
  ComputationGraph bounded;
  if (!TypeParam::kCarries) {
    EXPECT_THROW(this->search(bounded, options), errors::UsageError);
    return;
  }
  this->new_graph(bounded);
  const std::size_t before = bounded.nodes.size();
  std::size_t most_nodes = 0;
  std::vector<std::size_t> bytes;
  using State = decltype(this->net.start());
  auto step = this->template step<State>(bounded);
  const auto watched = [&](const State& state, unsigned word) {
    most_nodes = std::max(most_nodes, bounded.nodes.size());
    bytes.push_back(bounded.state().executor.values().used());
    return step(state, word);
  };
  expect_same(beam_search(bounded, this->net.start(), kBegin, kEnd, watched, options), wanted);
  EXPECT_EQ(bounded.nodes.size(), before) << "nothing is left behind";
  EXPECT_LT(most_nodes - before, (cg.nodes.size() - before) / 4);
  EXPECT_LT(*std::max_element(bytes.begin(), bytes.end()), cg.state().executor.values().used() / 2);
  const std::vector<float> values = as_vector(this->w.value());
  EXPECT_EQ(values.size(), std::size_t{kWords} * kDim) << "what was there before stays";
}

/// Forward calls and passes of a search over `steps` steps in which nothing ends.
template <class Test>
std::pair<std::size_t, std::size_t> cost_of(Test& test, unsigned width, unsigned steps) {
  const testing::TemporaryFolder folder;
  ComputationGraph cg(true);
  test.new_graph(cg);
  using State = decltype(test.net.start());
  auto step = test.template step<State>(cg);
  const Expression never = input(cg, {kWords}, {-kInf, 0, 0, 0, 0, 0});
  const auto endless = [&](const State& state, unsigned word) {
    auto [next, logs] = step(state, word);
    return std::make_pair(std::move(next), logs + never);
  };
  testing::Observed observed;
  testing::observe(cg, &observed);
  TimelineScope timeline(folder.file("timeline"));
  beam_search(cg, test.net.start(), kBegin, kEnd, endless, options_of(width, steps));
  timeline.close();
  testing::observe(cg, nullptr);
  std::ifstream file(folder.file("timeline"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::size_t passes = 0;
  for (std::size_t at = text.find("\"plan\""); at != std::string::npos;
       at = text.find("\"plan\"", at + 1)) {
    ++passes;
  }
  return {observed.forward_calls(), passes};
}

TYPED_TEST(Networks, HypothesesOfAStepAreOnePlanAndMerge) {
  const auto one = cost_of(*this, 1, 7);
  const auto four = cost_of(*this, 4, 7);
  const auto six = cost_of(*this, 6, 7);
  EXPECT_EQ(four.second, 7U) << "a plan for each step";
  EXPECT_EQ(one.second, 7U);
  EXPECT_EQ(six.second, 7U);
  EXPECT_EQ(six.first, four.first) << "as many calls, however wide";
  // From the second step on each step also concatenates the scores. Rows of a table for several
  // hypotheses, and nodes that begin with an input, may stand in one more group.
  EXPECT_LE(four.first, one.first + (3 * 7));
}

/// Counts plans, each of which is one request.
struct Plans final : execute::Hook {
  std::size_t count = 0;
  void after_plan(const std::vector<graph::NodeId>& /*nodes*/,
                  const schedule::Plan& /*plan*/) override {
    ++count;
  }
};

TYPED_TEST(Networks, SearchesOfManyTasksGoOnTogether) {
  using State = decltype(this->net.start());
  const BeamOptions options = options_of(3, 6, 2);
  std::vector<Found> alone;
  std::size_t longest = 0;
  for (unsigned first = 1; first < kWords; ++first) {
    ComputationGraph cg;
    this->new_graph(cg);
    Plans plans;
    testing::observe(cg, &plans);
    alone.push_back(
        beam_search(cg, this->net.start(), first, kEnd, this->template step<State>(cg), options));
    longest = std::max(longest, plans.count);
  }
  ComputationGraph cg;
  this->new_graph(cg);
  std::vector<Task<Found>> tasks;
  for (unsigned first = 1; first < kWords; ++first) {
    tasks.push_back(
        beam_search_task(this->net.start(), first, kEnd, this->template step<State>(cg), options));
  }
  Plans plans;
  testing::observe(cg, &plans);
  const std::vector<Found> together = run_together(cg, std::move(tasks));
  EXPECT_EQ(plans.count, longest);
  ASSERT_EQ(together.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    expect_same(together[i], alone[i]);
  }
  BeamOptions with_checkpoints = options;
  with_checkpoints.checkpoints = true;
  tasks.clear();
  tasks.push_back(beam_search_task(this->net.start(), kBegin, kEnd, this->template step<State>(cg),
                                   with_checkpoints));
  EXPECT_THROW(run_together(cg, std::move(tasks)), errors::UsageError);
}

// ---- errors
// ---------------------------------------------------------------------------------------

TYPED_TEST(Networks, AStepThatThrowsLeavesTheGraphUsable) {
  for (const bool checkpoints : {false, true}) {
    if (checkpoints && !TypeParam::kCarries) {
      continue;
    }
    ComputationGraph cg;
    this->new_graph(cg);
    using State = decltype(this->net.start());
    auto step = this->template step<State>(cg);
    int calls = 0;
    const auto failing = [&](const State& state, unsigned word) {
      if (++calls == 3) {
        throw std::runtime_error("the third");
      }
      return step(state, word);
    };
    BeamOptions options = options_of(4, 8, 3);
    options.checkpoints = checkpoints;
    const std::size_t nodes = cg.nodes.size();
    const auto search = [&](auto f) {
      return beam_search(cg, this->net.start(), kBegin, kEnd, f, options);
    };
    EXPECT_THROW(search(failing), std::runtime_error);
    if (checkpoints) {
      EXPECT_EQ(cg.nodes.size(), nodes);
    }
    ComputationGraph other;
    const Found again = search(step);
    expect_same(again, this->search(other, options));
  }
}

TEST(BeamErrors, SayWhatIsWrong) {
  ComputationGraph cg;
  const auto with = [&](const Expression& logs, const BeamOptions& options, unsigned end = kEnd) {
    return [&cg, logs, options, end] {
      beam_search(
          cg, 0U, kBegin, end,
          [&](unsigned state, unsigned /*word*/) { return std::make_pair(state, logs); }, options);
    };
  };
  const Expression good = input(cg, {3}, {-1.0F, -1.0F, -1.0F});
  for (const BeamOptions& wrong : {options_of(0, 5), options_of(4, 0), options_of(4, 5, 0)}) {
    EXPECT_THROW(with(good, wrong)(), errors::ValueError);
  }
  BeamOptions options = options_of(4, 5);
  options.prune = -1.0;
  EXPECT_THROW(with(good, options)(), errors::ValueError);
  options = options_of(4, 5);
  options.length_norm = [](unsigned /*length*/) { return 0.0; };
  EXPECT_THROW(with(good, options)(), errors::ValueError);
  options = options_of(4, 5);
  EXPECT_THROW(with(good, options, 3)(), errors::IndexError);
  EXPECT_THROW(with(ones(cg, {3, 2}), options)(), errors::ShapeError);
  EXPECT_THROW(with(ones(cg, Dim({3}, 2)), options)(), errors::ShapeError);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  try {
    with(input(cg, {3}, {-1.0F, -1.0F, nan}), options)();
    FAIL();
  } catch (const errors::NumericError& e) {
    EXPECT_EQ(std::string(e.what()),
              "beam_search: the log-probability of word 2 after 0 words is NaN (hypothesis 0)");
  }
  EXPECT_THROW(with(input(cg, {3}, {-1.0F, -1.0F, -std::log(0.0F)}), options)(),
               errors::NumericError);
  for (const double alpha : {-1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(static_cast<void>(length_power(alpha)), errors::ValueError);
    EXPECT_THROW(static_cast<void>(length_wu(alpha)), errors::ValueError);
  }
  const auto growing = [&](unsigned state, unsigned word) {
    return std::make_pair(state, zeros(cg, {2 + word}));
  };
  EXPECT_THROW(beam_search(cg, 0U, kBegin, kEnd, growing, options_of(4, 5, 9)), errors::ShapeError);
  EXPECT_THROW(with(Expression(), options)(), errors::StaleExpression);
  EXPECT_NO_THROW(with(good, options)());
}

}  // namespace
}  // namespace dynet
