#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "dynet/init.h"

namespace dynet::params {

struct OptionText {
  const char* name;  ///< without "--dynet-"
  const char* value;
  const char* meaning;
};
/// All options; docs/options.md prints the table, and a test compares page and table.
[[nodiscard]] std::vector<OptionText> option_table();

/// The values of `threads` that are allowed.
inline constexpr const char* kThreadsWanted = "a number of threads from 0 to 256";

/// Bytes that a graph's pools begin with; 0: as they like.
struct FirstSizes {
  std::size_t values = 0;
  std::size_t gradients = 0;
};
/// Reads "", "N", "F,B,P" (before 2.0) or "F,B,P,S" in MiB. ValueError for anything else.
FirstSizes parse_memory(const std::string& text);

/// ValueError naming the field if `p` holds a value that is not allowed, or that this library does
/// not support.
void check(const DynetParams& p);
/// The word itself, in static memory; ValueError for an unknown word, or for a word without effect.
const char* checked_precision(const std::string& word);

}  // namespace dynet::params
