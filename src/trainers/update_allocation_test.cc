// An update that is like the ones before it takes no memory from the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "dynet/training.h"

namespace {
std::size_t allocations = 0;
}  // namespace

// Not inlined: the compiler takes a visible malloc for a mismatch with delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  void* p = std::malloc(bytes);
  if (p == nullptr) {
    throw std::bad_alloc();
  }
  return p;
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }

namespace dynet {
namespace {

template <class T>
void tenth_update_allocates_nothing(float lambda, LookupUpdates how = LookupUpdates::kSparse) {
  ParameterCollection model(lambda);
  Parameter p = model.add_parameters({8, 8});
  LookupParameter l = model.add_lookup_parameters(20, {8});
  T trainer(model);
  trainer.set_lookup_updates(how);
  std::vector<float> g(64, 1.0F);
  const Tensor whole({8, 8}, g.data(), nullptr, DeviceMempool::NONE);
  const Tensor row({8}, g.data(), nullptr, DeviceMempool::NONE);
  for (int i = 0; i < 10; ++i) {
    const std::size_t before = allocations;
    p.p->accumulate_grad(whole);
    for (unsigned r = 0; r < 20; r += 3) {
      l.p->accumulate_grad(r, row);
    }
    trainer.update();
    if (i == 0) {
      EXPECT_GT(allocations, before);
    }  // the counter counts
    if (i == 9) {
      EXPECT_EQ(allocations, before);
    }
  }
}

TEST(Allocation, UpdatesInTheSteadyState) {
  tenth_update_allocates_nothing<SimpleSGDTrainer>(0.0F);
  tenth_update_allocates_nothing<AdamTrainer>(0.0F);
  tenth_update_allocates_nothing<AdamTrainer>(0.3F);
  tenth_update_allocates_nothing<MomentumSGDTrainer>(0.0F);
  tenth_update_allocates_nothing<AmsgradTrainer>(0.0F);
  tenth_update_allocates_nothing<AdamTrainer>(0.3F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<AmsgradTrainer>(0.0F, LookupUpdates::kExact);
}

}  // namespace
}  // namespace dynet
