#pragma once

// Operations by the names of the node classes of DyNet 2.1, for programs that add nodes by class:
//
//   VariableIndex h = cg.add_function<Tanh>({x.i});
//   VariableIndex p = cg.add_function<Softmax>({h}, 0);
//
// Here a class is only a name: the table below has the function of expr.h for each name, and the
// further parameters of the constructor in 2.1. Inputs, parameters and constants have no names, but
// functions of the graph and of expr.h; your own operation is written against dynet/ext/op.h.

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet/expr.h"

namespace dynet {

/// In DyNet 2.1 the base of a program's own operations; here such an operation is one struct. Not
/// defined, so that a compiler tells a program that derives from it about the struct. Only in this
/// header, because programs over trees have a `Node` of their own.
struct [[deprecated("write a struct for dynet/ext/op.h: docs/coming-from-dynet-2.1.md")]] Node;

namespace detail {

/// The arguments of a node as `{x.i, y.i}` or any container of indices, and the place where they
/// were passed.
class NodeArguments {
 public:
  // NOLINTBEGIN(google-explicit-constructor): braces and containers become one
  NodeArguments(std::initializer_list<VariableIndex> indices, Where at = Where::here())
      : indices_(indices), where_(at) {}
  template <class Container>
  NodeArguments(const Container& indices, Where at = Where::here())
      : indices_(indices.begin(), indices.end()), where_(at) {}
  // NOLINTEND(google-explicit-constructor)
  [[nodiscard]] Where where() const { return where_; }
  /// ValueError unless there are from `fewest` to `most`.
  [[nodiscard]] std::vector<Expression> in(ComputationGraph& cg, const char* name,
                                           std::size_t fewest, std::size_t most) const {
    if (indices_.size() < fewest || indices_.size() > most) {
      throw errors::ValueError(std::string(name) + " of " + std::to_string(indices_.size()) +
                               " arguments; want " + std::to_string(fewest) +
                               (most > fewest ? " or more" : ""));
    }
    std::vector<Expression> xs;
    xs.reserve(indices_.size());
    for (const VariableIndex i : indices_) {
      xs.emplace_back(&cg, i);
    }
    return xs;
  }

 private:
  std::vector<VariableIndex> indices_;
  Where where_;
};

inline constexpr std::size_t kMany = std::numeric_limits<std::size_t>::max();

[[nodiscard]] inline GradientMode mode_of(bool straight_through) {
  return straight_through ? straight_through_gradient : zero_gradient;
}
/// The last argument if there are more than `without`; else unset.
[[nodiscard]] inline Expression optional_last(const std::vector<Expression>& xs,
                                              std::size_t without) {
  return xs.size() > without ? xs.back() : Expression();
}
[[nodiscard]] inline Expression contract_twice(const std::vector<Expression>& xs, Where w) {
  return xs.size() == 4 ? contract3d_1d_1d(xs[0], xs[1], xs[2], xs[3], w)
                        : contract3d_1d_1d(xs[0], xs[1], xs[2], w);
}
/// Any number of inputs, then h, Wx, Wh, b and, with dropout, both masks.
[[nodiscard]] inline Expression gates(const std::vector<Expression>& xs, bool dropout,
                                      real weightnoise_std, Where w) {
  if (dropout && xs.size() < 7) {
    throw errors::ValueError("VanillaLSTMGates with dropout: " + std::to_string(xs.size()) +
                             " arguments; want 7 or more");
  }
  const std::size_t inputs = xs.size() - (dropout ? 6 : 4);
  const std::vector<Expression> x(xs.begin(), xs.begin() + static_cast<std::ptrdiff_t>(inputs));
  const Expression* const rest = xs.data() + inputs;
  return dropout
             ? vanilla_lstm_gates_dropout_concat(x, rest[0], rest[1], rest[2], rest[3], rest[4],
                                                 rest[5], weightnoise_std, w)
             : vanilla_lstm_gates_concat(x, rest[0], rest[1], rest[2], rest[3], weightnoise_std, w);
}

}  // namespace detail

// The table. DYNET_NODE(class, number of arguments, the function's call, the operands of the call):
// the arguments, then the constructor's parameters. DYNET_NODES: a list of `fewest` to `most`
// arguments. `w` is the user's line; `V` is an index, several, or a pointer to either.
// NOLINTBEGIN(bugprone-macro-parentheses, readability-identifier-naming): names of 2.1
#define DYNET_CLASS(Class, fewest_, most_, is_list_, call, ...)          \
  struct Class {                                                         \
    using X = const Expression&;                                         \
    using Xs = const std::vector<Expression>&;                           \
    static constexpr const char* name = #Class;                          \
    static constexpr std::size_t fewest = fewest_;                       \
    static constexpr std::size_t most = most_;                           \
    static constexpr bool is_list = is_list_;                            \
    template <class V = void>                                            \
    static Expression node([[maybe_unused]] Where w, __VA_ARGS__) {      \
      using namespace detail; /* NOLINT(google-build-using-namespace) */ \
      return call;                                                       \
    }                                                                    \
  };
#define DYNET_NODES(Class, fewest, most, call, ...) \
  DYNET_CLASS(Class, fewest, most, true, call, __VA_ARGS__)
#define DYNET_NODE(Class, count, call, ...) \
  DYNET_CLASS(Class, count, count, false, call, __VA_ARGS__)
#define DYNET_UNARY(Class, function) DYNET_NODE(Class, 1, function(x, w), X x)
#define DYNET_BINARY(Class, function) DYNET_NODE(Class, 2, function(x, y, w), X x, X y)

// Arithmetic.
DYNET_NODE(Negate, 1, -Located(x, w), X x)
DYNET_NODE(CwiseSum, 2, Located(x, w) + y, X x, X y)
DYNET_NODE(ConstantPlusX, 1, Located(x, w) + c, X x, real c)
DYNET_NODE(ConstantMinusX, 1, c - Located(x, w), X x, real c)
DYNET_NODE(ConstScalarMultiply, 1, Located(x, w) * a, X x, real a)
DYNET_NODE(MatrixMultiply, 2, Located(x, w) * y, X x, X y)
DYNET_BINARY(CwiseMultiply, cmult)
DYNET_BINARY(CwiseQuotient, cdiv)
DYNET_BINARY(Pow, pow)
DYNET_BINARY(Min, min)
DYNET_BINARY(Max, max)
DYNET_BINARY(AddVectorToAllColumns, colwise_add)
DYNET_NODES(AffineTransform, 1, detail::kMany, affine_transform(xs, w), Xs xs)
DYNET_NODES(Sum, 1, detail::kMany, sum(xs, w), Xs xs)
DYNET_NODES(Average, 1, detail::kMany, average(xs, w), Xs xs)
DYNET_NODES(LogSumExp, 1, detail::kMany, logsumexp(xs, w), Xs xs)

// Functions of each number.
DYNET_UNARY(Square, square)
DYNET_UNARY(Cube, cube)
DYNET_UNARY(Sqrt, sqrt)
DYNET_UNARY(Exp, exp)
DYNET_UNARY(Log, log)
DYNET_UNARY(Abs, abs)
DYNET_UNARY(LogSigmoid, log_sigmoid)
DYNET_UNARY(LogGamma, lgamma)
DYNET_UNARY(Erf, erf)
DYNET_UNARY(Sin, sin)
DYNET_UNARY(Cos, cos)
DYNET_UNARY(Tan, tan)
DYNET_UNARY(Asin, asin)
DYNET_UNARY(Acos, acos)
DYNET_UNARY(Atan, atan)
DYNET_UNARY(Sinh, sinh)
DYNET_UNARY(Cosh, cosh)
DYNET_UNARY(Tanh, tanh)
DYNET_UNARY(Asinh, asinh)
DYNET_UNARY(Acosh, acosh)
DYNET_UNARY(Atanh, atanh)
DYNET_UNARY(LogisticSigmoid, logistic)
DYNET_UNARY(Rectify, rectify)
DYNET_UNARY(SoftSign, softsign)
DYNET_NODE(ExponentialLinearUnit, 1,
           lambda == 1 ? elu(x, alpha, w) : Located(elu(x, alpha, w), w) * lambda, X x,
           real lambda = 1, real alpha = 1)
DYNET_NODE(SigmoidLinearUnit, 1, silu(x, beta, w), X x, real beta = 1)
DYNET_NODE(Round, 1, round(x, mode_of(straight), w), X x, bool straight)
DYNET_NODE(Ceil, 1, ceil(x, mode_of(straight), w), X x, bool straight)
DYNET_NODE(Floor, 1, floor(x, mode_of(straight), w), X x, bool straight)

// Sums, means and the like.
DYNET_UNARY(SumElements, sum_elems)
DYNET_UNARY(StdElements, std_elems)
DYNET_UNARY(StdBatches, std_batches)
DYNET_UNARY(SquaredNorm, squared_norm)
DYNET_UNARY(L2Norm, l2_norm)
DYNET_NODE(SumDimension, 1, sum_dim(x, dims, b, w), X x, const std::vector<unsigned>& dims,
           bool b = false)
DYNET_NODE(MomentElements, 1, moment_elems(x, r, w), X x, unsigned r)
DYNET_NODE(MomentBatches, 1, moment_batches(x, r, w), X x, unsigned r)
DYNET_NODE(MomentDimension, 1, moment_dim(x, dims, r, b, n, w), X x,
           const std::vector<unsigned>& dims, unsigned r, bool b = false, unsigned n = 0)
DYNET_NODE(StdDimension, 1, std_dim(x, dims, b, n, w), X x, const std::vector<unsigned>& dims,
           bool b = false, unsigned n = 0)
DYNET_NODE(CumulativeSum, 1, cumsum(x, d, w), X x, unsigned d = 0)
DYNET_NODE(MinDimension, 1, min_dim(x, d, w), X x, unsigned d = 0)
DYNET_NODE(MaxDimension, 1, max_dim(x, d, w), X x, unsigned d = 0)
DYNET_NODE(LogSumExpDimension, 1, logsumexp_dim(x, d, w), X x, unsigned d = 0)

// Softmaxes, losses and distances.
DYNET_NODE(Softmax, 1, softmax(x, d, w), X x, unsigned d = 0)
DYNET_NODE(LogSoftmax, 1, log_softmax(x, d, w), X x, unsigned d = 0)
DYNET_NODE(RestrictedLogSoftmax, 1, log_softmax(x, restriction, 0, w), X x,
           const std::vector<unsigned>& restriction)
DYNET_NODE(Sparsemax, 1, sparsemax(x, 0, w), X x)
DYNET_NODE(SparsemaxLoss, 1, sparsemax_loss(x, v, w), X x, const V& v)
DYNET_NODE(ConstrainedSoftmax, 2, constrained_softmax(x, y, 0, w), X x, X y)
DYNET_NODE(PickNegLogSoftmax, 1, pickneglogsoftmax(x, v, w), X x, const V& v)
DYNET_NODE(Hinge, 1, hinge(x, v, m, w), X x, const V& v, real m = 1)
DYNET_NODE(HingeDim, 1, hinge_dim(x, v, d, m, w), X x, const V& v, unsigned d = 0, real m = 1)
DYNET_NODE(PoissonRegressionLoss, 1, poisson_loss(x, v, w), X x, const V& v)
DYNET_BINARY(BinaryLogLoss, binary_log_loss)
DYNET_NODE(PairwiseRankLoss, 2, pairwise_rank_loss(x, y, m, w), X x, X y, real m = 1)
DYNET_BINARY(DotProduct, dot_product)
DYNET_BINARY(SquaredEuclideanDistance, squared_distance)
DYNET_BINARY(L1Distance, l1_distance)
DYNET_NODE(HuberDistance, 2, huber_distance(x, y, c, w), X x, X y, real c = 1.345F)

// Shapes and selections.
DYNET_NODE(Identity, 1, reshape(x, Dim(x.dim()), w), X x)
DYNET_NODE(Reshape, 1, reshape(x, d, w), X x, const Dim& d)
DYNET_NODE(Transpose, 1, transpose(x, dims, w), X x, const std::vector<unsigned>& dims = {1, 0})
DYNET_NODE(SelectRows, 1, select_rows(x, v, w), X x, const V& v)
DYNET_NODE(SelectCols, 1, select_cols(x, v, w), X x, const V& v)
DYNET_NODE(PickElement, 1, pick(x, v, d, w), X x, const V& v, unsigned d = 0)
DYNET_NODE(PickRange, 1, pick_range(x, s, e, d, w), X x, unsigned s, unsigned e, unsigned d = 0)
DYNET_NODE(PickBatchElements, 1, pick_batch_elems(x, v, w), X x, const V& v)
DYNET_NODE(StridedSelect, 1, strided_select(x, strides, from, to, w), X x,
           const std::vector<int>& strides, const std::vector<int>& from = {},
           const std::vector<int>& to = {}, [[maybe_unused]] bool inplaced = false)
DYNET_NODES(Concatenate, 1, detail::kMany, concatenate(xs, d, w), Xs xs, unsigned d = 0)
DYNET_NODES(ConcatenateToBatch, 1, detail::kMany, concatenate_to_batch(xs, w), Xs xs)
DYNET_NODE(ToDevice, 1, to_device(x, device, w), X x, const Device* device)

// Gradients and noise.
DYNET_UNARY(NoBackprop, nobackprop)
DYNET_NODE(ScaleGradient, 1, scale_gradient(x, lambd, w), X x, real lambd = 1)
DYNET_NODE(GaussianNoise, 1, noise(x, stddev, w), X x, real stddev)
DYNET_NODE(Dropout, 1, dropout(x, p, w), X x, real p)
DYNET_NODE(DropoutDim, 1, dropout_dim(x, d, p, w), X x, unsigned d, real p)
DYNET_NODE(DropoutBatch, 1, dropout_batch(x, p, w), X x, real p)
DYNET_NODE(BlockDropout, 1, block_dropout(x, p, w), X x, real p)

// Windows, contractions, matrices and cells.
DYNET_BINARY(Filter1DNarrow, filter1d_narrow)
DYNET_NODE(KMaxPooling, 1, kmax_pooling(x, k, d, w), X x, unsigned k, unsigned d = 1)
DYNET_NODE(FoldRows, 1, fold_rows(x, n, w), X x, unsigned n = 2)
DYNET_NODE(KMHNGram, 1, kmh_ngram(x, n, w), X x, unsigned n)
DYNET_NODES(Conv2D, 2, 3, conv2d(xs[0], xs[1], optional_last(xs, 2), stride, valid, w), Xs xs,
            const std::vector<unsigned>& stride, bool valid = true)
DYNET_NODE(MaxPooling2D, 1, maxpooling2d(x, ksize, stride, valid, w), X x,
           const std::vector<unsigned>& ksize, const std::vector<unsigned>& stride,
           bool valid = true)
DYNET_BINARY(CircularConvolution, circ_conv)
DYNET_BINARY(CircularCorrelation, circ_corr)
DYNET_NODES(InnerProduct3D_1D, 2, 3, contract3d_1d(xs[0], xs[1], optional_last(xs, 2), w), Xs xs)
DYNET_NODES(InnerProduct3D_1D_1D, 3, 4, contract_twice(xs, w), Xs xs)
DYNET_UNARY(MatrixInverse, inverse)
DYNET_UNARY(LogDet, logdet)
DYNET_BINARY(TraceOfProduct, trace_of_product)
DYNET_BINARY(WeightNormalization, weight_norm)
DYNET_NODES(VanillaLSTMGates, 5, detail::kMany, gates(xs, dropout, weightnoise, w), Xs xs,
            bool dropout, real weightnoise = 0)
DYNET_BINARY(VanillaLSTMC, vanilla_lstm_c)
DYNET_BINARY(VanillaLSTMH, vanilla_lstm_h)

// NOLINTEND(bugprone-macro-parentheses, readability-identifier-naming)
#undef DYNET_CLASS
#undef DYNET_NODES
#undef DYNET_NODE
#undef DYNET_UNARY
#undef DYNET_BINARY

namespace detail {

template <class Function, std::size_t... kAt, class... Side>
Expression add_with(const std::vector<Expression>& xs, Where w, std::index_sequence<kAt...> /*n*/,
                    Side&&... side) {
  return Function::node(w, xs[kAt]..., std::forward<Side>(side)...);
}
template <class Function, class... Side>
Expression add_node_of(const std::vector<Expression>& xs, Where w, Side&&... side) {
  if constexpr (Function::is_list) {
    return Function::node(w, xs, std::forward<Side>(side)...);
  } else {
    return add_with<Function>(xs, w, std::make_index_sequence<Function::fewest>(),
                              std::forward<Side>(side)...);
  }
}
/// In 2.1 a device may stand before the parameters of a constructor. The device counts only for
/// nodes without arguments, which have no name here.
template <class Function, class First, class... Rest>
Expression add_after_device(const std::vector<Expression>& xs, Where w,
                            [[maybe_unused]] First&& first, Rest&&... rest) {
  if constexpr (std::is_convertible_v<First, const Device*> &&
                !std::is_same_v<Function, ToDevice>) {
    return add_node_of<Function>(xs, w, std::forward<Rest>(rest)...);
  } else {
    return add_node_of<Function>(xs, w, std::forward<First>(first), std::forward<Rest>(rest)...);
  }
}
template <class Function>
Expression add_after_device(const std::vector<Expression>& xs, Where w) {
  return add_node_of<Function>(xs, w);
}

}  // namespace detail

template <class Function, class... Side>
VariableIndex ComputationGraph::add_function(const detail::NodeArguments& arguments,
                                             Side&&... side) {
  const std::vector<Expression> xs =
      arguments.in(*this, Function::name, Function::fewest, Function::most);
  return detail::add_after_device<Function>(xs, arguments.where(), std::forward<Side>(side)...).i;
}

}  // namespace dynet
