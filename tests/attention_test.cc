// Segments, attention, and the gates of an LSTM: values known by hand, indices and attributes at
// their bounds, and equal results of compositions of other functions.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"

#include "support/one_graph.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using Indices = std::vector<unsigned>;
constexpr unsigned kHuge = std::numeric_limits<unsigned>::max();
constexpr float kInf = std::numeric_limits<float>::infinity();

class Attention : public ::testing::Test, protected testing::OneGraph {
 protected:
  Expression drawn(const Dim& d) { return input(cg, d, draw(d.elements(), -1.0, 1.0)); }
  static void expect_same(const Expression& a, const Expression& b) {
    EXPECT_EQ(a.dim(), b.dim());
    const Floats x = value_of(a);
    const Floats y = value_of(b);
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_NEAR(x[i], y[i], tolerance::kSumsInFloat) << i;
    }
  }

  testing::Draw draw{5};
};

// ---- segments
// ---------------------------------------------------------------------------------------

TEST_F(Attention, Segments) {
  const Expression x = input(cg, {2, 4}, Floats{1, 5, 3, -2, 3, 7, 0, 1});
  const Indices to{2, 0, 0, 2};
  EXPECT_EQ(value_of(segment_sum(x, to, 3)), (Floats{6, 5, 0, 0, 1, 6}));
  EXPECT_EQ(value_of(segment_mean(x, to, 3)), (Floats{3, 2.5F, 0, 0, 0.5F, 3}));
  const Expression most = segment_max(x, to, 3);
  EXPECT_EQ(value_of(most), (Floats{3, 7, 0, 0, 1, 5}));
  EXPECT_EQ(gradient_of_sum(x, pick_range(most, 0, 1, 1)), (Floats{0, 0, 1, 0, 0, 1, 0, 0}))
      << "of the two 3 the first one";
  const Expression y = segment_softmax(x, to, 3);
  expect_same(pick(y, 0U, 1), logistic(input(cg, {2}, Floats{1, 4})));
  expect_same(segment_sum(y, to, 3), input(cg, {2, 3}, Floats{1, 1, 0, 0, 1, 1}));
  expect_same(segment_softmax(x, Indices{0, 0, 0, 0}, 1), softmax(x, 1));
  expect_same(segment_max(x, Indices{0, 0, 0, 0}, 1), reshape(max_dim(x, 1), {2, 1}));
  EXPECT_EQ(value_of(segment_softmax(x, Indices{3, 1, 0, 2}, 4)), Floats(8, 1.0F));
  EXPECT_EQ(value_of(segment_max(input(cg, {3}, Floats{1, 2, 3}), Indices{1, 1, 0}, 2, 0)),
            (Floats{3, 2}));
  EXPECT_EQ(value_of(segment_max(input(cg, {1, 2}, Floats{-kInf, -5}), Indices{1, 2}, 3)),
            (Floats{0, -kInf, -5}))
      << "0 where there are none, and only there";
}

/// The gradient in nodes compares entries by their difference, which is NaN for equal infinities.
TEST_F(Attention, NodesGiveTheGradientOfInfiniteEntriesToOneOfThem) {
  const auto gradient_of = [&](const Floats& entries) {
    const Expression x = input(cg, {5}, entries);
    const Expression most = sum_elems(segment_max(x, Indices{0, 0, 0, 1, 1}, 2, 0));
    return value_of(gradient(most, {x})[0]);
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(gradient_of({1, kInf, kInf, 3, 2}), (Floats{0, 1, 0, 1, 0}));
  EXPECT_EQ(gradient_of({-kInf, -kInf, -kInf, -kInf, 2}), (Floats{1, 0, 0, 0, 1}));
  EXPECT_EQ(gradient_of({kInf, kNan, 3, 3, kNan}), (Floats{0, 1, 0, 0, 1}));
}

TEST_F(Attention, SegmentsOfExamples) {
  const Expression x = input(cg, Dim({3}, 2), Floats{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(value_of(segment_sum(x, Indices{0, 0, 1, 1, 0, 1}, 2, 0)), (Floats{3, 3, 5, 10}));
  EXPECT_EQ(value_of(segment_max(x, Indices{0, 0, 1, 1, 0, 1}, 2, 0)), (Floats{2, 3, 5, 6}));
  EXPECT_EQ(value_of(segment_mean(x, Indices{0, 0, 1, 1, 0, 1}, 2, 0)), (Floats{1.5F, 3, 5, 5}));
  const Expression one = input(cg, {3}, Floats{1, 2, 3});
  EXPECT_EQ(value_of(segment_max(one, Indices{0, 0, 1, 1, 0, 1}, 2, 0)), (Floats{2, 3, 2, 3}))
      << "one example, of which each list makes its segments";
  Indices to{0, 0, 0};
  const Expression y = segment_max(one, &to, 2, 0);
  EXPECT_EQ(value_of(y), (Floats{3, 0}));
  to = {1, 1, 0};
  cg.invalidate();
  EXPECT_EQ(value_of(y), (Floats{3, 2}));
  to[0] = 2;
  cg.invalidate();
  EXPECT_THROW(static_cast<void>(y.value()), errors::IndexError);
}

TEST_F(Attention, SegmentsAtTheirBounds) {
  const Expression x = drawn({2, 3});
  const Expression batch = drawn(Dim({2, 3}, 2));
  for (const auto function :
       {static_cast<Expression (*)(const Expression&, const Indices&, unsigned, unsigned, Where)>(
            &segment_sum),
        static_cast<Expression (*)(const Expression&, const Indices&, unsigned, unsigned, Where)>(
            &segment_mean),
        static_cast<Expression (*)(const Expression&, const Indices&, unsigned, unsigned, Where)>(
            &segment_max),
        static_cast<Expression (*)(const Expression&, const Indices&, unsigned, unsigned, Where)>(
            &segment_softmax)}) {
    const auto call = [&](const Expression& e, const Indices& to, unsigned segments, unsigned d) {
      return [=] { return function(e, to, segments, d, Where::here()); };
    };
    refuses<errors::IndexError>({call(x, {0, 1, 2}, 2, 1), call(x, {0, 1, kHuge}, 3, 1),
                                 call(x, {0, 0, 0}, 0, 1), call(x, {kHuge, 0, 0}, kHuge, 1)});
    refuses<errors::ShapeError>({call(x, {0, 1}, 3, 1), call(x, {0, 1, 2, 0}, 3, 1),
                                 call(x, {}, 3, 1), call(x, {0, 1, 2}, 3, 0),
                                 call(x, {0, 1, 2}, 3, 2), call(x, {0, 1, 2}, 3, kHuge),
                                 call(batch, {0, 1, 2, 0}, 3, 1), call(drawn({2, 0}), {}, 3, 1)});
    EXPECT_NO_THROW(static_cast<void>(call(x, {2, 2, 2}, 3, 1)().value()));
  }
}

// ---- attention
// --------------------------------------------------------------------------------------

TEST_F(Attention, IsProductsAndSoftmax) {
  const Expression q = drawn(Dim({4, 3}, 2));
  const Expression k = drawn(Dim({4, 5}, 2));
  const Expression v = drawn(Dim({2, 5}, 2));
  const auto one_head = [](const Expression& queries, const Expression& keys,
                           const Expression& values) {
    const float scale = 1.0F / std::sqrt(static_cast<float>(keys.dim().rows()));
    return values * softmax(transpose(keys) * queries * scale);
  };
  expect_same(attention(q, k, v), one_head(q, k, v));
  const auto part = [](const Expression& x, unsigned head) {
    const unsigned rows = x.dim().rows() / 2;
    return pick_range(x, head * rows, (head + 1) * rows);
  };
  const auto of_head = [&](unsigned h) { return one_head(part(q, h), part(k, h), part(v, h)); };
  expect_same(attention(q, k, v, 2), concatenate({of_head(0), of_head(1)}));
}

TEST_F(Attention, SeesKeysUpToTheLengthAndTheQuery) {
  const Expression q = drawn({2, 3});
  const Expression k = drawn({2, 4});
  const Expression v = drawn({3, 4});
  const auto first = [](const Expression& x, unsigned n) { return pick_range(x, 0, n, 1); };
  expect_same(attention(q, k, v, {2}), attention(q, first(k, 2), first(v, 2)));
  EXPECT_EQ(value_of(attention(q, k, v, {0U, 0U})), Floats(18, 0.0F)) << "a length makes a batch";
  EXPECT_EQ(gradient_of_sum(v, attention(q, k, v, Indices{0})), Floats(12, 0.0F));
  const Expression causal = attention(q, k, v, 1, true);
  for (unsigned j = 0; j < 3; ++j) {
    expect_same(pick(causal, j, 1), attention(pick(q, j, 1), first(k, j + 1), first(v, j + 1)));
  }
  expect_same(first(attention(q, k, v, {1}, 1, true), 1), first(causal, 1));
  Indices lengths{4};
  const Expression y = attention(q, k, v, &lengths);
  expect_same(y, attention(q, k, v));
  lengths[0] = 3;
  cg.invalidate();
  expect_same(y, attention(q, k, v, {3}));
  lengths[0] = 5;
  cg.invalidate();
  EXPECT_THROW(static_cast<void>(y.value()), errors::IndexError);
}

/// Merged nodes keep their lengths.
TEST_F(Attention, EachMemberHasItsLength) {
  ComputationGraph plain(false);
  std::vector<Floats> results[2];
  for (ComputationGraph* graph : {&cg, &plain}) {
    testing::Draw same(7);
    std::vector<Expression> all;
    for (const unsigned length : {4U, 1U, 0U, 3U}) {
      const auto next = [&](const Dim& d) {
        return input(*graph, d, same(d.elements(), -1.0, 1.0));
      };
      const Expression q = next({4, 2});
      const Expression k = next({4, 4});
      all.push_back(attention(q, k, next({2, 4}), {length}, 2));
    }
    graph->forward(sum(all));
    for (const Expression& y : all) {
      results[graph == &cg ? 0 : 1].push_back(value_of(y));
    }
  }
  EXPECT_EQ(results[0][2], Floats(4, 0.0F));
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      EXPECT_NEAR(results[0][i][j], results[1][i][j], tolerance::kSumsInFloat);
    }
  }
}

/// More than a part's scratch memory holds, with several examples and keys shared by all of them.
TEST_F(Attention, IsDoneInParts) {
  const Expression q = drawn(Dim({4, 150}, 5));
  const Expression k = drawn({4, 600});
  const Expression v = drawn({2, 600});
  for (const unsigned heads : {1U, 2U}) {
    const Expression all = attention(q, k, v, {600, 1, 599, 0, 300}, heads);
    std::vector<Expression> each;
    for (unsigned e = 0; e < 5; ++e) {
      const unsigned length = std::vector<unsigned>{600, 1, 599, 0, 300}[e];
      each.push_back(attention(pick_batch_elem(q, e), k, v, Indices{length}, heads));
    }
    expect_same(all, concatenate_to_batch(each));
    const Floats together = gradient_of_sum(k, square(all));
    const Floats apart = gradient_of_sum(k, square(concatenate_to_batch(each)));
    for (std::size_t i = 0; i < apart.size(); ++i) {
      EXPECT_NEAR(together[i], apart[i], tolerance::kSumsInFloat);
    }
  }
}

TEST_F(Attention, AtItsBounds) {
  const Expression q = drawn({4, 3});
  const Expression k = drawn({4, 5});
  const Expression v = drawn({6, 5});
  const Expression box = drawn({2, 2, 3});
  const Expression two = drawn(Dim({4, 3}, 2));
  refuses<errors::ShapeError>(
      {[&] { return attention(q, k, v, 0); }, [&] { return attention(q, k, v, 3); },
       [&] { return attention(q, k, v, 4); }, [&] { return attention(q, k, v, kHuge); },
       [&] { return attention(q, v, k); }, [&] { return attention(q, k, q); },
       [&] { return attention(v, k, v); }, [&] { return attention(box, k, v); },
       [&] { return attention(two, k, v, {1, 2, 3}); },
       [&] { return attention(q, k, v, Indices{}); }});
  refuses<errors::IndexError>(
      {[&] { return attention(q, k, v, {6}); }, [&] { return attention(q, k, v, {0, kHuge}); }});
  EXPECT_EQ(attention(q, k, v, 2).dim(), Dim({6, 3}));
  EXPECT_EQ(attention(q, k, v, {5, 0}).dim(), Dim({6, 3}, 2));
}

// ---- the gates of an LSTM
// ---------------------------------------------------------------------------

TEST_F(Attention, GatesOfSeveralInputsAndWithMasks) {
  const Expression a = drawn({2});
  const Expression b = drawn({3});
  const Expression h = drawn({2});
  const Expression wx = drawn({8, 5});
  const Expression wh = drawn({8, 2});
  const Expression bias = drawn({8});
  const Expression mask_x = input(cg, {5}, Floats{0, 2, 2, 0, 2});
  const Expression mask_h = input(cg, {2}, Floats{2, 0});
  const Expression x = concatenate({a, b});
  expect_same(vanilla_lstm_gates_concat({a, b}, h, wx, wh, bias),
              vanilla_lstm_gates(x, h, wx, wh, bias));
  const Expression dropped = vanilla_lstm_gates(cmult(x, mask_x), cmult(h, mask_h), wx, wh, bias);
  expect_same(vanilla_lstm_gates_dropout(x, h, wx, wh, bias, mask_x, mask_h), dropped);
  const Expression both =
      vanilla_lstm_gates_dropout_concat({a, b}, h, wx, wh, bias, mask_x, mask_h);
  expect_same(both, dropped);
  EXPECT_EQ(gradient_of_sum(mask_x, both), Floats(5, 0.0F)) << "masks get no gradient";
  EXPECT_NE(gradient_of_sum(a, both), Floats(2, 0.0F));
  EXPECT_THROW(vanilla_lstm_gates_dropout(x, h, wx, wh, bias, mask_h, mask_h), errors::ShapeError);
  EXPECT_THROW(vanilla_lstm_gates_concat({}, h, wx, wh, bias), errors::ValueError);
  EXPECT_THROW(vanilla_lstm_gates_concat({a, b}, h, wx, wh, bias, -1.0F), errors::ValueError);
}

}  // namespace
}  // namespace dynet
