#pragma once

// Lengths and columns: which nodes run together although their shapes differ.
//
// A *length* is an extent that follows from the number of items of a list, as concatenate_cols
// makes one; other sentences have other lengths. Lengths are found by asking a shape rule again: an
// extent that grows with the list, or with the lengths of the arguments, is a length.
//
// A node of shape {3,n^}, whose length is n, has n *columns* of shape {3}: extents from the first
// length on are left out. An operation that computes a column from the same columns of its
// arguments, and from parameters, sees columns instead of examples. The node is *cut*: its key
// holds the shape of a column, so sentences of all lengths share a group.

#include <cstdint>
#include <span>

#include "dynet/dim.h"
#include "dynet/ext/op.h"

namespace dynet::graph {

/// Nodes with more arguments are not cut.
inline constexpr std::size_t kMaxCutArgs = 64;

/// Bit d: dimension d is a length.
using Lengths = std::uint8_t;

/// The shape of a column of one example: the extents before the first length.
[[nodiscard]] Dim column_of(const Dim& d, Lengths lengths);

/// How many there are in one example; of an empty shape 1.
[[nodiscard]] std::int64_t count_columns(const Dim& d, Lengths lengths);

/// The content of a node, of which the parts below know the shapes without batch, unless the
/// operation mixes its batch.
struct Content {
  const ext::Record& record;
  const void* op;
  std::span<const Dim> dims;
  std::span<const Lengths> lengths;  ///< of the arguments
  unsigned batch;
  std::uint32_t payload_count;
};

/// Finds the lengths of the results, whose shapes are `results`.
void find_lengths(const Content& content, std::span<const Dim> results, std::span<Lengths> found);

/// One argument, for the question whether a node is cut.
struct CutArgument {
  bool may_be_whole;  ///< a parameter that all members of a call may share
  bool has_batch;     ///< one example for each example of the node
};
/// The arguments that the operation reads column by column, as bits; 0: the node is not cut.
[[nodiscard]] std::uint64_t find_cut(const Content& content, std::span<const CutArgument> arguments,
                                     std::span<const Dim> results,
                                     std::span<const Lengths> of_results);

}  // namespace dynet::graph
