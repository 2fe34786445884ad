// Checkpoints: a run that is killed anywhere and resumed computes the numbers of an uninterrupted
// run.
#include "dynet/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

#include "dynet/globals.h"
#include "dynet/init.h"
#include "dynet/safetensors.h"
#include "dynet/schedules.h"
#include "dynet/training.h"

#include "params/random_streams.h"
#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet {
namespace {

namespace fs = std::filesystem;

/// A training whose every number depends on all that a checkpoint has to bring back.
struct Session {
  explicit Session(const std::string& folder, const CheckpointPolicy& policy = {}) {
    reset_rng(5);
    p = model.add_parameters({5, 4}, "p");
    l = model.add_lookup_parameters(6, {5}, "l");
    trainer.set_lookup_updates(LookupUpdates::kExact);
    trainer.exponential_moving_average(0.9F);
    trainer.set_schedule(WarmupSchedule(20, std::make_shared<PlateauSchedule>(0.05, 0.5, 2)));
    checkpoints = std::make_unique<Checkpointer>(folder, model, trainer, policy);
  }
  /// One update; numbers come from both kinds of random state and from the position in the data.
  void step() {
    std::vector<float> g(20);
    const auto stream = static_cast<float>(params::next_random_stream() % 7);
    for (float& x : g) {
      x = rand_normal() + 0.01F * stream + 0.001F * static_cast<float>(position);
    }
    p.p->accumulate_grad(Tensor({5, 4}, g.data(), nullptr, DeviceMempool::NONE));
    l.p->accumulate_grad(position % 6, Tensor({5}, g.data(), nullptr, DeviceMempool::NONE));
    trainer.update();
    if (position % 3 == 2) {
      trainer.report_metric(static_cast<double>(g[0]));
    }
    ++position;
  }
  void resume() {
    if (checkpoints->resume()) {
      position = static_cast<unsigned>(std::stoul(checkpoints->position()));
    }
  }
  std::string state() {
    std::ostringstream all;
    trainer.save(all);
    all << *rndeng << ' ' << params::random_streams_given() << ' ' << position;
    const auto add = [&](const Tensor& t) {
      const std::vector<float> values = as_vector(t);
      all.write(reinterpret_cast<const char*>(values.data()),
                static_cast<std::streamsize>(values.size() * sizeof(float)));
    };
    add(*p.values());
    for (const Tensor& row : *l.values()) {
      add(row);
    }
    return all.str();
  }

  ParameterCollection model{0.01F};
  Parameter p;
  LookupParameter l;
  AdamTrainer trainer{model};
  std::unique_ptr<Checkpointer> checkpoints;
  unsigned position = 0;
};

class CheckpointTest : public ::testing::Test {
 protected:
  void TearDown() override {
    reset_rng(std::mt19937::default_seed);
    set_log_sink(nullptr);
  }
  [[nodiscard]] std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::string name(unsigned steps) {
    const std::string digits = std::to_string(steps);
    return "checkpoint-" + std::string(12 - digits.size(), '0') + digits + ".safetensors";
  }
  testing::TemporaryFolder root_;
  std::string folder = root_.file("run");
};

CheckpointPolicy every(std::uint64_t steps) {
  CheckpointPolicy policy;
  policy.every_steps = steps;
  return policy;
}

TEST_F(CheckpointTest, ResumesToTheBit) {
  Session whole(folder, every(10));
  for (int i = 0; i < 45; ++i) {
    whole.step();
    whole.checkpoints->metadata["text"] = "epoch " + std::to_string(i);
    const bool is_saved = whole.checkpoints->step(std::to_string(whole.position));
    EXPECT_EQ(is_saved, i % 10 == 9);
  }
  EXPECT_EQ(files(), std::vector<std::string>{name(40)});
  Session again(folder, every(10));
  again.step();  // whatever was done before does not matter
  again.resume();
  EXPECT_EQ(again.position, 40U);
  EXPECT_EQ(again.checkpoints->steps(), 40U);
  EXPECT_EQ(again.checkpoints->metadata.at("text"), "epoch 39");
  for (int i = 0; i < 5; ++i) {
    again.step();
  }
  const std::string resumed = again.state();
  // The same once more, without a stop.
  Session other(root_.file("other"), every(10));
  for (int i = 0; i < 45; ++i) {
    other.step();
    other.checkpoints->step(std::to_string(other.position));
  }
  EXPECT_EQ(resumed, other.state());
}

/// A step may add up several batches, and an update of some parameters leaves the gradients of
/// others.
TEST_F(CheckpointTest, GradientsThatNoUpdateHasTaken) {
  const auto add_gradients = [](Session& s, float first) {
    std::vector<float> g(20);
    std::iota(g.begin(), g.end(), first);
    s.p.p->accumulate_grad(Tensor({5, 4}, g.data(), nullptr, DeviceMempool::NONE));
    s.l.p->accumulate_grad(2, Tensor({5}, g.data(), nullptr, DeviceMempool::NONE));
  };
  const auto finish = [&](Session& s) {
    EXPECT_TRUE(s.p.p->has_grad());
    s.trainer.update(std::vector<unsigned>{}, {0});
    EXPECT_TRUE(s.p.p->has_grad());
    add_gradients(s, 3.0F);
    s.trainer.update();
    return s.state();
  };
  Session one(folder);
  one.step();
  add_gradients(one, -4.0F);
  one.checkpoints->save("1");
  Session other(folder);
  other.resume();
  EXPECT_EQ(finish(other), finish(one));
  one.checkpoints->save("1");
  add_gradients(other, 9.0F);  // they go
  other.resume();
  EXPECT_FALSE(other.p.p->has_grad());
  EXPECT_EQ(other.model.gradient_l2_norm(), 0.0F);
}

/// A run killed with SIGKILL at random moments, again and again, until it ends.
TEST_F(CheckpointTest, KilledRunsGoOnToTheBit) {
  constexpr unsigned kSteps = 400;
  Session whole(root_.file("whole"), every(7));
  const auto start = std::chrono::steady_clock::now();
  while (whole.position < kSteps) {
    whole.step();
    whole.checkpoints->step(std::to_string(whole.position));
  }
  // A child lives for a small part of the time of a whole run on this machine.
  const auto longest_life =
      1 + ((std::chrono::steady_clock::now() - start) / std::chrono::microseconds(16));
  const std::string want = whole.state();
  const std::string result = root_.file("result");
  std::mt19937 random(1);
  unsigned kills = 0;
  for (bool is_through = false; !is_through;) {
    const pid_t child = ::fork();
    if (child == 0) {
      ::alarm(100);
      Session run(folder, every(7));
      run.resume();
      while (run.position < kSteps) {
        run.step();
        run.checkpoints->step(std::to_string(run.position));
      }
      std::ofstream(result, std::ios::binary) << run.state();
      ::_exit(0);
    }
    if (kills < 40) {
      ::usleep(static_cast<unsigned>(random() % static_cast<std::uint64_t>(longest_life)));
      ::kill(child, SIGKILL);
      ++kills;
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    is_through = WIFEXITED(status);
  }
  std::ifstream in(result, std::ios::binary);
  const std::string got{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  EXPECT_TRUE(got == want);
  EXPECT_EQ(files().back(), name(399));
  EXPECT_LE(files().size(), 2U);  // the last one may have been killed before it removed another
  EXPECT_GT(kills, 5U);
}

/// A saver that is killed between the two leaves an old file beside the new one.
TEST_F(CheckpointTest, TheNextSaveRemovesWhatAKilledOneWouldHave) {
  Session run(folder, every(7));
  const auto save_next = [&run] {
    for (int i = 0; i < 7; ++i) {
      run.step();
      run.checkpoints->step(std::to_string(run.position));
    }
  };
  save_next();
  const std::string old = (std::filesystem::path(folder) / name(7)).string();
  std::filesystem::copy_file(old, root_.file("kept"));
  save_next();
  ASSERT_EQ(files(), std::vector<std::string>{name(14)});
  std::filesystem::copy_file(root_.file("kept"), old);
  Session again(folder, every(7));
  again.resume();
  EXPECT_EQ(again.checkpoints->steps(), 14U);
  again.checkpoints->step();
  again.checkpoints->save();
  EXPECT_EQ(files(), std::vector<std::string>{name(15)});
}

/// A program that only looks at a run may have another policy than the run.
TEST_F(CheckpointTest, ResumingRemovesNothing) {
  CheckpointPolicy policy;
  policy.keep_last = 3;
  Session run(folder, policy);
  for (int i = 0; i < 3; ++i) {
    run.step();
    run.checkpoints->step();
    run.checkpoints->save("0");
  }
  const std::vector<std::string> all{name(1), name(2), name(3)};
  ASSERT_EQ(files(), all);
  Session reader(folder, CheckpointPolicy());
  reader.resume();
  EXPECT_EQ(reader.checkpoints->steps(), 3U);
  EXPECT_EQ(reader.checkpoints->checkpoints().size(), 3U);
  EXPECT_EQ(files(), all);
}

TEST_F(CheckpointTest, KeepsTheBestAndTheLast) {
  CheckpointPolicy policy;
  policy.keep_best = 2;
  policy.keep_last = 2;
  Session run(folder, policy);
  std::vector<std::vector<float>> values;
  for (const double score : {0.1, 0.9, 0.3, 0.8, 0.2, 0.5}) {
    run.step();
    EXPECT_FALSE(run.checkpoints->step());
    run.checkpoints->save("0", score);
    values.push_back(as_vector(*run.p.values()));
  }
  EXPECT_EQ(files(), (std::vector<std::string>{name(2), name(4), name(5), name(6)}));
  ASSERT_EQ(run.checkpoints->checkpoints().size(), 4U);
  EXPECT_EQ(run.checkpoints->checkpoints()[1].score, 0.8);
  Session other(folder, policy);
  other.checkpoints->load_best();
  EXPECT_EQ(as_vector(*other.p.values()), values[1]);
  other.resume();
  EXPECT_EQ(other.checkpoints->steps(), 6U);
  // The score and the files are known again; smaller is better now.
  policy.larger_is_better = false;
  Session smaller(folder, policy);
  smaller.resume();
  smaller.checkpoints->step();
  smaller.checkpoints->save("0");
  EXPECT_EQ(files(), (std::vector<std::string>{name(5), name(6), name(7)}));
  smaller.checkpoints->load_best();
  EXPECT_EQ(as_vector(*smaller.p.values()), values[4]);
  EXPECT_THROW(smaller.checkpoints->save("", std::nan("")), errors::ValueError);
}

/// A step that cannot save has not counted: repeated, it is the same step.
TEST_F(CheckpointTest, AStepThatFailsIsRepeated) {
  Session run(folder, every(2));
  run.step();
  EXPECT_FALSE(run.checkpoints->step("1"));
  run.step();
  run.checkpoints->metadata["dynet.own"] = "no";  // refused by save()
  EXPECT_THROW(run.checkpoints->step("2"), errors::ValueError);
  EXPECT_EQ(run.checkpoints->steps(), 1U);
  run.checkpoints->metadata.clear();
  EXPECT_TRUE(run.checkpoints->step("2"));
  EXPECT_EQ(run.checkpoints->steps(), 2U);
  EXPECT_EQ(files(), std::vector<std::string>{name(2)});
}

TEST_F(CheckpointTest, BySeconds) {
  CheckpointPolicy policy;
  policy.every_seconds = 0.05;
  Session run(folder, policy);
  EXPECT_FALSE(run.checkpoints->step("1"));
  ::usleep(60000);
  EXPECT_TRUE(run.checkpoints->step("2"));
  EXPECT_FALSE(run.checkpoints->step("3"));
}

TEST_F(CheckpointTest, DamagedOnesArePassedOver) {
  CheckpointPolicy policy;
  policy.every_steps = 1;
  policy.keep_last = 3;
  Session run(folder, policy);
  for (int i = 0; i < 3; ++i) {
    run.step();
    run.checkpoints->step(std::to_string(run.position));
  }
  std::ofstream(folder + "/checkpoint-notes.txt") << "of the user";
  std::ofstream(folder + "/" + name(2) + ".tmp.0123456789abcdef") << "half";
  fs::resize_file(folder + "/" + name(3), fs::file_size(folder + "/" + name(3)) - 1);
  std::ofstream(folder + "/" + name(9)) << "half";
  std::string logged;
  set_log_sink([&](const std::string& text) { logged += text + '\n'; });
  Session again(folder, policy);
  EXPECT_TRUE(again.checkpoints->resume());
  EXPECT_EQ(again.checkpoints->steps(), 2U);
  EXPECT_NE(logged.find(name(3)), std::string::npos) << logged;
  EXPECT_NE(logged.find(name(9)), std::string::npos) << logged;
  EXPECT_EQ(files(),
            (std::vector<std::string>{name(1), name(2), name(3), name(9), "checkpoint-notes.txt"}));
  again.step();
  again.checkpoints->step("3");  // takes the place of the damaged one
  Session third(folder, policy);
  third.resume();
  EXPECT_EQ(third.checkpoints->steps(), 3U);
  for (unsigned i = 1; i < 4; ++i) {
    fs::resize_file(folder + "/" + name(i), 100);
  }
  EXPECT_THROW(third.checkpoints->resume(), errors::IoError);
}

TEST_F(CheckpointTest, WhatCannotBe) {
  CheckpointPolicy policy;
  policy.keep_last = 0;
  EXPECT_THROW(Session(folder, policy), errors::ValueError);
  policy.keep_last = 1;
  policy.every_seconds = std::nan("");
  EXPECT_THROW(Session(folder, policy), errors::ValueError);
  std::ofstream(root_.file("file")) << "x";
  EXPECT_THROW(Session(root_.file("file")), errors::IoError);
  fs::create_symlink("loop", root_.file("loop"));
  EXPECT_THROW(Session(root_.file("loop")), errors::IoError);
  {
    Session gone(root_.file("gone"));
    fs::remove_all(root_.file("gone"));
    EXPECT_THROW(gone.checkpoints->resume(), errors::IoError);
    EXPECT_THROW(gone.checkpoints->load_best(), errors::IoError);
    EXPECT_THROW(gone.checkpoints->save(), errors::IoError);
  }
  Session run(folder);
  EXPECT_FALSE(run.checkpoints->resume());
  EXPECT_THROW(run.checkpoints->load_best(), errors::UsageError);
  run.checkpoints->metadata["dynet.x"] = "";
  EXPECT_THROW(run.checkpoints->save(), errors::ValueError);
  run.checkpoints->metadata.clear();
  EXPECT_THROW(run.checkpoints->save("\xFF"), errors::ValueError);
  EXPECT_TRUE(files().empty());
  run.step();
  run.trainer.swap_params_to_moving_average();
  EXPECT_THROW(run.checkpoints->save(), errors::UsageError);
  run.trainer.swap_params_to_weights();
  run.checkpoints->save();
  // Another run in the same folder.
  Session other(folder);
  EXPECT_THROW(other.checkpoints->save(), errors::UsageError);
  // Another model: nothing is changed.
  reset_rng(9);
  ParameterCollection model;
  const Parameter p = model.add_parameters({5, 5}, ParameterInitConst(7), "p");
  model.add_lookup_parameters(6, {5}, "l");
  AdamTrainer trainer(model);
  Checkpointer wrong(folder, model, trainer);
  const std::mt19937 before = *rndeng;
  EXPECT_THROW(wrong.resume(), errors::IoError);
  EXPECT_EQ(as_vector(*p.values())[0], 7.0F);
  EXPECT_TRUE(*rndeng == before);
  EXPECT_EQ(wrong.steps(), 0U);
  // Another trainer.
  Session right(root_.file("other"));
  MomentumSGDTrainer momentum(right.model);
  Checkpointer mixed(folder, right.model, momentum);
  const std::vector<float> values = as_vector(*right.p.values());
  const std::string error = testing::text_of_error<errors::UsageError>([&] { mixed.resume(); });
  EXPECT_NE(error.find("the trainer's state in '" + folder + "/" + files().back()),
            std::string::npos)
      << error;
  EXPECT_EQ(as_vector(*right.p.values()), values);
  // A trainer without a state of its own, which would need nothing of the saved state.
  SimpleSGDTrainer plain(right.model);
  Checkpointer plainly(folder, right.model, plain);
  EXPECT_NE(testing::text_of_error<errors::UsageError>([&] {
              plainly.resume();
            }).find("Type does not match expected type"),
            std::string::npos);
  EXPECT_EQ(as_vector(*right.p.values()), values);
  EXPECT_EQ(plain.updates, 0.0F);
}

}  // namespace
}  // namespace dynet
