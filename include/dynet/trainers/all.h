#pragma once

// Every trainer of the library. SIMD and CUDA loops of their rules, Python, and tests loop over
// this list.

#include "dynet/trainers/adadelta.h"
#include "dynet/trainers/adagrad.h"
#include "dynet/trainers/adam.h"
#include "dynet/trainers/adamw.h"
#include "dynet/trainers/clip.h"
#include "dynet/trainers/cyclical.h"
#include "dynet/trainers/eg.h"
#include "dynet/trainers/lamb.h"
#include "dynet/trainers/lion.h"
#include "dynet/trainers/momentum.h"
#include "dynet/trainers/rmsprop.h"
#include "dynet/trainers/sgd.h"

namespace dynet::trainers {

using AllTrainers = TrainerList<SimpleSGDTrainer, CyclicalSGDTrainer, MomentumSGDTrainer,
                                AdagradTrainer, AdadeltaTrainer, RMSPropTrainer, AdamTrainer,
                                AmsgradTrainer, EGTrainer, AdamWTrainer, LionTrainer, LambTrainer>;

/// The rules with loops for every device: of the trainers, and of the base.
using AllUpdates = AllTrainers::With<ClippingByValue>;

}  // namespace dynet::trainers
