#include "dynet/dict.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

#include "dynet/except.h"
#include "dynet/timing.h"

namespace dynet {
namespace {

TEST(Dict, GivesIdsInTheOrderOfFirstSight) {
  Dict d;
  EXPECT_EQ(d.convert("b"), 0);
  EXPECT_EQ(d.convert("a"), 1);
  EXPECT_EQ(d.convert("b"), 0);
  EXPECT_EQ(d.size(), 2U);
  EXPECT_EQ(d.convert(1), "a");
  EXPECT_THROW(static_cast<void>(d.convert(2)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(d.convert(-1)), errors::IndexError);
}

TEST(Dict, FrozenTakesNoNewWord) {
  Dict d;
  d.convert("a");
  EXPECT_THROW(d.set_unk("<unk>"), std::runtime_error);
  d.freeze();
  EXPECT_THROW(d.convert("new"), std::runtime_error);
  EXPECT_EQ(d.get_unk_id(), -1);
  d.set_unk("<unk>");
  EXPECT_EQ(d.convert("new"), 1);
  EXPECT_EQ(d.get_unk_id(), 1);
  EXPECT_EQ(d.size(), 2U);
  EXPECT_TRUE(d.is_frozen());
  EXPECT_FALSE(d.contains("new"));
  EXPECT_THROW(d.set_unk("again"), std::runtime_error);
}

TEST(Dict, ReadsSentencesAndPairs) {
  Dict d;
  Dict e;
  EXPECT_EQ(read_sentence("x  y\tx", d), (std::vector<int>{0, 1, 0}));
  std::vector<int> s{7};
  std::vector<int> t;
  read_sentence_pair("y z ||| u ||| v", s, d, t, e);
  EXPECT_EQ(s, (std::vector<int>{7, 1, 2}));
  EXPECT_EQ(t, (std::vector<int>{0, 1}));
  EXPECT_EQ(e.get_words(), (std::vector<std::string>{"u", "v"}));
}

TEST(Dict, WhatThrowsLeavesTheListsAsTheyWere) {
  Dict d;
  d.convert("x");
  d.freeze();
  std::vector<int> s{7};
  std::vector<int> t{8};
  EXPECT_THROW(read_sentence_pair("x ||| x new", s, d, t, d), errors::UsageError);
  EXPECT_EQ(s, (std::vector<int>{7}));
  EXPECT_EQ(t, (std::vector<int>{8}));
  EXPECT_THROW(read_sentence("x new", d), errors::UsageError);
}

TEST(Dict, ClearedKeepsItsStateAndGivesNoIdThatIsNotThere) {
  Dict d;
  d.convert("a");
  d.freeze();
  d.set_unk("<unk>");
  d.clear();
  EXPECT_EQ(d.size(), 0U);
  EXPECT_TRUE(d.is_frozen());
  EXPECT_EQ(d.get_unk_id(), 1);
  EXPECT_THROW(d.convert("a"), std::runtime_error);
  EXPECT_THROW(d.set_unk("<unk>"), std::runtime_error);
}

TEST(Timing, FlipsAMapAndMeasuresForward) {
  const std::map<std::string, int> m{{"a", 2}, {"b", 1}};
  EXPECT_EQ(flip_map(m).begin()->second, "b");
  Timing t;
  EXPECT_GE(t.stop(), 0.0);
}

}  // namespace
}  // namespace dynet
