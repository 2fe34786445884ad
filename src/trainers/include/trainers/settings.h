#pragma once

#include "dynet/trainers/trainer.h"

namespace dynet::trainers {

/// What a number is to be that `value` is not ("0 or more and less than 1"); null: it is right.
const char* missed_range(Range range, float value);

}  // namespace dynet::trainers
