#include "dynet/init.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "dynet/except.h"
#include "dynet/model.h"

#include "kernels/team.h"
#include "params/buffer.h"
#include "params/random_streams.h"
#include "params/settings.h"
#include "support/far_device.h"
#include "testing/errors.h"

namespace dynet {
namespace {

/// A command line that owns its words.
class Arguments {
 public:
  explicit Arguments(std::vector<std::string> words) : words_(std::move(words)) {
    for (std::string& word : words_) {
      pointers_.push_back(word.data());
    }
    argc = static_cast<int>(words_.size());
    pointers_.push_back(nullptr);
    argv = pointers_.data();
  }
  [[nodiscard]] std::vector<std::string> rest() const { return {argv, argv + argc}; }
  int argc = 0;
  char** argv = nullptr;

 private:
  std::vector<std::string> words_;
  std::vector<char*> pointers_;
};

DynetParams parsed(std::vector<std::string> words) {
  words.insert(words.begin(), "program");
  Arguments a(std::move(words));
  return extract_dynet_params(a.argc, a.argv);
}

TEST(Options, AreReadAndRemoved) {
  Arguments a({"--dynet-seed", "--dynet-seed", "7", "file", "--dynet_mem=100,200,300,400",
               "--other", "--dynet-autobatch=0", "--dynet_weight_decay", "0.25", "--dynet-what",
               "-x", "--dynet-lstm=vanilla", "--dynet-precision", "highest", "--dynet-profiling",
               "2"});
  const DynetParams p = extract_dynet_params(a.argc, a.argv);
  EXPECT_EQ(a.rest(),
            (std::vector<std::string>{"--dynet-seed", "file", "--other", "--dynet-what", "-x"}));
  EXPECT_EQ(a.argv[a.argc], nullptr);
  EXPECT_EQ(p.random_seed, 7U);
  EXPECT_EQ(p.mem_descriptor, "100,200,300,400");
  EXPECT_EQ(p.autobatch, 0);
  EXPECT_EQ(p.weight_decay, 0.25F);
  EXPECT_EQ(p.lstm, "vanilla");
  EXPECT_EQ(p.precision, "highest");
  EXPECT_EQ(p.profiling, 2);
}

/// A variable for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Options, AreReadFromTheEnvironment) {
  const Variable seed("DYNET_SEED", "7");
  const Variable decay("DYNET_WEIGHT_DECAY", "0.25");
  const Variable lstm("DYNET_LSTM", "vanilla");
  const Variable devices("DYNET_DEVICES", "CPU:double");
  const Variable threads("DYNET_THREADS", "6");
  const Variable nothing("DYNET_AUTOBATCH", "");
  const DynetParams p = parsed({});
  EXPECT_EQ(p.random_seed, 7U);
  EXPECT_EQ(p.weight_decay, 0.25F);
  EXPECT_EQ(p.lstm, "vanilla");
  EXPECT_EQ(p.device, "CPU:double");
  EXPECT_EQ(p.threads, 6U);
  EXPECT_EQ(p.autobatch, 1);
  const DynetParams other = parsed({"--dynet-seed=8", "--dynet-devices=CPU"});  // which go first
  EXPECT_EQ(other.random_seed, 8U);
  EXPECT_EQ(other.device, "CPU");
  EXPECT_EQ(other.weight_decay, 0.25F);
}

TEST(Options, AMistakeInTheEnvironmentNamesTheVariable) {
  {
    const Variable seed("DYNET_SEED", "seven");
    EXPECT_EQ(
        testing::text_of_error<errors::ValueError>([] { parsed({}); }),
        "DYNET_SEED in the environment stands for --dynet-seed: the value is 'seven'; want an "
        "unsigned integer");
  }
  const Variable decay("DYNET_WEIGHT_DECAY", "2");
  EXPECT_EQ(testing::text_of_error<errors::ValueError>([] {
              parsed({"--dynet-weight-decay=0.5"});
            }).substr(0, 57),
            "DYNET_WEIGHT_DECAY in the environment stands for --dynet-");
}

TEST(Options, Defaults) {
  const DynetParams p = parsed({});
  EXPECT_EQ(p.random_seed, 0U);
  EXPECT_EQ(p.autobatch, 1);
  EXPECT_EQ(p.mem_descriptor, "");
  EXPECT_EQ(p.device, "CPU");
  int argc = 0;
  char** argv = nullptr;
  EXPECT_EQ(extract_dynet_params(argc, argv, true).shared_parameters, true);
}

TEST(Options, BareAutobatchIsOn) {
  EXPECT_EQ(parsed({"--dynet-autobatch"}).autobatch, 1);
  EXPECT_EQ(parsed({"--dynet-autobatch", "2"}).autobatch, 2);
  Arguments a({"program", "--dynet-autobatch", "corpus.txt", "--dynet-autobatch", "--x"});
  EXPECT_EQ(extract_dynet_params(a.argc, a.argv).autobatch, 1);
  EXPECT_EQ(a.rest(), (std::vector<std::string>{"program", "corpus.txt", "--x"}));
}

// 2.1 takes the beginning of a name for the name, and swallows words of the program with it.
TEST(Options, OtherNamesAreLeftForTheProgram) {
  const std::vector<std::string> words{"program",
                                       "--dynet-memory",
                                       "5",
                                       "--dynet-seedling",
                                       "5",
                                       "--dynet-weight-decayed=0.1",
                                       "--dynet-autobatching",
                                       "0",
                                       "--dynet-autobatch-foo",
                                       "--dynet_mem_capp",
                                       "5",
                                       "--dynet-lstmx",
                                       "vanilla",
                                       "--dynet-profiling-out",
                                       "x",
                                       "--dynet-see",
                                       "5",
                                       "--dynet-",
                                       "--dynet--seed",
                                       "5",
                                       "--Dynet-seed",
                                       "5",
                                       "-dynet-seed",
                                       "5",
                                       "--dynet-gpu"};
  std::string log;
  set_log_sink([&](const std::string& text) { log += text + '\n'; });
  Arguments a(words);
  const DynetParams p = extract_dynet_params(a.argc, a.argv);
  set_log_sink(nullptr);
  EXPECT_EQ(a.rest(), words);
  EXPECT_EQ(p.mem_descriptor, "");
  EXPECT_EQ(p.random_seed, 0U);
  EXPECT_EQ(p.weight_decay, 0.0F);
  EXPECT_EQ(p.autobatch, 1);
  EXPECT_EQ(p.mem_cap, 0U);
  EXPECT_EQ(p.lstm, "coupled");
  EXPECT_EQ(p.profiling, 0);
  EXPECT_NE(log.find("--dynet-seedling is no option of this library"), std::string::npos) << log;
  EXPECT_EQ(log.find("-dynet-seed "), std::string::npos) << log;
  EXPECT_EQ(parsed({"--dynet-mem", "5", "--dynet_mem_cap=64"}).mem_cap, 64U);
}

std::string refused(const std::vector<std::string>& words) {
  return testing::text_of_error<errors::ValueError>([&] { parsed(words); });
}

// tests/gpus_test.cc has a library of GPUs; here is none.
TEST(Options, GpusAreRefusedWithTheReason) {
  const std::string reason = ": this build of DyNet has no CUDA; install dynet-cuda13";
  EXPECT_EQ(refused({"--dynet-gpus", "1"}), "--dynet-gpus 1" + reason);
  EXPECT_EQ(refused({"--dynet-devices=CPU,GPU:3"}), "GPU:3" + reason);
  for (const char* wanted : {"-1", "x", "1.5", "1,2"}) {
    EXPECT_EQ(refused({"--dynet-gpus", wanted}),
              std::string("--dynet-gpus: the value is '") + wanted + "'; want the number of GPUs");
  }
  Arguments a({"program", "--dynet-gpus=0", "x"});
  EXPECT_EQ(extract_dynet_params(a.argc, a.argv).requested_gpus, 0);
  EXPECT_EQ(a.rest(), (std::vector<std::string>{"program", "x"}));
  const Variable gpus("DYNET_GPUS", "some");
  EXPECT_EQ(refused({}),
            "DYNET_GPUS in the environment stands for --dynet-gpus: the value is 'some'; want the "
            "number of GPUs");
}

TEST(Options, GpusAreAskedForInOneWay) {
  const std::string both = "; want --dynet-devices or --dynet-gpus, not both";
  EXPECT_EQ(refused({"--dynet-gpus=0", "--dynet-devices=CPU"}),
            "--dynet-devices: the value is 'CPU'" + both);
  EXPECT_EQ(refused({"--dynet-devices=CPU", "--dynet-gpus=1"}),
            "--dynet-gpus: the value is '1'" + both);
  EXPECT_EQ(refused({"--dynet-gpus=0", "--dynet-gpus=0"}),
            "--dynet-gpus: the value is '0'; want the option once");
  EXPECT_EQ(refused({"--dynet-devices=CPU", "--dynet-devices=CPU"}),
            "--dynet-devices: the value is 'CPU'; want the option once");
  // The command line goes before the environment, whichever option either has.
  const Variable gpus("DYNET_GPUS", "2");
  const DynetParams p = parsed({"--dynet-devices=CPU:double"});
  EXPECT_EQ(p.requested_gpus, -1);
  EXPECT_FALSE(p.ngpus_requested);
  EXPECT_EQ(p.device, "CPU:double");
}

TEST(Options, NamesOfGpus) {
  cleanup();
  testing::add_far_devices();
  const std::string list =
      "; want a list of CPU, CPU:double, FAR:0, FAR:1, FAR:0:double and GPU:<number>";
  for (const char* junk : {"GPU", "GPU:", "GPU:x", "GPU:-1", "GPU:1x", "GPU:01", "GPU: 1", "gpu:0",
                           "CPU:0", "GPU:0,,GPU:1", "GPU:0 GPU:1"}) {
    EXPECT_EQ(refused({"--dynet-devices", junk}),
              std::string("--dynet-devices: the value is '") + junk + "'" + list);
  }
  EXPECT_EQ(refused({"--dynet-devices=GPU:1,CPU,GPU:1"}),
            "--dynet-devices: the value is 'GPU:1,CPU,GPU:1'; want each device once");
  for (const char* large : {"GPU:256", "GPU:4294967296", "GPU:99999999999999999999"}) {
    EXPECT_EQ(
        testing::text_of_error<errors::DeviceError>([&] { parsed({"--dynet-devices", large}); }),
        std::string(large) + ": the number is too large; want one below 256");
  }
}

TEST(Options, OptionsOfOtherReleasesHaveNoEffect) {
  std::string log;
  set_log_sink([&](const std::string& text) { log += text + '\n'; });
  Arguments a({"program", "--dynet-gpu-ids", "0,1", "--dynet-dynamic-mem", "x",
               "--dynet_dynamic_mem", "1", "y", "--dynet-dynamic-mem=0"});
  const DynetParams p = extract_dynet_params(a.argc, a.argv);
  set_log_sink(nullptr);
  EXPECT_EQ(a.rest(), (std::vector<std::string>{"program", "x", "y"}));
  EXPECT_TRUE(p.gpu_mask.empty());
  EXPECT_EQ(p.device, "CPU");
  EXPECT_EQ(log, "warning: --dynet-gpu-ids 0,1 has no effect; --dynet-devices names GPUs\n");
}

TEST(Options, MalformedValuesChangeNothing) {
  const std::vector<std::vector<std::string>> bad{
      {"--dynet-seed", "abc"},
      {"--dynet-seed", "-1"},
      {"--dynet-seed", "1x"},
      {"--dynet-seed="},
      {"--dynet-seed"},
      {"--dynet-seed", "--x"},
      {"--dynet-seed", "99999999999"},
      {"--dynet-mem", "a"},
      {"--dynet-mem", "1,2"},
      {"--dynet-mem", "0"},
      {"--dynet-mem", "1,2,3,"},
      {"--dynet-mem", "1,2,3,4,5"},
      {"--dynet-weight-decay", "1"},
      {"--dynet-weight-decay", "-0.1"},
      {"--dynet-weight-decay", "nan"},
      {"--dynet-autobatch=on"},
      {"--dynet-devices", "GPU:0"},
      {"--dynet-devices", "CPU:0"},
      {"--dynet-devices", "CPU,CPU"},
      {"--dynet-devices", ""},
      {"--dynet-devices", "CPU", "--dynet-devices", "CPU"},
      {"--dynet-lstm", "other"},
      {"--dynet-precision", "low"},
      {"--dynet-precision", "medium"},
      {"--dynet-profiling", "3"},
      {"--dynet-mem", "4294967295"},
      {"--dynet-profiling", "x"},
      {"--dynet-threads", "-1"},
      {"--dynet-threads", "two"},
      {"--dynet-threads", "257"},
      {"--dynet-threads"}};
  for (std::vector<std::string> words : bad) {
    words.insert(words.begin(), "program");
    Arguments a(words);
    EXPECT_THROW(extract_dynet_params(a.argc, a.argv), errors::ValueError) << words[1];
    EXPECT_EQ(a.rest(), words);
  }
}

class InitTest : public ::testing::Test {
 protected:
  void SetUp() override { cleanup(); }
  void TearDown() override {
    set_log_sink(nullptr);
    cleanup();
  }
};

TEST_F(InitTest, NothingNeedsToBeInitialized) {
  EXPECT_NE(default_device, nullptr);
  EXPECT_EQ(autobatch_flag, 1);
  ParameterCollection model;
  EXPECT_EQ(model.add_parameters({2}).get_storage().device, default_device);
}

TEST_F(InitTest, Threads) {
  EXPECT_GE(get_threads(), 1U);
  DynetParams p = parsed({"--dynet-threads", "5"});
  initialize(p);
  EXPECT_EQ(get_threads(), 5U);
  set_threads(2);
  EXPECT_EQ(get_threads(), 2U);
  EXPECT_EQ(testing::text_of_error<errors::ValueError>([] { set_threads(257); }),
            "set_threads: the value is 257; want a number of threads from 0 to 256");
  EXPECT_EQ(get_threads(), 2U);
  set_threads(200);
  cleanup();
  EXPECT_EQ(get_threads(), kernels::usable_processors());
}

TEST_F(InitTest, AnAddedDeviceCanBeTheDefault) {
  EXPECT_THROW(parsed({"--dynet-devices", "FAR:1"}), errors::ValueError);
  testing::add_far_devices();
  DynetParams p = parsed({"--dynet-devices", "CPU,FAR:1"});
  EXPECT_TRUE(p.cpu_requested);
  initialize(p);
  EXPECT_EQ(default_device->name, "FAR:1");
}

TEST_F(InitTest, AppliesTheOptionsOnce) {
  Arguments a({"program", "--dynet-seed", "11", "--dynet-autobatch", "0", "--dynet-weight-decay",
               "0.5", "--dynet-devices", "CPU:double", "--dynet-lstm", "vanilla", "--dynet-mem-cap",
               "3", "--dynet-mem", "2,1,9"});
  initialize(a.argc, a.argv);
  EXPECT_EQ(a.argc, 1);
  EXPECT_EQ(autobatch_flag, 0);
  EXPECT_EQ(default_weight_decay_lambda, 0.5F);
  EXPECT_EQ(default_device->name, "CPU:double");
  EXPECT_EQ(params::random_seed(), 11U);
  EXPECT_EQ((*rndeng)(), std::mt19937(11)());
  EXPECT_EQ(params::settings().lstm.load(), params::LstmKind::kVanilla);
  EXPECT_EQ(params::settings().memory_cap_bytes.load(), std::size_t{3} << 20);
  EXPECT_EQ(params::settings().first_value_bytes.load(), std::size_t{2} << 20);
  EXPECT_EQ(params::settings().first_gradient_bytes.load(), std::size_t{1} << 20);
  EXPECT_EQ(ParameterCollection().get_weight_decay_lambda(), 0.5F);
  std::string said;
  set_log_sink([&](const std::string& text) { said = text; });
  DynetParams again;
  again.random_seed = 12;
  initialize(again);
  EXPECT_EQ(params::random_seed(), 11U);
  EXPECT_NE(said.find("already"), std::string::npos);
}

TEST_F(InitTest, ALogSinkMayUseTheLibrary) {
  std::string said;
  set_log_sink([&](const std::string& text) {
    said += text + '\n';
    if (text.find("random seed") != std::string::npos) {
      DynetParams again;
      initialize(again);
    }
  });
  DynetParams p;
  p.random_seed = 11;
  initialize(p);
  EXPECT_NE(said.find("random seed: 11"), std::string::npos) << said;
  EXPECT_NE(said.find("already"), std::string::npos) << said;
}

TEST_F(InitTest, MemoryGivesTheFirstSizes) {
  const auto sizes = [](const std::string& text) {
    DynetParams p;
    p.mem_descriptor = text;
    initialize(p);
    const std::vector<std::size_t> bytes{params::settings().first_value_bytes,
                                         params::settings().first_gradient_bytes};
    cleanup();
    return bytes;
  };
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  EXPECT_EQ(sizes(""), (std::vector<std::size_t>{0, 0}));
  EXPECT_EQ(sizes("512"), (std::vector<std::size_t>{128 * kMebi, 128 * kMebi}));
  EXPECT_EQ(sizes("3,5,7,9"), (std::vector<std::size_t>{3 * kMebi, 5 * kMebi}));
  EXPECT_EQ(params::settings().first_value_bytes, 0U);
}

TEST_F(InitTest, ParametersAreSharedWhereThatWasAsked) {
  const auto is_shared = [](params::Reach reach) {
    return params::Buffer(*default_device, 4, "test", reach).is_shared();
  };
  EXPECT_FALSE(is_shared(params::Reach::kWorkers));
  DynetParams p;
  p.shared_parameters = true;
  initialize(p);
  EXPECT_TRUE(is_shared(params::Reach::kWorkers));
  EXPECT_FALSE(is_shared(params::Reach::kProcess));
  cleanup();
  EXPECT_FALSE(is_shared(params::Reach::kWorkers));
  EXPECT_TRUE(parsed({"--dynet-shared-parameters", "1"}).shared_parameters);
  EXPECT_FALSE(parsed({"--dynet-shared_parameters=0"}).shared_parameters);
  EXPECT_THROW(parsed({"--dynet-shared-parameters=yes"}), errors::ValueError);
}

TEST_F(InitTest, FieldsThatAskForGpus) {
  const auto refused = [](const std::function<void(DynetParams&)>& change) {
    DynetParams p;
    change(p);
    return testing::text_of_error<errors::ValueError>([&] { initialize(p); });
  };
  const std::string reason = ": this build of DyNet has no CUDA; install dynet-cuda13";
  EXPECT_EQ(refused([](DynetParams& p) { p.requested_gpus = 1; }), "--dynet-gpus 1" + reason);
  EXPECT_EQ(refused([](DynetParams& p) { p.gpu_mask = {0, 1}; }), "GPU:1" + reason);
  EXPECT_EQ(refused([](DynetParams& p) { p.device = "GPU:7"; }), "GPU:7" + reason);
  EXPECT_EQ(refused([](DynetParams& p) { p.ngpus_requested = true; }),
            "ngpus_requested: requested_gpus is -1; want the number of GPUs");
  EXPECT_EQ(refused([](DynetParams& p) { p.gpu_mask = {0, 2}; }),
            "gpu_mask: entry 1 is 2; want 0 or 1");
  EXPECT_EQ(refused([](DynetParams& p) { p.gpu_mask.resize(257); }),
            "gpu_mask: there are 257 entries; want at most 256");
  EXPECT_EQ(refused([](DynetParams& p) {
              p.gpu_mask = {0, 1};
              p.requested_gpus = 2;
            }),
            "requested_gpus is 2, and GPU:1 is asked for; want GPUs by count or by number");
  EXPECT_EQ(refused([](DynetParams& p) {
              p.gpu_mask = {1};
              p.shared_parameters = true;
            }),
            "GPU:0: --dynet-shared-parameters is 1; want a CPU, because processes cannot share the "
            "memory of a GPU");
  DynetParams none;
  none.gpu_mask = {0, 0};
  none.requested_gpus = 0;
  EXPECT_NO_THROW(initialize(none));
}

TEST_F(InitTest, ASeedOfZeroIsDrawnAndToldBack) {
  DynetParams p;
  initialize(p);
  EXPECT_NE(p.random_seed, 0U);
  EXPECT_EQ(params::random_seed(), p.random_seed);
}

TEST_F(InitTest, BadParametersChangeNothing) {
  DynetParams p;
  p.weight_decay = 1.5F;
  p.autobatch = 0;
  EXPECT_THROW(initialize(p), std::invalid_argument);
  EXPECT_EQ(autobatch_flag, 1);
  p.weight_decay = 0.0F;
  p.device = "GPU:0";
  EXPECT_THROW(initialize(p), std::invalid_argument);
  p.device = "CPU";
  EXPECT_NO_THROW(initialize(p));
  EXPECT_EQ(autobatch_flag, 0);
}

TEST_F(InitTest, SeedingRestartsTheStreams) {
  reset_rng(5);
  EXPECT_EQ(params::next_random_stream(), 0U);
  EXPECT_EQ(params::next_random_stream(), 1U);
  const auto first = (*rndeng)();
  reset_rng(5);
  EXPECT_EQ(params::next_random_stream(), 0U);
  EXPECT_EQ((*rndeng)(), first);
}

TEST_F(InitTest, Precision) {
  EXPECT_EQ(get_float32_matmul_precision(), "highest");
  set_float32_matmul_precision("highest");
  for (const char* word : {"high", "medium"}) {
    try {
      set_float32_matmul_precision(word);
      FAIL() << word << " was taken, and changes nothing";
    } catch (const errors::ValueError& e) {
      EXPECT_NE(std::string(e.what()).find("would change nothing"), std::string::npos) << e.what();
    }
  }
  EXPECT_THROW(set_float32_matmul_precision("full"), errors::ValueError);
  EXPECT_EQ(get_float32_matmul_precision(), "highest");
}

TEST_F(InitTest, IsSilent) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  DynetParams p;
  initialize(p);
  Model model;
  model.project_weights();
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace dynet
