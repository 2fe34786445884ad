#include "util/index_table.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace dynet::util {
namespace {

/// Things are numbers from a small range, hashes collide often.
struct Things {
  std::vector<unsigned> values;
  IndexTable table;
  unsigned buckets;

  std::uint64_t hash(unsigned value) const { return value % buckets; }
  std::uint32_t find(unsigned value) const {
    return table.find(hash(value), [&](std::uint32_t i) { return values[i] == value; });
  }
  std::uint32_t add(unsigned value) {
    values.push_back(value);
    const auto index = static_cast<std::uint32_t>(values.size() - 1);
    table.insert(hash(value), index);
    return index;
  }
};

TEST(IndexTable, FindsWhatAMapFindsThroughInsertionsRemovalsAndClears) {
  for (const unsigned buckets : {1U, 3U, 17U, 1000U}) {
    Things things{{}, {}, buckets};
    std::map<unsigned, std::uint32_t> wanted;
    std::mt19937 random(buckets);
    for (int step = 0; step < 4000; ++step) {
      const auto value = static_cast<unsigned>(random() % 200);
      const auto known = wanted.find(value);
      ASSERT_EQ(things.find(value), known == wanted.end() ? IndexTable::kNone : known->second);
      if (known == wanted.end()) {
        wanted[value] = things.add(value);
      } else if (random() % 2 == 0) {
        things.table.remove(things.hash(value), known->second);
        wanted.erase(known);
      }
      if (random() % 500 == 0) {
        things.table.clear();
        wanted.clear();
      }
      ASSERT_EQ(things.table.size(), wanted.size());
    }
  }
}

TEST(IndexTable, ClearingKeepsTheMemoryAndReservedRoomIsThere) {
  IndexTable table;
  for (std::uint32_t i = 0; i < 100; ++i) {
    table.insert(i, i);
  }
  const std::size_t bytes = table.bytes();
  table.clear();
  EXPECT_EQ(table.find(5, [](std::uint32_t) { return true; }), IndexTable::kNone);
  for (std::uint32_t i = 0; i < 100; ++i) {
    table.reserve();
    table.insert(i, i);
  }
  EXPECT_EQ(table.bytes(), bytes);
}

}  // namespace
}  // namespace dynet::util
