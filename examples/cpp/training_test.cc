// A few hundred updates on lists: the loss falls, and what is kept is the best or the last model.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "listops_data.h"
#include "measure.h"
#include "tree_model.h"

namespace examples {
namespace {

std::vector<Tree> make_lists(std::size_t count, std::uint32_t seed) {
  ListOpsGenerator lists(seed);
  std::vector<Tree> trees;
  trees.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    trees.push_back(to_tree(lists.next()));
  }
  return trees;
}

/// Lists, some an update, without end. Tests give the scores that they are told to.
class ListLearner : public Learner {
 public:
  ListLearner(std::size_t minibatch, std::vector<double> scores)
      : minibatch_(minibatch), scores_(std::move(scores)), lists_(1), model_(settings_) {
    set_deterministic_values(model_.m);
  }
  ParameterCollection& parameters() override { return model_.m; }
  [[nodiscard]] const Settings& settings() const override { return settings_; }
  Losses add_next(ComputationGraph& cg) override {
    model_.new_graph(cg);
    Expressions losses;
    std::size_t count = 0;
    for (std::size_t i = 0; i < minibatch_; ++i) {
      const Tree tree = to_tree(lists_.next());
      losses.push_back(model_.loss(cg, tree));
      count += tree.labels();
    }
    return {sum(losses), count, minibatch_};
  }
  [[nodiscard]] bool can_test() const override { return !scores_.empty(); }
  [[nodiscard]] ScoreKind score_kind() const override { return {"perplexity", false}; }
  double test() override {
    tested_.push_back(answers());
    return scores_[tested_.size() - 1];
  }

  std::vector<float> answers() {
    ComputationGraph cg;
    model_.new_graph(cg);
    return as_vector(model_.scores(cg, to_tree(parse_list("[MAX 3 [MIN 4 5]]"))).value());
  }
  TreeModel& model() { return model_; }
  /// What the model answered at each test.
  [[nodiscard]] const std::vector<std::vector<float>>& tested() const { return tested_; }

 private:
  const Settings settings_{
      "listops", {{"hidden", 24}, {"classes", kDigitCount}}, {{"words", listops_words()}}};
  std::size_t minibatch_;
  std::vector<double> scores_;
  ListOpsGenerator lists_;
  TreeModel model_;
  std::vector<std::vector<float>> tested_;
};

class TrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("dynet_training_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    options_.is_quiet = true;
    options_.learning_rate = 0.003;
    options_.updates = 40;
    options_.test_every = 10;
    options_.model = (folder_ / "a" / "model.txt").string();
    options_.curve = (folder_ / "b" / "curve.csv").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  /// The answers of the model in the file.
  [[nodiscard]] std::vector<float> saved_answers() const {
    ListLearner learner(1, {});
    populate(learner.parameters(), options_.model);
    return learner.answers();
  }

  std::filesystem::path folder_;
  Options options_;
};

TEST_F(TrainingTest, LossFalls) {
  for (const char* trainer : {"adam", "sgd"}) {
    ListLearner learner(1, {});
    options_.updates = 400;
    options_.test_every = 100;
    options_.trainer = trainer;
    options_.learning_rate = trainer[0] == 'a' ? 0.003 : 0.02;
    const TrainingResult result = train(learner, {.unit = "lists"}, options_);
    ASSERT_EQ(result.updates, 400U);
    ASSERT_EQ(result.items, 400U);
    ASSERT_EQ(result.curve.size(), 4U);
    EXPECT_GT(result.curve[0].train_loss, 1.2) << trainer;  // ln 10 = 2.3 at first
    EXPECT_LT(result.curve[3].train_loss, 0.8 * result.curve[0].train_loss) << trainer;
    EXPECT_GT(result.seconds, 0);
    EXPECT_LT(result.seconds, cpu_seconds());
    EXPECT_GT(result.first_update_at, 0);
    EXPECT_GT(peak_memory_mib(), 1);
  }
}

TEST_F(TrainingTest, MinibatchOfTrees) {
  ListLearner learner(8, {});
  options_.updates = 80;
  options_.test_every = 20;
  const TrainingResult result = train(learner, {.unit = "lists"}, options_);
  EXPECT_EQ(result.items, 640U);
  EXPECT_LT(result.curve[3].train_loss, 0.8 * result.curve[0].train_loss);
}

TEST_F(TrainingTest, KeepsTheBestModel) {
  ListLearner learner(1, {5, 2, 3, 4});
  const TrainingResult result = train(learner, {.unit = "lists"}, options_);
  EXPECT_EQ(result.best_score, 2);
  EXPECT_EQ(result.curve[3].dev_score, 4);
  EXPECT_EQ(saved_answers(), learner.tested()[1]);
  EXPECT_NE(saved_answers(), learner.answers());
}

TEST_F(TrainingTest, KeepsTheLastModelWhereAsked) {
  ListLearner learner(1, {5, 2, 3, 4});
  train(learner, {.unit = "lists", .keeps_best = false}, options_);
  EXPECT_EQ(saved_answers(), learner.answers());
}

TEST_F(TrainingTest, CurveHasARowATest) {
  ListLearner learner(2, {});
  options_.updates = 25;
  train(learner, {.unit = "lists"}, options_);
  std::ifstream in(options_.curve);
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "updates,seconds,items,train_loss,dev_score");
  std::vector<std::string> starts;
  while (std::getline(in, line)) {
    starts.push_back(line.substr(0, line.find(',')));
    EXPECT_EQ(line.back(), ',') << "a score without a test: " << line;
  }
  EXPECT_EQ(starts, (std::vector<std::string>{"10", "20", "25"}));
}

TEST_F(TrainingTest, EndsInTime) {
  ListLearner learner(1, {});
  options_.updates = 100000000;
  options_.max_seconds = 0.05;
  const TrainingResult result = train(learner, {.unit = "lists"}, options_);
  EXPECT_LT(result.seconds, 1);
  EXPECT_LT(result.updates, 100000U);
  EXPECT_TRUE(std::filesystem::exists(options_.model));
}

TEST_F(TrainingTest, EpochsOfUpdates) {
  ListLearner learner(1, {1, 2});
  options_.updates = 0;
  options_.test_every = 0;
  options_.epochs = 2;
  const TrainingResult result = train(learner, {.unit = "lists", .updates_an_epoch = 7}, options_);
  EXPECT_EQ(result.updates, 14U);
  EXPECT_EQ(result.curve.size(), 2U);
}

TEST_F(TrainingTest, UpdatesOfTables) {
  std::vector<std::vector<float>> answers;
  for (const char* updates : {"sparse", "dense", "exact"}) {
    ListLearner learner(1, {});
    options_.lookup_updates = updates;
    train(learner, {.unit = "lists"}, options_);
    answers.push_back(learner.answers());
  }
  double sparse_to_dense = 0;
  double exact_to_dense = 0;
  for (std::size_t i = 0; i < answers[0].size(); ++i) {
    sparse_to_dense = std::max<double>(sparse_to_dense, std::abs(answers[0][i] - answers[1][i]));
    exact_to_dense = std::max<double>(exact_to_dense, std::abs(answers[2][i] - answers[1][i]));
  }
  EXPECT_GT(sparse_to_dense, 1e-3);
  EXPECT_LT(exact_to_dense, 1e-4);
}

TEST_F(TrainingTest, SavedModelGivesTheSameAnswers) {
  ListLearner learner(1, {});
  train(learner, {.unit = "lists"}, options_);
  const Settings loaded = load_settings(options_.model, {"listops"});
  EXPECT_EQ(loaded.task, "listops");
  EXPECT_EQ(loaded.list("words"), listops_words());
  TreeModel other(loaded);
  populate(other.m, options_.model);
  const std::vector<Tree> lists = make_lists(40, 11);
  const auto classes = [&](TreeModel& model) {
    return answers_to(model, lists, [&](ComputationGraph& cg, const Tree& tree, Expressions& all) {
      all.push_back(model.scores(cg, tree));
    });
  };
  EXPECT_EQ(classes(learner.model()).size(), 40U);
  EXPECT_EQ(classes(learner.model()), classes(other));
  EXPECT_EQ(saved_answers(), learner.answers());
}

TEST_F(TrainingTest, RateFallsAtTheEnd) {
  EXPECT_EQ(rate_factor(0), 1);
  EXPECT_EQ(rate_factor(0.59), 1);
  EXPECT_NEAR(rate_factor(0.8), 0.51, 1e-9);
  EXPECT_NEAR(rate_factor(1), 0.02, 1e-9);
  EXPECT_NEAR(rate_factor(1.5), 0.02, 1e-9);
}

}  // namespace
}  // namespace examples
