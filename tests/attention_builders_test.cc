// Attention builders: the formulas by hand, batches and lengths, one by one and side by side, the
// memory that grows, gradients, merging, errors.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "dynet/attention.h"
#include "dynet/transformer.h"

#include "support/differences.h"
#include "support/observe.h"
#include "testing/device.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Numbers = std::vector<double>;
constexpr unsigned kKey = 4;    // rows of keys
constexpr unsigned kQuery = 2;  // rows of queries, if other than kKey
constexpr unsigned kValue = 3;
constexpr unsigned kHidden = 5;

Numbers numbers_of(const Expression& e) { return as_double_vector(e.value()); }
void expect_same(const Expression& a, const Expression& b) {
  EXPECT_EQ(a.dim(), b.dim());
  EXPECT_EQ(testing::compare(numbers_of(a), numbers_of(b), tolerance::kMergedInDouble), "");
}

/// A matrix as numbers, column-major.
struct Matrix {
  unsigned rows;
  Numbers v;
  [[nodiscard]] unsigned cols() const { return static_cast<unsigned>(v.size()) / rows; }
  [[nodiscard]] double at(unsigned i, unsigned j) const { return v[(std::size_t{j} * rows) + i]; }
  [[nodiscard]] Numbers column(unsigned j) const {
    const auto first = v.begin() + static_cast<std::ptrdiff_t>(std::size_t{j} * rows);
    return {first, first + rows};
  }
};
Matrix matrix_of(const Parameter& p) {
  return {p.dim().rows(), as_double_vector(p.get_storage().values)};
}
Matrix matrix_of(const Expression& e) { return {e.dim().rows(), numbers_of(e)}; }

/// w x + b; without `b` w x.
Numbers affine(const Matrix& w, const Numbers& x, const Numbers& b = {}) {
  Numbers y = b.empty() ? Numbers(w.rows, 0.0) : b;
  for (unsigned i = 0; i < w.rows; ++i) {
    for (unsigned j = 0; j < w.cols(); ++j) {
      y[i] += w.at(i, j) * x[j];
    }
  }
  return y;
}
double dot(const Numbers& x, const Numbers& y) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sum += x[i] * y[i];
  }
  return sum;
}
Numbers softmax_of(const Numbers& z) {
  double all = 0.0;
  for (const double s : z) {
    all += std::exp(s);
  }
  Numbers p;
  p.reserve(z.size());
  for (const double s : z) {
    p.push_back(std::exp(s) / all);
  }
  return p;
}
Numbers weighted_sum(const Matrix& values, const Numbers& weights) {
  Numbers y(values.rows, 0.0);
  for (unsigned k = 0; k < weights.size(); ++k) {
    for (unsigned i = 0; i < values.rows; ++i) {
      y[i] += values.at(i, k) * weights[k];
    }
  }
  return y;
}

// ---- the three scores, behind one interface
// -------------------------------------------------------

struct MLP {
  static constexpr unsigned kQueryDim = kQuery;
  using Builder = MLPAttentionBuilder;
  static Builder make(ParameterCollection& m) { return Builder(kQuery, kKey, kHidden, m); }
  static double score(const Builder& b, const Numbers& k, const Numbers& q) {
    const std::vector<Parameter>& p = b.params();
    const Numbers of_key = affine(matrix_of(p[0]), k, matrix_of(p[1]).v);
    const Numbers of_query = affine(matrix_of(p[2]), q);
    double sum = 0.0;
    for (unsigned i = 0; i < kHidden; ++i) {
      sum += matrix_of(p[3]).v[i] * std::tanh(of_key[i] + of_query[i]);
    }
    return sum;
  }
};
struct Dot {
  static constexpr unsigned kQueryDim = kKey;
  using Builder = DotAttentionBuilder;
  static Builder make(ParameterCollection& m) { return Builder(kKey, m); }
  static double score(const Builder& /*b*/, const Numbers& k, const Numbers& q) {
    return dot(k, q) / std::sqrt(static_cast<double>(kKey));
  }
};
struct Biaffine {
  static constexpr unsigned kQueryDim = kQuery;
  using Builder = BiaffineAttentionBuilder;
  static Builder make(ParameterCollection& m) { return Builder(kQuery, kKey, m); }
  static double score(const Builder& b, const Numbers& k, const Numbers& q) {
    return dot(k, affine(matrix_of(b.params()[0]), q, matrix_of(b.params()[1]).v));
  }
};

template <class Kind>
class Scoring : public ::testing::Test {
 protected:
  Scoring() : builder(Kind::make(model)) { testing::draw_values(model); }
  Expression drawn(const Dim& d) { return input(cg, d, draw(d.elements(), -1.0, 1.0)); }
  /// Forward calls for queries into sequences of these lengths, one by one.
  std::size_t calls_for(const std::vector<unsigned>& lengths) {
    ComputationGraph graph(true);
    builder.new_graph(graph);
    const LookupParameter table = model.add_lookup_parameters(9, {kKey});
    const LookupParameter queries = model.add_lookup_parameters(9, {Kind::kQueryDim});
    std::vector<Expression> all;
    for (const unsigned n : lengths) {
      const std::vector<unsigned> words(n, 1);
      const Expression keys = reshape(lookup(graph, table, words), {kKey, n});
      all.push_back(builder.attend(lookup(graph, queries, n), builder.read(keys)));
    }
    testing::Observed observed;
    testing::observe(graph, &observed);
    static_cast<void>(sum(all).value());
    testing::observe(graph, nullptr);
    return observed.forward_calls();
  }
  const testing::DefaultDevice scope{testing::double_device()};
  ParameterCollection model;
  typename Kind::Builder builder;
  testing::Draw draw{3};
  ComputationGraph cg;
};
using Kinds = ::testing::Types<MLP, Dot, Biaffine>;
TYPED_TEST_SUITE(Scoring, Kinds);

TYPED_TEST(Scoring, FollowsTheFormula) {
  constexpr unsigned kDim = TypeParam::kQueryDim;
  this->builder.new_graph(this->cg);
  for (const unsigned n : {1U, 4U}) {
    const Expression keys = this->drawn({kKey, n});
    const Expression values = this->drawn({kValue, n});
    const AttentionMemory memory = this->builder.read(keys, values);
    EXPECT_EQ(memory.positions(), n);
    for (const unsigned m : {0U, 1U, 3U}) {  // 0: a vector
      const Expression queries = this->drawn(m == 0 ? Dim({kDim}) : Dim({kDim, m}));
      const Expression context = this->builder.attend(queries, memory);
      const Expression weights = this->builder.weights(queries, memory);
      EXPECT_EQ(context.dim(), m == 0 ? Dim({kValue}) : Dim({kValue, m}));
      EXPECT_EQ(weights.dim(), m == 0 ? Dim({n}) : Dim({n, m}));
      for (unsigned j = 0; j < std::max(m, 1U); ++j) {
        Numbers scores;
        for (unsigned k = 0; k < n; ++k) {
          scores.push_back(TypeParam::score(this->builder, matrix_of(keys).column(k),
                                            matrix_of(queries).column(j)));
        }
        const Numbers p = softmax_of(scores);
        const double bound = tolerance::kThroughFloat;  // the factor of Dot is a float
        EXPECT_EQ(testing::compare(matrix_of(weights).column(j), p, bound), "");
        EXPECT_EQ(testing::compare(matrix_of(context).column(j), weighted_sum(matrix_of(values), p),
                                   bound),
                  "");
      }
    }
  }
}

TYPED_TEST(Scoring, APaddedBatchIsWhatItsExamplesAre) {
  constexpr unsigned kDim = TypeParam::kQueryDim;
  this->builder.new_graph(this->cg);
  const std::vector<unsigned> lengths{4, 1, 3};
  const Expression keys = this->drawn(Dim({kKey, 4}, 3));
  const AttentionMemory all = this->builder.read(keys, lengths);
  for (const bool is_vector : {true, false}) {
    const Expression queries = this->drawn(is_vector ? Dim({kDim}, 3) : Dim({kDim, 2}, 3));
    const Expression context = this->builder.attend(queries, all);
    const Expression weights = this->builder.weights(queries, all);
    for (unsigned e = 0; e < 3; ++e) {
      const Expression own = pick_range(pick_batch_elem(keys, e), 0, lengths[e], 1);
      const AttentionMemory one = this->builder.read(own);
      const Expression query = pick_batch_elem(queries, e);
      expect_same(pick_batch_elem(context, e), this->builder.attend(query, one));
      expect_same(pick_range(pick_batch_elem(weights, e), 0, lengths[e], 0),
                  this->builder.weights(query, one));
    }
    // One sequence that all queries look at.
    const AttentionMemory shared = this->builder.read(pick_batch_elem(keys, 0U));
    expect_same(pick_batch_elem(this->builder.attend(queries, shared), 2U),
                this->builder.attend(pick_batch_elem(queries, 2U), shared));
  }
}

TYPED_TEST(Scoring, GradientsAgreeWithDifferences) {
  constexpr unsigned kDim = TypeParam::kQueryDim;
  const Parameter keys = this->model.add_parameters({kKey, 6});
  const Parameter values = this->model.add_parameters({kValue, 6});
  const Parameter queries = this->model.add_parameters({kDim, 2});
  testing::draw_values(this->model);
  testing::expect_gradients(this->model, [&](ComputationGraph& graph) {
    this->builder.new_graph(graph);
    const Expression k = parameter(graph, keys);
    const Expression v = parameter(graph, values);
    const Expression q = parameter(graph, queries);
    const Expression one = this->builder.attend(pick(q, 0U, 1), this->builder.read(k, v));
    const auto halves = [](const Expression& x) {
      return concatenate_to_batch({pick_range(x, 0, 3, 1), pick_range(x, 3, 6, 1)});
    };
    const AttentionMemory padded = this->builder.read(halves(k), halves(v), {3, 2});
    return sum_elems(square(one)) +
           sum_batches(sum_elems(square(this->builder.attend(q, padded)))) +
           squared_norm(this->builder.weights(q, this->builder.read(k, v)));
  });
}

TYPED_TEST(Scoring, QueriesMergeAndLengthsAsFarAsTheyCan) {
  const std::size_t two = this->calls_for({4, 4});
  EXPECT_EQ(this->calls_for(std::vector<unsigned>(30, 4)), two);
  // Calls left for each length: one node; with a layer the sum of keys and query, softmax, and sum
  // of values; with biaffine scores transposed keys, two products, and softmax.
  const std::size_t of_each = std::is_same_v<TypeParam, Dot>   ? 1
                              : std::is_same_v<TypeParam, MLP> ? 3
                                                               : 4;
  const std::size_t three_lengths = this->calls_for({4, 5, 6, 4, 5, 6, 5, 5});
  EXPECT_EQ(three_lengths, two + (2 * of_each));
}

TYPED_TEST(Scoring, Errors) {
  constexpr unsigned kDim = TypeParam::kQueryDim;
  auto& b = this->builder;
  const Expression keys = this->drawn({kKey, 3});
  EXPECT_THROW(static_cast<void>(b.read(keys)), errors::StateError);
  b.new_graph(this->cg);
  const AttentionMemory memory = b.read(keys);
  const Expression query = this->drawn({kDim});
  const std::size_t nodes = this->cg.nodes.size();
  EXPECT_THROW(static_cast<void>(b.read(keys, std::vector<unsigned>{3, 3})), errors::ValueError);
  EXPECT_THROW(static_cast<void>(b.read(keys, std::vector<unsigned>{0})), errors::IndexError);
  EXPECT_THROW(static_cast<void>(b.read(keys, std::vector<unsigned>{4})), errors::IndexError);
  EXPECT_THROW(static_cast<void>(b.attend(query, AttentionMemory())), errors::StateError);
  EXPECT_EQ(this->cg.nodes.size(), nodes);
  EXPECT_THROW(static_cast<void>(b.read(this->drawn({kKey + 1, 3}))), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(b.read(keys, this->drawn({kKey, 2}))), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(b.read(this->drawn({kKey, 0}))), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(b.attend(this->drawn({kDim + 1}), memory)), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(b.attend(this->drawn({kDim, 0}), memory)), errors::ShapeError);
  EXPECT_THROW(static_cast<void>(
                   b.attend(this->drawn(Dim({kDim}, 3)), b.read(this->drawn(Dim({kKey, 3}, 2))))),
               errors::ShapeError);
  ComputationGraph other;
  EXPECT_THROW(static_cast<void>(b.attend(ones(other, {kDim}), memory)), errors::GraphError);
  EXPECT_THROW(static_cast<void>(b.read(ones(other, {kKey, 3}))), errors::GraphError);
  b.new_graph(other);
  EXPECT_THROW(static_cast<void>(b.attend(ones(other, {kDim}), memory)), errors::GraphError);
  ParameterCollection another;
  typename TypeParam::Builder same = TypeParam::make(another);
  same.copy(b);
  EXPECT_TRUE(b.params().empty() || same.params()[0].p == b.params()[0].p);
}

TEST(AttentionBuilders, ErrorsNameTheBuilderAndAllShapes) {
  ParameterCollection model;
  ComputationGraph cg;
  MLPAttentionBuilder builder(2, 4, 5, model);
  builder.new_graph(cg);
  const AttentionMemory memory = builder.read(ones(cg, {4, 3}));
  const auto text_of = [](const std::function<void()>& f) {
    try {
      f();
    } catch (const errors::Error& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  EXPECT_EQ(text_of([&] { static_cast<void>(builder.read(ones(cg, {3, 4}))); }),
            "MLPAttentionBuilder: read: keys are {3,4}; want {4} or {4,positions} with a position "
            "at least");
  EXPECT_EQ(text_of([&] { static_cast<void>(builder.read(ones(cg, {4, 2}), {0})); }),
            "MLPAttentionBuilder: read: a length is 0 for {4,2}; want 1 to 2");
  EXPECT_EQ(
      text_of([&] { MultiHeadAttentionBuilder(6, 4, model); }),
      "MultiHeadAttentionBuilder: 4 heads of a dimension of 6; want a number that divides it");
  EXPECT_EQ(model.parameters_list()[0]->name, "/mlp-attention-builder/wk");
  EXPECT_EQ(model.parameters_list().size(), 4U) << "what throws makes no parameters";
  EXPECT_THROW(MLPAttentionBuilder(2, 4, 6, model).copy(builder), errors::ValueError);
  EXPECT_THROW(DotAttentionBuilder(3, model).copy(DotAttentionBuilder(4, model)),
               errors::ValueError);
}

/// They are there to be assigned to.
TEST(AttentionBuilders, ThoseMadeByDefaultSaySo) {
  ComputationGraph cg;
  const auto text_of = [&](auto made) {
    try {
      made.new_graph(cg);
    } catch (const errors::StateError& e) {
      return std::string(e.message());
    }
    return std::string();
  };
  const std::string wanted =
      "a builder without parameters: new_graph: it was made by the default constructor; want one "
      "with sizes";
  EXPECT_EQ(text_of(MLPAttentionBuilder()), wanted);
  EXPECT_EQ(text_of(DotAttentionBuilder()), wanted);
  EXPECT_EQ(text_of(BiaffineAttentionBuilder()), wanted);
  EXPECT_EQ(text_of(MultiHeadAttentionBuilder()), wanted);
  EXPECT_EQ(text_of(TransformerEncoderBuilder()), wanted);
  EXPECT_EQ(text_of(TransformerDecoderBuilder()), wanted);
  const AttentionMemory none;
  EXPECT_THROW(static_cast<void>(DotAttentionBuilder().attend(ones(cg, {1}), none)),
               errors::StateError);
  EXPECT_THROW(static_cast<void>(TransformerEncoderBuilder().encode(ones(cg, {1}))),
               errors::StateError);
  EXPECT_THROW(static_cast<void>(TransformerDecoderBuilder().start()), errors::StateError);
  MLPAttentionBuilder later;
  ParameterCollection model;
  later = MLPAttentionBuilder(2, 4, 5, model);
  later.new_graph(cg);
  EXPECT_EQ(later.read(ones(cg, {4, 3})).positions(), 3U);
}

// ---- several heads
// --------------------------------------------------------------------------------

constexpr unsigned kDim = 6;
constexpr unsigned kHeads = 3;

class MultiHead : public ::testing::Test {
 protected:
  MultiHead() : builder(kDim, kHeads, model, kKey) { testing::draw_values(model); }
  Expression drawn(const Dim& d) { return input(cg, d, draw(d.elements(), -1.0, 1.0)); }
  /// The output for query q with the first `count` keys.
  Numbers by_hand(const Matrix& keys, const Numbers& q, unsigned count) {
    std::vector<Matrix> p;
    for (const Parameter& each : builder.params()) {
      p.push_back(matrix_of(each));
    }
    const Numbers query = affine(p[0], q, p[1].v);
    Numbers heads;
    constexpr unsigned kRows = kDim / kHeads;
    for (unsigned h = 0; h < kHeads; ++h) {
      const auto piece = [&](const Numbers& x) {
        const auto first = x.begin() + static_cast<std::ptrdiff_t>(h) * kRows;
        return Numbers(first, first + kRows);
      };
      Numbers scores;
      Matrix values{kRows, {}};
      for (unsigned k = 0; k < count; ++k) {
        const Numbers key = piece(affine(p[2], keys.column(k), p[3].v));
        const Numbers value = piece(affine(p[4], keys.column(k), p[5].v));
        scores.push_back(dot(key, piece(query)) / std::sqrt(static_cast<double>(kRows)));
        values.v.insert(values.v.end(), value.begin(), value.end());
      }
      const Numbers y = weighted_sum(values, softmax_of(scores));
      heads.insert(heads.end(), y.begin(), y.end());
    }
    return affine(p[6], heads, p[7].v);
  }
  const testing::DefaultDevice scope{testing::double_device()};
  ParameterCollection model;
  MultiHeadAttentionBuilder builder;
  testing::Draw draw{3};
  ComputationGraph cg;
};

TEST_F(MultiHead, FollowsTheFormula) {
  builder.new_graph(cg);
  const Expression keys = drawn({kKey, 4});
  const AttentionMemory memory = builder.read(keys);
  const Expression queries = drawn({kDim, 4});
  const Matrix all = matrix_of(builder.attend(queries, memory));
  const Matrix causal = matrix_of(builder.attend_causally(queries, memory));
  for (unsigned j = 0; j < 4; ++j) {
    const Numbers q = matrix_of(queries).column(j);
    EXPECT_EQ(
        testing::compare(all.column(j), by_hand(matrix_of(keys), q, 4), tolerance::kMergedInDouble),
        "");
    EXPECT_EQ(testing::compare(causal.column(j), by_hand(matrix_of(keys), q, j + 1),
                               tolerance::kMergedInDouble),
              "");
  }
  EXPECT_THROW(static_cast<void>(builder.attend_causally(drawn({kDim, 3}), memory)),
               errors::ShapeError);
}

TEST_F(MultiHead, AMemoryThatGrowsIsCausal) {
  builder.new_graph(cg);
  for (const unsigned batch : {1U, 3U}) {
    const Expression keys = drawn(Dim({kKey, 5}, batch));
    const Expression queries = drawn(Dim({kDim, 5}, batch));
    const Expression whole = builder.attend_causally(queries, builder.read(keys));
    AttentionMemory memory;
    for (unsigned t = 0; t < 5; ++t) {
      memory = builder.append(memory, pick(keys, t, 1));
      EXPECT_EQ(memory.positions(), t + 1);
      expect_same(builder.attend(pick(queries, t, 1), memory), pick(whole, t, 1));
    }
    AttentionMemory in_pieces = builder.append({}, pick_range(keys, 0, 3, 1));
    in_pieces = builder.append(in_pieces, pick_range(keys, 3, 5, 1));
    expect_same(builder.attend(pick(queries, 4U, 1), in_pieces), pick(whole, 4U, 1));
  }
}

TEST_F(MultiHead, APaddedBatchIsWhatItsExamplesAre) {
  builder.new_graph(cg);
  const std::vector<unsigned> lengths{2, 5, 1};
  const Expression keys = drawn(Dim({kKey, 5}, 3));
  const Expression queries = drawn(Dim({kDim, 5}, 3));
  const Expression two = pick_range(queries, 0, 2, 1);
  const AttentionMemory padded = builder.read(keys, lengths);
  const Expression all = builder.attend(two, padded);
  const Expression causal = builder.attend_causally(queries, padded);
  const AttentionMemory one = builder.read(pick_batch_elem(keys, 1U));
  const Expression shared = builder.attend(two, one);
  for (unsigned e = 0; e < 3; ++e) {
    const auto own = [&](const Expression& of) {
      return pick_range(pick_batch_elem(of, e), 0, lengths[e], 1);
    };
    const AttentionMemory alone = builder.read(own(keys));
    const Expression query = pick_batch_elem(two, e);
    expect_same(pick_batch_elem(all, e), builder.attend(query, alone));
    expect_same(own(causal), builder.attend_causally(own(queries), alone));
    expect_same(pick_batch_elem(shared, e), builder.attend(query, one));
  }
}

TEST_F(MultiHead, OnePosition) {
  builder.new_graph(cg);
  const Expression key = drawn({kKey});
  const Expression query = drawn({kDim});
  const Expression wanted = builder.attend(query, builder.read(key));
  EXPECT_EQ(testing::compare(numbers_of(wanted), by_hand(matrix_of(key), numbers_of(query), 1),
                             tolerance::kMergedInDouble),
            "");
  expect_same(builder.attend_causally(query, builder.read(key)), wanted);
  const AttentionMemory column = builder.read(reshape(key, {kKey, 1}));
  expect_same(builder.attend(query, column), wanted);
  expect_same(builder.attend_causally(reshape(query, {kDim, 1}), column),
              reshape(wanted, {kDim, 1}));
}

TEST_F(MultiHead, OneExampleOfAMemoryStandsForAll) {
  builder.new_graph(cg);
  const Expression first = drawn({kKey, 2});
  const Expression next = drawn(Dim({kKey}, 3));
  const Expression query = drawn(Dim({kDim}, 3));
  const AttentionMemory memory = builder.append({}, first);
  const Expression all = builder.attend(query, builder.append(memory, next));
  for (unsigned e = 0; e < 3; ++e) {
    const AttentionMemory own = builder.append(memory, pick_batch_elem(next, e));
    expect_same(pick_batch_elem(all, e), builder.attend(pick_batch_elem(query, e), own));
  }
}

TEST_F(MultiHead, WithoutUpdateParametersGetNoGradient) {
  for (const bool update : {false, true}) {
    ComputationGraph graph;
    builder.new_graph(graph, update);
    const Expression q = parameter(graph, model.add_parameters({kDim}));
    const AttentionMemory memory = builder.read(ones(graph, {kKey, 2}));
    graph.backward(sum_elems(builder.attend(q, memory)));
    for (const Parameter& p : builder.params()) {
      EXPECT_EQ(p.p->has_grad(), update) << p.get_fullname();
    }
  }
}

TEST_F(MultiHead, GradientsAgreeWithDifferences) {
  const Parameter keys = model.add_parameters({kKey, 4});
  const Parameter queries = model.add_parameters({kDim, 4});
  testing::draw_values(model);
  testing::expect_gradients(model, [&](ComputationGraph& graph) {
    builder.new_graph(graph);
    const Expression k = parameter(graph, keys);
    const Expression q = parameter(graph, queries);
    AttentionMemory grown = builder.append({}, pick_range(k, 0, 2, 1));
    grown = builder.append(grown, pick(k, 3U, 1));
    return squared_norm(builder.attend_causally(q, builder.read(k))) +
           squared_norm(builder.attend(pick(q, 1U, 1), grown)) +
           squared_norm(builder.attend(q, builder.read(k, {3})));
  });
}

TEST_F(MultiHead, Errors) {
  builder.new_graph(cg);
  const AttentionMemory memory = builder.read(drawn(Dim({kKey, 3}, 2)), {3, 2});
  EXPECT_THROW(static_cast<void>(builder.append(memory, drawn(Dim({kKey}, 2)))),
               errors::ValueError);
  EXPECT_THROW(static_cast<void>(builder.append(memory, drawn(Dim({kKey}, 3)))),
               errors::ShapeError);
  EXPECT_THROW(static_cast<void>(builder.append({}, drawn({kKey + 1}))), errors::ShapeError);
  for (const unsigned heads : {0U, 4U, 7U}) {
    EXPECT_THROW(MultiHeadAttentionBuilder(kDim, heads, model), errors::ValueError);
  }
  EXPECT_THROW(MultiHeadAttentionBuilder(0, 1, model), errors::ValueError);
  ComputationGraph other;
  builder.new_graph(other);
  EXPECT_THROW(static_cast<void>(builder.append(memory, ones(other, Dim({kKey}, 2)))),
               errors::GraphError);
  MultiHeadAttentionBuilder two(kDim, 2, model, kKey);
  EXPECT_THROW(two.copy(builder), errors::ValueError);
  MultiHeadAttentionBuilder same(kDim, kHeads, model, kKey);
  same.copy(builder);
  EXPECT_EQ(same.params()[7].p, builder.params()[7].p);
  cg.clear();
  EXPECT_THROW(static_cast<void>(builder.append(memory, ones(other, {kKey}))),
               errors::StaleExpression);
}

}  // namespace
}  // namespace dynet
