#include "support/samples.h"

#include <gtest/gtest.h>

#include <cctype>

#include "dynet/ops/all.h"

namespace dynet::testing {

const std::vector<Sample>& all_samples() {
  static const std::vector<Sample> all = samples_of_list<ops::AllOps>();
  return all;
}

const std::vector<const Sample*>& operation_samples() {
  static const std::vector<const Sample*> all = [] {
    std::vector<const Sample*> found;
    for (const Sample& s : all_samples()) {
      if (!s.is_leaf()) {
        found.push_back(&s);
      }
    }
    return found;
  }();
  return all;
}

std::vector<std::string_view> names_of_all_operations() {
  std::vector<std::string_view> names;
  ops::AllOps::for_each([&]<class Op>() { names.push_back(Op::kInfo.name); });
  return names;
}

std::string test_name(const Sample& sample, std::size_t index) {
  std::string name;
  for (const char ch : sample.record->info->name) {
    name += std::isalnum(static_cast<unsigned char>(ch)) != 0 ? ch : '_';
  }
  return name + '_' + std::to_string(index);
}

std::string test_name(const CheckOfSample& parameter, std::size_t index) {
  const auto& [check, sample] = parameter;
  return std::string(check.name) + '_' + test_name(*sample, index);
}

void expect_passes(const CheckOfSample& parameter) {
  const auto& [check, sample] = parameter;
  for (const std::string& failure : check.run(*sample)) {
    ADD_FAILURE() << failure;
  }
}

std::vector<Check> all_checks() { return {checks().begin(), checks().end()}; }

}  // namespace dynet::testing
