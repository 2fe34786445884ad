#include "levels.h"

#include <gtest/gtest.h>

#include <vector>

namespace dynet::schedule {
namespace {

/// A node: the number of its type, and the nodes it waits for.
struct Node {
  std::uint32_t type;
  std::vector<std::uint32_t> waits;
};

/// The level of each node in its type.
std::vector<std::uint32_t> levels_of(Levels& levels, std::vector<Type>& types,
                                     const std::vector<Node>& nodes) {
  for (const Node& n : nodes) {
    ++types[n.type].unrun;
  }
  levels.begin(types, nodes.size());
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    levels.merge(i, nodes[i].waits);
    found.push_back(levels.count(types[nodes[i].type], i));
  }
  return found;
}

std::vector<Type> repeating(std::size_t count) {
  std::vector<Type> types(count);
  for (Type& t : types) {
    t.repeats = true;
  }
  return types;
}

using Numbers = std::vector<std::uint32_t>;

TEST(Levels, CountTheUnitsOfTheTypeOnTheLongestPath) {
  Levels levels;
  std::vector<Type> types = repeating(2);
  // Two chains that alternate; the last node waits for the ends of both.
  const Numbers found = levels_of(
      levels, types, {{0, {}}, {1, {0}}, {0, {1}}, {1, {2}}, {0, {}}, {1, {4}}, {0, {5, 3}}});
  EXPECT_EQ(found, (Numbers{0, 0, 1, 1, 0, 0, 2}));
  EXPECT_EQ(types[0].levels, 3U);
  EXPECT_EQ(types[1].levels, 2U);
  EXPECT_EQ(Numbers(levels.counts.begin() + types[0].counts, levels.counts.begin() + 3),
            (Numbers{2, 1, 1}));
  EXPECT_EQ(levels.counts[types[1].counts], 2U);
}

TEST(Levels, ATypeThatDoesNotRepeatHasNone) {
  Levels levels;
  std::vector<Type> types = repeating(2);
  types[0].repeats = false;
  EXPECT_EQ(levels_of(levels, types, {{0, {}}, {1, {0}}, {1, {1}}, {0, {}}}),
            (Numbers{0, 0, 1, 0}));
  EXPECT_EQ(types[0].counter, kNone);
  EXPECT_EQ(types[0].levels, 1U);
}

TEST(Levels, ASumHasACounterForItsSecondPart) {
  Levels levels;
  std::vector<Type> types = repeating(2);
  types[0].sites = 1;
  types[0].unrun = types[1].unrun = 3;
  levels.begin(types, 6);
  EXPECT_EQ(types[0].counter, 0U);
  EXPECT_EQ(types[1].counter, 2U);
  EXPECT_EQ(types[1].counts, 6U) << "room for three sums, and three second parts";
}

TEST(Levels, MoreTypesThanCountersAreAllAtLevelZero) {
  Levels levels;
  std::vector<Type> types = repeating(100);
  std::vector<Node> nodes;
  for (std::uint32_t n = 0; n < 200; ++n) {
    nodes.push_back({n % 100, n < 100 ? Numbers{} : Numbers{n - 100}});
  }
  const Numbers found = levels_of(levels, types, nodes);
  EXPECT_EQ(found[100], 1U);
  EXPECT_EQ(found[199], 0U);
  EXPECT_EQ(types[99].counter, kNone);
}

TEST(Levels, TheLastLevelHoldsWhatIsDeeper) {
  Levels levels;
  std::vector<Type> types = repeating(1);
  std::vector<Node> nodes{{0, {}}};
  for (std::uint32_t n = 1; n < 65538; ++n) {
    nodes.push_back({0, {n - 1}});
  }
  const Numbers found = levels_of(levels, types, nodes);
  EXPECT_EQ(found[65534], 65534U);
  EXPECT_EQ(found[65535], 65535U);
  EXPECT_EQ(found[65537], 65535U);
  EXPECT_EQ(levels.counts[types[0].counts + 65535], 3U);
}

}  // namespace
}  // namespace dynet::schedule
