#pragma once

// Who finds numbers that are not finite is seldom who made them: a trainer finds a gradient that is
// NaN, and knows no graph. The graph that ran backward last in this thread leaves its name here, so
// that the trainer's error can say which node it was.

#include <cstdint>
#include <string>

namespace dynet::util {

/// A graph, as an address and the number of its present life, and what looks for the node.
struct Suspect {
  const void* graph = nullptr;
  std::uint32_t epoch = 0;
  /// Empty if the graph is no more, or all is well in it.
  std::string (*find_nan)(const Suspect&) = nullptr;
};

namespace detail {
inline thread_local Suspect suspect;
}  // namespace detail

inline void set_suspect(const Suspect& suspect) { detail::suspect = suspect; }

/// What the suspect of this thread says of itself; empty if there is none.
[[nodiscard]] inline std::string suspect_text() {
  const Suspect& suspect = detail::suspect;
  return suspect.find_nan == nullptr ? std::string() : suspect.find_nan(suspect);
}

}  // namespace dynet::util
