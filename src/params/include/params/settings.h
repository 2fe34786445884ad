#pragma once

// Options of the process that later stages read, as initialize() left them.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace dynet::params {

enum class LstmKind : std::uint8_t { kCoupled, kVanilla };

/// Thread rule: written by initialize() and cleanup(); atomic, so reading is free.
struct Settings {
  std::atomic<std::size_t> memory_cap_bytes{0};      ///< of graph memory; 0: none
  std::atomic<std::size_t> first_value_bytes{0};     ///< of a graph's values; 0: as the pool likes
  std::atomic<std::size_t> first_gradient_bytes{0};  ///< of a graph's gradients
  std::atomic<bool> shared_parameters{false};        ///< parameters of the host made from now on
  std::atomic<LstmKind> lstm{LstmKind::kCoupled};
};
[[nodiscard]] Settings& settings();

/// Gives `text` to the log sink, if there is one.
void log(const std::string& text);
/// Gives the log sink a warning about a probable mistake. Callers warn once of each mistake, before
/// they change anything: a sink may throw.
void warn(const std::string& text);

}  // namespace dynet::params
