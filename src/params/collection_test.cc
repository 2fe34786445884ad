#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <future>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "dynet/ext/additions.h"
#include "dynet/model.h"
#include "dynet/replay.h"
#include "dynet/shadow-params.h"

#include "params/access.h"
#include "params/use_count.h"

/// The address sanitizer ends the program instead of a null from malloc; these tests ask for the
/// null.
// The sanitizer names it.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace dynet {
namespace {

TEST(Collection, NamesAsModelFilesHaveThem) {
  ParameterCollection model;
  EXPECT_EQ(model.get_fullname(), "/");
  EXPECT_EQ(model.add_parameters({1}).get_fullname(), "/_0");
  EXPECT_EQ(model.add_lookup_parameters(1, {1}).get_fullname(), "/_1");  // one counter for both
  EXPECT_EQ(model.add_parameters({1}, "b").get_fullname(), "/b");
  EXPECT_EQ(model.add_lookup_parameters(1, {1}, "b").get_fullname(), "/b_1");
  EXPECT_EQ(model.add_parameters({1}, 0.0F, "b").get_fullname(), "/b_2");
  ParameterCollection foo = model.add_subcollection("foo");
  EXPECT_EQ(foo.get_fullname(), "/foo/");
  EXPECT_EQ(model.add_subcollection("foo").get_fullname(), "/foo_1/");
  EXPECT_EQ(model.add_subcollection().get_fullname(), "/_0/");  // a counter of their own
  EXPECT_EQ(foo.add_parameters({1}, "vanilla-lstm").get_fullname(), "/foo/vanilla-lstm");
  EXPECT_EQ(foo.add_subcollection("bar").add_parameters({1}).get_fullname(), "/foo/bar/_0");
  for (const char* bad : {"a/b", "a_b", "_", "/"}) {
    EXPECT_THROW(model.add_parameters({1}, bad), std::runtime_error) << bad;
    EXPECT_THROW(model.add_subcollection(bad), std::runtime_error) << bad;
  }
  for (const char* bad : {"a b", "a#", "a\n"}) {
    EXPECT_THROW(model.add_parameters({1}, bad), errors::ValueError) << bad;
  }
}

TEST(Collection, ListsAreThoseOfAllBelowInOrder) {
  ParameterCollection model;
  ParameterCollection sub = model.add_subcollection("s");
  model.add_parameters({2}, "a");
  sub.add_parameters({3}, "b");
  sub.add_lookup_parameters(4, {5}, "e");
  model.add_parameters({6}, "c");
  ASSERT_EQ(model.parameters_list().size(), 3U);
  EXPECT_EQ(model.parameters_list()[1]->name, "/s/b");
  EXPECT_EQ(model.size(), 3U);
  EXPECT_EQ(sub.size(), 1U);
  EXPECT_EQ(sub.lookup_parameters_list().size(), 1U);
  EXPECT_EQ(model.get_parameter_storages_base().size(), 4U);
  EXPECT_EQ(model.parameter_count(), 2U + 3U + 20U + 6U);
  EXPECT_EQ(model.get_parameter_storage("/s/b")->dim, Dim({3}));
  EXPECT_EQ(model.get_lookup_parameter_storage("/s/e")->all_dim, Dim({5, 4}));
  EXPECT_THROW((void)model.get_parameter_storage("/s/x"), std::runtime_error);
  Parameter(model.parameters_list()[0]).set_updated(false);
  EXPECT_EQ(model.updated_parameter_count(), 29U);
}

TEST(Collection, CopiesShareAndNothingMustOutliveAnything) {
  Parameter survivor;
  LookupParameter table;
  ParameterCollection sub;
  {
    ParameterCollection model;
    ParameterCollection copy = model;
    copy.add_parameters({2}, "a");
    EXPECT_EQ(model.size(), 1U);
    survivor = model.add_parameters({2, 2}, ParameterInitConst(3.0F), "w");
    EXPECT_EQ(survivor.p->owner->get_fullname(), "/");
    table = model.add_lookup_parameters(2, {2});
    sub = model.add_subcollection("s");
  }
  EXPECT_NE(survivor.p->owner, nullptr);  // the sub-collection keeps its parents
  EXPECT_EQ(sub.add_parameters({1}).get_fullname(), "/s/_0");
  EXPECT_EQ(survivor.p->owner->size(), 3U);
  sub = ParameterCollection();
  EXPECT_EQ(survivor.p->owner, nullptr);
  EXPECT_EQ(as_vector(*survivor.values()), std::vector<float>(4, 3.0F));
  EXPECT_EQ(survivor.current_weight_decay(), 1.0F);
  EXPECT_EQ(table.current_weight_decay(), 1.0F);
}

TEST(Handles, CanBeUnset) {
  Parameter p;
  const LookupParameter l = nullptr;
  EXPECT_FALSE(p);
  EXPECT_FALSE(l);
  EXPECT_THROW(p.get_storage(), errors::StateError);
  EXPECT_THROW(l.initialize(0, {}), errors::StateError);
  ParameterCollection model;
  p = model.add_parameters({1});
  EXPECT_TRUE(p);
  p = nullptr;
  EXPECT_FALSE(p);
  EXPECT_THROW(model.add_parameters({1}, static_cast<Device*>(nullptr)), errors::ValueError);
}

TEST(Collection, RefusesShapesThatCannotBe) {
  ParameterCollection model;
  EXPECT_THROW(model.add_parameters(Dim({2}, 3)), errors::ShapeError);
  EXPECT_THROW(model.add_parameters({1U << 31, 1U << 31}), errors::SizeError);
  EXPECT_THROW(model.add_parameters({1U << 30, 1U << 29}), out_of_memory);
  EXPECT_THROW(model.add_lookup_parameters(2, {1, 1, 1, 1, 1, 1, 1}), errors::SizeError);
  EXPECT_EQ(model.size(), 0U);
  EXPECT_EQ(model.add_parameters({0, 3}).get_storage().size(), 0U);
  EXPECT_EQ(model.add_lookup_parameters(0, {3}).get_storage().rows(), 0U);
}

TEST(Storage, ValuesCanBeSetAndChanged) {
  ParameterCollection model;
  Parameter p = model.add_parameters({2, 2});
  TensorTools::set_elements(p.get_storage().values, {1, 2, 3, 4});
  p.scale(2);
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{2, 4, 6, 8}));
  float norm = 0.0F;
  p.get_storage().squared_l2norm(&norm);
  EXPECT_EQ(norm, 120.0F);
  p.clip_inplace(3, 7);
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{3, 4, 6, 7}));
  p.set_value({4, 3, 2, 1});
  EXPECT_EQ(as_vector(*p.values()), (std::vector<float>{4, 3, 2, 1}));
  EXPECT_THROW(p.set_value({1}), errors::SizeError);
  const Parameter q = model.add_parameters({2, 2});
  q.get_storage().copy(p.get_storage());
  EXPECT_EQ(as_vector(*q.values()), (std::vector<float>{4, 3, 2, 1}));
  EXPECT_THROW(model.add_parameters({4}).get_storage().copy(*p.p), std::invalid_argument);
  p.zero();
  EXPECT_EQ(as_vector(*p.values()), std::vector<float>(4));

  const LookupParameter l = model.add_lookup_parameters(3, {2});
  l.initialize(1, {5, 6});
  EXPECT_EQ(as_vector((*l.values())[1]), (std::vector<float>{5, 6}));
  EXPECT_EQ(as_vector(l.get_storage().values[1]), (std::vector<float>{5, 6}));
  EXPECT_EQ(TensorTools::access_element(l.get_storage().all_values, Dim({1, 1})), 6.0F);
  EXPECT_THROW(l.initialize(3, {5, 6}), errors::IndexError);
  EXPECT_THROW(l.initialize(0, {5}), errors::SizeError);
  EXPECT_EQ(l.dim(), Dim({2}));
}

TEST(WeightDecay, SubcollectionsFollowTheirParentUntilTold) {
  ParameterCollection model(0.1F);
  ParameterCollection follows = model.add_subcollection();
  const ParameterCollection own = model.add_subcollection("", 0.5F);
  EXPECT_EQ(follows.get_weight_decay_lambda(), 0.1F);
  EXPECT_EQ(own.get_weight_decay_lambda(), 0.5F);
  model.set_weight_decay_lambda(0.2F);
  EXPECT_EQ(follows.get_weight_decay_lambda(), 0.2F);
  EXPECT_EQ(own.get_weight_decay_lambda(), 0.5F);
  follows.set_weight_decay_lambda(0.0F);
  EXPECT_EQ(follows.get_weight_decay_lambda(), 0.0F);
  EXPECT_THROW(model.set_weight_decay_lambda(-1.0F), std::domain_error);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {1.0F, 2.0F, nan}) {
    EXPECT_THROW(model.set_weight_decay_lambda(bad), errors::DomainError);
    EXPECT_THROW((void)ParameterCollection(bad), errors::DomainError);
    EXPECT_THROW((void)model.add_subcollection("no", bad), errors::DomainError);
    EXPECT_EQ(model.get_weight_decay_lambda(), 0.2F);
  }
  EXPECT_THROW(ParameterCollection{nan}, std::domain_error);
  L2WeightDecay decay(0.5F);
  decay.update_weight_decay(3);
  EXPECT_EQ(decay.current_weight_decay(), 0.125F);
  EXPECT_TRUE(decay.parameters_need_rescaled());
  decay.reset_weight_decay();
  EXPECT_EQ(decay.current_weight_decay(), 1.0F);
}

TEST(Shadows, HaveTheShapeAndAreZero) {
  ParameterCollection model;
  model.add_parameters({2, 3});
  model.add_lookup_parameters(4, {5});
  std::vector<ShadowParameters> p;
  std::vector<ShadowLookupParameters> l;
  allocate_shadow_parameters(model, 0, p);
  allocate_shadow_lookup_parameters(model, 0, l);
  EXPECT_EQ(as_vector(p[0].h), std::vector<float>(6));
  EXPECT_EQ(l[0].all_h.d, Dim({5, 4}));
  TensorTools::constant(l[0].h[2], 1.0F);
  EXPECT_EQ(TensorTools::access_element(l[0].all_h, 10), 1.0F);
  EXPECT_EQ(TensorTools::access_element(l[0].all_h, 9), 0.0F);
  model.add_parameters({1});
  allocate_shadow_parameters(model, 1, p);
  EXPECT_EQ(p.size(), 2U);
}

/// A child process has only the thread that forked: work of other threads must not block the child.
TEST(UseCount, AForkWhileAThreadComputes) {
  ParameterCollection model;
  Parameter p = model.add_parameters({1});
  params::Usage& usage = params::usage_of(*p.p);
  std::promise<void> is_computing;
  std::promise<void> may_end;
  std::thread computing([&] {
    const params::RunScope run(usage);
    const std::lock_guard lock(p.p->state().mutex);
    is_computing.set_value();
    may_end.get_future().wait();
  });
  is_computing.get_future().wait();
  const params::RunScope mine(usage);  // of the thread that forks, and ends in both processes
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    try {
      const params::UpdateScope update(usage, "update");
      const std::lock_guard lock(p.p->state().mutex);
      _exit(usage.users() == -1 ? 0 : 2);
    } catch (const errors::GraphError&) {
      _exit(1);
    }
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(usage.users(), 2);
  EXPECT_THROW(params::UpdateScope(usage, "update"),
               errors::GraphError);  // in the parent as before
  may_end.set_value();
  computing.join();
}

TEST(UseCount, UpdatesAndRunsExcludeEachOther) {
  ParameterCollection model;
  ParameterCollection sub = model.add_subcollection();
  const Parameter p = sub.add_parameters({1});
  params::Usage& usage = params::usage_of(*p.p);
  EXPECT_EQ(&usage, &params::usage_of(model));
  {
    const params::RunScope one(usage);
    const params::RunScope two(usage);
    EXPECT_THROW(params::UpdateScope(usage, "update"), errors::GraphError);
  }
  {
    const params::UpdateScope update(usage, "update");
    EXPECT_THROW(params::RunScope{usage}, errors::GraphError);
    EXPECT_THROW(params::UpdateScope(usage, "update"), errors::GraphError);
  }
  const params::RunScope again(usage);
  EXPECT_NE(&usage, &params::usage_of(ParameterCollection()));
}

TEST(AdditionsTest, AreTakenOutAgain) {
  ParameterCollection root;
  ParameterCollection part = root.add_subcollection("part");
  part.add_parameters({2}, "W");
  Parameter lost;
  {
    ext::Additions additions(part);
    lost = part.add_parameters({3}, "W");
    const ParameterCollection below = part.add_subcollection("below");
    ParameterCollection(below).add_lookup_parameters(4, {2}, "L");
    root.add_parameters({5}, "other");  // is none of part's
    EXPECT_EQ(root.parameter_count(), 18U);
    {
      const params::RunScope running(params::usage_of(root));
      EXPECT_THROW(additions.undo(), errors::GraphError);
    }
    EXPECT_EQ(root.parameter_count(), 18U);
    additions.undo();
    additions.undo();
  }
  EXPECT_EQ(root.parameter_count(), 7U);
  EXPECT_EQ(root.parameters_list().size(), 2U);
  EXPECT_TRUE(root.lookup_parameters_list().empty());
  EXPECT_EQ(part.parameter_count(), 2U);
  EXPECT_EQ(lost.dim(), Dim({3}));
  EXPECT_EQ(lost.p->owner, nullptr);
  EXPECT_EQ(part.add_parameters({1}, "W").get_fullname(), "/part/W_1");
  EXPECT_EQ(part.add_subcollection("below").get_fullname(), "/part/below/");
}

TEST(AdditionsTest, ASubcollectionThatWasMadeMeanwhileIsCutOff) {
  ParameterCollection root;
  ParameterCollection old = root.add_subcollection("below");
  ext::Additions additions(root);
  ParameterCollection below = root.add_subcollection("below");
  ParameterCollection inner = below.add_subcollection("inner");
  inner.add_parameters({2}, "x");
  const Parameter of_old = old.add_parameters({3}, "x");
  EXPECT_EQ(below.get_fullname(), "/below_1/");
  additions.undo();
  for (const ParameterCollection& c : {std::ref(root), std::ref(old), std::ref(below)}) {
    EXPECT_EQ(c.get_parameter_storages_base().size(), 0U);
  }
  const Parameter lost = below.add_parameters({5}, "lost");
  inner.add_lookup_parameters(2, {2}, "lost");
  EXPECT_EQ(root.parameter_count(), 0U);
  EXPECT_EQ(below.parameter_count(), 5U);
  EXPECT_EQ(lost.p->owner->parameter_count(), 5U);
  EXPECT_EQ(of_old.p->owner, nullptr);
  // The name is free for a new collection; the old collection goes on.
  ParameterCollection again = root.add_subcollection("below");
  EXPECT_EQ(again.get_fullname(), "/below_1/");
  EXPECT_EQ(detail::ModelAccess::identity(find_subcollection(root, "/below_1/")),
            detail::ModelAccess::identity(again));
  EXPECT_NE(detail::ModelAccess::identity(find_subcollection(root, "/below_1/inner/")),
            detail::ModelAccess::identity(inner));
  again.add_parameters({7}, "x");
  old.add_parameters({11}, "y");
  EXPECT_EQ(root.parameter_count(), 18U);
  EXPECT_EQ(below.parameter_count(), 5U);
}

TEST(AdditionsTest, StayWhereSomebodyKeepsAStateForThem) {
  ParameterCollection root;
  root.add_parameters({2}, "W");
  std::vector<ShadowParameters> shadows;
  ext::Additions additions(root);
  root.add_lookup_parameters(2, {2}, "free");
  root.add_parameters({3}, "V");
  allocate_shadow_parameters(root, 0, shadows);
  try {
    additions.undo();
    FAIL();
  } catch (const errors::UsageError& e) {
    EXPECT_NE(std::string(e.what()).find("a trainer has a state for '/V'"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(root.parameter_count(), 9U);
}

TEST(Collection, NamesOfCollectionsThatAreGoneTakeNoMemory) {
  ParameterCollection root;
  const ParameterCollection kept = root.add_subcollection("kept");
  for (int i = 0; i < 10'000; ++i) {
    static_cast<void>(root.add_subcollection());
  }
  EXPECT_LE(detail::ModelAccess::state(root).parts.size(), 32U);
  EXPECT_EQ(detail::ModelAccess::identity(find_subcollection(root, "/kept/")),
            detail::ModelAccess::identity(kept));
}

}  // namespace
}  // namespace dynet
