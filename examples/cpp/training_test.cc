// A few hundred updates of the main job: the loss falls, the model survives its file.

#include "training.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "dynet/init.h"

#include "listops_data.h"
#include "tree_model.h"

namespace examples {
namespace {

class TrainingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::vector<std::string> text = {"training_test", "--dynet-seed", "3"};
    std::vector<char*> args;
    for (std::string& arg : text) {
      args.push_back(arg.data());
    }
    int argc = static_cast<int>(args.size());
    char** argv = args.data();
    dynet::initialize(argc, argv);
  }
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("dynet_training_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    ListOpsGenerator lists(11);
    for (int i = 0; i < 50; ++i) {
      test_.push_back(to_tree(lists.next()));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  TrainingResult train_a_little(TreeModel& model, std::size_t updates, Options options) {
    TrainingPlan plan;
    auto lists = std::make_shared<ListOpsGenerator>(1);
    auto tree = std::make_shared<Tree>();
    plan.next_tree = [lists, tree]() -> const Tree& { return *tree = to_tree(lists->next()); };
    plan.test = &test_;
    plan.updates = updates;
    plan.updates_a_point = updates / 4;
    plan.test_limit = 20;
    options.is_quiet = true;
    return train(model, plan, options);
  }

  std::filesystem::path folder_;
  std::vector<Tree> test_;
  const ModelSettings settings_{"listops", 24, kDigitCount, listops_words()};
};

TEST_F(TrainingTest, LossFalls) {
  for (const char* trainer : {"adam", "sgd"}) {
    TreeModel model(settings_);
    model.set_deterministic_values();
    Options options;
    options.trainer = trainer;
    options.learning_rate = trainer[0] == 'a' ? 0.003 : 0.02;
    const TrainingResult result = train_a_little(model, 400, options);
    ASSERT_EQ(result.updates, 400U);
    ASSERT_EQ(result.curve.size(), 4U);
    EXPECT_GT(result.curve[0].train_loss, 1.2) << trainer;  // ln 10 = 2.3 at first
    EXPECT_LT(result.curve[3].train_loss, 0.8 * result.curve[0].train_loss) << trainer;
  }
}

TEST_F(TrainingTest, MinibatchOfTrees) {
  TreeModel model(settings_);
  model.set_deterministic_values();
  Options options;
  options.learning_rate = 0.003;
  options.minibatch = 8;
  const TrainingResult result = train_a_little(model, 80, options);
  EXPECT_LT(result.curve[3].train_loss, 0.8 * result.curve[0].train_loss);
}

TEST_F(TrainingTest, SavedModelGivesTheSameAnswers) {
  TreeModel model(settings_);
  Options options;
  options.learning_rate = 0.003;
  train_a_little(model, 40, options);
  const std::string file = (folder_ / "model.txt").string();
  save_settings(settings_, file);
  model.save(file);
  const ModelSettings loaded = load_settings(file);
  EXPECT_EQ(loaded.task, "listops");
  EXPECT_EQ(loaded.words, settings_.words);
  TreeModel other(loaded);
  other.populate(file);
  for (const Tree& tree : test_) {
    dynet::ComputationGraph cg;
    model.new_graph(cg);
    const std::vector<float> before = dynet::as_vector(model.score_root(cg, tree).value());
    dynet::ComputationGraph other_cg;
    other.new_graph(other_cg);
    EXPECT_EQ(before, dynet::as_vector(other.score_root(other_cg, tree).value()));
  }
  EXPECT_EQ(classify_roots(model, test_, 1000), classify_roots(other, test_, 1000));
  EXPECT_THROW(load_settings((folder_ / "other.txt").string()), std::runtime_error);
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
