// Reports of the library about itself: traces and times.

#include "dynet/debug.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "dynet/cell.h"
#include "dynet/expr.h"

namespace dynet {
namespace {

/// Three words through one layer, batched.
void run_step(const std::string& words) {
  const TraceScope trace(words);
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 3}, ParameterInitConst(0.5F));
  ComputationGraph cg(true);
  std::vector<Expression> losses;
  for (int i = 0; i < 3; ++i) {
    losses.push_back(squared_norm(parameter(cg, w) * ones(cg, {3})));
  }
  const Expression loss = sum(losses);
  cg.forward(loss);
  cg.backward(loss);
}

std::string said(const std::string& words) {
  ::testing::internal::CaptureStderr();
  run_step(words);
  return ::testing::internal::GetCapturedStderr();
}

TEST(Debug, TraceIsSilentWithoutWords) { EXPECT_EQ(said(""), ""); }

TEST(Debug, TraceOfTheGraphPrintsEachNode) {
  const std::string text = said("graph");
  EXPECT_NE(text.find("graph: node 2, matmul("), std::string::npos) << text;
  EXPECT_NE(text.find("debug_test.cc:"), std::string::npos) << text;
  EXPECT_EQ(text.find("plan:"), std::string::npos) << text;
}

TEST(Debug, TraceOfPlansPrintsGroups) {
  const std::string text = said("plan");
  EXPECT_EQ(text.find("plan: 10 nodes, 4 groups, 4 segments, lower bound 4\n"), 0U) << text;
  EXPECT_NE(text.find("group 1: 3 x matmul, 1 segment:"), std::string::npos) << text;
}

TEST(Debug, TraceOfMemoryPrintsTheLayout) {
  const std::string text = said("memory");
  EXPECT_EQ(text.find("memory: 10 nodes in "), 0U) << text;
}

TEST(Debug, TraceOfExecutionPrintsCallsBeforeTheyRun) {
  const std::string text = said("execute");
  EXPECT_NE(text.find("execute: forward matmul of 3 nodes: v2 v6 v10\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("execute: backward matmul of 3 nodes: v2 v6 v10\n"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("plan:"), std::string::npos) << text;
}

TEST(Debug, TraceOfTimePrintsEachOperation) {
  const std::string text = said("time");
  EXPECT_EQ(text.find("time: forward, 0."), 0U) << text;
  EXPECT_NE(text.find("time: backward, 0."), std::string::npos) << text;
  EXPECT_NE(
      text.find("forward  matmul: 1 calls, 3 nodes, 3.0 nodes per call, 24 bytes of results\n"),
      std::string::npos)
      << text;
}

TEST(Debug, ProfileGathersWhatRan) {
  reset_profile();
  run_step("");
  EXPECT_EQ(profile_text(), "");
  profiling_flag = 1;
  run_step("");
  run_step("");
  const std::string text = profile_text();
  EXPECT_EQ(text.find("profile: 0."), 0U) << text;
  EXPECT_NE(text.find("forward  matmul: 2 calls, 6 nodes\n"), std::string::npos) << text;
  EXPECT_NE(text.find("backward squared_norm: 2 calls, 6 nodes\n"), std::string::npos) << text;
  profiling_flag = 2;
  EXPECT_NE(profile_text().find("3.0 nodes per call, 48 bytes of results"), std::string::npos);
  profiling_flag = 0;
  reset_profile();
  EXPECT_EQ(profile_text(), "");
}

/// The step of a minimal gated unit: seven nodes.
std::vector<Expression> gated_step(const std::vector<Expression>& weights, const Expression& x,
                                   const Expression& h) {
  const Expression f = logistic(affine_transform({weights[0], weights[1], x, weights[2], h}));
  const Expression g = tanh(affine_transform({weights[3], weights[4], x, weights[5], cmult(f, h)}));
  return {h + cmult(f, g)};
}

/// The trace of repeats of ten steps, and of a loss of four nodes after each.
std::string repeats_of(bool as_cell) {
  ParameterCollection model;
  std::vector<Parameter> stored;
  stored.reserve(6);
  for (int i = 0; i < 6; ++i) {
    stored.push_back(i % 3 == 0 ? model.add_parameters({3}) : model.add_parameters({3, 3}));
  }
  const auto weights = [&](ComputationGraph& cg) {
    std::vector<Expression> all;
    all.reserve(stored.size());
    for (const Parameter& p : stored) {
      all.push_back(parameter(cg, p));
    }
    return all;
  };
  Cell cell("gated", [&](ComputationGraph& cg, const std::vector<Expression>& in) {
    return gated_step(weights(cg), in[0], in[1]);
  });
  ComputationGraph cg(true);
  const std::vector<Expression> all = weights(cg);
  Expression h = ones(cg, {3});
  std::vector<Expression> losses;
  for (int t = 0; t < 10; ++t) {
    const Expression x = input(cg, {3}, {1.0F, 2.0F, 0.5F});
    h = as_cell ? cell({x, h})[0] : gated_step(all, x, h)[0];
    losses.push_back(sum_elems(square(logistic(0.1F * h))));
  }
  const Expression loss = sum(losses);
  ::testing::internal::CaptureStderr();
  {
    const TraceScope trace("repeats");
    cg.forward(loss);
  }
  return ::testing::internal::GetCapturedStderr();
}

TEST(Debug, TraceOfRepeatsNamesStretchesForCells) {
  const std::string text = repeats_of(false);
  EXPECT_EQ(text.find("repeats: 7 nodes, 10 times: from affine_transform at "), 0U) << text;
  EXPECT_NE(text.find("; as a cell they would be one node\n"), std::string::npos);
  EXPECT_NE(text.find("repeats: 4 nodes, 10 times: from "), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
}
TEST(Debug, TraceOfRepeatsDoesNotNameCells) {
  const std::string text = repeats_of(true);  // the loss alone
  EXPECT_EQ(text.find("repeats: 4 nodes, 10 times: from "), 0U) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

TEST(Debug, TraceScopesNest) {
  ::testing::internal::CaptureStderr();
  {
    const TraceScope outer("graph");
    run_step("plan");
  }
  const std::string text = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(text.find("graph:"), std::string::npos) << text;
  EXPECT_THROW(const TraceScope scope("plann"), errors::ValueError);
}

}  // namespace
}  // namespace dynet
