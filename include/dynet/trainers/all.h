#pragma once

// Every trainer of the library. SIMD and CUDA loops of their rules, Python, and tests loop over
// this list.

#include "dynet/trainers/adadelta.h"
#include "dynet/trainers/adagrad.h"
#include "dynet/trainers/adam.h"
#include "dynet/trainers/cyclical.h"
#include "dynet/trainers/momentum.h"
#include "dynet/trainers/rmsprop.h"
#include "dynet/trainers/sgd.h"

namespace dynet::trainers {

using AllTrainers =
    TrainerList<SimpleSGDTrainer, CyclicalSGDTrainer, MomentumSGDTrainer, AdagradTrainer,
                AdadeltaTrainer, RMSPropTrainer, AdamTrainer, AmsgradTrainer>;

}  // namespace dynet::trainers
