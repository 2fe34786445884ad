// GPUs of a library that is opened at run time (support/gpu_library.cc), as options ask for them.
// Each case has a process of its own, because a process opens one library, once.

#include "dynet/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/model.h"
#include "dynet/training.h"

#include "cuda/reasons.h"
#include "support/child.h"
#include "testing/errors.h"

namespace dynet {
namespace {

using Words = std::vector<std::string>;

/// The text that `work` returns in a process of its own; the machine is one of gpu_library.cc.
std::string on_machine(const std::string& machine, const std::function<std::string()>& work) {
  return testing::in_child([&] {
    setenv("DYNET_GPU_LIBRARY", DYNET_TEST_GPU_LIBRARY, 1);
    setenv("DYNET_TEST_MACHINE", machine.c_str(), 1);
    cleanup();  // of the start by main(), and of the far devices
    return work();
  });
}

DynetParams parsed(Words words) {
  words.insert(words.begin(), "program");
  std::vector<char*> pointers;
  for (std::string& word : words) {
    pointers.push_back(word.data());
  }
  int argc = static_cast<int>(pointers.size());
  pointers.push_back(nullptr);
  char** argv = pointers.data();
  return extract_dynet_params(argc, argv);
}

/// "GPU:1 GPU:0 CPU": the default device, and then the devices in their order.
std::string devices() {
  std::string text = default_device->name + ":";
  for (const Device* device : get_device_manager()->get_devices()) {
    text += " " + device->name;
  }
  return text;
}

std::string started(const Words& words) {
  DynetParams p = parsed(words);
  initialize(p);
  return devices();
}

/// The text of the error; everything is as before then.
std::string refused(const Words& words) {
  const std::string text =
      testing::text_of_error<errors::DeviceError>([&] { static_cast<void>(started(words)); });
  EXPECT_EQ(devices(), "CPU: CPU");
  return started({}) == "CPU: CPU" ? text : "the devices have changed";
}

bool is_mapped(const std::string& name) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find(name) != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// Two updates of a small network on the default device; its values after them.
std::vector<float> trained() {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 3}, ParameterInitConst(0.25F));
  SimpleSGDTrainer trainer(model, 0.5F);
  for (int i = 0; i < 2; ++i) {
    ComputationGraph cg;
    const Expression x = input(cg, {3}, {1.0F, -2.0F, 0.5F});
    const Expression loss = squared_norm(tanh(parameter(cg, w) * x));
    cg.backward(loss);
    trainer.update();
  }
  return as_vector(*w.values());
}

TEST(Gpus, AreDevicesInFrontOfTheCpu) {
  EXPECT_EQ(on_machine("two", [] { return started({"--dynet-devices", "CPU,GPU:1,GPU:0"}); }),
            "GPU:0: GPU:0 GPU:1 CPU");
  EXPECT_EQ(on_machine("two", [] { return started({"--dynet-devices=GPU:1"}); }),
            "GPU:1: GPU:1 CPU");
  EXPECT_EQ(on_machine("two", [] { return started({"--dynet-devices=CPU:double,GPU:1"}); }),
            "GPU:1: GPU:1 CPU");
  EXPECT_EQ(on_machine("two", [] { return started({"--dynet-gpus=2"}); }),
            "GPU:0: GPU:0 GPU:1 CPU");
  EXPECT_EQ(on_machine("two",
                       [] {
                         started({"--dynet-devices=GPU:1"});
                         const Device& gpu = *default_device;
                         return std::to_string(gpu.device_id) +
                                (gpu.type == DeviceType::GPU ? " GPU" : " CPU") +
                                (gpu.is_host_visible() ? " visible" : " hidden");
                       }),
            "1 GPU hidden");
}

TEST(Gpus, TheOnesWithTheMostFreeMemory) {
  EXPECT_EQ(on_machine("two", [] { return started({"--dynet-gpus=1"}); }), "GPU:1: GPU:1 CPU");
  EXPECT_EQ(on_machine("three", [] { return started({"--dynet-gpus=1"}); }), "GPU:2: GPU:2 CPU");
  EXPECT_EQ(on_machine("three", [] { return started({"--dynet-gpus=2"}); }),
            "GPU:0: GPU:0 GPU:2 CPU");
}

TEST(Gpus, AreAskedForByFields) {
  EXPECT_EQ(on_machine("two",
                       [] {
                         DynetParams p;
                         p.gpu_mask = {0, 1};
                         initialize(p);
                         return devices();
                       }),
            "GPU:1: GPU:1 CPU");
  EXPECT_EQ(on_machine("two",
                       [] {
                         DynetParams p;
                         p.gpu_mask = {1, 1};
                         p.device = "GPU:1";
                         initialize(p);
                         return devices();
                       }),
            "GPU:1: GPU:0 GPU:1 CPU");
  EXPECT_EQ(on_machine("two",
                       [] {
                         DynetParams p;
                         p.ngpus_requested = true;
                         p.requested_gpus = 2;
                         initialize(p);
                         return devices();
                       }),
            "GPU:0: GPU:0 GPU:1 CPU");
}

TEST(Gpus, Train) {
  const auto text = [](const std::vector<float>& numbers) {
    std::string all;
    for (const float number : numbers) {
      all += std::to_string(number) + " ";
    }
    return all;
  };
  const auto train_on = [&](const Words& words) {
    return on_machine("two", [&] {
      const std::string where = started(words);
      return where + " " + text(trained());
    });
  };
  const std::string cpu = train_on({});
  const std::string gpu = train_on({"--dynet-devices=GPU:0"});
  EXPECT_EQ(cpu.substr(0, 9), "CPU: CPU ");
  EXPECT_EQ(gpu, "GPU:0: GPU:0 CPU " + cpu.substr(9));
}

TEST(Gpus, TheLogNamesThem) {
  EXPECT_EQ(on_machine("two",
                       [] {
                         std::string log;
                         set_log_sink([&](const std::string& line) { log += line + "\n"; });
                         started({"--dynet-gpus=2", "--dynet-seed=7"});
                         return log;
                       }),
            "initializing CUDA\nGPU:0: Test GPU, 2048 MiB\nGPU:1: Test GPU, 4096 MiB\n"
            "random seed: 7\n");
}

TEST(Gpus, ComeBackAfterCleanup) {
  EXPECT_EQ(on_machine("two",
                       [] {
                         started({"--dynet-devices=GPU:1"});
                         const Device* const before = default_device;
                         cleanup();
                         const std::string between = devices();
                         const std::string after = started({"--dynet-devices=GPU:1"});
                         return between + ", " + after +
                                (before == default_device ? ", the same" : "");
                       }),
            "CPU: CPU, GPU:1: GPU:1 CPU, the same");
}

TEST(Gpus, NoLibraryIsOpenedUnlessOneIsNamed) {
  const auto opened_by = [](const Words& words) {
    return on_machine("two", [&] {
      started(words);
      return std::string(is_mapped("dynet_test_gpus") ? "opened" : "left alone");
    });
  };
  EXPECT_EQ(opened_by({"--dynet-seed=3"}), "left alone");
  EXPECT_EQ(opened_by({"--dynet-devices=CPU", "--dynet-mem=64"}), "left alone");
  EXPECT_EQ(opened_by({"--dynet-gpus=0"}), "left alone");
  EXPECT_EQ(opened_by({"--dynet-devices=GPU:0"}), "opened");
}

// ---- texts of errors

TEST(GpuErrors, NoDriver) {
  EXPECT_EQ(on_machine("no driver", [] { return refused({"--dynet-devices=GPU:0"}); }),
            "GPU:0: the NVIDIA driver is not loaded (cudaErrorInsufficientDriver, code 35)");
  EXPECT_EQ(on_machine("stub driver", [] { return refused({"--dynet-gpus=2"}); }),
            "--dynet-gpus 2: the NVIDIA driver is not loaded (cudaErrorStubLibrary, code 34)");
}

TEST(GpuErrors, AnOldDriver) {
  EXPECT_EQ(
      on_machine("old driver", [] { return refused({"--dynet-devices=GPU:0"}); }),
      "GPU:0: the NVIDIA driver is too old (cudaErrorInsufficientDriver, code 35): it supports "
      "CUDA 12.2; want CUDA 13.0 or later");
}

TEST(GpuErrors, AnotherErrorOfTheRuntime) {
  EXPECT_EQ(on_machine("broken", [] { return refused({"--dynet-devices=GPU:0"}); }),
            "GPU:0: CUDA does not start (cudaErrorUnknown, code 999)");
}

TEST(GpuErrors, NumbersOutOfRange) {
  EXPECT_EQ(on_machine("two", [] { return refused({"--dynet-devices=GPU:3"}); }),
            "GPU:3: there are 2 GPUs");
  EXPECT_EQ(on_machine("two", [] { return refused({"--dynet-devices=GPU:0,GPU:2"}); }),
            "GPU:2: there are 2 GPUs");
  EXPECT_EQ(on_machine("two", [] { return refused({"--dynet-gpus=3"}); }),
            "--dynet-gpus 3: there are 2 GPUs");
  EXPECT_EQ(on_machine("none", [] { return refused({"--dynet-devices=GPU:0"}); }),
            "GPU:0: there are 0 GPUs");
  EXPECT_EQ(on_machine("no device", [] { return refused({"--dynet-gpus=1"}); }),
            "--dynet-gpus 1: CUDA sees no GPU (cudaErrorNoDevice, code 100)");
}

TEST(GpuErrors, ADeviceThatDoesNotStart) {
  EXPECT_EQ(on_machine("does not start",
                       [] {
                         const std::string text = testing::text_of_error<cuda_exception>(
                             [] { started({"--dynet-gpus=2"}); });
                         return text + "; " + started({});
                       }),
            "GPU:0: cudaStreamCreate: out of streams; CPU: CPU");
}

TEST(GpuErrors, AnArchitectureWithoutCode) {
  const std::string reason =
      "GPU:1 (Old GPU): this build of DyNet has no code for compute capability 6.1";
  EXPECT_EQ(on_machine("three", [] { return refused({"--dynet-devices=GPU:0,GPU:1"}); }), reason);
  EXPECT_EQ(on_machine("three", [] { return refused({"--dynet-gpus=3"}); }), reason);
}

TEST(GpuErrors, WhichArchitecturesHaveCode) {
  const auto has = [](const char* built, int major, int minor) {
    return cuda::has_code_for(built, major, minor);
  };
  EXPECT_TRUE(has("80-real", 8, 0));
  EXPECT_TRUE(has("80-real", 8, 6));
  EXPECT_FALSE(has("80-real", 7, 5));
  EXPECT_FALSE(has("80-real", 9, 0));
  EXPECT_FALSE(has("86-real", 8, 0));
  EXPECT_TRUE(has("80", 9, 0));
  EXPECT_TRUE(has("75-real,80-virtual", 12, 0));
  EXPECT_FALSE(has("75-real,80-virtual", 6, 1));
  EXPECT_TRUE(has("120-virtual", 12, 0));
  EXPECT_FALSE(has("120-virtual", 10, 3));
  EXPECT_TRUE(has("90a", 9, 0));
  EXPECT_FALSE(has("90a", 10, 0));
  EXPECT_TRUE(has("75-real,100-real", 10, 3));
  EXPECT_TRUE(has("all-major", 5, 0));
  EXPECT_FALSE(has("", 9, 0));
}

TEST(GpuErrors, ALibraryOfAnotherRelease) {
  const std::string library = std::string("GPU:0: ") + DYNET_TEST_GPU_LIBRARY;
  EXPECT_EQ(on_machine("other release", [] { return refused({"--dynet-devices=GPU:0"}); }),
            library + " is of release 2.9.0 abcdefgh; want " DYNET_PLUGIN_RELEASE
                      ", the release of this library");
  EXPECT_EQ(on_machine("other layout", [] { return refused({"--dynet-devices=GPU:0"}); }),
            library + " has a table of layout 99; want 1, of the same release as this library");
}

/// With another text in DYNET_GPU_LIBRARY.
std::string with_library(const std::string& path, const std::function<std::string()>& work) {
  return on_machine("two", [&] {
    setenv("DYNET_GPU_LIBRARY", path.c_str(), 1);
    return work();
  });
}

TEST(GpuErrors, NoLibrary) {
  if (!gpu_library().empty()) {
    GTEST_SKIP() << "there is one: " << gpu_library();
  }
  for (const auto& [words, subject] : std::vector<std::pair<Words, std::string>>{
           {{"--dynet-devices=GPU:0"}, "GPU:0"}, {{"--dynet-gpus", "2"}, "--dynet-gpus 2"}}) {
    EXPECT_EQ(
        with_library("",
                     [&, &asked = words] {
                       return testing::text_of_error<errors::ValueError>([&] { parsed(asked); });
                     }),
        subject + ": this build of DyNet has no CUDA; install dynet-cuda13");
  }
  EXPECT_EQ(
      with_library("",
                   [] {
                     DynetParams p;
                     p.gpu_mask = {0, 0, 1};
                     return testing::text_of_error<errors::ValueError>([&] { initialize(p); });
                   }),
      "GPU:2: this build of DyNet has no CUDA; install dynet-cuda13");
  EXPECT_EQ(with_library("", [] { return gpu_library(); }), "");
}

TEST(GpuErrors, AFileThatIsNoLibraryOfGpus) {
  EXPECT_EQ(with_library("libdynet_cuda.so",
                         [] {
                           return testing::text_of_error<errors::ValueError>(
                               [] { started({"--dynet-devices=GPU:0"}); });
                         }),
            "DYNET_GPU_LIBRARY: the value is 'libdynet_cuda.so'; want an absolute path");
  const std::string missing =
      with_library("/nowhere/libdynet_cuda.so", [] { return refused({"--dynet-devices=GPU:0"}); });
  EXPECT_TRUE(
      missing.starts_with("GPU:0: the library of GPUs does not load: /nowhere/libdynet_cuda.so: "))
      << missing;
  EXPECT_TRUE(missing.ends_with("; want a library of release " DYNET_PLUGIN_RELEASE)) << missing;
  EXPECT_EQ(with_library(DYNET_LIBRARY, [] { return refused({"--dynet-devices=GPU:0"}); }),
            "GPU:0: " DYNET_LIBRARY " has no function dynet_cuda_devices; want a library of GPUs");
}

TEST(GpuErrors, SharedParameters) {
  EXPECT_EQ(on_machine("two",
                       [] {
                         return testing::text_of_error<errors::ValueError>([] {
                           parsed({"--dynet-devices=GPU:0", "--dynet-shared-parameters=1"});
                         });
                       }),
            "GPU:0: --dynet-shared-parameters is 1; want a CPU, because processes cannot share the "
            "memory of a GPU");
}

TEST(GpuErrors, AChildOfAProcessWithAGpu) {
  EXPECT_EQ(
      on_machine("two",
                 [] {
                   started({"--dynet-devices=GPU:0"});
                   return on_machine("two", [] {
                     cleanup();
                     return testing::text_of_error<errors::DeviceError>(
                         [] { started({"--dynet-devices=GPU:0"}); });
                   });
                 }),
      "GPU:0 was opened by the parent process; start workers before the first use of a GPU, or "
      "give them devices of their own");
}

TEST(GpuErrors, AGpuThatNobodyAskedFor) {
  EXPECT_EQ(
      testing::text_of_error<errors::DeviceError>(
          [] { static_cast<void>(get_device_manager()->get_global_device("GPU:7")); }),
      "Invalid device name: GPU:7; GPUs are asked for at the start, as --dynet-devices GPU:7");
}

}  // namespace
}  // namespace dynet
