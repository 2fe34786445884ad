#pragma once

// The lengths of the examples of a padded batch, checked in one way for operations, builders and
// searches.

#include <span>
#include <string>
#include <vector>

#include "dynet/dim.h"
#include "dynet/where.h"

namespace dynet::api {

/// Returns unless `lengths` is neither empty nor a list of one length, from 1 to `steps`, for each
/// example of `d`: ValueError for another number of lengths, IndexError for a length out of range.
/// `at` begins the text; `where` ends it, if the call was not yet in a node.
void check_lengths(const std::string& at, const Dim& d, unsigned steps,
                   std::span<const unsigned> lengths, Where where = {});
/// The lengths after that check; all `steps` of each example if the list is empty.
[[nodiscard]] std::vector<unsigned> checked_lengths(const std::string& at, const Dim& d,
                                                    unsigned steps,
                                                    const std::vector<unsigned>& lengths,
                                                    Where where = {});

}  // namespace dynet::api
