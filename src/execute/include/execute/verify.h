#pragma once

#include <string>

#include "execute/executor.h"

namespace dynet::execute {

/// Looks for something that may not be between two requests; empty, or what is wrong. Says of each
/// node that it is in one group, or in the two that compute one part each, and that it lies beside
/// the members before it, as does what it saves, and where no other group has anything; of each
/// segment that its members run together and that its call has their examples, and its operands
/// where they lie; of each slot that it names the first node of its kind and counts them; that all
/// is computed where the values say so; that gradients which were written have memory. Takes as
/// long as the graph is large.
[[nodiscard]] std::string verify(const Executor& executor);

/// What is wrong with a mark that is to be reverted to, or empty.
[[nodiscard]] std::string verify(const Executor& executor, const Executor::Mark& mark,
                                 NodeId first_removed);

/// Whether DYNET_PARANOID was set when this was asked first.
[[nodiscard]] bool is_paranoid();

/// With DYNET_PARANOID=1: throws GraphError where `verify` finds something after `event`.
void verify_if_paranoid(const Executor& executor, const char* event);
void verify_if_paranoid(const Executor& executor, const Executor::Mark& mark, NodeId first_removed);

}  // namespace dynet::execute
