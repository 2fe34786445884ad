// Selections, windows and contractions: values known by hand, indices and attributes at their
// bounds, and gradients that are each other's.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "dynet/expr.h"

#include "support/one_graph.h"
#include "testing/program.h"
#include "testing/tolerance.h"

namespace dynet {
namespace {

using Floats = std::vector<float>;
using Indices = std::vector<unsigned>;
using testing::Draw;

constexpr unsigned kMinusOne = std::numeric_limits<unsigned>::max();

class Windows : public ::testing::Test, protected testing::OneGraph {
 protected:
  Windows() : x(counted({3, 4})), batch(counted(Dim({2, 2}, 3))) {}
  /// 0, 1, 2, ...
  Expression counted(const Dim& d) {
    Floats numbers;
    for (std::int64_t i = 0; i < d.elements(); ++i) {
      numbers.push_back(static_cast<float>(i));
    }
    return input(cg, d, numbers);
  }

  Expression x;      ///< columns 0 1 2, 3 4 5, 6 7 8, 9 10 11
  Expression batch;  ///< 0 1, 2 3; 4 5, 6 7; 8 9, 10 11
};

TEST_F(Windows, SelectRowsAndColumns) {
  EXPECT_EQ(value_of(select_rows(x, Indices{2, 0})), (Floats{2, 0, 5, 3, 8, 6, 11, 9}));
  EXPECT_EQ(value_of(select_cols(x, Indices{3, 3})), (Floats{9, 10, 11, 9, 10, 11}));
  EXPECT_EQ(gradient_of_sum(x, select_cols(x, Indices{3, 3, 0})),
            (Floats{1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2}));
  EXPECT_EQ(select_rows(batch, Indices{1}).dim(), Dim({1, 2}, 3));
}

TEST_F(Windows, ListsBehindPointersAreReadAgain) {
  Indices rows{0};
  const Expression y = select_rows(x, &rows);
  EXPECT_EQ(value_of(y), (Floats{0, 3, 6, 9}));
  rows[0] = 2;
  cg.invalidate();
  EXPECT_EQ(value_of(y), (Floats{2, 5, 8, 11}));
  rows[0] = 3;
  cg.invalidate();
  EXPECT_THROW(static_cast<void>(y.value()), errors::IndexError);
  rows = {0, 1};
  cg.invalidate();
  EXPECT_THROW(static_cast<void>(y.value()), errors::ValueError) << "another length";
}

TEST_F(Windows, GatherAndScatterAddByExample) {
  const Expression one = gather(batch, Indices{1, 1}, 2);
  EXPECT_EQ(value_of(one), (Floats{1, 1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 11}));
  const Expression each = gather(batch, Indices{0, 1, 0}, 1);
  EXPECT_EQ(value_of(each), (Floats{0, 2, 5, 7, 8, 10}));
  const Expression parts = gather(x, Indices{0, 2}, 1, 1);
  EXPECT_EQ(parts.dim(), Dim({3, 1}, 2)) << "of one example each takes its part";
  EXPECT_EQ(value_of(parts), (Floats{0, 1, 2, 6, 7, 8}));
  const Expression y = scatter_add(batch, Indices{2, 2, 0, 2, 1, 0}, 3);
  EXPECT_EQ(y.dim(), Dim({3, 2}, 3));
  EXPECT_EQ(value_of(y), (Floats{0, 0, 1, 0, 0, 5, 4, 0, 5, 6, 0, 7, 9, 8, 0, 11, 10, 0}));
  EXPECT_EQ(gradient_of_sum(x, gather(x, Indices{1, 1, 2, 0}, 2)),
            value_of(scatter_add(constant(cg, {4, 4}, 1.0F), Indices{1, 1, 2, 0}, 3)));
}

TEST_F(Windows, StridedSelectWithTheBatch) {
  EXPECT_EQ(value_of(strided_select(x, {2, 3})), (Floats{0, 2, 9, 11}));
  EXPECT_EQ(value_of(strided_select(x, {1, 2}, {1, 1}, {2, 4})), (Floats{4, 10}));
  EXPECT_EQ(value_of(strided_select(batch, {1, 2, 2})), (Floats{0, 1, 8, 9}));
  EXPECT_EQ(strided_select(batch, {1, 1, 1}, {0, 0, 1}).dim(), Dim({2, 2}, 2));
  EXPECT_EQ(strided_select(x, {1, 1, 1}, {0}, {3}).i, x.i) << "all of it is x itself";
  EXPECT_EQ(gradient_of_sum(batch, strided_select(batch, {2, 1, 2})),
            (Floats{1, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0}));
}

TEST_F(Windows, ExamplesInAnyOrder) {
  EXPECT_EQ(value_of(pick_batch_elems(batch, Indices{2, 0, 2})),
            (Floats{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(gradient_of_sum(batch, pick_batch_elems(batch, Indices{2, 0, 2})),
            (Floats{1, 1, 1, 1, 0, 0, 0, 0, 2, 2, 2, 2}));
}

TEST_F(Windows, SumsOfRowsAndColumns) {
  EXPECT_EQ(value_of(sum_rows(x)), (Floats{3, 12, 21, 30}));
  EXPECT_EQ(value_of(sum_cols(x)), (Floats{18, 22, 26}));
  EXPECT_EQ(value_of(average_cols(x)), (Floats{4.5F, 5.5F, 6.5F}));
  EXPECT_EQ(value_of(fold_rows(x, 3)), (Floats{3, 12, 21, 30}));
  EXPECT_EQ(value_of(kmh_ngram(x, 3)), (Floats{9, 12, 15, 18, 21, 24}));
}

TEST_F(Windows, Convolution) {
  const Expression f = constant(cg, {2, 2, 1, 1}, 1.0F);
  EXPECT_EQ(value_of(conv2d(x, f, {1, 1})), (Floats{8, 12, 20, 24, 32, 36}));
  EXPECT_EQ(value_of(conv2d(x, f, constant(cg, {1}, 0.5F), {2, 2})), (Floats{8.5F, 32.5F}));
  // The added place lies after the image: sums there have the numbers inside the image only.
  EXPECT_EQ(value_of(conv2d(x, f, {1, 1}, false)),
            (Floats{8, 12, 7, 20, 24, 13, 32, 36, 19, 19, 21, 11}));
  EXPECT_EQ(value_of(maxpooling2d(x, {2, 2}, {1, 1})), (Floats{4, 5, 7, 8, 10, 11}));
  EXPECT_EQ(value_of(maxpooling2d(x, {2, 3}, {2, 3}, false)), (Floats{4, 5, 10, 11}));
}

/// A batch of two images and filters of whole numbers, of which sums are exact in any order.
struct LargeImages {
  static constexpr int kSide = 48;
  static constexpr int kChannels = 40;
  static constexpr int kFilters = 2;

  int height, stride;
  bool is_valid;
  Dim filter{static_cast<unsigned>(height), 3, kChannels, kFilters};
  Floats weights = whole_numbers(filter, 3);
  Floats images = whole_numbers(image(), 5);
  Floats biases{1, 2};

  static Dim image() { return Dim({kSide, kSide, kChannels}, 2); }
  static Floats whole_numbers(const Dim& d, unsigned step) {
    Floats numbers(static_cast<std::size_t>(d.elements()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<float>(static_cast<int>(i * step % 7) - 3);
    }
    return numbers;
  }
  [[nodiscard]] float pixel(int i, int j, int c, int e) const {
    const bool is_inside = i >= 0 && i < kSide && j >= 0 && j < kSide;
    const int at = i + kSide * (j + kSide * (c + kChannels * e));
    return is_inside ? images[static_cast<std::size_t>(at)] : 0.0F;
  }
  /// The definition of conv2d: one result, of filter `q` for image `e`.
  [[nodiscard]] float result(int i, int j, int q, int e) const {
    const int up = is_valid ? 0 : height / 2;
    const int left = is_valid ? 0 : 1;
    const int each = height * 3 * kChannels;
    float sum = biases[static_cast<std::size_t>(q)];
    for (int w = 0; w < each; ++w) {
      const int at = w + each * q;
      sum += weights[static_cast<std::size_t>(at)] *
             pixel(i + w % height - up, j * stride + w / height % 3 - left, w / (3 * height), e);
    }
    return sum;
  }
};

/// The windows of one image are larger than a cache, so that some columns of them are done at a
/// time.
TEST_F(Windows, ConvolutionOfALargeImageByHand) {
  // With a height of 1 only the columns reach outside.
  for (const LargeImages& large : {LargeImages{3, 1, false}, LargeImages{1, 1, false},
                                   LargeImages{3, 1, true}, LargeImages{3, 3, true}}) {
    const Expression y = conv2d(input(cg, LargeImages::image(), large.images),
                                input(cg, large.filter, large.weights),
                                input(cg, {LargeImages::kFilters}, large.biases),
                                {1U, static_cast<unsigned>(large.stride)}, large.is_valid);
    const Floats found = value_of(y);
    const Dim d = y.dim();
    ASSERT_EQ(found.size(), static_cast<std::size_t>(d.elements()));
    for (std::size_t at = 0; at < found.size(); ++at) {
      const int n = static_cast<int>(at);
      const int rows = static_cast<int>(d[0]);
      const int cols = static_cast<int>(d[1]);
      const int i = n % rows;
      const int j = n / rows % cols;
      const int q = n / (rows * cols) % LargeImages::kFilters;
      const int e = n / (rows * cols * LargeImages::kFilters);
      ASSERT_EQ(found[at], large.result(i, j, q, e)) << i << ' ' << j << ' ' << q << ' ' << e;
    }
  }
}

TEST_F(Windows, ThePoolsGradientGoesToTheFirstAlongARow) {
  const Expression same = constant(cg, {2, 2}, 1.0F);
  EXPECT_EQ(gradient_of_sum(same, maxpooling2d(same, {2, 2}, {1, 1})), (Floats{1, 0, 0, 0}));
  const Expression ties = input(cg, {2, 2}, Floats{0, 1, 1, 1});
  EXPECT_EQ(gradient_of_sum(ties, maxpooling2d(ties, {2, 2}, {1, 1})), (Floats{0, 0, 1, 0}));
  const Expression below = constant(cg, {1, 1}, -7.0F);
  EXPECT_EQ(value_of(maxpooling2d(below, {3, 3}, {1, 1}, false)), Floats{-7})
      << "what is outside is never the largest";
}

TEST_F(Windows, CirclesAndFilters) {
  const Expression u = input(cg, {3}, Floats{1, 2, 3});
  const Expression v = input(cg, {3}, Floats{1, 10, 100});
  EXPECT_EQ(value_of(circ_conv(u, v)), (Floats{231, 312, 123}));
  EXPECT_EQ(value_of(circ_corr(u, v)), (Floats{321, 213, 132}));
  EXPECT_EQ(value_of(filter1d_narrow(x, constant(cg, {3, 2}, 1.0F))), (Floats{15, 33, 51}));
}

/// Work that does not fit the scratch of a call at once is done in parts: columns of the matrix of
/// a circle, and examples. Both must equal one by one.
TEST_F(Windows, LargeCirclesAreDoneInParts) {
  constexpr unsigned kLength = 700;
  Draw draw(3);
  const Floats a = draw(kLength, -1.0, 1.0);
  const Floats b = draw(kLength, -1.0, 1.0);
  const Expression u = input(cg, {kLength}, a);
  const Expression v = input(cg, {kLength}, b);
  const Floats convolved = value_of(circ_conv(u, v));
  const Floats correlated = value_of(circ_corr(u, v));
  for (unsigned k = 0; k < kLength; ++k) {
    double y = 0.0;
    double z = 0.0;
    for (unsigned i = 0; i < kLength; ++i) {
      y += static_cast<double>(a[i]) * static_cast<double>(b[(k + kLength - i) % kLength]);
      z += static_cast<double>(a[i]) * static_cast<double>(b[(k + i) % kLength]);
    }
    EXPECT_NEAR(convolved[k], y, tolerance::kFloatAgainstDouble) << k;
    EXPECT_NEAR(correlated[k], z, tolerance::kFloatAgainstDouble) << k;
  }
}

TEST_F(Windows, LargeBatchesAreDoneInParts) {
  constexpr unsigned kExamples = 20;
  using Function = std::function<Expression(const Expression&, const Expression&)>;
  struct One {
    Dim weight;
    Function f;
  };
  const std::vector<One> all{{{3, 3, 8, 4},
                              [](const Expression& images, const Expression& w) {
                                return conv2d(images, w, {1, 1}, false);
                              }},
                             {{1},
                              [](const Expression& images, const Expression& w) {
                                return cmult(maxpooling2d(images, {3, 4}, {1, 1}, false), w);
                              }},
                             {{40, 9, 5}, [](const Expression& images, const Expression& w) {
                                return filter1d_narrow(reshape(images, {40, 80}), w);
                              }}};
  Draw draw(4);
  for (const One& one : all) {
    const Expression images =
        input(cg, Dim({20, 20, 8}, kExamples), draw(std::int64_t{3200} * kExamples, -1.0, 1.0));
    const Expression w = input(cg, one.weight, draw(one.weight.elements(), -1.0, 1.0));
    const Expression y = one.f(images, w);
    cg.backward(sum_batches(squared_norm(y)), true);
    const Floats values = value_of(y);
    const Floats dx = as_vector(images.gradient());
    const Floats dw = as_vector(w.gradient());
    std::vector<Expression> losses;
    std::vector<Expression> results;
    for (unsigned e = 0; e < kExamples; ++e) {
      results.push_back(one.f(pick_batch_elem(images, e), w));
      losses.push_back(squared_norm(results.back()));
    }
    cg.backward(sum(losses), true);
    const auto expect_equal = [](const Floats& is, const Floats& wanted) {
      ASSERT_EQ(is.size(), wanted.size());
      for (std::size_t i = 0; i < is.size(); ++i) {
        const double bound = tolerance::kFloatAgainstDouble *
                             std::max(1.0, std::fabs(static_cast<double>(wanted[i])));
        EXPECT_NEAR(is[i], wanted[i], bound) << i;
      }
    };
    expect_equal(values, value_of(concatenate_to_batch(results)));
    expect_equal(dx, as_vector(images.gradient()));
    expect_equal(dw, as_vector(w.gradient()));
  }
}

TEST_F(Windows, Contractions) {
  const Expression t = counted({2, 3, 2});
  const Expression y = input(cg, {2}, Floats{1, 10});
  const Expression z = input(cg, {3}, Floats{1, 2, 3});
  EXPECT_EQ(value_of(contract3d_1d(t, y)), (Floats{60, 71, 82, 93, 104, 115}));
  EXPECT_EQ(value_of(contract3d_1d(t, y, constant(cg, {2, 3}, 0.5F)))[0], 60.5F);
  EXPECT_EQ(value_of(contract3d_1d_1d(t, y, z)), (Floats{536, 602}));
  EXPECT_EQ(value_of(contract3d_1d_1d(t, y, z, input(cg, {2}, Floats{1, 2}))), (Floats{537, 604}));
  EXPECT_EQ(contract3d_1d_1d(t, y, reshape(z, {3, 1})).dim(), Dim({2}));
  EXPECT_EQ(value_of(trace_of_product(x, x)), value_of(squared_norm(x)));
  EXPECT_EQ(value_of(colwise_add(x, z)), (Floats{1, 3, 5, 4, 6, 8, 7, 9, 11, 10, 12, 14}));
  EXPECT_EQ(value_of(batch_matmul(t, constant(cg, {3, 1}, 1.0F))), (Floats{6, 9, 24, 27}));
}

TEST_F(Windows, IndicesAtTheirBounds) {
  const Expression four = counted({4});
  EXPECT_EQ(value_of(select_rows(x, 2U)), (Floats{2, 5, 8, 11}));
  for (const unsigned i : {3U, kMinusOne}) {
    refuses<errors::IndexError>({[&] { return select_rows(x, i); },
                                 [&] { return select_cols(batch, Indices{0, i}); },
                                 [&] { return gather(x, Indices{i}, 1); },
                                 [&] { return scatter_add(x, Indices{0, 1, i}, 3); },
                                 [&] { return pick_batch_elems(batch, Indices{i}); }});
  }
  refuses<errors::ShapeError>(
      {[&] { return select_rows(x, Indices{}); }, [&] { return select_cols(four, 0U); },
       [&] { return gather(x, Indices{}, 0); }, [&] { return gather(x, Indices{0, 1}, kMinusOne); },
       [&] { return gather(x, Indices{0}, 1, 2); },
       [&] { return gather(x, Indices{0}, 1, kMinusOne); },
       [&] { return gather(batch, Indices{0, 1, 0, 1}, 2); },
       [&] { return scatter_add(x, Indices{0, 1}, 3); },
       [&] { return scatter_add(x, Indices{0, 1, 2}, 3, kMinusOne); },
       [&] { return pick_batch_elems(batch, Indices{}); }});
  refuses<errors::IndexError>({[&] { return scatter_add(x, Indices{0, 0, 0}, 0); }});
}

TEST_F(Windows, RangesAtTheirBounds) {
  constexpr int kLow = std::numeric_limits<int>::min();
  constexpr int kHigh = std::numeric_limits<int>::max();
  EXPECT_EQ(value_of(strided_select(x, {kHigh, kHigh})), Floats{0});
  EXPECT_EQ(value_of(strided_select(x, {1, 1}, {2, 3}, {3, 4})), Floats{11});
  std::vector<std::function<Expression()>> calls;
  for (const int bad : {kLow, -1, 0}) {
    calls.emplace_back([&, bad] { return strided_select(x, {1, bad}); });
    calls.emplace_back([&, bad] { return strided_select(batch, {1, 1, bad}); });
    calls.emplace_back([&, bad] { return strided_select(x, {1}, {0}, {bad}); });
  }
  for (const int bad : {kLow, -1, 3, kHigh}) {
    calls.emplace_back([&, bad] { return strided_select(x, {1}, {bad}); });
    calls.emplace_back([&, bad] { return strided_select(batch, {}, {0, 0, bad}); });
  }
  calls.emplace_back([&] { return strided_select(x, {1}, {0}, {4}); });
  calls.emplace_back([&] { return strided_select(x, {1}, {2}, {2}); });
  calls.emplace_back([&] { return strided_select(x, {1, 1, 1, 1}); });
  refuses<errors::ShapeError>(calls);
}

TEST_F(Windows, AttributesAtTheirBounds) {
  const Expression f = constant(cg, {2, 2, 1, 1}, 1.0F);
  const Expression large = constant(cg, {4, 1, 1, 1}, 1.0F);
  const Expression two_channels = constant(cg, {2, 2, 2, 1}, 1.0F);
  const Expression two = constant(cg, {2}, 1.0F);
  const Indices none;
  EXPECT_EQ(value_of(conv2d(x, f, {kMinusOne, kMinusOne})), Floats{8});
  EXPECT_EQ(value_of(conv2d(x, f, {kMinusOne, kMinusOne}, false)), Floats{8});
  EXPECT_EQ(value_of(conv2d(x, large, {1, 9}, false)), (Floats{3, 3, 3}));
  EXPECT_EQ(value_of(maxpooling2d(x, {1U << 12, 1U << 12}, {1, 1}, false)), Floats(12, 11.0F));
  EXPECT_EQ(value_of(maxpooling2d(x, {kMinusOne, kMinusOne}, {9, 9}, false)), Floats{11});
  refuses<errors::ShapeError>(
      {[&] { return conv2d(x, f, {0, 1}); }, [&] { return conv2d(x, f, none); },
       [&] { return conv2d(x, large, {1, 1}); }, [&] { return conv2d(x, two_channels, {1, 1}); },
       [&] { return conv2d(x, f, two, {1, 1}); }, [&] { return maxpooling2d(x, {0, 1}, {1, 1}); },
       [&] { return maxpooling2d(x, {1, 1}, {1, 0}); },
       [&] { return maxpooling2d(x, {4, 1}, {1, 1}); },
       [&] { return maxpooling2d(x, {kMinusOne, 1}, {1, 1}); },
       [&] { return maxpooling2d(x, none, {1, 1}); }});
  refuses<errors::ValueError>({[&] { return conv2d(x, f, {1, 1, 1}); }});
  // Windows that have more elements together than can be addressed.
  const Expression tall = constant(cg, {1U << 31, 1}, 1.0F);
  const Expression tall_filter = constant(cg, {1U << 31, 1, 1, 1}, 1.0F);
  const Expression field = constant(cg, {1U << 30, 1U << 12}, 1.0F);
  refuses<errors::ShapeError>(
      {[&] { return conv2d(tall, tall_filter, {1, 1}, false); },
       [&] { return maxpooling2d(field, {1U << 12, 1U << 12}, {1, 1}, false); }});
  for (const unsigned bad : {0U, 5U, kMinusOne}) {
    refuses<errors::ShapeError>(
        {[&] { return kmh_ngram(x, bad); }, [&] { return fold_rows(x, bad); }});
  }
  EXPECT_EQ(value_of(kmh_ngram(x, 4)), (Floats{18, 22, 26}));
}

TEST_F(Windows, ShapesThatDoNotFit) {
  const Expression three = counted({3});
  const Expression four = counted({4});
  const Expression low = counted({2, 2});
  const Expression wide = counted({3, 5});
  const Expression t = counted({2, 3, 2});
  const Expression u = counted({3, 2, 3});
  refuses<errors::ShapeError>(
      {[&] { return colwise_add(three, three); }, [&] { return colwise_add(x, four); },
       [&] { return contract3d_1d(x, three); }, [&] { return contract3d_1d(t, three); },
       [&] { return contract3d_1d_1d(t, three, three); }, [&] { return batch_matmul(x, wide); },
       [&] { return batch_matmul(t, u); }, [&] { return filter1d_narrow(x, wide); },
       [&] { return filter1d_narrow(x, low); }, [&] { return circ_conv(three, four); },
       [&] { return trace_of_product(x, three); }});
}

}  // namespace
}  // namespace dynet
