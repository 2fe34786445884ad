// The far device itself: the host cannot touch its memory, and it works late but in order. Then
// what is on it without a graph: parameters, tools, initialisers.

#include "support/far_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <vector>

#include "dynet/ext/kernels.h"
#include "dynet/ext/memory.h"
#include "dynet/model.h"

#include "params/buffer.h"

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
  LookupParameter table =
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

}  // namespace
}  // namespace dynet::testing
