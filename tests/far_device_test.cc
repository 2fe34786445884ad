// The far device itself: the host cannot touch its memory, and it works late but in order. Then its
// objects without a graph: parameters, tools, initialisers. Last, the number of times that a graph
// and a trainer make the host wait or copy.

#include "support/far_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <sstream>
#include <vector>

#include "dynet/expr.h"
#include "dynet/ext/add_node.h"
#include "dynet/ext/kernels.h"
#include "dynet/ext/memory.h"
#include "dynet/inference.h"
#include "dynet/model.h"
#include "dynet/training.h"

#include "params/buffer.h"
#include "testing/device.h"
#include "testing/tolerance.h"

namespace dynet::testing {
namespace {

using Floats = std::vector<float>;

Device& far(const char* name = "FAR:0") { return *get_device_manager()->get_global_device(name); }

TEST(FarDevice, TheHostCannotTouchItsMemory) {
  const params::Buffer buffer(far(), 4, "test");
  auto* numbers = reinterpret_cast<volatile float*>(buffer.data());
  EXPECT_DEATH(numbers[0] = 1.0F, "");
  EXPECT_DEATH(static_cast<void>(numbers[0]), "");
  EXPECT_FALSE(far().is_host_visible());
}

TEST(FarDevice, KernelsRefuseMemoryOfTheHost) {
  Floats host(4);
  EXPECT_DEATH(far().kernels->fill(host.data(), 1.0, 4), "not the device's memory");
  const params::Buffer buffer(far("FAR:1"), 4, "test");
  EXPECT_DEATH(far().kernels->fill(buffer.data(), 1.0, 4), "not the device's memory");
}

TEST(FarDevice, WorksLateAndInOrder) {
  const params::Buffer buffer(far(), 3, "test");
  far().memory->wait();
  Floats host{1, 2, 3};
  far().memory->copy_in(host.data(), buffer.data(), 12);
  far().kernels->add_scaled(2.0, buffer.data(), buffer.data(), 3, true);
  host = {0, 0, 0};  // was read
  EXPECT_EQ(far_queue_length(far()), 2U);
  far().memory->copy_out(buffer.data(), host.data(), 12);
  EXPECT_EQ(far_queue_length(far()), 0U);
  EXPECT_EQ(host, (Floats{2, 4, 6}));
}

TEST(FarDevice, FreedMemoryIsUsedAnewWhenTheQueueIsThrough) {
  ext::Memory& memory = *far().memory;
  void* first = memory.allocate(64, ext::Contents::kAny);
  far().kernels->fill(first, 7.0, 16);
  memory.free(first, 64);
  void* second = memory.allocate(64, ext::Contents::kZeros);
  EXPECT_NE(second, first);
  Floats host(16, 1.0F);
  memory.copy_out(second, host.data(), 64);
  EXPECT_EQ(host, Floats(16, 0.0F));
  void* third = memory.allocate(64, ext::Contents::kAny);
  EXPECT_EQ(third, first);
  memory.copy_out(third, host.data(), 64);
  EXPECT_TRUE(std::isnan(host[0]));
  memory.free(second, 64);
  memory.free(third, 64);
}

TEST(FarDevice, CopiesBetweenDevices) {
  const params::Buffer here(far(), 3, "test");
  const params::Buffer there(far("FAR:1"), 3, "test");
  far().kernels->fill(here.data(), 5.0, 3);
  far().memory->copy_to(here.data(), *far("FAR:1").memory, there.data(), 12);
  Floats host(3);
  far("FAR:1").memory->copy_out(there.data(), host.data(), 12);
  EXPECT_EQ(host, (Floats{5, 5, 5}));
}

TEST(FarDevice, ParametersAreReadAndWrittenThroughTheirDevice) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2, 2}, ParameterInitFromVector({1, 2, 3, 4}), "", &far());
  const LookupParameter table =
      model.add_lookup_parameters(3, {2}, ParameterInitConst(0.5F), "", &far("FAR:0:double"));
  EXPECT_EQ(as_vector(*p.values()), (Floats{1, 2, 3, 4}));
  p.scale(2.0F);
  p.clip_inplace(3.0F, 7.0F);
  EXPECT_EQ(as_vector(*p.values()), (Floats{3, 4, 6, 7}));
  table.initialize(1, {8, 9});
  EXPECT_EQ(as_vector(table.get_storage().all_values), (Floats{0.5, 0.5, 8, 9, 0.5, 0.5}));

  Floats ones(4, 1.0F);
  const Tensor on_host({2, 2}, ones.data(), nullptr, DeviceMempool::NONE);
  p.get_storage().accumulate_grad(on_host);
  p.get_storage().accumulate_grad(p.get_storage().values);
  EXPECT_EQ(as_vector(*p.gradients()), (Floats{4, 5, 7, 8}));
  EXPECT_EQ(model.gradient_l2_norm(), std::sqrt(16.0F + 25.0F + 49.0F + 64.0F));
  float norm = 0.0F;
  p.get_storage().squared_l2norm(&norm);
  EXPECT_EQ(norm, 9.0F + 16.0F + 36.0F + 49.0F);
  model.reset_gradient();
  EXPECT_EQ(as_vector(*p.gradients()), Floats(4, 0.0F));
  std::ostringstream os;
  os << *p.values();
  EXPECT_EQ(os.str(), "3 6\n4 7");
}

/// Graphs and trainers on the far device, whatever the tests run on.
class FarGraph : public ::testing::Test {
 private:
  testing::DefaultDevice scope_{&far()};
};

/// However many parameters there are, and rows of tables.
TEST_F(FarGraph, ClippingWaitsOncePerUpdate) {
  ParameterCollection model;
  std::vector<Parameter> ps;
  ps.reserve(6);
  for (unsigned i = 0; i < 6; ++i) {
    ps.push_back(model.add_parameters({i + 1}, ParameterInitConst(1.0F)));
  }
  LookupParameter table = model.add_lookup_parameters(5, {2}, ParameterInitConst(1.0F));
  SimpleSGDTrainer trainer(model, 1.0F);
  trainer.clip_threshold = 0.5F;
  const auto add_gradients = [&] {
    Floats g(6, 2.0F);
    for (const Parameter& p : ps) {
      p.p->accumulate_grad(Tensor(p.dim(), g.data(), nullptr, DeviceMempool::NONE));
    }
    for (const unsigned row : {1U, 4U}) {
      table.p->accumulate_grad(row, Tensor({2}, g.data(), nullptr, DeviceMempool::NONE));
    }
  };
  add_gradients();
  EXPECT_NEAR(model.gradient_l2_norm(), std::sqrt(25.0F * 4.0F), tolerance::kSumsInFloat);
  const std::size_t waits = far_counts(far()).waits;
  trainer.update();
  EXPECT_EQ(far_counts(far()).waits, waits + 1);
  EXPECT_NEAR(as_vector(*ps[2].values())[0], 1.0F - 2.0F * 0.05F, tolerance::kFewInFloat);
  EXPECT_NEAR(as_vector((*table.values())[4])[1], 1.0F - 2.0F * 0.05F, tolerance::kFewInFloat);
  EXPECT_EQ(as_vector((*table.values())[0])[1], 1.0F);
}

/// Input values of several shapes, indices and numbers: one copy, in a scope as outside.
TEST_F(FarGraph, PayloadGoesThereInOneCopy) {
  for (const bool in_scope : {false, true}) {
    ComputationGraph cg;
    const unsigned row = 1;
    const Expression x = input(cg, {3}, Floats{1, 2, 3}) + input(cg, {3}, Floats{3, 4, 5});
    const Expression y = input(cg, Dim({2}, 2), Floats{1, 2, 3, 4});
    const Expression z = pick(x, row) + sum_batches(y) * 0.5F;
    std::unique_ptr<InferenceScope> scope;
    if (in_scope) {
      scope = std::make_unique<InferenceScope>();
    }
    const std::size_t copies = far_counts(far()).copies_in;
    EXPECT_EQ(as_vector(z.value()), (Floats{8, 9}));
    EXPECT_EQ(far_counts(far()).copies_in, copies + 1);
  }
}

/// x * y on the host; adds its gradients.
struct TimesOnHost {
  static constexpr bool kOnHost = true;
  static constexpr bool kPartialGradient = true;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices};
  static constexpr ext::Info kInfo{.name = "times_on_host", .args = {"x", "y"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  std::array<Dim, 1> saved(const ext::Shapes& /*in*/) const { return {Dim({1})}; }
  void forward(ext::Call& c) const {
    auto* const scratch = c.scratch<float>(4 * c.out[0].size());
    for (std::int64_t e = 0; e < c.examples; ++e) {
      for (std::int64_t i = 0; i < c.out[0].size(); ++i) {
        scratch[i] = c.in[0].example<float>(e)[i] * c.in[1].example<float>(e)[i];
        c.out[0].example<float>(e)[i] = scratch[i];
      }
      *c.saved[0].example<unsigned>(e) = 7;
    }
  }
  void backward(ext::Call& c) const {
    for (std::int64_t e = 0; e < c.examples; ++e) {
      EXPECT_EQ(*c.saved[0].example<unsigned>(e), 7U);
      for (const std::size_t a : {std::size_t{0}, std::size_t{1}}) {
        if (!c.d_in[a].absent()) {
          for (std::int64_t i = 0; i < c.out[0].size(); ++i) {
            c.d_in[a].example<float>(e)[i] +=
                c.d_out[0].example<float>(e)[i] * c.in[1 - a].example<float>(e)[i];
          }
        }
      }
    }
  }
  static std::vector<ext::Example<TimesOnHost>> examples() { return {{{}, {{3}, {3}}}}; }
};

Expression times_on_host(const Expression& x, const Expression& y) {
  return ext::add_node(TimesOnHost(), x, y);
}

/// Its operands overlap in part: two nodes that lie side by side are the first arguments of two
/// members, and in the other order the second ones.
TEST_F(FarGraph, CopiesForTheHostOverlapAsTheirOperandsDo) {
  for (const bool batching : {false, true}) {
    ParameterCollection model;
    const Parameter p = model.add_parameters({3}, ParameterInitFromVector({1, 2, 3}));
    const Parameter q = model.add_parameters({3}, ParameterInitFromVector({3, -1, 0}));
    ComputationGraph cg(batching);
    const Expression x = tanh(parameter(cg, p));
    const Expression y = tanh(parameter(cg, q));
    cg.backward(sum_elems(times_on_host(x, y) + times_on_host(y, x) * 2.0F));
    const Floats dp = as_vector(p.get_storage().g);
    const Floats dq = as_vector(q.get_storage().g);
    for (std::size_t i = 0; i < 3; ++i) {
      const float s = std::tanh(Floats{1, 2, 3}[i]);
      const float t = std::tanh(Floats{3, -1, 0}[i]);
      EXPECT_NEAR(dp[i], 3 * t * (1 - s * s), tolerance::kSumsInFloat);
      EXPECT_NEAR(dq[i], 3 * s * (1 - t * t), tolerance::kSumsInFloat);
    }
  }
}

/// A node is both of its arguments, and a member's argument another's too.
TEST_F(FarGraph, AnOperationOnTheHostGetsCopies) {
  for (const bool batching : {false, true}) {
    ParameterCollection model;
    const Parameter p = model.add_parameters({3}, ParameterInitFromVector({1, 2, 3}));
    ComputationGraph cg(batching);
    const Expression x = tanh(parameter(cg, p));
    const Expression y = input(cg, {3}, Floats{2, 0, -1});
    const Expression z = times_on_host(x, x) + times_on_host(x, y) + times_on_host(y, x);
    cg.backward(sum_elems(z));
    const Floats value = as_vector(z.value());
    const Floats gradient = as_vector(p.get_storage().g);
    for (std::size_t i = 0; i < 3; ++i) {
      const float t = std::tanh(static_cast<float>(i + 1));
      const float other = Floats{2, 0, -1}[i];
      EXPECT_NEAR(value[i], t * t + 2 * t * other, tolerance::kSumsInFloat);
      EXPECT_NEAR(gradient[i], (2 * t + 2 * other) * (1 - t * t), tolerance::kSumsInFloat);
    }
  }
}

}  // namespace
}  // namespace dynet::testing
