// Every operation of the list, by its examples, passes every check of dynet/ext/testing.h.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/samples.h"
#include "testing/cases.h"

namespace dynet::testing {
namespace {

class EveryOp : public ::testing::TestWithParam<CheckOfSample> {};
INSTANTIATE_TEST_SUITE_P(All, EveryOp,
                         ::testing::Combine(::testing::ValuesIn(all_checks()),
                                            ::testing::ValuesIn(operation_samples())),
                         [](const auto& p) { return test_name(p.param, p.index); });
TEST_P(EveryOp, Passes) { expect_passes(GetParam()); }

/// Lists the cases that shape rules refuse, so that a case that vanished is seen.
TEST(EveryOpList, PrintsRefusedCases) {
  std::map<std::string, std::set<std::string>> refused;
  for (const Sample* s : operation_samples()) {
    std::vector<std::string> names;
    EXPECT_GE(cases_of(*s, &names).size(), 2U) << s->text();
    for (const std::string& n : names) {
      refused[n.substr(0, n.find(':'))].insert(std::string(s->record->info->name));
    }
  }
  for (const auto& [name, operations_refusing] : refused) {
    std::printf("%s: refused by", name.c_str());
    for (const std::string& op : operations_refusing) {
      std::printf(" %s", op.c_str());
    }
    std::printf("\n");
  }
}

/// Eight calls of every operation, with as many ranks, sizes and attributes as possible; all tests
/// of operations, on the far device too, and the tables of special values are only as good as these
/// calls. Leaves are left out: they take no arguments, and their numbers come from outside.
TEST(EveryOpList, HasEightExamplesOfEveryOperation) {
  std::map<std::string_view, int> examples;
  for (const Sample* s : operation_samples()) {
    ++examples[s->record->info->name];
  }
  for (const auto& [name, count] : examples) {
    EXPECT_GE(count, 8) << name;
  }
}

TEST(EveryOpList, HasAnExampleOfEveryOperation) {
  std::set<std::string_view> names;
  for (const Sample& s : all_samples()) {
    names.insert(s.record->info->name);
  }
  for (const std::string_view name : names_of_all_operations()) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

}  // namespace
}  // namespace dynet::testing
