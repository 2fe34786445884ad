#pragma once

#include "dynet/trainers/trainer.h"

namespace dynet::trainers {

/// The range that `value` misses, as text ("0 or more and less than 1"); null for a value in range.
const char* missed_range(Range range, float value);

}  // namespace dynet::trainers
