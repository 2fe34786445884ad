#pragma once

#include <vector>

#include "graph/graph.h"

namespace dynet::bench {

/// All nodes of a graph that take a call: neither parameters nor further results.
inline std::vector<graph::NodeId> scheduled_nodes(const graph::Graph& nodes) {
  std::vector<graph::NodeId> all;
  for (graph::NodeId n = 0; n < nodes.size(); ++n) {
    if (nodes[n].record().reads_storage != ext::Storage::kWhole && nodes[n].output == 0) {
      all.push_back(n);
    }
  }
  return all;
}

}  // namespace dynet::bench
