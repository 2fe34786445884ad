// Messages of a trainer to the log sink: once each, and none for a correct program.

#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/schedules.h"
#include "dynet/training.h"

namespace dynet {
namespace {

class Warnings : public ::testing::Test {
 protected:
  Warnings() {
    set_log_sink([this](const std::string& text) { told.push_back(text); });
  }
  Warnings(const Warnings&) = delete;
  Warnings& operator=(const Warnings&) = delete;
  ~Warnings() override { set_log_sink(nullptr); }

  void go_back() {
    ComputationGraph cg;
    cg.backward(squared_norm(parameter(cg, w)));
  }
  [[nodiscard]] std::size_t count_of(const std::string& words) const {
    std::size_t count = 0;
    for (const std::string& text : told) {
      count += text.rfind("warning: ", 0) == 0 && text.find(words) != std::string::npos ? 1 : 0;
    }
    return count;
  }

  ParameterCollection model;
  Parameter w = model.add_parameters({3}, ParameterInitConst(1.0F), "w");
  LookupParameter table = model.add_lookup_parameters(4, {3});
  std::vector<std::string> told;
};

// ---- an update that no gradient came to ---------------------------------------------------------

TEST_F(Warnings, UpdateWithoutBackward) {
  SimpleSGDTrainer trainer(model);
  trainer.update();
  trainer.update();
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(count_of("no gradient has come to this trainer (it has 2 parameters, the first is /w"),
            1U)
      << told[0];
  AdamTrainer other(model);
  other.update();
  EXPECT_EQ(told.size(), 2U) << "each trainer says it";
}

TEST_F(Warnings, BackwardThatReachedOthers) {
  ParameterCollection own;
  Parameter v = own.add_parameters({3});
  SimpleSGDTrainer trainer(own);
  go_back();
  trainer.update();
  EXPECT_EQ(count_of("no gradient has come"), 1U);
  ParameterCollection none;
  SimpleSGDTrainer of_nothing(none);
  of_nothing.update();
  EXPECT_EQ(count_of("its collection has no parameters"), 1U);
}

/// Whoever hears of it may end the update.
TEST_F(Warnings, ASinkThatThrowsChangesNothing) {
  SimpleSGDTrainer trainer(model);
  trainer.exponential_moving_average(0.5F);
  set_log_sink([](const std::string& text) { throw std::runtime_error(text); });
  EXPECT_THROW(trainer.update(), std::runtime_error);
  EXPECT_EQ(trainer.updates, 0.0F);
  trainer.update();
  EXPECT_EQ(trainer.updates, 1.0F);
  EXPECT_THROW(SimpleSGDTrainer(model, -0.1F), std::runtime_error);
}

TEST_F(Warnings, NothingToLearnFromIsLegal) {
  SimpleSGDTrainer trainer(model);
  for (const bool has_loss : {true, false, true, false, false}) {
    if (has_loss) {
      go_back();
    }
    trainer.update();
  }
  EXPECT_EQ(told, std::vector<std::string>());
}

TEST_F(Warnings, SomeOfTheParameters) {
  SimpleSGDTrainer trainer(model);
  go_back();
  trainer.update({}, {0});  // the gradient is the other one's, and stays
  trainer.update({0}, {});
  EXPECT_EQ(told, std::vector<std::string>());
}

TEST_F(Warnings, SeveralBackwards) {
  SimpleSGDTrainer trainer(model);
  go_back();
  go_back();
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

TEST_F(Warnings, AGradientOfZero) {
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg;
  cg.backward(squared_norm(parameter(cg, w)) * 0.0F);
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

TEST_F(Warnings, ARowOfATable) {
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg;
  cg.backward(squared_norm(lookup(cg, table, 2U)));
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

/// As programs do that compute gradients themselves.
TEST_F(Warnings, AGradientThatTheProgramWrote) {
  SimpleSGDTrainer trainer(model);
  TensorTools::set_elements(*w.gradients(), {1, 0, 0});
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
  EXPECT_EQ(as_vector(*w.values())[0], 0.9F);
}

TEST_F(Warnings, ATrainerThatGoesOnFromItsText) {
  MomentumSGDTrainer first(model);
  go_back();
  first.update();
  std::stringstream text;
  first.save(text);
  go_back();  // before the restart, say
  MomentumSGDTrainer trainer(model);
  trainer.populate(text);
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

TEST_F(Warnings, TwoTrainersOverPartsOfOneCollection) {
  ParameterCollection part = model.add_subcollection("part");
  Parameter v = part.add_parameters({3});
  SimpleSGDTrainer of_part(part);
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg;
  cg.backward(dot_product(parameter(cg, w), parameter(cg, v)));
  of_part.update();
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

// ---- a negative rate ----------------------------------------------------------------------------

/// Each way to set one, and the first is said.
TEST_F(Warnings, NegativeRate) {
  const std::function<void(Trainer&)> ways[] = {
      [](Trainer& t) { t.set_learning_rate(-0.5F); },
      [](Trainer& t) { t.restart(-0.5F); },
      [](Trainer& t) { t.set_schedule(ConstantSchedule(-0.5)); },
      [](Trainer& t) {
        t.learning_rate = -0.5F;
        t.update();
      },
      [](Trainer& t) {
        std::stringstream text;
        t.save(text);
        t.populate(text, -0.5F);
      },
  };
  for (const auto& way : ways) {
    told.clear();
    SimpleSGDTrainer trainer(model);
    go_back();
    way(trainer);
    trainer.restart(-0.25F);
    trainer.update();
    EXPECT_EQ(told.size(), 1U);
    EXPECT_EQ(count_of("learning_rate is -0.5"), 1U);
  }
}

TEST_F(Warnings, ANegativeRateClimbs) {
  SimpleSGDTrainer trainer(model, -0.25F);
  EXPECT_EQ(count_of("learning_rate is -0.25"), 1U);
  go_back();
  trainer.update();
  EXPECT_EQ(told.size(), 1U);
  EXPECT_EQ(as_vector(*w.values())[0], 1.5F);  // as in 2.1
}

TEST_F(Warnings, OtherRates) {
  SimpleSGDTrainer trainer(model, 0.0F);
  go_back();
  trainer.update();
  EXPECT_EQ(told, std::vector<std::string>());
}

// ---- a graph that grows -------------------------------------------------------------------------

constexpr unsigned kQuarter = 251'000;  // of a large graph, and a little more

void add_nodes(ComputationGraph& cg, unsigned count) {
  for (unsigned i = 0; i < count; ++i) {
    input(cg, 1.0F);
  }
}

TEST_F(Warnings, GraphThatGrowsFromUpdates) {
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg;
  for (int step = 0; step < 6; ++step) {
    add_nodes(cg, kQuarter);
    cg.backward(squared_norm(parameter(cg, w)));
    trainer.update();
  }
  EXPECT_EQ(told.size(), 1U);
  EXPECT_EQ(count_of("more come with each update"), 1U);
}

/// Graphs without a warning: cleared, many small updates, a large graph without updates, a few
/// losses, and a graph that returns to the nodes shared by all examples.
TEST_F(Warnings, OtherGraphs) {
  SimpleSGDTrainer trainer(model);
  ComputationGraph cg;
  const auto step = [&](unsigned nodes, bool is_updated) {
    add_nodes(cg, nodes);
    cg.backward(squared_norm(parameter(cg, w)));
    if (is_updated) {
      trainer.update();
    }
  };
  for (int i = 0; i < 4; ++i) {
    step(kQuarter, true);
    cg.clear();
  }
  for (int i = 0; i < 100; ++i) {
    step(1, true);
  }
  cg.clear();
  for (int i = 0; i < 4; ++i) {
    step(kQuarter, false);
  }
  trainer.update();
  cg.clear();
  step(1'000'000, true);
  step(1000, true);
  cg.checkpoint();
  for (unsigned i = 1; i < 6; ++i) {
    step(1000 * i, true);
    cg.revert();
    cg.checkpoint();
  }
  EXPECT_EQ(told, std::vector<std::string>());
}

}  // namespace
}  // namespace dynet
