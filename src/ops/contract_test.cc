// Facts that every operation states about itself: identity, texts, errors.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "dynet/except.h"
#include "dynet/ops/all.h"

namespace dynet::ops {
namespace {

/// The closest larger value.
float nudged(float v) { return std::nextafter(v, std::numeric_limits<float>::infinity()); }
unsigned nudged(unsigned v) { return v + 1; }
bool nudged(bool v) { return !v; }
GradientMode nudged(GradientMode v) {
  return v == GradientMode::zero_gradient ? GradientMode::straight_through_gradient
                                          : GradientMode::zero_gradient;
}
Dim nudged(Dim v) {
  ++v.bd;
  return v;
}
template <class T, std::size_t kMax>
ext::List<T, kMax> nudged(ext::List<T, kMax> v) {
  v.items[0] = nudged(v.items[0]);
  v.count = std::max(v.count, 1U);
  return v;
}

// Facts are asked through the record of an operation: one compiled function serves all operations.

std::vector<std::byte> packed(const ext::Record& record, const void* op) {
  std::vector<std::byte> bytes(record.attr_bytes);
  record.pack(op, bytes.data());
  return bytes;
}
void expect_equal(const ext::Record& record, const void* op, const void* copy) {
  EXPECT_EQ(packed(record, op), packed(record, copy)) << record.info->name;
}
void expect_differs(const ext::Record& record, const void* op, const void* other,
                    std::size_t attribute) {
  const ext::Info& info = *record.info;
  EXPECT_NE(packed(record, op), packed(record, other))
      << info.name << " key ignores " << info.attrs[attribute];
  EXPECT_NE(record.attrs_text(op), record.attrs_text(other)) << info.name << " prints alike";
}

template <class Op, std::size_t kI>
void nudge(const Op& op) {
  Op other = op;
  auto& attribute = std::get<kI>(ext::attributes(other));
  attribute = nudged(attribute);
  expect_differs(ext::kRecord<Op>, &op, &other, kI);
}

TEST(Contract, EveryAttributeIsPartOfTheIdentity) {
  int nudges = 0;
  AllOps::for_each([&]<class Op>() {
    std::vector<Op> ops{Op{}};
    for (const auto& e : Op::examples()) {
      ops.push_back(e.op);
    }
    for (const Op& op : ops) {
      const Op copy(op);
      expect_equal(ext::kRecord<Op>, &op, &copy);
      [&]<std::size_t... kI>(std::index_sequence<kI...>) {
        (nudge<Op, kI>(op), ...);
      }(std::make_index_sequence<ext::kAttrCount<Op>>{});
      nudges += static_cast<int>(ext::kAttrCount<Op>);
    }
  });
  EXPECT_GT(nudges, 80);
}

TEST(Contract, InfosAreComplete) {
  std::set<std::string> names;
  const auto expect_complete = [&](const ext::Record& record, std::size_t examples) {
    const ext::Info& info = *record.info;
    EXPECT_TRUE(names.insert(std::string(info.name)).second) << info.name;
    EXPECT_FALSE(info.summary.empty()) << info.name;
    EXPECT_FALSE(info.formula.empty()) << info.name;
    EXPECT_FALSE(info.shapes.empty()) << info.name;
    EXPECT_EQ(info.payload.empty(), record.payload == ext::Payload::kNone) << info.name;
    if (!record.is_leaf()) {
      EXPECT_GT(examples, 1U) << info.name;
    }
  };
  AllOps::for_each([&]<class Op>() { expect_complete(ext::kRecord<Op>, Op::examples().size()); });
  EXPECT_EQ(names.size(), AllOps::kSize);
}

template <class Op>
std::string error_of(const Op& op, std::vector<Dim> in, unsigned batch = 1, unsigned payload = 0) {
  Dim out[ext::kMaxOutputs];
  try {
    ext::kRecord<Op>.shapes(&op, ext::Shapes(Op::kInfo, in, batch, payload), out);
  } catch (const errors::ShapeError& e) {
    return std::string("ShapeError ") + e.what();
  } catch (const errors::ValueError& e) {
    return std::string("ValueError ") + e.what();
  }
  return "none: " + to_string(out[0]);
}

TEST(Contract, ShapeErrorsNameTheOperationAndAllShapes) {
  EXPECT_EQ(error_of(MatMul{}, {{4, 3}, {4, 2}}),
            "ShapeError matmul(x, y): x is {4,3} and y is {4,2}; want x {m,k} and y {k,n}");
  EXPECT_EQ(
      error_of(AffineTransform{}, {{3}, {4, 3}, {3}}),
      "ShapeError affine_transform(b, w1, x1): b is {3}, w1 is {4,3} and x1 is {3}; want b {m} "
      "or {m,n} and an odd number of arguments, each w {m,k} before its x {k} or {k,n}");
  EXPECT_NE(error_of(AffineTransform{}, {{4}, {4, 3}, {3}, {4, 5}})
                .find("affine_transform(b, w1, x1, w2): b is {4}, w1 is {4,3}, x1 is {3} and w2 is "
                      "{4,5}; want"),
            std::string::npos);
  EXPECT_EQ(
      error_of(Concatenate{1}, {{4, 3}, {2, 3}, {4}}),
      "ShapeError concatenate(x1, x2, x3): x1 is {4,3}, x2 is {2,3} and x3 is {4}; want equal "
      "dimensions, other than dimension 1");
  EXPECT_EQ(error_of(Softmax{2}, {{4, 3}}),
            "ShapeError softmax(x): x is {4,3}; want d below 2, not 2");
  EXPECT_EQ(error_of(Dropout{1.5F}, {{4}}),
            "ValueError dropout(x): x is {4}; want p from 0 to 1, not 1.5");
  EXPECT_EQ(error_of(RandomBernoulli{{4}, -0.1F, 1.0F}, {}),
            "ValueError random_bernoulli(): want p from 0 to 1, not -0.1");
  EXPECT_EQ(error_of(PickNegLogSoftmax{}, {{4}}, 3, 1),
            "ValueError pickneglogsoftmax(x): x is {4}; want one class for each of the 3 examples, "
            "not 1");
  EXPECT_EQ(error_of(PickRange{2, 2, 0}, {{4}}),
            "ShapeError pick_range(x): x is {4}; want s < e <= 4, not s = 2 and e = 2");
  EXPECT_EQ(error_of(Reshape{{5}}, {Dim({4}, 2)}),
            "ShapeError reshape(x): x is {4}x2; want as many elements as d = {5} has");
}

TEST(Contract, WrongShapesAreRefused) {
  const auto refused = [](const auto& op, std::vector<Dim> in) {
    EXPECT_EQ(error_of(op, std::move(in)).substr(0, 10), "ShapeError") << op.kInfo.name;
  };
  refused(Add{}, {{4, 3}, {3}});
  refused(Subtract{}, {{4}, {2}});
  refused(CMult{}, {{2, 3, 4}, {2, 3, 5}});
  refused(CDiv{}, {{4}, {4, 3}});
  refused(CDiv{}, {{1}, {4}});
  refused(Max{}, {{4}, {4, 1}});
  refused(Sum{}, {{4}, {4, 2}});
  refused(Average{}, {{4}, {4, 1}});
  refused(MatMul{}, {{2, 3, 4}, {3}});
  refused(AffineTransform{}, {{4}, {4, 3}});
  refused(AffineTransform{}, {{4}, {4, 3}, {3, 2}, {4, 5}, {5}});
  refused(AffineTransform{}, {{4, 3}, {4, 3}, {3, 2}});
  refused(Transpose{}, {{2, 3, 4}});
  refused(Transpose{{{0, 0}, 2}}, {{2, 3}});
  refused(Transpose{{{1, 0}, 2}}, {{1, 1, 3}});
  refused(DotProduct{}, {{4}, {4, 1}});
  refused(SquaredDistance{}, {{4}, {1, 4}});
  refused(Concatenate{7}, {{4}});
  refused(ConcatenateToBatch{}, {{4}, {5}});
  refused(Pick{1}, {{4}});
  refused(PickRange{0, 5, 0}, {{4}});
  refused(LogSoftmax{1}, {{4}});
  refused(PickNegLogSoftmax{}, {{4, 2}});
  refused(BinaryLogLoss{}, {{4}, {3}});
  refused(LstmCell{}, {{10}, {2}});
  refused(LstmCell{}, {{12}, {4}});
  refused(LstmCell{}, {{12, 1}, {3}});
  refused(LstmGates{}, {{3}});
  refused(VanillaLstmC{}, {{3}, {9}});
  refused(VanillaLstmH{}, {{3, 1}, {12}});
  refused(CoupledLstmCell{}, {{3}, {3}, {4}, {3}});
  refused(CoupledLstmCell{}, {{3, 1}, {3}, {3}, ext::absent()});
  refused(CoupledLstmC{}, {{3}, {3}, {4}});
  refused(CoupledLstmC{}, {{3, 1}, {3}, {3}});
  refused(GatedSum{}, {{3}, {4}, ext::absent(), ext::absent()});
  refused(GatedSum{}, {{3}, {3}, {3}, {3, 1}});
  refused(TreeLstmStep{}, {{3}, {3}, {3}, {3}, {3}, {3}, {3}, {4}});
  refused(TreeLstmCell{}, {{4}, ext::absent(), ext::absent(), ext::absent(), ext::absent()});
  refused(TreeLstmCell{}, {{9}, {3}, {3}, {3}, {4}});
}

/// Positions and lengths are numbers, and float counts up to 2^24. `of(n)`: the shapes of the
/// arguments with n positions.
TEST(Contract, MorePositionsThanFloatHasAreRefused) {
  const auto holds_to_the_last = [](const auto& op, auto of) {
    constexpr unsigned kMost = 1U << 24;
    EXPECT_NE(error_of(op, of(kMost)).substr(0, 10), "ShapeError") << op.kInfo.name;
    EXPECT_NE(error_of(op, of(kMost + 1)).find("at most 16777216"), std::string::npos)
        << op.kInfo.name << ": " << error_of(op, of(kMost + 1));
  };
  const auto vector = [](unsigned n) { return std::vector<Dim>{{n}}; };
  const auto two_vectors = [](unsigned n) { return std::vector<Dim>{{n}, {n}}; };
  holds_to_the_last(MaxDim{0}, vector);
  holds_to_the_last(MinDim{1}, [](unsigned n) { return std::vector<Dim>{{1, n}}; });
  holds_to_the_last(Argmax{zero_gradient}, vector);
  holds_to_the_last(TopK{1, 0}, vector);
  holds_to_the_last(KMaxPooling{1, 0}, vector);
  holds_to_the_last(PickNegLogSoftmax{}, vector);
  holds_to_the_last(Hinge{}, vector);
  holds_to_the_last(HingeDim{}, vector);
  holds_to_the_last(CrossEntropy{}, vector);
  holds_to_the_last(WeightedCrossEntropy{}, two_vectors);
  holds_to_the_last(Sparsemax{}, vector);
  holds_to_the_last(SparsemaxLoss{}, vector);
  holds_to_the_last(ConstrainedSoftmax{}, two_vectors);
  holds_to_the_last(Attention{}, [](unsigned n) { return std::vector<Dim>{{1}, {1, n}, {1, n}}; });
  const Dim none = ext::absent();
  holds_to_the_last(CrfViterbi{},
                    [&](unsigned n) { return std::vector<Dim>{{n, 1}, {n, n}, none, none, none}; });
  // The largest number of steps, unless lengths count them.
  const auto steps = [&](unsigned n) { return std::vector<Dim>{{1, n}, {1, 1}, none, none, {1}}; };
  holds_to_the_last(CrfLogPartition{}, steps);
  holds_to_the_last(CrfScore{1}, steps);
  holds_to_the_last(CrfViterbi{}, steps);
  holds_to_the_last(CtcLoss{1}, [&](unsigned n) { return std::vector<Dim>{{1, n}, {1}, none}; });
  const unsigned many = (1U << 24) + 1;
  const MaxPooling2d one_window{{{1, many}, 2}, {{1, 1}, 2}, true};
  EXPECT_NE(error_of(one_window, {{1, many}}).find("at most 16777216"), std::string::npos);
  EXPECT_EQ(error_of(CrfLogPartition{}, {{1, many}, {1, 1}, none, none, none}), "none: {1}");
  EXPECT_EQ(error_of(CtcLoss{1}, {{1, many}, none, none}), "none: {1}");
}

template <class Op>
Dim shape_of(const Op& op, std::vector<Dim> in, unsigned batch = 1) {
  return op.shape(ext::Shapes(Op::kInfo, in, batch, 0));
}

TEST(Contract, ShapesOfResults) {
  EXPECT_EQ(shape_of(Add{}, {{2, 1, 3}, {2, 5}}), Dim({2, 5, 3}));
  EXPECT_EQ(shape_of(MatMul{}, {{4, 3}, {3}}), Dim({4}));
  EXPECT_EQ(shape_of(MatMul{}, {{4}, {1, 3}}), Dim({4, 3}));
  EXPECT_EQ(shape_of(AffineTransform{}, {{4, 1}, {4, 3}, {3, 1}}), Dim({4}));
  EXPECT_EQ(shape_of(AffineTransform{}, {{4}, {4, 3}, {3, 2}}), Dim({4, 2}));
  EXPECT_EQ(shape_of(Transpose{}, {{5}}), Dim({1, 5}));
  EXPECT_EQ(shape_of(Transpose{{{2, 0, 1}, 3}}, {{2, 3, 4}}), Dim({4, 2, 3}));
  EXPECT_EQ(shape_of(Concatenate{0}, {{4}, {3, 1}}), Dim({7, 1}));
  EXPECT_EQ(shape_of(Concatenate{2}, {{4}, {4}}), Dim({4, 1, 2}));
  EXPECT_EQ(shape_of(Pick{0}, {{4}}), Dim({1}));
  EXPECT_EQ(shape_of(Pick{1}, {{4, 3, 2}}), Dim({4, 2}));
  EXPECT_EQ(shape_of(Sum{}, {{4, 1}, {4}}), Dim({4, 1}));
  EXPECT_EQ(shape_of(Reshape{{2, 6}}, {Dim({4}, 3)}), Dim({2, 6}));
  EXPECT_EQ(shape_of(Reshape{{2, 2}}, {Dim({4}, 3)}), Dim({2, 2}, 3));
  EXPECT_EQ(shape_of(Reshape{Dim({2}, 6)}, {Dim({4}, 3)}), Dim({2}, 6));
  EXPECT_EQ(shape_of(ConcatenateToBatch{}, {Dim({4}, 3), Dim({4}, 2)}), Dim({4}, 5));
}

TEST(Contract, AttributesArePrinted) {
  const auto text = [](const auto& op) {
    return ext::kRecord<std::remove_cvref_t<decltype(op)>>.attrs_text(&op);
  };
  EXPECT_EQ(text(Elu{2.5F}), "alpha=2.5");
  EXPECT_EQ(text(Elu{0.1F}), "alpha=0.1");
  EXPECT_EQ(text(Elu{1e-7F}), "alpha=1e-07");
  EXPECT_EQ(text(PickRange{1, 1000000, 2}), "s=1, e=1000000, d=2");
  EXPECT_EQ(text(Transpose{{{2, 0, 1}, 3}}), "dims=[2, 0, 1]");
  EXPECT_EQ(text(Parameter{{4, 3}, false}), "dim={4,3}, trainable=false");
  EXPECT_EQ(text(Tanh{}), "");
}

}  // namespace
}  // namespace dynet::ops
