// Every operation of the list, by its examples: gradients against central differences in double,
// merged against one by one, the float kernels of every SIMD target against the double device, and
// every attribute in the key.

#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <set>

#include "dynet/ops/all.h"

#include "support/cases.h"
#include "support/suites.h"

namespace dynet::testing {
namespace {

class EveryOp : public ::testing::TestWithParam<const Sample*> {};

TEST_P(EveryOp, GradientsAgreeWithDifferences) { expect_right_gradients(*GetParam()); }
TEST_P(EveryOp, FloatAgreesWithDoubleOnEveryTarget) {
  expect_float_agrees_with_double(*GetParam());
}
TEST_P(EveryOp, AttributesAreInTheKey) { expect_attributes_in_key(*GetParam()); }

std::vector<const Sample*> operations() {
  std::vector<const Sample*> all;
  for (const Sample& s : all_samples()) {
    if (!s.is_leaf()) {
      all.push_back(&s);
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, EveryOp, ::testing::ValuesIn(operations()),
                         [](const auto& p) { return test_name(*p.param, p.index); });

/// What the shape rules refuse is listed, so that a case that vanished is seen.
TEST(EveryOpList, PrintsRefusedCases) {
  std::map<std::string, std::set<std::string>> refused;
  for (const Sample* s : operations()) {
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

TEST(EveryOpList, HasAnExampleOfEveryOperation) {
  std::set<std::string_view> names;
  for (const Sample& s : all_samples()) {
    names.insert(s.record->info->name);
  }
  ops::AllOps::for_each(
      [&]<class Op>() { EXPECT_TRUE(names.contains(Op::kInfo.name)) << Op::kInfo.name; });
}

}  // namespace
}  // namespace dynet::testing
