#pragma once

// Reports of the stages to stderr, for people who look for a mistake or for time. Off unless the
// variable DYNET_TRACE or a dynet::Trace names them.

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace dynet::util {

/// The kinds of traces. One bit each.
enum class TraceWord : std::uint8_t {
  kGraph = 1,    ///< each node as it is added
  kPlan = 2,     ///< the groups of each plan
  kMemory = 4,   ///< where the results of each plan lie
  kExecute = 8,  ///< each kernel call before it runs
  kTime = 16,    ///< the time of each operation, after each request
  kRepeats = 32  ///< stretches of nodes that a cell could hold, after each plan
};

namespace detail {
inline constexpr std::uint8_t kUnread = 128;  // DYNET_TRACE has not been read
inline std::atomic<std::uint8_t> trace_bits{kUnread};
/// Reads DYNET_TRACE. ValueError for an unknown word.
std::uint8_t read_trace_variable();
}  // namespace detail

/// Whether `word` reports. Thread-safe; one load if nothing does. The first call in a process
/// reads DYNET_TRACE and throws ValueError if that has another word.
[[nodiscard]] inline bool is_traced(TraceWord word) {
  std::uint8_t bits = detail::trace_bits.load(std::memory_order_relaxed);
  if (bits == detail::kUnread) {
    bits = detail::read_trace_variable();
  }
  return (bits & static_cast<std::uint8_t>(word)) != 0;
}

/// The bits of a list such as "plan,time"; "all" names all, "" none. ValueError for other words,
/// with `source` in its text.
[[nodiscard]] std::uint8_t parse_trace(std::string_view words, std::string_view source);
/// Sets the reporting kinds, in all threads; returns the kinds before.
std::uint8_t set_trace(std::uint8_t bits);
/// Writes `text` to stderr in one piece.
void write_trace(const std::string& text);

}  // namespace dynet::util
