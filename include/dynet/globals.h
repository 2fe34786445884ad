#pragma once

// The few process-wide variables that programs use.

#include <random>

namespace dynet {

class Device;
class NamedTimer;

/// The random engine of initialisers and of rand01 and its like; never null. Random operations do
/// not draw from it but use a counter (reset_rng seeds both). Thread rule: one thread at a time.
extern std::mt19937* rndeng;
/// The default device of parameters and graphs; the CPU before initialize(). Never null.
extern Device* default_device;
/// Batching of graphs made from now on: 0 off, else on (the default).
extern int autobatch_flag;
/// 1 or 2: operations of all graphs are timed, see profile_text() in debug.h; 0 (the default): not.
extern int profiling_flag;
/// Weight decay of collections made from now on.
extern float default_weight_decay_lambda;
/// For a program's own times, printed to stdout when it ends if there are any; its functions are in
/// timing.h. The library's own: profiling_flag.
extern NamedTimer timer;

}  // namespace dynet
