// Names of expr.h: every function with the arguments that programs for DyNet 2.1 give it, and the
// values of its defaults.

#include "dynet/expr.h"

#include "names.h"

using namespace dynet;  // NOLINT(google-build-using-namespace): as programs do
using std::vector;

namespace {

class Functions : public testing::Test {
 protected:
  using E = Expression;
  E vector_of(ComputationGraph& g, unsigned n) {
    vector<float> numbers(n);
    for (unsigned i = 0; i < n; ++i) {
      numbers[i] = 0.1F + 0.2F * static_cast<float>(i * 7 % n);
    }
    return input(g, {n}, numbers);
  }
  E matrix(ComputationGraph& g, unsigned rows, unsigned cols) {
    return reshape(vector_of(g, rows * cols), {rows, cols});
  }
  Dim d{4};
  ComputationGraph cg;
  Device* const device = default_device;
  ParameterCollection model;
  Parameter p = model.add_parameters({2});
  LookupParameter lp = model.add_lookup_parameters(3, {2});
  E x = vector_of(cg, 4);
  E y = x + 0.5F;
  E m = matrix(cg, 4, 3);
  E square_matrix = input(cg, {2, 2}, {2, 1, 0.5F, 3});
  E scalar = input(cg, 0.5F);
  vector<E> list{x, y};
  E examples = concatenate_to_batch({x, y});
  unsigned index = 1;
  vector<unsigned> indices{2, 0};
};

TEST_F(Functions, Leaves) {
  const real s = 1.0F;
  const vector<float> data{1, 2};
  const vector<float> one{1};
  DYNET_HAS(E, input(cg, s));
  DYNET_HAS(E, input(cg, 3));
  DYNET_HAS(E, input(cg, s, device));
  DYNET_HAS(E, input(cg, &s));
  DYNET_HAS(E, input(cg, &s, device));
  DYNET_HAS(E, input(cg, {2}, data));
  DYNET_HAS(E, input(cg, {2}, data, device));
  DYNET_HAS(E, input(cg, {2}, &data));
  DYNET_HAS(E, input(cg, {2}, &data, device));
  DYNET_HAS(E, input(cg, {2}, {0}, one));
  DYNET_HAS(E, input(cg, {2}, {0}, one, 0.5F));
  DYNET_HAS(E, input(cg, {2}, {0}, one, 0.5F, device));
  DYNET_DEFAULT(input(cg, {2}, {0}, one), input(cg, {2}, {0}, one, 0.0F, default_device));
  DYNET_HAS(E, one_hot(cg, 3, 1));
  DYNET_HAS(E, one_hot(cg, 3, 1, device));
  DYNET_HAS(E, one_hot(cg, 3, indices));
  DYNET_HAS(E, one_hot(cg, 3, indices, device));
  DYNET_HAS(E, parameter(cg, p));
  DYNET_HAS(E, parameter(cg, lp));
  DYNET_HAS(E, const_parameter(cg, p));
  DYNET_HAS(E, const_parameter(cg, lp));
  DYNET_HAS(E, lookup(cg, lp, 2));
  DYNET_HAS(E, lookup(cg, lp, index));
  DYNET_HAS(E, lookup(cg, lp, &index));
  DYNET_HAS(E, lookup(cg, lp, indices));
  DYNET_HAS(E, lookup(cg, lp, &indices));
  DYNET_HAS(E, const_lookup(cg, lp, index));
  DYNET_HAS(E, const_lookup(cg, lp, &index));
  DYNET_HAS(E, const_lookup(cg, lp, indices));
  DYNET_HAS(E, const_lookup(cg, lp, &indices));
  DYNET_HAS(E, zeros(cg, {2}));
  DYNET_HAS(E, zeros(cg, d, device));
  DYNET_HAS(E, zeroes(cg, {2}));
  DYNET_HAS(E, zeroes(cg, d, device));
  DYNET_HAS(E, ones(cg, {2}));
  DYNET_HAS(E, ones(cg, d, device));
  DYNET_HAS(E, constant(cg, {2}, 3.0F));
  DYNET_HAS(E, constant(cg, d, 3.0F, device));
}

TEST_F(Functions, Random) {
  DYNET_HAS(E, random_normal(cg, d, 0.0F, 1.0F, device));
  DYNET_DEFAULT(random_normal(cg, d), random_normal(cg, d, 0.0F, 1.0F));
  DYNET_DEFAULT(random_normal(cg, d, 2.0F), random_normal(cg, d, 2.0F, 1.0F));
  DYNET_HAS(E, random_bernoulli(cg, d, 0.5F, 2.0F, device));
  DYNET_DEFAULT(random_bernoulli(cg, d, 0.5F), random_bernoulli(cg, d, 0.5F, 1.0F));
  DYNET_HAS(E, random_uniform(cg, d, -1.0F, 1.0F));
  DYNET_HAS(E, random_uniform(cg, d, -1.0F, 1.0F, device));
  DYNET_HAS(E, random_gumbel(cg, d, 0.0F, 1.0F, device));
  DYNET_DEFAULT(random_gumbel(cg, d), random_gumbel(cg, d, 0.0F, 1.0F));
  DYNET_DEFAULT(random_gumbel(cg, d, 1.0F), random_gumbel(cg, d, 1.0F, 1.0F));
  DYNET_HAS(E, noise(x, 0.1F));
  DYNET_HAS(E, dropout(x, 0.5F));
  DYNET_HAS(E, dropout_dim(m, 0, 0.5F));
  DYNET_HAS(E, dropout_batch(examples, 0.5F));
  DYNET_HAS(E, block_dropout(x, 0.5F));
}

TEST_F(Functions, Arithmetic) {
  DYNET_HAS(E, -x);
  DYNET_HAS(E, x + y);
  DYNET_HAS(E, x + 1.0F);
  DYNET_HAS(E, 1.0F + x);
  DYNET_HAS(E, x - y);
  DYNET_HAS(E, 1 - x);
  DYNET_HAS(E, x - 1.0);
  DYNET_HAS(E, square_matrix * square_matrix);
  DYNET_HAS(E, x * 2.0F);
  DYNET_HAS(E, 2 * x);
  DYNET_HAS(E, x / 2.0F);
  DYNET_HAS(E, x / y);
  DYNET_HAS(E, affine_transform({x, m, input(cg, {3}, {1, 2, 3})}));
  DYNET_HAS(E, affine_transform(vector<E>{x, m, input(cg, {3}, {1, 2, 3})}));
  DYNET_HAS(E, sum({x, y}));
  DYNET_HAS(E, sum(list));
  DYNET_THROWS(std::invalid_argument, sum(vector<E>()));
  DYNET_HAS(E, average({x, y}));
  DYNET_HAS(E, average(list));
  DYNET_HAS(E, max({x, y}));
  DYNET_HAS(E, max(list));
  DYNET_HAS(E, logsumexp({x, y}));
  DYNET_HAS(E, logsumexp(list));
  DYNET_HAS(E, pow(x, scalar));
  DYNET_HAS(E, min(x, y));
  DYNET_HAS(E, max(x, y));
  DYNET_HAS(E, dot_product(x, y));
  DYNET_HAS(E, circ_conv(x, y));
  DYNET_HAS(E, circ_corr(x, y));
  DYNET_HAS(E, cmult(x, y));
  DYNET_HAS(E, cdiv(x, y));
  DYNET_HAS(E, colwise_add(m, x));
}

TEST_F(Functions, Reductions) {
  const vector<unsigned> dims{0, 1};
  DYNET_HAS(E, sum_elems(x));
  DYNET_HAS(E, moment_elems(x, 2));
  DYNET_HAS(E, mean_elems(x));
  DYNET_HAS(E, std_elems(x));
  DYNET_HAS(E, sum_batches(examples));
  DYNET_HAS(E, moment_batches(examples, 2));
  DYNET_HAS(E, mean_batches(examples));
  DYNET_HAS(E, std_batches(examples));
  DYNET_HAS(E, sum_dim(m, {1}, true));
  DYNET_HAS(E, sum_rows(m));
  DYNET_HAS(E, sum_cols(m));
  DYNET_HAS(E, cumsum(m, 1));
  DYNET_HAS(E, moment_dim(m, {0, 1}, 2, false, 12));
  DYNET_HAS(E, mean_dim(m, {0, 1}, false, 12));
  DYNET_HAS(E, std_dim(m, {0, 1}, false, 12));
  DYNET_HAS(E, average_cols(m));
  // The argument `b` adds up examples, and `n` divides by its number unless 0.
  const auto b = [&](ComputationGraph& g) {
    return concatenate_to_batch({matrix(g, 2, 2), matrix(g, 2, 2) * 3.0F});
  };
  DYNET_DEFAULT(sum_dim(b(cg), dims), sum_dim(b(cg), dims, false));
  DYNET_DEFAULT(moment_dim(b(cg), dims, 2), moment_dim(b(cg), dims, 2, false, 0));
  DYNET_DEFAULT(moment_dim(b(cg), dims, 2, true), moment_dim(b(cg), dims, 2, true, 0));
  DYNET_DEFAULT(mean_dim(b(cg), dims), mean_dim(b(cg), dims, false, 0));
  DYNET_DEFAULT(mean_dim(b(cg), dims, true), mean_dim(b(cg), dims, true, 0));
  DYNET_DEFAULT(std_dim(b(cg), dims), std_dim(b(cg), dims, false, 0));
  DYNET_DEFAULT(std_dim(b(cg), dims, true), std_dim(b(cg), dims, true, 0));
}

TEST_F(Functions, OfEachNumber) {
  DYNET_HAS(E, sqrt(x));
  DYNET_HAS(E, abs(x));
  DYNET_HAS(E, erf(x));
  DYNET_HAS(E, asin(x));
  DYNET_HAS(E, acos(x));
  DYNET_HAS(E, atan(x));
  DYNET_HAS(E, sin(x));
  DYNET_HAS(E, cos(x));
  DYNET_HAS(E, tan(x));
  DYNET_HAS(E, sinh(x));
  DYNET_HAS(E, cosh(x));
  DYNET_HAS(E, tanh(x));
  DYNET_HAS(E, asinh(x));
  DYNET_HAS(E, acosh(x + 1.0F));
  DYNET_HAS(E, atanh(x));
  DYNET_HAS(E, exp(x));
  DYNET_HAS(E, square(x));
  DYNET_HAS(E, cube(x));
  DYNET_HAS(E, log_sigmoid(x));
  DYNET_HAS(E, lgamma(x));
  DYNET_HAS(E, log(x));
  DYNET_HAS(E, logistic(x));
  DYNET_HAS(E, rectify(x));
  DYNET_HAS(E, selu(x));
  DYNET_HAS(E, softsign(x));
  DYNET_DEFAULT(elu(-vector_of(cg, 4)), elu(-vector_of(cg, 4), 1.0F));
  DYNET_DEFAULT(silu(vector_of(cg, 4)), silu(vector_of(cg, 4), 1.0F));
  DYNET_HAS(E, round(x, zero_gradient));
  DYNET_HAS(E, ceil(x, straight_through_gradient));
  DYNET_HAS(E, floor(x, zero_gradient));
  DYNET_HAS(E, argmax(x, straight_through_gradient));
  DYNET_HAS(E, nobackprop(x));
  DYNET_HAS(E, flip_gradient(x));
  DYNET_HAS(E, scale_gradient(x, 2.0F));
  DYNET_HAS(E, scale_gradient(x));
  DYNET_HAS(E, to_device(x, device));
}

TEST_F(Functions, Softmaxes) {
  DYNET_DEFAULT(softmax(matrix(cg, 2, 2)), softmax(matrix(cg, 2, 2), 0));
  DYNET_HAS(E, softmax(m, 1));
  DYNET_HAS(E, log_softmax(x));
  DYNET_HAS(E, log_softmax(x, indices));
  DYNET_HAS(E, log_softmax(x, {0, 2}));
  DYNET_HAS(E, logsumexp_dim(m, 1));
  DYNET_HAS(E, sparsemax(x));
  DYNET_HAS(E, sparsemax_loss(x, indices));
  DYNET_HAS(E, sparsemax_loss(x, &indices));
  DYNET_HAS(E, constrained_softmax(x, y));
  DYNET_HAS(E, pickneglogsoftmax(x, index));
  DYNET_HAS(E, pickneglogsoftmax(x, &index));
  DYNET_HAS(E, pickneglogsoftmax(examples, indices));
  DYNET_HAS(E, pickneglogsoftmax(examples, &indices));
}

TEST_F(Functions, Losses) {
  const vector<vector<unsigned>> rows{{0, 1, 2}, {2, 1, 0}};
  const E pair = concatenate_to_batch({m, m});
  const vector<unsigned> columns{0, 1, 2};
  DYNET_HAS(E, hinge(x, index, 2.0F));
  DYNET_HAS(E, hinge(x, &index, 2.0F));
  DYNET_HAS(E, hinge(examples, indices, 2.0F));
  DYNET_HAS(E, hinge(examples, &indices, 2.0F));
  DYNET_DEFAULT(hinge(vector_of(cg, 4), 1U), hinge(vector_of(cg, 4), 1U, 1.0F));
  DYNET_HAS(E, hinge_dim(m, columns, 0, 2.0F));
  DYNET_HAS(E, hinge_dim(m, &columns, 0, 2.0F));
  DYNET_HAS(E, hinge_dim(pair, rows, 0, 2.0F));
  DYNET_HAS(E, hinge_dim(pair, &rows, 0, 2.0F));
  DYNET_DEFAULT(hinge_dim(matrix(cg, 3, 3), columns),
                hinge_dim(matrix(cg, 3, 3), columns, 0, 1.0F));
  DYNET_HAS(E, squared_norm(x));
  DYNET_HAS(E, l2_norm(x));
  DYNET_HAS(E, squared_distance(x, y));
  DYNET_HAS(E, l1_distance(x, y));
  DYNET_DEFAULT(huber_distance(vector_of(cg, 20), -vector_of(cg, 20)),
                huber_distance(vector_of(cg, 20), -vector_of(cg, 20), 1.345F));
  DYNET_HAS(E, binary_log_loss(logistic(x), y));
  DYNET_DEFAULT(pairwise_rank_loss(matrix(cg, 1, 4), matrix(cg, 1, 4)),
                pairwise_rank_loss(matrix(cg, 1, 4), matrix(cg, 1, 4), 1.0F));
  DYNET_HAS(E, poisson_loss(scalar, index));
  DYNET_HAS(E, poisson_loss(scalar, &index));
}

TEST_F(Functions, Shapes) {
  DYNET_HAS(E, reshape(x, {2, 2}));
  DYNET_DEFAULT(transpose(matrix(cg, 2, 3)), transpose(matrix(cg, 2, 3), {1, 0}));
  DYNET_HAS(E, select_rows(m, {0, 2}));
  DYNET_HAS(E, select_rows(m, indices));
  DYNET_HAS(E, select_rows(m, &indices));
  DYNET_HAS(E, select_cols(m, indices));
  DYNET_HAS(E, select_cols(m, &indices));
  DYNET_HAS(E, pick(x, index));
  DYNET_HAS(E, pick(m, index, 1));
  DYNET_HAS(E, pick(x, 0));
  DYNET_HAS(E, pick(x, &index));
  DYNET_HAS(E, pick(examples, indices));
  DYNET_HAS(E, pick(examples, &indices));
  DYNET_HAS(E, pick(examples, indices, 0));
  DYNET_DEFAULT(pick(matrix(cg, 2, 3), 1U), pick(matrix(cg, 2, 3), 1U, 0));
  DYNET_HAS(E, pick_range(x, 1, 3));
  DYNET_DEFAULT(pick_range(matrix(cg, 2, 3), 1, 2), pick_range(matrix(cg, 2, 3), 1, 2, 0));
  DYNET_HAS(E, pickrange(x, 1, 3));
  DYNET_HAS(E, pick_batch_elem(examples, index));
  DYNET_HAS(E, pick_batch_elem(examples, &index));
  DYNET_HAS(E, pick_batch_elems(examples, {0, 1}));
  const vector<unsigned> second{1};
  DYNET_HAS(E, pick_batch_elems(examples, second));
  DYNET_HAS(E, pick_batch_elems(examples, &second));
  DYNET_HAS(E, concatenate_to_batch({x, y}));
  DYNET_HAS(E, concatenate_to_batch(list));
  DYNET_HAS(E, strided_select(m, {2, 1}, {0, 0}, {4, 2}));
  DYNET_DEFAULT(strided_select(matrix(cg, 4, 3), {2, 2}),
                strided_select(matrix(cg, 4, 3), {2, 2}, {0, 0}, {4, 3}));
  DYNET_HAS(E, concatenate_cols({x, y}));
  DYNET_HAS(E, concatenate_cols(list));
  DYNET_HAS(E, concatenate({x, y}, 1));
  DYNET_HAS(E, concatenate(list, 1));
  DYNET_DEFAULT(concatenate({matrix(cg, 2, 2), matrix(cg, 2, 2)}),
                concatenate({matrix(cg, 2, 2), matrix(cg, 2, 2)}, 0));
  DYNET_DEFAULT(max_dim(matrix(cg, 2, 3)), max_dim(matrix(cg, 2, 3), 0));
  DYNET_DEFAULT(min_dim(matrix(cg, 2, 3)), min_dim(matrix(cg, 2, 3), 0));
}

TEST_F(Functions, Windows) {
  const vector<unsigned> stride{1, 1};
  const auto picture = [&](ComputationGraph& g) { return reshape(vector_of(g, 27), {3, 3, 3}); };
  const auto filter = [&](ComputationGraph& g) { return reshape(vector_of(g, 24), {2, 2, 3, 2}); };
  DYNET_HAS(E, filter1d_narrow(m, matrix(cg, 4, 2)));
  DYNET_HAS(E, kmax_pooling(m, 2, 1));
  DYNET_DEFAULT(kmax_pooling(matrix(cg, 2, 3), 2), kmax_pooling(matrix(cg, 2, 3), 2, 1));
  DYNET_DEFAULT(fold_rows(matrix(cg, 4, 3)), fold_rows(matrix(cg, 4, 3), 2));
  DYNET_HAS(E, kmh_ngram(m, 2));
  DYNET_DEFAULT(conv2d(picture(cg), filter(cg), stride),
                conv2d(picture(cg), filter(cg), stride, true));
  DYNET_DEFAULT(conv2d(picture(cg), filter(cg), vector_of(cg, 2), stride),
                conv2d(picture(cg), filter(cg), vector_of(cg, 2), stride, true));
  DYNET_DEFAULT(maxpooling2d(picture(cg), {2, 2}, stride),
                maxpooling2d(picture(cg), {2, 2}, stride, true));
}

TEST_F(Functions, MatricesAndCells) {
  const E three = input(cg, {3}, {1, 2, 3});
  const E cube_of = reshape(vector_of(cg, 36), {4, 3, 3});
  DYNET_HAS(E, contract3d_1d(cube_of, three));
  DYNET_HAS(E, contract3d_1d(cube_of, three, m));
  DYNET_HAS(E, contract3d_1d_1d(cube_of, three, three));
  DYNET_HAS(E, contract3d_1d_1d(cube_of, three, three, x));
  DYNET_HAS(E, inverse(square_matrix));
  DYNET_HAS(E, logdet(square_matrix));
  DYNET_HAS(E, trace_of_product(m, m));
  DYNET_HAS(E, layer_norm(x, y, y));
  DYNET_HAS(E, weight_norm(m, scalar));
  const auto v = [&](unsigned n) { return vector_of(cg, n); };
  const E wx = matrix(cg, 8, 4);
  const E wh = matrix(cg, 8, 2);
  const vector<E> parts{v(2), v(2)};
  DYNET_HAS(E, vanilla_lstm_gates(x, v(2), wx, wh, v(8), 0.1F));
  DYNET_HAS(E, vanilla_lstm_gates_concat(parts, v(2), wx, wh, v(8), 0.1F));
  DYNET_HAS(E, vanilla_lstm_gates_dropout(x, v(2), wx, wh, v(8), x, v(2), 0.1F));
  DYNET_HAS(E, vanilla_lstm_gates_dropout_concat(parts, v(2), wx, wh, v(8), x, v(2), 0.1F));
  const E gates = vanilla_lstm_gates(x, v(2), wx, wh, v(8));
  DYNET_EQ(as_vector(vanilla_lstm_gates(x, v(2), wx, wh, v(8), 0.0F).value()),
           as_vector(gates.value()));
  DYNET_EQ(as_vector(vanilla_lstm_gates_concat(parts, v(2), wx, wh, v(8), 0.0F).value()),
           as_vector(vanilla_lstm_gates_concat(parts, v(2), wx, wh, v(8)).value()));
  DYNET_EQ(as_vector(vanilla_lstm_gates_dropout(x, v(2), wx, wh, v(8), x, v(2), 0.0F).value()),
           as_vector(vanilla_lstm_gates_dropout(x, v(2), wx, wh, v(8), x, v(2)).value()));
  DYNET_EQ(
      as_vector(
          vanilla_lstm_gates_dropout_concat(parts, v(2), wx, wh, v(8), x, v(2), 0.0F).value()),
      as_vector(vanilla_lstm_gates_dropout_concat(parts, v(2), wx, wh, v(8), x, v(2)).value()));
  DYNET_HAS(E, vanilla_lstm_c(v(2), gates));
  DYNET_HAS(E, vanilla_lstm_h(v(2), gates));
}

}  // namespace
