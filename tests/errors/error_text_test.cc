// Typical mistakes: the type of the exception, its whole text, the user's line, and a graph that is
// unchanged and goes on.

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <typeinfo>

#include "dynet/expr.h"
#include "dynet/training.h"

#include "testing/program.h"

namespace dynet::testing {
namespace {

class ErrorText : public ::testing::Test {
 protected:
  ErrorText()
      : w(model.add_parameters({8, 4}, ParameterInitConst(1.0F))),
        table(model.add_lookup_parameters(10, {3})),
        x(input(cg, {5}, std::vector<float>(5, 1.0F))),
        batch(input(cg, Dim({4, 2}, 8), std::vector<float>(64, 1.0F))),
        matrix(input(cg, {4, 3}, std::vector<float>(12, 1.0F))),
        before_(cg.nodes.size()) {}

  /// `make` must throw exactly E with this text; "@" stands for the place of the call, which has to
  /// be one line below the call of this function. Afterwards the graph is unchanged and still
  /// works.
  template <class E>
  void expect(const std::function<void()>& make, const std::string& text,
              int line = __builtin_LINE()) {
    std::string got;
    try {
      make();
      ADD_FAILURE() << "nothing thrown, line " << line;
      return;
    } catch (const std::exception& e) {
      EXPECT_EQ(std::string(typeid(e).name()), std::string(typeid(E).name())) << e.what();
      EXPECT_NE(dynamic_cast<const errors::Error*>(&e), nullptr);
      got = e.what();
    }
    const std::size_t at = text.find('@');
    if (at == std::string::npos) {
      EXPECT_EQ(got, text) << "line " << line;
    } else {
      EXPECT_EQ(got.substr(0, at), text.substr(0, at)) << "line " << line;
      const std::string place = got.substr(std::min(at, got.size()));
      const std::size_t colon = place.rfind(':');
      ASSERT_NE(colon, std::string::npos) << got;
      EXPECT_TRUE(place.substr(0, colon).ends_with("error_text_test.cc")) << got;
      EXPECT_NEAR(std::stoi(place.substr(colon + 1)), line, 2) << got;
    }
    EXPECT_EQ(cg.nodes.size(), before_) << "line " << line;
    EXPECT_EQ(as_scalar(sum_elems(x).value()), 5.0F);  // still usable
    before_ = cg.nodes.size();
  }

  ParameterCollection model;
  Parameter w;
  LookupParameter table;
  ComputationGraph cg;
  Expression x, batch, matrix;

 private:
  std::size_t before_;
};

TEST_F(ErrorText, Shapes) {
  expect<errors::ShapeError>(
      [&] { matrix* x; },
      "matmul(x, y): x is {4,3} and y is {5}; want x {m,k} and y {k,n}\n  built at @");
  expect<errors::ShapeError>(
      [&] { matrix* batch; },
      "matmul(x, y): x is {4,3} and y is {4,2}x8; want x {m,k} and y {k,n}\n  built at @");
  expect<errors::ShapeError>(
      [&] { x + matrix; },
      "add(x, y): x is {5} and y is {4,3}; want each dimension equal, or 1 in one of them\n"
      "  built at @");
  expect<errors::ShapeError>(
      [&] { cdiv(x, matrix); },
      "cdiv(x, y): x is {5} and y is {4,3}; want each dimension of y equal to that of x, or 1\n"
      "  built at @");
  expect<errors::ShapeError>(
      [&] { dot_product(x, matrix); },
      "dot_product(x, y): x is {5} and y is {4,3}; want equal shapes\n  built at @");
  expect<errors::ShapeError>(
      [&] { sum({x, x, matrix}); },
      "sum(x1, x2, x3): x1 is {5}, x2 is {5} and x3 is {4,3}; want equal shapes\n  built at @");
  expect<errors::ShapeError>(
      [&] { concatenate({matrix, x}, 1U); },
      "concatenate(x1, x2): x1 is {4,3} and x2 is {5}; want equal dimensions, other than "
      "dimension 1\n  built at @");
  expect<errors::ShapeError>([&] { softmax(x, 1U); },
                             "softmax(x): x is {5}; want d below 1, not 1\n  built at @");
  expect<errors::ShapeError>(
      [&] { pick_range(x, 2U, 7U); },
      "pick_range(x): x is {5}; want s < e <= 5, not s = 2 and e = 7\n  built at @");
  expect<errors::ShapeError>(
      [&] { reshape(x, {2, 2}); },
      "reshape(x): x is {5}; want as many elements as d = {2,2} has\n  built at @");
  expect<errors::ShapeError>(
      [&] { transpose(matrix, {0, 0}); },
      "transpose(x): x is {4,3}; want dims to be a permutation of the dimensions of "
      "x\n  built at @");
}

TEST_F(ErrorText, Batches) {
  const Expression three = input(cg, Dim({4, 2}, 3), std::vector<float>(24, 1.0F));
  const std::size_t nodes = cg.nodes.size();
  try {
    batch + three;
    ADD_FAILURE();
  } catch (const errors::ShapeError& e) {
    EXPECT_TRUE(
        std::string(e.what()).starts_with("add(x, y): x is {4,2}x8 and y is {4,2}x3; want "))
        << e.what();
  }
  EXPECT_EQ(cg.nodes.size(), nodes);
}

TEST_F(ErrorText, Indices) {
  expect<errors::IndexError>([&] { pick(x, 5U); }, "pick: v is 5; want less than 5\n  built at @");
  expect<errors::IndexError>([&] { pickneglogsoftmax(x, 9U); },
                             "pickneglogsoftmax: v is 9; want less than 5\n  built at @");
  expect<errors::IndexError>([&] { lookup(cg, table, 10U); },
                             "lookup: index is 10; want less than 10\n  built at @");
  expect<errors::IndexError>([&] { lookup(cg, table, std::vector<unsigned>{1, 2, 4000000000U}); },
                             "lookup: index is 4000000000; want less than 10\n  built at @");
  expect<errors::IndexError>([&] { one_hot(cg, 5, 9); },
                             "one_hot: position 9; want less than 5\n  built at @");
  expect<errors::IndexError>([&] { pick_batch_elem(batch, 8U); },
                             "pick_batch_elem: v is 8; want less than 8\n  built at @");
}

/// Through pointers they are checked when the node runs; others of the graph do run.
TEST_F(ErrorText, IndicesBehindPointers) {
  unsigned index = 7;
  const Expression picked = pick(x, &index);
  const Expression row = lookup(cg, table, &index);
  const Expression other = sum_elems(x);
  for (int i = 0; i < 2; ++i) {
    try {
      static_cast<void>(picked.value());
      ADD_FAILURE();
    } catch (const errors::IndexError& e) {
      EXPECT_TRUE(std::string(e.what()).starts_with("pick: v is 7; want less than 5\n"))
          << e.what();
      EXPECT_NE(std::string(e.what()).find("error_text_test.cc:"), std::string::npos) << e.what();
    }
    EXPECT_EQ(as_scalar(other.value()), 5.0F);
    EXPECT_EQ(as_vector(row.value()).size(), 3U);
  }
  index = 4;
  EXPECT_EQ(as_scalar(picked.value()), 1.0F);
}

TEST_F(ErrorText, Data) {
  expect<errors::ValueError>([&] { input(cg, {1000}, std::vector<float>{1, 2, 3}); },
                             "input(): want 1000 numbers for {1000}, not 3\n  built at @");
  expect<errors::ValueError>([&] { input(cg, Dim({2}, 2), std::vector<float>{1, 2, 3}); },
                             "input(): want 4 numbers for {2}x2, not 3\n  built at @");
}

TEST_F(ErrorText, VectorBehindAPointerThatChangedItsLength) {
  std::vector<float> data{1, 2, 3};
  const Expression e = input(cg, {3}, &data);
  EXPECT_EQ(as_vector(e.value()), data);
  data.resize(2);
  cg.invalidate();
  EXPECT_THROW(static_cast<void>(e.value()), errors::ValueError);
  data = {4, 5, 6};
  EXPECT_EQ(as_vector(e.value()), data);
}

TEST_F(ErrorText, Values) {
  expect<errors::ValueError>([&] { dropout(x, 2.0F); },
                             "dropout(x): x is {5}; want p from 0 to 1, not 2\n  built at @");
  expect<errors::ValueError>([&] { dropout(x, -0.5F); },
                             "dropout(x): x is {5}; want p from 0 to 1, not -0.5\n  built at @");
  expect<errors::ValueError>([&] { noise(x, -1.0F); },
                             "noise(x): x is {5}; want stddev >= 0, not -1\n  built at @");
  EXPECT_EQ(as_vector(dropout(x, 1.0F).value()), std::vector<float>(5, 0.0F));
}

TEST_F(ErrorText, EmptyLists) {
  const std::vector<Expression> none;
  expect<errors::ValueError>(
      [&] { sum(none); }, "sum: the list of arguments is empty; want at least one\n  built at @");
  expect<errors::ValueError>(
      [&] { concatenate(none); },
      "concatenate: the list of arguments is empty; want at least one\n  built at @");
  expect<errors::ValueError>(
      [&] { affine_transform(none); },
      "affine_transform: the list of arguments is empty; want at least one\n  built at @");
  expect<errors::ValueError>(
      [&] { max(none); }, "max: the list of arguments is empty; want at least one\n  built at @");
}

TEST_F(ErrorText, OtherGraphs) {
  ComputationGraph other;
  const Expression y = input(other, {5}, std::vector<float>(5, 1.0F));
  expect<errors::GraphError>([&] { x + y; },
                             "add: arguments belong to different computation graphs\n  built at @");
  EXPECT_EQ(other.nodes.size(), 1U);
}

TEST_F(ErrorText, StaleExpressions) {
  Expression dead;
  {
    ComputationGraph other;
    dead = input(other, 1.0F);
  }
  expect<errors::StaleExpression>([&] { static_cast<void>(dead.value()); },
                                  "value: stale expression 0: its computation graph was destroyed");
  expect<errors::StaleExpression>(
      [&] { tanh(dead); },
      "tanh: stale expression 0: its computation graph was destroyed\n  built at @");
  expect<errors::StaleExpression>(
      [&] { tanh(Expression()); },
      "tanh: the expression is unset (it was never assigned)\n  built at @");
  ComputationGraph other;
  const Expression cleared = input(other, 1.0F);
  other.clear();
  const Expression fresh = input(other, 2.0F);
  expect<errors::StaleExpression>(
      [&] { static_cast<void>(cleared.value()); },
      "value: stale expression 0: its computation graph was cleared, renewed or reverted since");
  EXPECT_EQ(as_scalar(fresh.value()), 2.0F);
}

TEST_F(ErrorText, BackwardOfMoreThanOneElement) {
  try {
    cg.backward(matrix);
    ADD_FAILURE();
  } catch (const errors::ShapeError& e) {
    const std::string text = e.what();
    EXPECT_TRUE(text.starts_with(
        "backward: the node has shape {4,3}; want one element, such as a loss summed over "
        "its batch\n  node 2, input("))
        << text;
    EXPECT_NE(text.find("error_text_test.cc:"), std::string::npos) << text;
  }
}

TEST_F(ErrorText, GradientBeforeBackward) {
  EXPECT_THROW(static_cast<void>(x.gradient()), errors::GraphError);
  const Expression loss = squared_norm(x);
  cg.backward(loss, true);
  const Expression later = x * 2.0F;
  EXPECT_THROW(static_cast<void>(cg.get_gradient(later)), errors::GraphError);
  EXPECT_EQ(as_vector(x.gradient()), std::vector<float>(5, 2.0F));
}

TEST_F(ErrorText, Parameters) {
  EXPECT_THROW(parameter(cg, Parameter()), errors::StateError);
  EXPECT_THROW(lookup(cg, LookupParameter(), 0U), errors::StateError);
  EXPECT_THROW(model.add_parameters(Dim({2}, 3)), errors::ShapeError);
  EXPECT_THROW(Dim(std::vector<long>{-1, 2}), errors::ValueError);
  EXPECT_EQ(cg.nodes.size(), 3U);
}

/// Old programs catch each error by its standard type.
TEST_F(ErrorText, StandardTypes) {
  EXPECT_THROW(matrix * x, std::invalid_argument);
  EXPECT_THROW(pick(x, 5U), std::invalid_argument);
  EXPECT_THROW(dropout(x, 2.0F), std::invalid_argument);
  ComputationGraph other;
  EXPECT_THROW(x + input(other, 1.0F), std::runtime_error);
}

/// A function of the user's: the error has the line of the call in it.
const int kLineInLayer = __LINE__ + 1;
Expression layer(const Expression& x) { return tanh(x) + constant(*x.pg, {77}, 1.0F); }

TEST_F(ErrorText, LineIsTheUsers) {
  try {
    layer(x);
    ADD_FAILURE();
  } catch (const errors::ShapeError& e) {
    EXPECT_TRUE(
        std::string(e.what()).ends_with("error_text_test.cc:" + std::to_string(kLineInLayer)))
        << e.what();
  }
}

}  // namespace
}  // namespace dynet::testing
