// Nodes added by the names of DyNet 2.1's classes equal the nodes of the functions.

#include "dynet/nodes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <list>

namespace dynet {
namespace {

using Unsigneds = std::vector<unsigned>;

class Nodes : public ::testing::Test {
 protected:
  /// The node `index` has the value and the shape of `want`, and is another node.
  void expect_same(const char* name, VariableIndex index, const Expression& want) {
    const Expression got(&cg, index);
    EXPECT_NE(index, want.i) << name;
    EXPECT_EQ(got.dim(), want.dim()) << name;
    EXPECT_EQ(as_vector(got.value()), as_vector(want.value())) << name;
  }
  template <class Function, class... Side>
  void one(const Expression& want, const Side&... side) {
    expect_same(Function::name, cg.add_function<Function>({x.i}, side...), want);
  }
  template <class Function, class... Side>
  void two(const Expression& want, const Side&... side) {
    expect_same(Function::name, cg.add_function<Function>({x.i, y.i}, side...), want);
  }

  ComputationGraph cg;
  Expression x = input(cg, {4}, {0.5F, 0.25F, 0.75F, 0.125F});
  Expression y = input(cg, {4}, {0.25F, 1.0F, 0.5F, 0.75F});
  Expression z = input(cg, {4}, {3, 1, 2, 4});
  Expression m = input(cg, {2, 2}, {2, 1, 0.5F, 3});
};

TEST_F(Nodes, FunctionsOfEachNumber) {
  one<Negate>(-x);
  one<Square>(square(x));
  one<Cube>(cube(x));
  one<Sqrt>(sqrt(x));
  one<Exp>(exp(x));
  one<Log>(log(x));
  one<Abs>(abs(x));
  one<LogSigmoid>(log_sigmoid(x));
  one<LogGamma>(lgamma(x));
  one<Erf>(erf(x));
  one<Sin>(sin(x));
  one<Cos>(cos(x));
  one<Tan>(tan(x));
  one<Asin>(asin(x));
  one<Acos>(acos(x));
  one<Atan>(atan(x));
  one<Sinh>(sinh(x));
  one<Cosh>(cosh(x));
  one<Tanh>(tanh(x));
  one<Asinh>(asinh(x));
  expect_same("Acosh", cg.add_function<Acosh>({z.i}), acosh(z));
  one<Atanh>(atanh(x));
  one<LogisticSigmoid>(logistic(x));
  one<Rectify>(rectify(x));
  one<SoftSign>(softsign(x));
  expect_same("ExponentialLinearUnit", cg.add_function<ExponentialLinearUnit>({(-x).i}), elu(-x));
  one<ExponentialLinearUnit>(elu(x, 2.0F) * 3.0F, 3.0F, 2.0F);
  one<SigmoidLinearUnit>(silu(x, 2.0F), 2.0F);
  one<Round>(round(x, zero_gradient), false);
  one<Ceil>(ceil(x, straight_through_gradient), true);
  one<Floor>(floor(x, zero_gradient), false);
  one<ConstantPlusX>(x + 2.0F, 2.0F);
  one<ConstantMinusX>(2.0F - x, 2.0F);
  one<ConstScalarMultiply>(x * 2.0F, 2.0F);
}

TEST_F(Nodes, OfTwo) {
  two<CwiseSum>(x + y);
  two<CwiseMultiply>(cmult(x, y));
  two<CwiseQuotient>(cdiv(x, y));
  two<Min>(min(x, y));
  two<Max>(max(x, y));
  expect_same("Pow", cg.add_function<Pow>({x.i, sum_elems(y).i}), pow(x, sum_elems(y)));
  expect_same("MatrixMultiply", cg.add_function<MatrixMultiply>({m.i, m.i}), m * m);
  two<DotProduct>(dot_product(x, y));
  two<SquaredEuclideanDistance>(squared_distance(x, y));
  two<L1Distance>(l1_distance(x, y));
  two<HuberDistance>(huber_distance(x, y, 0.125F), 0.125F);
  two<BinaryLogLoss>(binary_log_loss(x, y));
  const Expression row = transpose(x);
  expect_same("PairwiseRankLoss", cg.add_function<PairwiseRankLoss>({row.i, row.i}, 2.0F),
              pairwise_rank_loss(row, row, 2.0F));
  two<ConstrainedSoftmax>(constrained_softmax(x, y));
  two<CircularConvolution>(circ_conv(x, y));
  two<CircularCorrelation>(circ_corr(x, y));
  expect_same("TraceOfProduct", cg.add_function<TraceOfProduct>({m.i, m.i}),
              trace_of_product(m, m));
  const Expression g = input(cg, 2.0F);
  expect_same("WeightNormalization", cg.add_function<WeightNormalization>({m.i, g.i}),
              weight_norm(m, g));
  const Expression v = input(cg, {2}, {1, 2});
  expect_same("AddVectorToAllColumns", cg.add_function<AddVectorToAllColumns>({m.i, v.i}),
              colwise_add(m, v));
  expect_same("Filter1DNarrow", cg.add_function<Filter1DNarrow>({m.i, m.i}), filter1d_narrow(m, m));
  const Expression gates = concatenate({x, y});
  const Expression c = input(cg, {2}, {0.5F, 1});
  expect_same("VanillaLSTMC", cg.add_function<VanillaLSTMC>({c.i, gates.i}),
              vanilla_lstm_c(c, gates));
  expect_same("VanillaLSTMH", cg.add_function<VanillaLSTMH>({c.i, gates.i}),
              vanilla_lstm_h(c, gates));
}

TEST_F(Nodes, OfLists) {
  const std::vector<Expression> xs{x, y, z};
  const std::vector<VariableIndex> indices{x.i, y.i, z.i};
  const std::list<VariableIndex> listed(indices.begin(), indices.end());
  expect_same("Sum", cg.add_function<Sum>(indices), sum(xs));
  expect_same("Sum", cg.add_function<Sum>(listed), sum(xs));
  expect_same("Average", cg.add_function<Average>(indices), average(xs));
  expect_same("LogSumExp", cg.add_function<LogSumExp>(indices), logsumexp(xs));
  expect_same("Concatenate", cg.add_function<Concatenate>(indices), concatenate(xs));
  expect_same("Concatenate", cg.add_function<Concatenate>({x.i, y.i}, 1U), concatenate({x, y}, 1));
  expect_same("ConcatenateToBatch", cg.add_function<ConcatenateToBatch>(indices),
              concatenate_to_batch(xs));
  const Expression b = input(cg, {2}, {1, 2});
  expect_same("AffineTransform", cg.add_function<AffineTransform>({b.i, m.i, b.i}),
              affine_transform({b, m, b}));
  const Expression image = reshape(concatenate({x, y}), {2, 4, 1});
  const Expression filter = reshape(x, {2, 2, 1, 1});
  const Expression bias = input(cg, {1}, std::vector<float>{3});
  expect_same("Conv2D", cg.add_function<Conv2D>({image.i, filter.i}, Unsigneds{1, 1}),
              conv2d(image, filter, {1, 1}));
  expect_same("Conv2D",
              cg.add_function<Conv2D>({image.i, filter.i, bias.i}, Unsigneds{1, 2}, false),
              conv2d(image, filter, bias, {1, 2}, false));
  const Expression cube3 = reshape(concatenate({x, y}), {2, 2, 2});
  expect_same("InnerProduct3D_1D", cg.add_function<InnerProduct3D_1D>({cube3.i, b.i}),
              contract3d_1d(cube3, b));
  expect_same("InnerProduct3D_1D", cg.add_function<InnerProduct3D_1D>({cube3.i, b.i, m.i}),
              contract3d_1d(cube3, b, m));
  expect_same("InnerProduct3D_1D_1D", cg.add_function<InnerProduct3D_1D_1D>({cube3.i, b.i, b.i}),
              contract3d_1d_1d(cube3, b, b));
  expect_same("InnerProduct3D_1D_1D",
              cg.add_function<InnerProduct3D_1D_1D>({cube3.i, b.i, b.i, b.i}),
              contract3d_1d_1d(cube3, b, b, b));
}

TEST_F(Nodes, SumsAndSoftmaxes) {
  one<SumElements>(sum_elems(x));
  one<StdElements>(std_elems(x));
  one<MomentElements>(moment_elems(x, 2), 2U);
  one<SquaredNorm>(squared_norm(x));
  one<L2Norm>(l2_norm(x));
  one<CumulativeSum>(cumsum(x));
  one<MinDimension>(min_dim(x), 0U);
  one<MaxDimension>(max_dim(x));
  one<LogSumExpDimension>(logsumexp_dim(x));
  one<Softmax>(softmax(x));
  one<LogSoftmax>(log_softmax(x));
  expect_same("Softmax", cg.add_function<Softmax>({m.i}, 1U), softmax(m, 1));
  one<RestrictedLogSoftmax>(log_softmax(x, {0, 2}), Unsigneds{0, 2});
  one<Sparsemax>(sparsemax(x));
  one<SparsemaxLoss>(sparsemax_loss(x, Unsigneds{1}), Unsigneds{1});
  const Expression batch = input(cg, Dim({2}, 2), {1, 2, 3, 5});
  expect_same("StdBatches", cg.add_function<StdBatches>({batch.i}), std_batches(batch));
  expect_same("MomentBatches", cg.add_function<MomentBatches>({batch.i}, 2U),
              moment_batches(batch, 2));
  const Unsigneds dims{1};
  expect_same("SumDimension", cg.add_function<SumDimension>({m.i}, dims), sum_dim(m, dims));
  expect_same("MomentDimension", cg.add_function<MomentDimension>({m.i}, dims, 2U, true),
              moment_dim(m, dims, 2, true));
  expect_same("StdDimension", cg.add_function<StdDimension>({m.i}, dims, false, 3U),
              std_dim(m, dims, false, 3));
  const unsigned label = 2;
  one<PickNegLogSoftmax>(pickneglogsoftmax(x, label), label);
  one<PickNegLogSoftmax>(pickneglogsoftmax(x, label), &label);
  one<PickNegLogSoftmax>(pickneglogsoftmax(x, label), Unsigneds{label});
  one<Hinge>(hinge(x, label, 2.0F), label, 2.0F);
  one<HingeDim>(hinge_dim(x, Unsigneds{label}), Unsigneds{label});
  const Expression rate = sum_elems(x);
  expect_same("PoissonRegressionLoss", cg.add_function<PoissonRegressionLoss>({rate.i}, label),
              poisson_loss(rate, label));
}

TEST_F(Nodes, ShapesSelectionsAndWindows) {
  one<Identity>(x * 1.0F);
  one<Reshape>(reshape(x, {2, 2}), Dim({2, 2}));
  expect_same("Transpose", cg.add_function<Transpose>({m.i}), transpose(m));
  const Expression wide = reshape(concatenate({x, y}), {2, 4});
  const Unsigneds some{1, 0};
  expect_same("SelectRows", cg.add_function<SelectRows>({m.i}, some), select_rows(m, some));
  expect_same("SelectCols", cg.add_function<SelectCols>({m.i}, &some), select_cols(m, some));
  one<PickElement>(pick(x, 1U), 1U);
  one<PickRange>(pick_range(x, 1, 3), 1U, 3U);
  const Expression batch = concatenate_to_batch({x, y});
  expect_same("PickBatchElements", cg.add_function<PickBatchElements>({batch.i}, some),
              pick_batch_elems(batch, some));
  one<StridedSelect>(strided_select(x, {2}), std::vector<int>{2});
  one<ToDevice>(x * 1.0F, default_device);
  one<NoBackprop>(nobackprop(x));
  one<ScaleGradient>(scale_gradient(x, 2.0F), 2.0F);
  one<GaussianNoise>(x * 1.0F, 0.0F);
  one<Dropout>(x * 1.0F, 0.0F);
  one<DropoutDim>(x * 1.0F, 0U, 0.0F);
  one<DropoutBatch>(x * 1.0F, 0.0F);
  one<BlockDropout>(x * 1.0F, 0.0F);
  expect_same("KMaxPooling", cg.add_function<KMaxPooling>({wide.i}, 2U), kmax_pooling(wide, 2));
  expect_same("FoldRows", cg.add_function<FoldRows>({wide.i}), fold_rows(wide));
  expect_same("KMHNGram", cg.add_function<KMHNGram>({wide.i}, 2U), kmh_ngram(wide, 2));
  const Unsigneds window{2, 2};
  expect_same("MaxPooling2D", cg.add_function<MaxPooling2D>({wide.i}, window, window, false),
              maxpooling2d(wide, window, window, false));
  expect_same("MatrixInverse", cg.add_function<MatrixInverse>({m.i}), inverse(m));
  expect_same("LogDet", cg.add_function<LogDet>({m.i}), logdet(m));
}

TEST_F(Nodes, GatesWithAndWithoutDropout) {
  const Expression wx = input(cg, {8, 4}, std::vector<float>(32, 0.25F));
  const Expression wh = input(cg, {8, 2}, std::vector<float>(16, 0.5F));
  const Expression b = input(cg, {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Expression h = input(cg, {2}, {0.5F, 1});
  const Expression mask_x = input(cg, {4}, {0, 2, 0, 2});
  const Expression mask_h = input(cg, {2}, {2, 0});
  expect_same("gates", cg.add_function<VanillaLSTMGates>({x.i, h.i, wx.i, wh.i, b.i}, false, 0.0F),
              vanilla_lstm_gates(x, h, wx, wh, b));
  expect_same("gates",
              cg.add_function<VanillaLSTMGates>({x.i, h.i, wx.i, wh.i, b.i, mask_x.i, mask_h.i},
                                                true, 0.0F),
              vanilla_lstm_gates_dropout(x, h, wx, wh, b, mask_x, mask_h));
  EXPECT_THROW(cg.add_function<VanillaLSTMGates>({x.i, h.i, wx.i, wh.i, b.i}, true),
               errors::ValueError);
}

TEST_F(Nodes, ADeviceMayStandFirst) {
  one<Tanh>(tanh(x), default_device);
  one<PickElement>(pick(x, 1U), default_device, 1U);
}

TEST_F(Nodes, AreAListForTheAlgorithmsOfTheStandard) {
  std::size_t count = 0;
  for (const auto& node : cg.nodes) {
    EXPECT_EQ(node.dim, cg.nodes[count++].dim);
  }
  EXPECT_EQ(count, cg.nodes.size());
  const VariableIndex first = cg.add_function<Reshape>({x.i}, Dim({1, 1, x.dim().rows()}));
  const auto has_three = [](const auto& node) { return node.dim.nd == 3; };
  const auto found = std::ranges::find_if(cg.nodes, has_three);
  ASSERT_NE(found, cg.nodes.end());
  EXPECT_EQ(std::ranges::distance(cg.nodes.begin(), found), static_cast<std::ptrdiff_t>(first));
  EXPECT_EQ(std::ranges::count_if(cg.nodes, has_three), 1);
}

TEST_F(Nodes, ErrorsHaveTheUsersLine) {
  EXPECT_THROW(cg.add_function<Tanh>({}), errors::ValueError);
  EXPECT_THROW(cg.add_function<Tanh>({x.i, y.i}), errors::ValueError);
  EXPECT_THROW(cg.add_function<Concatenate>({}), errors::ValueError);
  EXPECT_THROW(cg.add_function<Tanh>({10000U}), errors::Error);
  const std::size_t before = cg.nodes.size();
  const int line = __LINE__ + 2;
  try {
    cg.add_function<CwiseMultiply>({x.i, m.i});
    ADD_FAILURE();
  } catch (const errors::ShapeError& e) {
    EXPECT_NE(std::string(e.what()).find("nodes_test.cc:" + std::to_string(line)),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(cg.nodes.size(), before);
}

}  // namespace
}  // namespace dynet
