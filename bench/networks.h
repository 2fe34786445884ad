#pragma once

// Typical dynamic networks in plain operations, as a program without builders has them: the input
// of counted scheduling. One `logistic` serves the gates of all LSTMs of a program here, and
// products in different places share keys. That is the hard case for batching.

#include <functional>
#include <span>

#include "dynet/dynet.h"
#include "dynet/expr.h"

namespace dynet::bench {

/// Adds some examples to a graph; returns the sum of their losses. Every call makes the same graph.
struct Network {
  const char* name;
  std::function<Expression(ComputationGraph&)> add;
};
/// All networks. Each has weights of its own.
std::span<const Network> networks();

}  // namespace dynet::bench
