#pragma once

// Random operations. The drawn numbers are a function of the node's key alone (Call::random), so no
// schedule changes them.

#include <array>
#include <cstdint>
#include <string>

#include "dynet/ops/arithmetic.h"
#include "dynet/ops/common.h"

namespace dynet::ops {

/// Fills an output or saved output, each member of the call from its own key.
inline void draw(const ext::Call& call, ext::Distribution kind, double a, double b,
                 const ext::Operand& to) {
  const bool is_float = call.kernels.number() == ext::Number::kFloat;
  std::int64_t e = 0;
  for (const auto& member : call.random) {
    void* at = is_float ? static_cast<void*>(to.example<float>(e)) : to.example<double>(e);
    call.kernels.random(kind, a, b, member.key, at, member.examples * to.size());
    e += member.examples;
  }
}

inline void check_probability(const ext::Shapes& in, float p) {
  if (!(p >= 0.0F && p <= 1.0F)) {
    in.fail_value("p from 0 to 1, not " + ext::detail::text_of(static_cast<double>(p)));
  }
}
inline void check_not_negative(const ext::Shapes& in, const char* name, float value) {
  if (!(value >= 0.0F)) {
    in.fail_value(std::string(name) + " >= 0, not " +
                  ext::detail::text_of(static_cast<double>(value)));
  }
}
/// y = x times a mask that is drawn and saved: 0 with probability p, else 1 / (1 - p). A mask that
/// is smaller than x is repeated.
inline void drop(const ext::Call& call, float p) {
  const double kept = 1.0 - static_cast<double>(p);
  draw(call, ext::Distribution::kBernoulli, kept, kept > 0.0 ? 1.0 / kept : 0.0, call.saved[0]);
  ext::apply_rule(CMult{}, call, call.out[0], call.in[0], call.saved[0]);
}

struct Dropout {
  float p;

  static constexpr ext::Info kInfo{
      .name = "dropout",
      .args = {"x"},
      .attrs = {"p"},
      .formula = "y = x * m / (1 - p), m_i = 0 with probability p, else 1",
      .summary =
          "Sets elements to 0 with probability p and scales the others up, so that the mean "
          "stays. With p = 1 all are 0. The result is x itself within an evaluating scope.",
      .shapes = "any -> the same",
      .errors = "ValueError unless 0 <= p <= 1",
      .source = "Srivastava et al., 2014"};
  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  static constexpr unsigned kSaved = 1;  // the mask, scaled
  Dim shape(const ext::Shapes& in) const {
    check_probability(in, p);
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call& call) const { drop(call, p); }
  void gradient(auto& to) const { to.give(0, to.drawn_again(*this, to.d_out())); }
  static std::vector<ext::Example<Dropout>> examples() {
    auto all = elementwise_examples<Dropout>(-2.0, 2.0, {0.5F});
    all.push_back({{0.2F}, {{7}}});
    all.push_back({{1.0F}, {{3}}});
    all.push_back({{0.0F}, {{1}}});
    return all;
  }
};

struct DropoutDim {
  unsigned d;
  float p;

  static constexpr ext::Info kInfo{
      .name = "dropout_dim",
      .args = {"x"},
      .attrs = {"d", "p"},
      .formula =
          "y = x * m / (1 - p), m = 0 with probability p, else 1, the same along dimension d",
      .summary =
          "Sets whole slices along dimension d to 0 with probability p and scales the others up: "
          "one draw for each index of the other dimensions. The result is x itself within an "
          "evaluating scope.",
      .shapes = "any -> the same",
      .errors = "ShapeError if x has no dimension d, ValueError unless 0 <= p <= 1",
      .source = "Srivastava et al., 2014"};
  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  static constexpr unsigned kSaved = 1;  // the mask, scaled
  Dim shape(const ext::Shapes& in) const {
    check_axis(in, d);
    check_probability(in, p);
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& in) const {
    Dim mask = in[0];
    mask.d[d] = 1;
    return {mask};
  }
  void forward(ext::Call& call) const { drop(call, p); }
  void gradient(auto& to) const { to.give(0, to.drawn_again(*this, to.d_out())); }
  static std::vector<ext::Example<DropoutDim>> examples() {
    return {{{0, 0.5F}, {{4, 3}}},    {{1, 0.5F}, {{4, 3}}},
            {{1, 0.3F}, {{2, 3, 4}}}, {{0, 0.5F}, {{7}}},
            {{0, 0.5F}, {{1}}},       {{2, 0.2F}, {{2, 1, 5}}},
            {{0, 0.5F}, {{0, 3}}},    {{1, 1.0F}, {{4, 3}}},
            {{0, 0.0F}, {{4, 3}}},    {{6, 0.5F}, {{1, 2, 1, 2, 1, 2, 2}}}};
  }
};

struct DropoutBatch {
  float p;

  static constexpr ext::Info kInfo{
      .name = "dropout_batch",
      .args = {"x"},
      .attrs = {"p"},
      .formula = "y[e] = x[e] * m_e / (1 - p), m_e = 0 with probability p, else 1",
      .summary =
          "Sets whole examples of a batch to 0 with probability p and scales the others up. The "
          "result is x itself within an evaluating scope.",
      .shapes = "any -> the same",
      .errors = "ValueError unless 0 <= p <= 1"};
  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  static constexpr unsigned kSaved = 1;  // the mask, scaled
  Dim shape(const ext::Shapes& in) const {
    check_probability(in, p);
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& /*in*/) const { return {Dim({1})}; }
  void forward(ext::Call& call) const { drop(call, p); }
  void gradient(auto& to) const { to.give(0, to.drawn_again(*this, to.d_out())); }
  static std::vector<ext::Example<DropoutBatch>> examples() {
    auto all = elementwise_examples<DropoutBatch>(-2.0, 2.0, {0.5F});
    all.push_back({{1.0F}, {{4, 3}}});
    all.push_back({{0.0F}, {{1}}});
    return all;
  }
};

/// One draw for all examples: it sees the batch as one.
struct BlockDropout {
  float p;

  static constexpr ext::Info kInfo{
      .name = "block_dropout",
      .args = {"x"},
      .attrs = {"p"},
      .formula = "y = x * m / (1 - p), m = 0 with probability p, else 1",
      .summary =
          "Sets the whole tensor, all examples of a batch, to 0 with probability p, or scales it "
          "up. The result is x itself within an evaluating scope.",
      .shapes = "any -> the same",
      .errors = "ValueError unless 0 <= p <= 1"};
  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  static constexpr unsigned kSaved = 1;  // the mask, scaled
  static constexpr std::array kRoles{ext::Role::kWhole};
  Dim shape(const ext::Shapes& in) const {
    check_probability(in, p);
    return in[0];
  }
  std::array<Dim, 1> saved(const ext::Shapes& /*in*/) const { return {Dim({1})}; }
  void forward(ext::Call& call) const { drop(call, p); }
  void gradient(auto& to) const { to.give(0, to.drawn_again(*this, to.d_out())); }
  static std::vector<ext::Example<BlockDropout>> examples() {
    auto all = elementwise_examples<BlockDropout>(-2.0, 2.0, {0.5F});
    all.push_back({{1.0F}, {{4, 3}}});
    all.push_back({{0.0F}, {{1}}});
    return all;
  }
};

struct Noise {
  float stddev;

  static constexpr ext::Info kInfo{
      .name = "noise",
      .args = {"x"},
      .attrs = {"stddev"},
      .formula = "y = x + n, n_i normal with mean 0 and deviation stddev",
      .summary = "Adds Gaussian noise. The result is x itself within an evaluating scope.",
      .shapes = "any -> the same",
      .errors = "ValueError if stddev is negative"};
  static constexpr bool kRandom = true;
  static constexpr bool kForTraining = true;
  Dim shape(const ext::Shapes& in) const {
    check_not_negative(in, "stddev", stddev);
    return in[0];
  }
  void forward(ext::Call& call) const {
    draw(call, ext::Distribution::kNormal, 0.0, static_cast<double>(stddev), call.out[0]);
    call.kernels.move(ext::whole_move(call.out[0].size()), call.in[0], call.out[0],
                      ext::Write::kAdd);
  }
  void gradient(auto& to) const { to.give(0, to.d_out()); }
  static std::vector<ext::Example<Noise>> examples() {
    auto all = elementwise_examples<Noise>(-2.0, 2.0, {1.0F});
    all.push_back({{0.1F}, {{5}}});
    all.push_back({{0.0F}, {{1}}});
    return all;
  }
};

struct RandomBernoulli {
  Dim dim;
  float p;
  float scale = 1.0F;

  static constexpr ext::Info kInfo{.name = "random_bernoulli",
                                   .attrs = {"dim", "p", "scale"},
                                   .formula = "y_i = scale with probability p, else 0",
                                   .summary = "Random numbers, each scale or 0.",
                                   .shapes = "-> dim",
                                   .errors = "ValueError unless 0 <= p <= 1",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kRandom = true;
  Dim shape(const ext::Shapes& in) const {
    check_probability(in, p);
    return dim;
  }
  void forward(ext::Call& call) const {
    draw(call, ext::Distribution::kBernoulli, static_cast<double>(p), static_cast<double>(scale),
         call.out[0]);
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<RandomBernoulli>> examples() {
    return {{{{4, 3}, 0.3F, 1.0F}, {}}, {{{5}, 0.5F, 2.0F}, {}},
            {{{1}, 0.0F}, {}},          {{{17}, 1.0F}, {}},
            {{{2, 3, 2}, 0.5F}, {}},    {{{3, 0}, 0.5F}, {}},
            {{{1, 1, 3}, 0.1F}, {}},    {{{1, 2, 1, 2, 1, 2, 2}, 0.5F}, {}}};
  }
};

struct RandomNormal {
  Dim dim;
  float mean = 0.0F;
  float stddev = 1.0F;

  static constexpr ext::Info kInfo{.name = "random_normal",
                                   .attrs = {"dim", "mean", "stddev"},
                                   .formula = "y_i normal with this mean and deviation",
                                   .summary = "Random numbers from a normal distribution.",
                                   .shapes = "-> dim",
                                   .errors = "ValueError if stddev is negative",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kRandom = true;
  Dim shape(const ext::Shapes& in) const {
    check_not_negative(in, "stddev", stddev);
    return dim;
  }
  void forward(ext::Call& call) const {
    draw(call, ext::Distribution::kNormal, static_cast<double>(mean), static_cast<double>(stddev),
         call.out[0]);
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<RandomNormal>> examples() {
    return {{{{4, 3}, 0.0F, 1.0F}, {}},
            {{{5}, -1.0F, 0.1F}, {}},
            {{{1}}, {}},
            {{{17}, 2.0F, 0.0F}, {}},
            {{{2, 3, 2}}, {}},
            {{{3, 0}}, {}},
            {{{1, 1, 3}}, {}},
            {{{1, 2, 1, 2, 1, 2, 2}}, {}}};
  }
};

struct RandomUniform {
  Dim dim;
  float left;
  float right;

  static constexpr ext::Info kInfo{.name = "random_uniform",
                                   .attrs = {"dim", "left", "right"},
                                   .formula = "y_i uniform in [left, right)",
                                   .summary = "Random numbers from a uniform distribution.",
                                   .shapes = "-> dim",
                                   .errors = "ValueError unless left <= right",
                                   .cpp = "-",
                                   .python = "-"};
  static constexpr bool kRandom = true;
  Dim shape(const ext::Shapes& in) const {
    if (!(left <= right)) {
      in.fail_value("left <= right");
    }
    return dim;
  }
  void forward(ext::Call& call) const {
    draw(call, ext::Distribution::kUniform, static_cast<double>(left), static_cast<double>(right),
         call.out[0]);
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<RandomUniform>> examples() {
    return {{{{4, 3}, 0.0F, 1.0F}, {}},     {{{5}, -2.0F, 0.5F}, {}},
            {{{1}, 1.0F, 1.0F}, {}},        {{{17}, 0.0F, 1.0F}, {}},
            {{{2, 3, 2}, -1.0F, 1.0F}, {}}, {{{3, 0}, 0.0F, 1.0F}, {}},
            {{{1, 1, 3}, 0.0F, 2.0F}, {}},  {{{1, 2, 1, 2, 1, 2, 2}, 0.0F, 1.0F}, {}}};
  }
};

struct RandomGumbel {
  Dim dim;
  float mu = 0.0F;
  float beta = 1.0F;

  static constexpr ext::Info kInfo{
      .name = "random_gumbel",
      .attrs = {"dim", "mu", "beta"},
      .formula = "y_i = mu - beta * ln(-ln(u_i)), u_i uniform in (0, 1)",
      .summary = "Random numbers from a Gumbel distribution.",
      .shapes = "-> dim",
      .errors = "ValueError if beta is negative",
      .source = "Gumbel, 1954",
      .cpp = "-",
      .python = "-"};
  static constexpr bool kRandom = true;
  Dim shape(const ext::Shapes& in) const {
    check_not_negative(in, "beta", beta);
    return dim;
  }
  void forward(ext::Call& call) const {
    draw(call, ext::Distribution::kGumbel, static_cast<double>(mu), static_cast<double>(beta),
         call.out[0]);
  }
  void backward(ext::Call& /*call*/) const {}
  static std::vector<ext::Example<RandomGumbel>> examples() {
    return {{{{4, 3}, 0.0F, 1.0F}, {}},
            {{{5}, -1.0F, 0.5F}, {}},
            {{{1}, 0.0F, 1.0F}, {}},
            {{{2, 3, 2}}, {}},
            {{{17}}, {}},
            {{{3, 0}}, {}},
            {{{1, 2, 1, 2, 1, 2, 2}}, {}},
            {{{7}, 2.0F, 0.0F}, {}}};
  }
};

using RandomOps = ext::OpList<Dropout, DropoutDim, DropoutBatch, BlockDropout, Noise,
                              RandomBernoulli, RandomNormal, RandomUniform, RandomGumbel>;

}  // namespace dynet::ops

DYNET_COMPILED(dynet::ops::RandomOps)
