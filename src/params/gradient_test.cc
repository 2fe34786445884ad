#include "params/gradient.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "params/access.h"
#include "params/host.h"

namespace dynet {
namespace {

class GradientTest : public ::testing::TestWithParam<const char*> {
 protected:
  Device* device() const { return get_device_manager()->get_global_device(GetParam()); }
  /// Numbers on the device.
  const void* numbers(const std::vector<float>& x) {
    const auto n = static_cast<std::int64_t>(x.size());
    numbers_.emplace_back(*device(), n, "numbers");
    params::copy_in(*device(), x.data(), numbers_.back().data(), n);
    return numbers_.back().data();
  }
  void add(ParameterStorageBase& s, const std::vector<float>& g) {
    params::GradientLock lock(s);
    device()->kernels->add_scaled(1.0, numbers(g), lock.data(), static_cast<std::int64_t>(g.size()),
                                  lock.fresh());
    lock.written();
  }
  void add_row(LookupParameter& l, unsigned row, const std::vector<float>& g) {
    params::LookupGradientLock(*l.p).add_row(row, numbers(g));
  }
  ParameterCollection model;
  std::vector<params::Buffer> numbers_;
};
INSTANTIATE_TEST_SUITE_P(Devices, GradientTest,
                         ::testing::Values("CPU", "CPU:double", "FAR:0", "FAR:0:double"));

TEST_P(GradientTest, TheFirstStoresAndLaterOnesAdd) {
  Parameter p = model.add_parameters({2}, device());
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(params::GradientLock(*p.p).fresh());
    EXPECT_FALSE(p.p->has_grad());
    add(*p.p, {1, 2});
    EXPECT_FALSE(params::GradientLock(*p.p).fresh());
    add(*p.p, {10, 20});
    EXPECT_TRUE(p.p->has_grad());
    EXPECT_EQ(model.gradient_l2_norm(), std::sqrt(11.0F * 11 + 22 * 22));
    p.p->clear();
    EXPECT_EQ(model.gradient_l2_norm(), 0.0F);
  }
}

TEST_P(GradientTest, WhoeverLooksSeesZerosAfterItWasEmptied) {
  Parameter p = model.add_parameters({2}, device());
  add(*p.p, {1, 2});
  p.p->clear();
  EXPECT_EQ(as_vector(*p.gradients()), (std::vector<float>{0, 0}));
  // From now on the memory is true, and a user's writes there count.
  EXPECT_FALSE(params::GradientLock(*p.p).fresh());
  add(*p.p, {3, 4});
  EXPECT_EQ(as_vector(p.p->g), (std::vector<float>{3, 4}));
  p.p->clear();
  EXPECT_EQ(as_vector(p.p->g), (std::vector<float>{0, 0}));
  TensorTools::set_elements(p.p->g, {5, 0});
  EXPECT_EQ(model.gradient_l2_norm(), 5.0F);
  p.p->accumulate_grad(*p.values());
  p.scale_gradient(0.0F);
  EXPECT_EQ(model.gradient_l2_norm(), 0.0F);
}

TEST_P(GradientTest, ZeroKeepsTheGradientOfATableAlone) {  // as in DyNet 2.1
  Parameter p = model.add_parameters({2}, device());
  LookupParameter l = model.add_lookup_parameters(3, {2}, ParameterInitConst(1), "", device());
  add(*p.p, {1, 2});
  add_row(l, 1, {3, 4});
  p.zero();
  l.zero();
  EXPECT_FALSE(p.p->has_grad());
  EXPECT_EQ(as_vector(*p.gradients()), (std::vector<float>{0, 0}));
  EXPECT_EQ(model.gradient_l2_norm(), 5.0F);
  EXPECT_EQ(as_vector((*l.values())[1]), (std::vector<float>{0, 0}));
}

TEST_P(GradientTest, RowsAreListedAndSpreadOut) {
  LookupParameter l = model.add_lookup_parameters(4, {2}, ParameterInitConst(0), "", device());
  add_row(l, 2, {1, 2});
  add_row(l, 0, {3, 4});
  add_row(l, 2, {10, 20});
  EXPECT_EQ(l.p->state().touched, (std::vector<unsigned>{2, 0}));
  l.p->clear();
  add_row(l, 2, {5, 6});  // stores again
  add_row(l, 3, {7, 8});
  EXPECT_EQ(model.gradient_l2_norm(), std::sqrt(25.0F + 36 + 49 + 64));
  LookupParameterStorage& storage = l.get_storage();
  EXPECT_EQ(as_vector(storage.all_grads), (std::vector<float>{0, 0, 0, 0, 5, 6, 7, 8}));
  EXPECT_EQ(storage.non_zero_grads, (std::unordered_set<unsigned>{2, 3}));
  EXPECT_FALSE(storage.all_updated);
  EXPECT_EQ(as_vector(storage.grads[3]), (std::vector<float>{7, 8}));
  storage.clear();
  EXPECT_EQ(as_vector(storage.all_grads), std::vector<float>(8));
  EXPECT_TRUE(l.get_storage().non_zero_grads.empty());
  EXPECT_THROW(add_row(l, 4, {1, 2}), errors::IndexError);
}

TEST_P(GradientTest, RowsAndWholeTablesMix) {
  LookupParameter l = model.add_lookup_parameters(2, {2}, ParameterInitConst(0), "", device());
  add_row(l, 1, {1, 2});
  EXPECT_FALSE(params::GradientLock(*l.p).fresh());
  add(*l.p, {10, 20, 30, 40});
  add_row(l, 0, {1, 1});
  EXPECT_TRUE(l.p->all_updated);
  EXPECT_EQ(model.gradient_l2_norm(), std::sqrt(121.0F + 441 + 31 * 31 + 42 * 42));
  l.p->clear();
  EXPECT_FALSE(l.p->all_updated);
  EXPECT_TRUE(params::GradientLock(*l.p).fresh());
  add_row(l, 0, {1, 1});
  EXPECT_EQ(as_vector(l.get_storage().all_grads), (std::vector<float>{1, 1, 0, 0}));
}

TEST_P(GradientTest, RowsThatAUserNotedCount) {
  LookupParameter l = model.add_lookup_parameters(3, {1}, ParameterInitConst(0), "", device());
  LookupParameterStorage& storage = l.get_storage();
  TensorTools::set_element(storage.all_grads, 1, 4.0F);
  storage.non_zero_grads.insert(1);
  EXPECT_EQ(model.gradient_l2_norm(), 4.0F);
  storage.clear();
  EXPECT_EQ(as_vector(storage.all_grads), std::vector<float>(3));
}

TEST_P(GradientTest, ListsOfACollectionAreTrueForLaterParametersToo) {
  const auto& list = model.parameters_list();
  Parameter p = model.add_parameters({1}, device());
  add(*p.p, {3});
  EXPECT_EQ(as_vector(list[0]->g), std::vector<float>{3});
  p.p->clear();
  EXPECT_EQ(as_vector(list[0]->g), std::vector<float>{0});
}

TEST_P(GradientTest, FrozenParametersAreNotInTheNorm) {
  Parameter p = model.add_parameters({1}, device());
  add(*p.p, {3});
  p.set_updated(false);
  EXPECT_EQ(model.gradient_l2_norm(), 0.0F);
}

// Sums of many threads must equal sums of one thread: no addition is lost, the first one stores.
TEST_P(GradientTest, ManyThreadsAddUp) {
  Parameter p = model.add_parameters({64}, device());
  LookupParameter l = model.add_lookup_parameters(8, {16}, ParameterInitConst(0), "", device());
  constexpr int kThreads = 4;
  constexpr int kRounds = 504;
  const void* ones = numbers(std::vector<float>(64, 1.0F));
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kRounds; ++i) {
          {
            params::GradientLock lock(*p.p);
            device()->kernels->add_scaled(1.0, ones, lock.data(), 64, lock.fresh());
            lock.written();
          }
          params::LookupGradientLock lock(*l.p);
          lock.add_row(static_cast<unsigned>(i) % 8, ones);
        }
      });
    }
    for (std::thread& t : threads) {
      t.join();
    }
    EXPECT_EQ(as_vector(p.p->g), std::vector<float>(64, kThreads * kRounds)) << "epoch " << epoch;
    EXPECT_EQ(as_vector(l.p->all_grads), std::vector<float>(128, kThreads * kRounds / 8))
        << "epoch " << epoch;
    EXPECT_EQ(l.p->state().touched.size(), 8U);
    model.reset_gradient();
  }
}

}  // namespace
}  // namespace dynet
