#pragma once

// The checks that every operation must pass, the library's own and those from outside the tree.
// Each takes one example, tries it in all its cases and uses GoogleTest's expectations.

#include "support/samples.h"

namespace dynet::testing {

/// Gradients of all operands against central differences in double; merged against one by one.
void expect_right_gradients(const Sample& sample);
/// Float values and gradients on every SIMD target that this machine offers against the double
/// device.
void expect_float_agrees_with_double(const Sample& sample);
/// Two nodes that differ in one attribute by the least amount have different keys and do not merge.
void expect_attributes_in_key(const Sample& sample);

/// NaN, infinities, zeros, denormal numbers, the largest floats, and mixtures: merged as one by
/// one.
void expect_special_values_merge(const Sample& sample);
/// The same kinds of numbers come out in float, on every SIMD target, as in double.
void expect_special_values_as_double(const Sample& sample);
/// Those of one example of a batch change nothing in another one.
void expect_special_values_stay(const Sample& sample);

/// "elu_3": the name of a parameterised test.
std::string test_name(const Sample& sample, std::size_t index);

}  // namespace dynet::testing
