#pragma once

#include "dynet/ext/testing.h"

namespace dynet::testing {

// special.cc
Failures special_values_merge(const Sample& sample);
Failures special_values_as_double(const Sample& sample);
Failures special_values_stay(const Sample& sample);
// calls.cc
Failures calls_by_hand(const Sample& sample);

}  // namespace dynet::testing
