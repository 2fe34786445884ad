#pragma once

// The trainers of DyNet 2.1: they change parameters by their gradients. The base is in
// trainers/trainer.h, each rule in a file of its own beside it. Trainers that 2.1 lacks are not
// included, because their names may be names of a program (docs/decisions/0027): adamw.h, lamb.h
// and lion.h in dynet/trainers, or all.h there, which has every trainer.

#include "dynet/trainers/adadelta.h"
#include "dynet/trainers/adagrad.h"
#include "dynet/trainers/adam.h"
#include "dynet/trainers/cyclical.h"
#include "dynet/trainers/eg.h"
#include "dynet/trainers/momentum.h"
#include "dynet/trainers/rmsprop.h"
#include "dynet/trainers/sgd.h"
