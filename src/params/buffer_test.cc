// The begin of parameters' memory, and its full size.
#include "params/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

#include "dynet/devices.h"
#include "dynet/model.h"
#include "dynet/shadow-params.h"

#include "params/state.h"

namespace dynet::params {
namespace {

constexpr std::int64_t kLarge = 1 << 16;  // numbers

/// Only the host's memory has pages, and may be looked at from here.
class Buffers : public testing::Test {
 protected:
  void SetUp() override {
    if (!default_device->is_host_visible()) {
      GTEST_SKIP() << "the memory of this device is not the host's";
    }
  }
};

std::uintptr_t place_in_page(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 4096;
}

/// By 512 bytes at least, around the end of a page, too.
void expect_apart(const std::vector<const void*>& blocks) {
  std::vector<std::uintptr_t> places;
  std::transform(blocks.begin(), blocks.end(), std::back_inserter(places), &place_in_page);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    EXPECT_GE(places[i] - places[i - 1], 512U);
  }
  EXPECT_GE(places.front() + 4096 - places.back(), 512U);
}

TEST_F(Buffers, LargeOnesOfDifferentLanesBeginAtDifferentPlacesOfAPage) {
  for (const Lane lane : {0U, 1U, 2U, 7U, 8U, 1000U}) {
    const Buffer buffer(*default_device, kLarge, "a test", Reach::kProcess, lane);
    EXPECT_EQ(place_in_page(buffer.data()), lane % 8 * 512) << lane;
    auto* const numbers = reinterpret_cast<float*>(buffer.data());
    EXPECT_EQ(std::count(numbers, numbers + kLarge, 0.0F), kLarge) << lane;
    std::fill_n(numbers, kLarge, 1.0F);  // a sanitizer would see one too many
  }
  const Buffer small(*default_device, 3, "a test");
  EXPECT_EQ(place_in_page(small.data()) % 64, 0U);
}

TEST_F(Buffers, WhatAnUpdateWalksThroughHasLanesOfItsOwn) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({256, 256});
  const LookupParameter table = model.add_lookup_parameters(256, {256});
  for (int trainer = 0; trainer < 9; ++trainer) {  // one after the other, on the same model
    const ShadowParameters m(*p.p), v(*p.p);
    const ShadowLookupParameters table_m(*table.p), table_v(*table.p), table_vhat(*table.p);
    expect_apart({p.values()->v, p.gradients()->v, m.h.v, v.h.v});
    expect_apart({table.p->all_values.v, table.p->all_grads.v, table_m.all_h.v, table_v.all_h.v,
                  table_vhat.all_h.v});
  }
}

}  // namespace
}  // namespace dynet::params
