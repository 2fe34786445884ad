#pragma once

// The examples of the library's operations, for tests with GoogleTest.

#include <cstddef>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "dynet/ext/testing.h"

namespace dynet::testing {

/// All examples of ops::AllOps, made once.
const std::vector<Sample>& all_samples();
/// Examples of operations that are no leaves.
const std::vector<const Sample*>& operation_samples();

/// The names of ops::AllOps, whether they have examples or not.
std::vector<std::string_view> names_of_all_operations();

/// "elu_3": the name of a parameterised test.
std::string test_name(const Sample& sample, std::size_t index);

/// A check and its sample, as the parameter of a test.
using CheckOfSample = std::tuple<Check, const Sample*>;
/// "CopiesMerge_elu_3".
std::string test_name(const CheckOfSample& parameter, std::size_t index);
/// Runs it; each failure is one of the test.
void expect_passes(const CheckOfSample& parameter);
std::vector<Check> all_checks();

}  // namespace dynet::testing
