// A repeated update takes no memory from the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <new>
#include <vector>

#include "dynet/schedules.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/training.h"

namespace {
std::size_t allocations = 0;
std::size_t fails_at = 0;  ///< number of the allocation that fails; 0: none
}  // namespace

// Not inlined: the compiler takes a visible malloc for a mismatch with delete.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  ++allocations;
  void* p = allocations == fails_at ? nullptr : std::malloc(bytes);
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
  Parameter p = model.add_parameters({8, 8}, ParameterInitUniform(0.1F, 1.0F));
  LookupParameter l = model.add_lookup_parameters(20, {8}, ParameterInitUniform(0.1F, 1.0F));
  T trainer(model);
  trainer.set_lookup_updates(how);
  trainer.clip_value = 0.5F;
  trainer.set_schedule(WarmupSchedule(5, CosineSchedule(0.01, 100)));
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
  tenth_update_allocates_nothing<AdagradTrainer>(0.0F);
  tenth_update_allocates_nothing<RMSPropTrainer>(0.3F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<AdamTrainer>(0.3F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<AmsgradTrainer>(0.0F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<AdamWTrainer>(0.0F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<LionTrainer>(0.0F, LookupUpdates::kExact);
  tenth_update_allocates_nothing<LambTrainer>(0.3F);
  tenth_update_allocates_nothing<LambTrainer>(0.3F, LookupUpdates::kDense);
  tenth_update_allocates_nothing<EGTrainer>(0.3F);
}

/// A model with gradients, about to be updated for the second time, when a table is new.
template <class T>
struct Model {
  explicit Model(LookupUpdates how) : trainer(model) {
    trainer.set_lookup_updates(how);
    trainer.exponential_moving_average(0.9F);
    p = model.add_parameters({8}, ParameterInitConst(1));
    tables.push_back(model.add_lookup_parameters(3, {8}, ParameterInitConst(1)));
    add_gradients();
    trainer.update();
    tables.push_back(model.add_lookup_parameters(3, {8}, ParameterInitConst(1)));
    add_gradients();
  }
  void add_gradients() {
    p.p->accumulate_grad(row);
    for (const LookupParameter& l : tables) {
      l.p->accumulate_grad(1, row);
    }
  }
  std::vector<float> values() {
    std::vector<float> all = as_vector(*p.values());
    for (const LookupParameter& l : tables) {
      for (const Tensor& t : *l.values()) {
        const std::vector<float> numbers = as_vector(t);
        all.insert(all.end(), numbers.begin(), numbers.end());
      }
    }
    return all;
  }

  ParameterCollection model;
  T trainer;
  Parameter p;
  std::vector<LookupParameter> tables;
  std::vector<float> g = std::vector<float>(8, 0.5F);
  Tensor row = Tensor({8}, g.data(), nullptr, DeviceMempool::NONE);
};

/// Whichever allocation of an update fails: nothing has changed, and the update can be repeated.
template <class T>
void an_update_can_be_repeated(LookupUpdates how) {
  Model<T> right(how);
  const std::vector<float> before = right.values();
  right.trainer.update();
  const std::vector<float> after = right.values();
  int failures = 0;
  for (std::size_t n = 1; n < 1000; ++n) {
    Model<T> m(how);
    bool failed = false;
    fails_at = allocations + n;
    try {
      m.trainer.update();
    } catch (const std::exception&) {
      failed = true;
    }
    fails_at = 0;
    if (!failed) {
      EXPECT_EQ(m.values(), after);
      break;
    }
    ++failures;
    ASSERT_EQ(m.values(), before) << "allocation " << n;
    ASSERT_EQ(m.trainer.updates, 1.0F);
    m.trainer.update();
    ASSERT_EQ(m.values(), after) << "allocation " << n;
  }
  EXPECT_GT(failures, 0);
}

TEST(Allocation, AnUpdateThatFailsCanBeRepeated) {
  for (const LookupUpdates how :
       {LookupUpdates::kSparse, LookupUpdates::kDense, LookupUpdates::kExact}) {
    an_update_can_be_repeated<SimpleSGDTrainer>(how);
    an_update_can_be_repeated<MomentumSGDTrainer>(how);
    an_update_can_be_repeated<AdagradTrainer>(how);
    an_update_can_be_repeated<RMSPropTrainer>(how);
    an_update_can_be_repeated<AdadeltaTrainer>(how);
    an_update_can_be_repeated<AdamTrainer>(how);
    an_update_can_be_repeated<AmsgradTrainer>(how);
    an_update_can_be_repeated<AdamWTrainer>(how);
    an_update_can_be_repeated<LionTrainer>(how);
    if (how != LookupUpdates::kExact) {
      an_update_can_be_repeated<LambTrainer>(how);
      an_update_can_be_repeated<EGTrainer>(how);
    }
  }
}

}  // namespace
}  // namespace dynet
