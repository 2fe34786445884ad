#pragma once

// The schedules of the learning rate by their short names, such as `dynet::CosineSchedule`. The
// header training.h alone gives `dynet::trainers::CosineSchedule`: programs of DyNet 2.1, which
// include it, may have a `Schedule` (docs/decisions/0027).

#include "dynet/trainers/schedule.h"

namespace dynet {

using trainers::ConstantSchedule;
using trainers::CosineSchedule;
using trainers::CyclicalSchedule;
using trainers::InverseSquareRootSchedule;
using trainers::PlateauSchedule;
using trainers::Schedule;
using trainers::WarmupSchedule;

}  // namespace dynet
