#pragma once

// The graph behind bad numbers. A trainer that finds NaN in a gradient knows no graph. So the graph
// that ran backward last in this thread registers here, and the trainer's error names the node.

#include <cstdint>
#include <string>

namespace dynet::util {

/// A graph, as an address and the number of its present life, and the function that looks for the
/// node.
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

/// The text about the suspect of this thread; empty if there is none.
[[nodiscard]] inline std::string suspect_text() {
  const Suspect& suspect = detail::suspect;
  return suspect.find_nan == nullptr ? std::string() : suspect.find_nan(suspect);
}

}  // namespace dynet::util
