#pragma once

// Plans and choices as text, for people.

#include <string>

#include "graph/graph.h"
#include "schedule/plan.h"

namespace dynet::schedule {

/// "group 3: 4 x affine_transform, 1 segment: v12 v15 v18 v21", a line per group.
[[nodiscard]] std::string to_text(const graph::Graph& graph, const Plan& plan);

/// The plan as an SVG picture: a box for each group, from left to right as they depend on each
/// other, with its members; parameters have boxes of their own. A node's text is its hint.
[[nodiscard]] std::string to_svg(const graph::Graph& graph, const Plan& plan);

/// Why two nodes do not run together, as the first difference of their keys: "attributes: d=0 !=
/// d=1", "argument 1: {3} != {4}"; or another obstacle; or "equal keys". For people: slow.
[[nodiscard]] std::string explain(const graph::Graph& graph, NodeId a, NodeId b);

}  // namespace dynet::schedule
