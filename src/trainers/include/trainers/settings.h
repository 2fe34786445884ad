#pragma once

#include "dynet/trainers/trainer.h"

namespace dynet::trainers {

/// The range that `value` is not in, as text ("0 or more and less than 1"); null: it is in its
/// range.
const char* missed_range(Range range, float value);

}  // namespace dynet::trainers
