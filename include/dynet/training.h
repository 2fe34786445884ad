#pragma once

// Trainers: they change parameters by their gradients. The base is in trainers/trainer.h, each rule
// in a file of its own beside it.

#include "dynet/trainers/all.h"
