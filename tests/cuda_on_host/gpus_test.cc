// GPU:0 and GPU:1 as programs ask for them, on the CPU: two memories that do not see each other,
// launches and allocations that fail, a GPU that stops. Each case has a process of its own.

#include "dynet/gpus.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include "dynet/devices.h"
#include "dynet/except.h"
#include "dynet/expr.h"
#include "dynet/ext/memory.h"
#include "dynet/init.h"
#include "dynet/io.h"
#include "dynet/lstm.h"
#include "dynet/training.h"

#include "api/graph_state.h"
#include "support/child.h"
#include "testing/device.h"
#include "testing/errors.h"
#include "testing/temporary_folder.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;
using Settings = std::map<std::string, std::string>;

/// The text that `work` returns on a machine of `settings` (README.md), after a start with
/// `option`.
std::string on_gpus(const Settings& settings, const std::string& option,
                    const std::function<std::string()>& work) {
  return in_child([&] {
    setenv("DYNET_GPU_LIBRARY", DYNET_TEST_GPU_LIBRARY, 0);  // `plant` sets another
    for (const auto& [name, value] : settings) {
      setenv(name.c_str(), value.c_str(), 1);
    }
    cleanup();  // of the start by main(), and of the far devices
    std::string program = "program";
    std::string words = option;
    std::vector<char*> pointers{program.data(), words.data(), nullptr};
    char** argv = pointers.data();
    int argc = 2;
    DynetParams p = extract_dynet_params(argc, argv);
    p.random_seed = 1;
    initialize(p);
    return work();
  });
}

/// A number of the environment, which the emulator reads at each call.
void set(const char* name, long value) { setenv(name, std::to_string(value).c_str(), 1); }

const char* const kOne = "--dynet-devices=GPU:0";
const char* const kTwo = "--dynet-devices=GPU:0,GPU:1";
const Settings kTwoGpus{{"DYNET_CUDA_DEVICES", "2"}};

// ---- errors of a start -------------------------------------------------------------------------

TEST(GpusOnHost, AnArchitectureWithoutCode) {
  EXPECT_EQ(on_gpus({{"DYNET_CUDA_CAPABILITY", "61"}}, kOne, [] { return std::string("started"); }),
            "an error: GPU:0 (a GPU on the host): this build of DyNet has no code for compute "
            "capability 6.1");
}

TEST(GpusOnHost, ANumberOutOfRange) {
  EXPECT_EQ(on_gpus(kTwoGpus, "--dynet-devices=GPU:2", [] { return std::string("started"); }),
            "an error: GPU:2: there are 2 GPUs");
  EXPECT_EQ(on_gpus({}, "--dynet-devices=GPU:1", [] { return std::string("started"); }),
            "an error: GPU:1: there is 1 GPU");
}

// ---- two GPUs ----------------------------------------------------------------------------------

/// A model with a part on each device, and its training.
class Network {
 public:
  Network(Device* first, Device* second) : first_(first), second_(second), trainer_(model_, 0.1F) {
    e_ = model_.add_lookup_parameters(5, {4}, ParameterInitConst(0.3F), "e", first);
    w_ = model_.add_parameters({4, 4}, ParameterInitFromVector(numbers(16)), "w", first);
    v_ = model_.add_parameters({3, 4}, ParameterInitFromVector(numbers(12)), "v", second);
    b_ = model_.add_parameters({3}, ParameterInitConst(0.1F), "b", second);
  }
  Expression loss(ComputationGraph& cg) {
    std::vector<Expression> losses;
    Expression h = zeros(cg, {4}, first_);
    for (unsigned t = 0; t < 4; ++t) {
      h = tanh(parameter(cg, w_) * (h + lookup(cg, e_, t)));
      const Expression there = to_device(h, second_);
      const Expression y = parameter(cg, v_) * there + parameter(cg, b_);
      losses.push_back(pickneglogsoftmax(y, t % 3));
      h = h + to_device(tanh(there), first_);  // and back
    }
    return sum(losses);
  }
  /// The losses of updates, and the parameters after them.
  Floats train(int updates) {
    Floats all;
    for (int k = 0; k < updates; ++k) {
      ComputationGraph cg;
      const Expression l = loss(cg);
      all.push_back(as_scalar(cg.forward(l)));
      cg.backward(l);
      trainer_.update();
    }
    const Floats values = parameters();
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  [[nodiscard]] Floats parameters() {
    Floats all;
    for (const Parameter& p : {w_, v_, b_}) {
      const Floats values = as_vector(*p.values());
      all.insert(all.end(), values.begin(), values.end());
    }
    const Floats rows = as_vector(e_.get_storage().all_values);
    all.insert(all.end(), rows.begin(), rows.end());
    return all;
  }
  ParameterCollection& model() { return model_; }
  void update() { trainer_.update(); }

 private:
  static Floats numbers(int count) {
    Floats all;
    for (int k = 0; k < count; ++k) {
      all.push_back(0.1F * static_cast<float>(k % 7) - 0.25F);
    }
    return all;
  }
  Device* first_;
  Device* second_;
  ParameterCollection model_;
  LookupParameter e_;
  Parameter w_, v_, b_;
  AdamTrainer trainer_;
};

std::string difference(const Floats& found, const Floats& expected) {
  if (found.size() != expected.size()) {
    return std::to_string(found.size()) + " numbers; want " + std::to_string(expected.size());
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    if (!(std::abs(found[k] - expected[k]) <= 1e-5F * std::max(1.0F, std::abs(expected[k])))) {
      return "number " + std::to_string(k) + ": " + std::to_string(found[k]) + "; want " +
             std::to_string(expected[k]);
    }
  }
  return "";
}

TEST(GpusOnHost, AGraphOverTwo) {
  EXPECT_EQ(on_gpus(kTwoGpus, kTwo,
                    [] {
                      Network here(device("CPU"), device("CPU"));
                      Network there(device("GPU:0"), device("GPU:1"));
                      Network back(device("GPU:1"), device("GPU:0"));
                      const Floats expected = here.train(5);
                      return difference(there.train(5), expected) +
                             difference(back.train(5), expected);
                    }),
            "");
}

/// The source of a copy changes later, and is known to have changed before anybody waits for the
/// copy.
TEST(GpusOnHost, ACopyBetweenTwoIsOfItsTime) {
  EXPECT_EQ(on_gpus(kTwoGpus, kTwo,
                    [] {
                      ext::Memory& from = *device("GPU:0")->memory;
                      ext::Memory& to = *device("GPU:1")->memory;
                      Floats numbers{1, 1, 1};
                      const std::size_t bytes = numbers.size() * sizeof(float);
                      void* const source = from.allocate(bytes, ext::Contents::kAny);
                      void* const copy = to.allocate(bytes, ext::Contents::kAny);
                      from.copy_in(numbers.data(), source, bytes);
                      from.copy_to(source, to, copy, bytes);
                      numbers = {2, 2, 2};
                      from.copy_in(numbers.data(), source, bytes);
                      from.wait();
                      to.copy_out(copy, numbers.data(), bytes);
                      return difference(numbers, {1, 1, 1});
                    }),
            "");
}

TEST(GpusOnHost, FilesOfTwo) {
  EXPECT_EQ(on_gpus(kTwoGpus, kTwo,
                    [] {
                      const TemporaryFolder folder;
                      Network trained(device("GPU:0"), device("GPU:1"));
                      trained.train(2);
                      std::string text;
                      for (const char* name : {"model", "model.safetensors"}) {
                        const std::string file = folder.file(name);
                        save_dynet_model(file, &trained.model());
                        for (const char* other : {"GPU:1", "CPU"}) {
                          Network loaded(device(other), device("GPU:0"));
                          load_dynet_model(file, &loaded.model());
                          text += difference(loaded.parameters(), trained.parameters());
                        }
                      }
                      return text;
                    }),
            "");
}

TEST(GpusOnHost, BuildersOnEach) {
  EXPECT_EQ(on_gpus(kTwoGpus, kTwo,
                    [] {
                      Floats expected;
                      std::string text;
                      for (const char* name : {"CPU", "GPU:0", "GPU:1"}) {
                        const DefaultDevice scope(device(name));
                        reset_rng(1);
                        ParameterCollection model;
                        VanillaLSTMBuilder lstm(2, 4, 6, model);
                        ComputationGraph cg;
                        lstm.new_graph(cg);
                        lstm.start_new_sequence();
                        for (int t = 0; t < 3; ++t) {
                          lstm.add_input(constant(cg, {4}, 0.5F));
                        }
                        const Floats found = as_vector(cg.forward(lstm.back()));
                        expected = expected.empty() ? found : expected;
                        text += difference(found, expected);
                      }
                      return text;
                    }),
            "");
}

/// More than the ring of pinned memory holds.
TEST(GpusOnHost, ALargeCopy) {
  EXPECT_EQ(on_gpus({}, kOne,
                    [] {
                      Floats numbers(std::size_t{3} << 20);
                      for (std::size_t k = 0; k < numbers.size(); ++k) {
                        numbers[k] = static_cast<float>(k % 1000003);
                      }
                      ParameterCollection model;
                      const Parameter p = model.add_parameters(
                          {3, 1U << 20}, ParameterInitFromVector(numbers), "p", device("GPU:0"));
                      return difference(as_vector(*p.values()), numbers);
                    }),
            "");
}

// ---- sums of rules -----------------------------------------------------------------------------

/// The loss and gradients of (h + x) * b, with h of {places,terms}, x of {places,terms}x2 and b of
/// {places}: a number of the gradient of b is a sum of 2 * terms, and one of h of 2.
Floats loss_and_gradients(unsigned places, unsigned terms, Device* where) {
  ParameterCollection model;
  const Parameter h = model.add_parameters({places, terms}, ParameterInitConst(0.5F), "h", where);
  const Parameter b = model.add_parameters({places}, ParameterInitConst(0.25F), "b", where);
  Floats numbers(std::size_t{places} * terms * 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = 0.01F * static_cast<float>(i % 17) - 0.05F;
  }
  ComputationGraph cg;
  const Expression x = input(cg, Dim({places, terms}, 2), numbers, where);
  const Expression y = cmult(parameter(cg, h) + x, parameter(cg, b));
  const Expression loss = sum_batches(sum_elems(y));
  Floats found{as_scalar(cg.forward(loss))};
  cg.backward(loss);
  for (const Parameter& p : {b, h}) {
    const Floats gradient = as_vector(*p.gradients());
    found.insert(found.end(), gradient.begin(), gradient.end());
  }
  return found;
}

/// A place of a sum has a thread, a warp or a block (src/cuda/rules.cc), and equal bits each time.
TEST(GpusOnHost, SumsOfAThreadAWarpAndABlock) {
  EXPECT_EQ(on_gpus({}, kOne,
                    [] {
                      std::string text;
                      for (const auto& size : {std::pair{5U, 7U}, {40U, 50U}, {2U, 4100U}}) {
                        const auto on = [&size](const char* name) {
                          return loss_and_gradients(size.first, size.second, device(name));
                        };
                        const Floats found = on("GPU:0");
                        text += difference(found, on("CPU"));
                        text += found == on("GPU:0") ? "" : " other bits";
                      }
                      return text;
                    }),
            "");
}

// ---- what fails --------------------------------------------------------------------------------

/// Losses and gradients of a network, computed call by call. From the n-th on, launches or
/// allocations fail, as the variable `name` says, until a call has thrown an E. That call is
/// repeated. A pass back that failed may
/// have added a part of the gradients, which are emptied.
template <class E>
struct Careful {
  explicit Careful(const char* name) : setting(name) {}
  template <class F>
  void call(const F& f) {
    try {
      f();
    } catch (const E& error) {
      ++failures;
      text = error.what();
      unsetenv(setting);
      f();
    }
  }
  Floats run() {
    Floats all;
    api::drop_resting_states();  // so that memory has to be taken anew
    Network network(device("GPU:0"), device("GPU:0"));
    set(setting, n);
    for (int k = 0; k < 2; ++k) {
      ComputationGraph cg;
      Expression loss;
      call([&] { loss = network.loss(cg); });
      call([&] { all.push_back(as_scalar(cg.forward(loss))); });
      const int before = failures;
      call([&] {
        if (failures != before) {
          network.model().reset_gradient();
        }
        cg.backward(loss);
      });
      call([&] { all.push_back(network.model().gradient_l2_norm()); });
      unsetenv(setting);
      network.update();
    }
    const Floats values = network.parameters();
    all.insert(all.end(), values.begin(), values.end());
    return all;
  }
  const char* setting;
  long n = 0;
  int failures = 0;
  std::string text;
};

template <class E>
std::string sweep(const char* setting, const std::string& words, int least) {
  const Floats expected = Careful<E>(setting).run();
  int all = 0;
  for (long n = 1;; ++n) {
    Careful<E> careful(setting);
    careful.n = n;
    const Floats found = careful.run();
    all += careful.failures;
    if (careful.failures == 0) {
      return all >= least ? "" : "few failures: " + std::to_string(all);
    }
    const std::string wrong = difference(found, expected);
    if (!wrong.empty() || !std::regex_search(careful.text, std::regex(words))) {
      return "call " + std::to_string(n) + ": " + wrong + "\n" + careful.text;
    }
  }
}

TEST(GpusOnHost, ALaunchThatFails) {
  EXPECT_EQ(on_gpus({}, kOne,
                    [] {
                      return sweep<cuda_exception>(
                          "DYNET_CUDA_FAIL_LAUNCH",
                          R"(^GPU:0 failed \(.+: too many resources requested for launch\)$)", 50);
                    }),
            "");
}

TEST(GpusOnHost, AnAllocationThatFails) {
  EXPECT_EQ(
      on_gpus({}, kOne, [] { return sweep<out_of_memory>("DYNET_CUDA_FAIL_MEMORY", "GPU:0", 3); }),
      "");
}

/// A change of a parameter keeps a copy for a graph that computed with the old values. Without
/// memory for the copy the change is made, and the graph says so.
TEST(GpusOnHost, AChangeWithoutMemoryForTheOldValues) {
  EXPECT_EQ(on_gpus({}, kOne,
                    [] {
                      ParameterCollection model;
                      Parameter p = model.add_parameters({1}, ParameterInitConst(3), "w");
                      ComputationGraph cg;
                      const Expression w = parameter(cg, p);
                      const Expression z = w * (w * input(cg, 1.0F));
                      cg.forward(z);
                      api::drop_resting_states();
                      set("DYNET_CUDA_FAIL_MEMORY", 1);
                      p.scale(2);
                      unsetenv("DYNET_CUDA_FAIL_MEMORY");
                      EXPECT_EQ(as_scalar(*p.values()), 6.0F);
                      EXPECT_NE(
                          text_of_error<errors::GraphError>([&] { cg.backward(z); }).find("/w"),
                          std::string::npos);
                      cg.forward(z);
                      cg.backward(z);
                      return difference(as_vector(*p.gradients()), {12});
                    }),
            "");
}

/// A GPU of 64 MB: 20 steps of a network need more, and the error leaves the library usable.
TEST(GpusOnHost, MoreThanThereIs) {
  EXPECT_EQ(on_gpus({{"DYNET_CUDA_MEMORY_MB", "64"}}, kOne,
                    [] {
                      ParameterCollection model;
                      const Parameter w = model.add_parameters({1000, 1000});
                      const auto run = [&](unsigned batch) {
                        ComputationGraph cg;
                        Expression x = constant(cg, Dim({1000}, batch), 0.1F);
                        for (int k = 0; k < 20; ++k) {
                          x = tanh(parameter(cg, w) * x);
                        }
                        const Expression loss = sum_batches(sum_elems(x));
                        cg.forward(loss);
                        cg.backward(loss);
                      };
                      const std::string text = text_of_error<out_of_memory>([&] { run(1000); });
                      run(1);
                      EXPECT_NE(text.find(" of 67108864 bytes are free)"), std::string::npos)
                          << text;
                      EXPECT_NE(text.find(" {1000} of node "), std::string::npos) << text;
                      return text.substr(0, text.find(" ("));
                    }),
            "out of memory: GPU:0 refused 32000000 bytes");
}

TEST(GpusOnHost, AGpuThatStops) {
  const std::string stopped =
      "GPU:0 stopped working (a copy from the device, or the work before it: an illegal memory "
      "access was encountered); restart the process";
  EXPECT_EQ(on_gpus(kTwoGpus, kTwo,
                    [&] {
                      const TemporaryFolder folder;
                      const std::string file = folder.file("model");
                      Network network(device("GPU:0"), device("GPU:0"));
                      Network other(device("GPU:1"), device("CPU"));
                      network.train(1);
                      save_dynet_model(file, &network.model());
                      Network copy(device("CPU"), device("CPU"));
                      load_dynet_model(file, &copy.model());
                      const Floats values = network.parameters();

                      set("DYNET_CUDA_ILLEGAL", 5);
                      const std::string text = text_of_error<cuda_exception>([&] {
                        ComputationGraph cg;
                        static_cast<void>(as_scalar(cg.forward(network.loss(cg))));
                      });
                      unsetenv("DYNET_CUDA_ILLEGAL");
                      EXPECT_EQ(text, stopped);
                      // Each later call says so, and the old file stays.
                      for (const auto& call : std::vector<std::function<void()>>{
                               [&] { static_cast<void>(network.parameters()); },
                               [&] { network.train(1); },
                               [&] { save_dynet_model(file, &network.model()); },
                               [&] {
                                 ComputationGraph cg;
                                 static_cast<void>(ones(cg, {3}, device("GPU:0")).value());
                               }}) {
                        const std::string later = text_of_error<cuda_exception>(call);
                        EXPECT_EQ(later.find("GPU:0 stopped working ("), 0U) << later;
                        EXPECT_NE(later.find("); restart the process"), std::string::npos) << later;
                      }
                      // The CPU and the other GPU go on, and a copy of the values can be saved.
                      Network again(device("CPU"), device("CPU"));
                      load_dynet_model(file, &again.model());
                      const std::string second = folder.file("second");
                      save_dynet_model(second, &copy.model());
                      load_dynet_model(second, &again.model());
                      other.train(1);
                      copy.train(1);
                      return difference(again.parameters(), values);
                    }),
            "");
}

}  // namespace
}  // namespace dynet::testing
