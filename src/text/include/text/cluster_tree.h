#pragma once

// Code shared by both ways of making clusters.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "dynet/text/clusters.h"

namespace dynet::text {

/// ValueError unless there can be so many classes.
void check_cluster_count(const char* function, const BigramCounts& counts, unsigned count);

/// Places of words, the most frequent words first; equally frequent words in the order of the text.
[[nodiscard]] std::vector<unsigned> by_frequency(const BigramCounts& counts);

/// Ways to `leaves` leaves. Node i of `merges` has number leaves + i; each merges two nodes of
/// smaller numbers, the last one is the root. The first of a pair is "0".
[[nodiscard]] std::vector<std::string> paths_of(
    std::size_t leaves, const std::vector<std::pair<std::size_t, std::size_t>>& merges);

/// Puts the result together. `cluster` is by word, `paths` by cluster; clusters are numbered by
/// their most frequent words.
[[nodiscard]] Clusters gather(const BigramCounts& counts, const std::vector<unsigned>& cluster,
                              const std::vector<std::string>& paths);

}  // namespace dynet::text
