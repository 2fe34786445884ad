#include "dynet/replay.h"

#include <map>
#include <string>
#include <vector>

#include "dynet/except.h"

#include "gtest/gtest.h"

namespace dynet {
namespace {

std::vector<std::string> names_of(const ParameterCollection& collection) {
  std::vector<std::string> names;
  for (const auto& storage : all_of(collection)) {
    names.push_back(storage->name);
  }
  return names;
}

/// The parameters that a builder would make in `model`.
struct Made {
  explicit Made(ParameterCollection model)
      : own(model.add_subcollection("made")),
        w(own.add_parameters({2, 3})),
        table(own.add_lookup_parameters(4, {2})),
        below(own.add_subcollection("below").add_parameters({5}, "b")),
        beside(model.add_parameters({1})) {}
  ParameterCollection own;
  Parameter w;
  LookupParameter table;
  Parameter below, beside;
};

TEST(Replay, FindsWhatWasMadeBefore) {
  const ParameterCollection root;
  const Made first(root);
  const Made second(root);
  const std::size_t count = all_of(root).size();
  const Replay replay(root, "/", {{"", 1}}, {{"made", 1}});
  const Made again(replay.collection());
  EXPECT_EQ(again.own.get_fullname(), "/made_1/");
  EXPECT_EQ(again.w.p, second.w.p);
  EXPECT_EQ(again.table.p, second.table.p);
  EXPECT_EQ(again.below.p, second.below.p);
  EXPECT_EQ(again.beside.p, second.beside.p);
  EXPECT_EQ(names_of(again.own), names_of(second.own));
  EXPECT_EQ(identity_of(again.own), identity_of(second.own));
  EXPECT_EQ(all_of(root).size(), count);
}

TEST(Replay, WhatIsNotThereOrHasAnotherShapeIsAnError) {
  const ParameterCollection root;
  const Made made(root);
  {
    const Replay replay(root, "/", {}, {{"made", 3}});
    EXPECT_THROW(Made(replay.collection()), errors::UsageError);
  }
  const Replay replay(root, "/made/", {}, {});
  ParameterCollection own = replay.collection();
  EXPECT_THROW(own.add_parameters({2, 4}), errors::UsageError);
  EXPECT_THROW(own.add_lookup_parameters(5, {2}), errors::UsageError);
  EXPECT_EQ(own.add_parameters({2, 3}).p, made.w.p);
}

TEST(Replay, AfterwardsACollectionIsAsAllOthers) {
  const ParameterCollection root;
  const Made made(root);
  ParameterCollection own;
  {
    const Replay replay(root, "/", {}, {});
    own = Made(replay.collection()).own;
  }
  const Parameter more = own.add_parameters({7});
  EXPECT_EQ(more.get_fullname(), "/made/_2");
  EXPECT_EQ(all_of(root).back(), more.p);
  EXPECT_EQ(own.add_subcollection("below").get_fullname(), "/made/below_1/");
  // The found collection is the existing one: both handles count on together.
  EXPECT_EQ(ParameterCollection(made.own).add_parameters({7}).get_fullname(), "/made/_3");
  EXPECT_EQ(own.add_parameters({7}).get_fullname(), "/made/_4");
}

TEST(Replay, NeedsTheNamesOfALogAlone) {
  ParameterCollection root;
  root.add_parameters({1}, "other");
  const Made first(root);
  NameUses before;
  const Made second = [&] {
    const NameLog log(root);
    EXPECT_TRUE(log.before().parameters.empty());
    Made made(root);
    before = log.before();
    return made;
  }();
  EXPECT_EQ(before.parameters, (std::map<std::string, unsigned>{{"", 1}}));
  EXPECT_EQ(before.subcollections, (std::map<std::string, unsigned>{{"made", 1}}));
  {
    const Replay replay(root, "/", before.parameters, before.subcollections);
    EXPECT_THROW(Replay(root, "/", {}, {}), errors::UsageError);  // one at a time
    const NameLog log(replay.collection());
    EXPECT_EQ(Made(replay.collection()).beside.p, second.beside.p);
    EXPECT_EQ(log.before().parameters, before.parameters);
    EXPECT_EQ(log.before().subcollections, before.subcollections);
  }
  EXPECT_EQ(root.add_parameters({1}).get_fullname(), "/_2");
}

TEST(NameLog, HasTheFirstUseOfEachName) {
  ParameterCollection root;
  root.add_parameters({1}, "a");
  const NameLog outer(root);
  root.add_lookup_parameters(2, {1}, "a");
  {
    const NameLog inner(root);
    root.add_parameters({1}, "a");
    root.add_parameters({1}, "b");
    root.add_subcollection("a").add_parameters({1}, "c");
    EXPECT_EQ(inner.before().parameters, (std::map<std::string, unsigned>{{"a", 2}, {"b", 0}}));
  }
  root.add_parameters({1}, "b");
  EXPECT_EQ(outer.before().parameters, (std::map<std::string, unsigned>{{"a", 1}, {"b", 0}}));
  EXPECT_EQ(outer.before().subcollections, (std::map<std::string, unsigned>{{"a", 0}}));
}

TEST(FindSubcollection, CountsNamesAnew) {
  ParameterCollection root;
  const Made made(root);
  root.add_parameters({1}, "b");
  root.add_parameters({1}, "b");
  ParameterCollection found = find_subcollection(root, "/made/");
  EXPECT_EQ(names_of(found), names_of(made.own));
  EXPECT_EQ(found.add_parameters({1}).get_fullname(), "/made/_2");
  EXPECT_EQ(found.add_subcollection("below").get_fullname(), "/made/below_1/");
  EXPECT_EQ(all_of(root).back()->name, "/made/_2");
  recount_names(root);
  EXPECT_EQ(root.add_parameters({1}, "b").get_fullname(), "/b_2");
  EXPECT_EQ(root.add_subcollection("made").get_fullname(), "/made_1/");
  EXPECT_EQ(identity_of(root_of(found)), identity_of(root));
}

TEST(FindSubcollection, IsTheOneThatLives) {
  ParameterCollection root;
  ParameterCollection above = root.add_subcollection("above", 0.5F);
  ParameterCollection own = above.add_subcollection("own");
  own.add_parameters({2}, "a");
  ParameterCollection found = find_subcollection(root, "/above/own/");
  EXPECT_EQ(identity_of(found), identity_of(own));
  EXPECT_EQ(found.add_parameters({2}, "x").get_fullname(), "/above/own/x");
  EXPECT_EQ(own.add_parameters({2}, "x").get_fullname(), "/above/own/x_1");
  EXPECT_EQ(identity_of(find_subcollection(found, "/")), identity_of(root));
  EXPECT_EQ(identity_of(find_subcollection(above, "/above/own/")), identity_of(own));
  // A new one, when no handle lives: below the one that does, with the next names.
  found = own = ParameterCollection();
  found = find_subcollection(root, "/above/own/");
  EXPECT_EQ(found.add_parameters({2}, "x").get_fullname(), "/above/own/x_2");
  EXPECT_EQ(names_of(above), names_of(root));
  EXPECT_EQ(found.get_weight_decay_lambda(), 0.5F);
}

TEST(FindSubcollection, AnEmptyOneHasItsName) {
  ParameterCollection root;
  ParameterCollection found = find_subcollection(root, "/other/below/");
  EXPECT_EQ(found.add_parameters({1}, "a").get_fullname(), "/other/below/a");
  EXPECT_EQ(root.add_subcollection("other").get_fullname(), "/other_1/");
  for (const char* const wrong : {"", "//", "/a", "a/", "/a//b/"}) {
    EXPECT_THROW(static_cast<void>(find_subcollection(root, wrong)), errors::UsageError) << wrong;
  }
  EXPECT_EQ(all_of(root).size(), 1U);
}

}  // namespace
}  // namespace dynet
