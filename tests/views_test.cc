// Pictures of the library's work: a timeline, and a graph in its groups.
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "dynet/debug.h"
#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/training.h"

#include "gtest/gtest.h"
#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

using testing::text_of_error;

std::string content_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

struct Model {
  ParameterCollection parameters;
  Parameter w = parameters.add_parameters({2, 3}, ParameterInitConst(0.5F));
  SimpleSGDTrainer trainer{parameters};

  void step() const {
    ComputationGraph cg(true);
    const Expression shared = parameter(cg, w);
    std::vector<Expression> losses;
    losses.reserve(20);
    for (int i = 0; i < 20; ++i) {
      losses.push_back(squared_norm(shared * input(cg, {3}, {1.0F, 2.0F, 3.0F})));
    }
    cg.backward(sum(losses));
  }
};

class Timeline : public ::testing::Test {
 protected:
  testing::TemporaryFolder folder_;
  const std::string file_ = folder_.path() / "run.json";
};

TEST_F(Timeline, HasStagesCallsAndUpdates) {
  Model m;
  {
    TimelineScope scope(file_);
    m.step();
    m.trainer.update();
    scope.close();
  }
  const std::string text = content_of(file_);
  for (const char* event :
       {R"("name":"forward","cat":"request")", R"("name":"backward","cat":"request")",
        R"("name":"plan","cat":"stage")", R"("name":"gradients of parameters","cat":"stage")",
        R"("name":"update","cat":"stage")", R"("name":"20 x matmul","cat":"forward")",
        R"("name":"20 x matmul","cat":"backward")", R"("name":"1 x sum","cat":"forward")"}) {
    EXPECT_EQ(count_of(text, event), 1U) << event << "\n" << text;
  }
  // Group 1 of the plan, 20 results of two floats, and the line that built the first.
  EXPECT_EQ(count_of(text, R"("group":1,"nodes":"v2 v5 v8 )"), 2U) << text;
  EXPECT_EQ(count_of(text, R"("shape":"{2}","bytes":160,"built at":")"), 2U) << text;
  EXPECT_NE(text.find("views_test.cc:"), std::string::npos);
  EXPECT_EQ(text.substr(0, 1), "{");
  EXPECT_EQ(text.substr(text.size() - 4), "\n]}\n");
  EXPECT_EQ(count_of(text, "\n{"), count_of(text, R"("ph":"X")"));
  EXPECT_EQ(count_of(text, "},\n") + 1, count_of(text, R"("ph":"X")"));
}

TEST_F(Timeline, RecordsNothingOutside) {
  const Model m;
  m.step();
  {
    const TimelineScope scope(file_);
  }
  m.step();
  EXPECT_EQ(count_of(content_of(file_), R"("ph":"X")"), 0U);
  {
    const TimelineScope again(file_);
    m.step();
  }
  EXPECT_EQ(count_of(content_of(file_), R"("name":"forward")"), 1U);
}

TEST_F(Timeline, EachThreadHasItsLine) {
  {
    const TimelineScope scope(file_);
    Model().step();
    std::thread([] { Model().step(); }).join();
  }
  const std::string text = content_of(file_);
  EXPECT_EQ(count_of(text, R"("name":"forward")"), 2U);
  EXPECT_GT(count_of(text, R"("tid":1})") + count_of(text, R"("tid":1,)"), 0U);
  EXPECT_EQ(count_of(text, R"("tid":1,)"), count_of(text, R"("tid":2,)"));
}

TEST_F(Timeline, OneAtATimeAndOnlyWhereItCanBeWritten) {
  EXPECT_EQ(
      text_of_error<errors::IoError>([&] { TimelineScope(folder_.path() / "no" / "run.json"); }),
      "TimelineScope: cannot write " + (folder_.path() / "no" / "run.json").string() +
          ": No such file or directory");
  const std::string nowhere = (folder_.path() / "no" / "graph.txt").string();
  EXPECT_EQ(
      text_of_error<errors::IoError>([&] { ComputationGraph().dump(nowhere, true, false, false); }),
      "dump: cannot write " + nowhere + ": No such file or directory");
  const TimelineScope scope(file_);
  EXPECT_THROW(TimelineScope(folder_.path() / "other.json"), errors::UsageError);
  EXPECT_THROW(TimelineScope(folder_.path() / "other.json"),
               errors::UsageError);  // still the first one's
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / "other.json"));
}

TEST(Svg, HasABoxForEachGroupAndALineForEachArgument) {
  const Model m;
  ComputationGraph cg(true);
  const Expression w = parameter(cg, m.w);
  std::vector<Expression> parts;
  parts.reserve(3);
  for (int i = 0; i < 3; ++i) {
    parts.push_back(tanh(w * input(cg, {3}, {1.0F, 2.0F, 3.0F})));
  }
  const Expression sum_of_parts = sum(parts);
  const std::string text = cg.to_svg();
  for (const char* box : {"0: 3 x input", "1: 3 x matmul", "2: 3 x tanh", "3: 1 x sum"}) {
    EXPECT_EQ(count_of(text, std::string(">") + box + "<"), 1U) << box;
  }
  EXPECT_EQ(count_of(text, "<path "), 6U + 3U + 3U);
  EXPECT_EQ(count_of(text, "<title>node "), cg.nodes.size());
  EXPECT_NE(text.find("tanh(v2) {2}, built at "), std::string::npos);
  EXPECT_EQ(count_of(text, "<g>"), count_of(text, "</g>"));
  EXPECT_EQ(text.substr(0, 5), "<svg ");
  // Nothing was computed or changed by looking.
  EXPECT_FLOAT_EQ(as_vector(sum_of_parts.value())[0], 3.0F * std::tanh(3.0F));
  EXPECT_EQ(cg.to_svg(), text);
}

TEST(Svg, ManyMembersShareABox) {
  ComputationGraph cg(true);
  std::vector<Expression> all;
  all.reserve(100);
  for (int i = 0; i < 100; ++i) {
    all.push_back(tanh(input(cg, 0.5F)));
  }
  (void)sum(all);
  const std::string text = cg.to_svg();
  EXPECT_EQ(count_of(text, ">92 more<"), 2U);
  EXPECT_EQ(count_of(text, "<title>node "), 8U + 8U + 1U);
}

TEST(Svg, SaysThatItIsEmptyAndWrapsWhatIsWide) {
  ComputationGraph cg(true);
  EXPECT_EQ(count_of(cg.to_svg(), "The graph has no nodes."), 1U);
  Expression x = input(cg, 0.5F);
  for (int i = 0; i < 20; ++i) {
    x = tanh(x);
  }
  const std::string text = cg.to_svg();
  const std::size_t at = text.find("width=\"") + 7;
  EXPECT_LT(std::stoi(text.substr(at)), 2'500);
  EXPECT_EQ(count_of(text, "x=\"14\" y=\""), 3U);  // three lines of columns begin at the left
}

/// The left end of the text of the first box with this title.
int left_of(const std::string& text, const std::string& title) {
  const std::size_t at = text.rfind("<text x=\"", text.find(title + "<"));
  return std::stoi(text.substr(at + 9));
}

TEST(Svg, OfOddGraphs) {
  ComputationGraph cg(false);
  EXPECT_EQ(cg.to_svg().substr(0, 5), "<svg ");
  const Expression x = input(cg, {4}, {1.0F, 2.0F, 3.0F, 4.0F});
  (void)tanh(reshape(x, {2, 2}));
  (void)tanh(x);
  EXPECT_EQ(count_of(cg.to_svg(), ": 1 x tanh<"), 2U);  // without batching, one by one
  cg.clear();
  // Several outputs, and a node in two groups.
  ParameterCollection model;
  const Expression b = parameter(cg, model.add_parameters({8}));
  const Expression u = parameter(cg, model.add_parameters({8, 2}));
  const Expression w = parameter(cg, model.add_parameters({8, 2}));
  cg.set_batching(true);
  Expression h = input(cg, {2}, {1.0F, 2.0F});
  Expression c = h;
  for (int t = 0; t < 4; ++t) {
    const auto cell = lstm_cell(affine_transform({b, w, input(cg, {2}, {1.0F, 2.0F}), u, h}), c);
    c = cell[0];
    h = cell[1];
  }
  const std::string text = cg.to_svg();
  EXPECT_EQ(count_of(text, "first terms<"), 1U) << text;
  EXPECT_LT(left_of(text, "first terms"), left_of(text, "other terms"));
  EXPECT_EQ(count_of(text, "1 x lstm_cell<"), 4U);
}

}  // namespace
}  // namespace dynet
