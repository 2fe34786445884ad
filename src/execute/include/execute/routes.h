#pragma once

// The ways of gradients in a backward pass, and the two questions that choose among them.
//
//   gradient of                      is written                          and goes
//   a node                           to memory of its own, in the        nowhere
//                                    layout of the values
//   a parameter                      to the memory of its first node     to its storage, at the end
//   a parameter that calls multiply  as products, done as one            to its storage, directly
//   with
//   a computed weight, such as a     as products, done when the pass     nowhere
//   masked matrix                    comes to it
//   rows of a table                  to memory of their own              to the rows of the storage
//   rows of a table as a matrix      as products, done at the end of     to the rows
//                                    the pass
//   an alias                         to memory of its own                to its argument
//
// Example: in u * tanh(u * x), both calls leave their products for the parameter u. After the pass
// one product over two columns adds to the gradient in u's storage.

#include <cstdint>

#include "execute/segment.h"

namespace dynet::execute {

/// When the products that calls leave for a gradient are done.
enum class ProductsDone : std::uint8_t {
  kAtNode,      ///< when the pass comes to the node
  kAtEnd,       ///< at the end of the pass
  kAtDelivery,  ///< when the gradient is added to the storage
};
[[nodiscard]] ProductsDone products_done(const graph::Graph& graph, NodeId n);

/// Whether the call of a segment may leave products for the gradient of an operand: a parameter
/// that all members share, or a matrix that all members multiply with.
[[nodiscard]] bool leaves_products(const graph::Graph& graph, const SegmentView& segment,
                                   const Argument& argument);

}  // namespace dynet::execute
