#pragma once

// Typical dynamic networks in plain operations, as a program without builders has them: the input
// of counted scheduling and of the rows of plain programs. One `logistic` serves the gates of all
// LSTMs of a program here, and products in different places share keys. That is the hard case for
// batching.

#include <functional>
#include <span>

#include "dynet/dynet.h"
#include "dynet/expr.h"

namespace dynet::bench {

class World;

/// Adds some examples to a graph; returns the sum of their losses. Every call makes the same graph.
struct Network {
  const char* name;
  std::function<Expression(ComputationGraph&)> add;
};

/// A network of which the examples, the size and the kind of LSTM are chosen later.
struct NetworkKind {
  const char* name;
  std::vector<Expression> (*example)(World&);  ///< the losses of one more example
  unsigned examples;                           ///< in a graph whose instructions are counted
  bool has_cells;                              ///< some part of it can be a cell
  bool has_builders;                           ///< some part of it can be a builder
};
std::span<const NetworkKind> network_kinds();

/// Adds further examples to the graph that `world` has begun; returns the sum of their losses.
Expression add_examples(const NetworkKind& kind, World& world, unsigned examples);

/// All kinds with vectors of 8, in plain operations. Each has weights of its own.
std::span<const Network> networks();

}  // namespace dynet::bench
