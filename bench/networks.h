#pragma once

// Typical dynamic networks in plain operations, as somebody writes them who knows no builder: what
// scheduling is counted on. One `logistic` serves the gates of all LSTMs of a program here, and
// products of different places share keys: the hard case for batching.

#include <functional>
#include <span>

#include "dynet/dynet.h"
#include "dynet/expr.h"

namespace dynet::bench {

/// Adds some examples to a graph; returns the sum of their losses. A program makes the same graph
/// each time.
struct Network {
  const char* name;
  std::function<Expression(ComputationGraph&)> add;
};
/// All of them, with weights of their own.
std::span<const Network> networks();

}  // namespace dynet::bench
