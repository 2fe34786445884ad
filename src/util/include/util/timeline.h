#pragma once

// A record of the library's work over time, for a picture: stages of requests, and each kernel
// call. Off without a dynet::TimelineScope.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

namespace dynet::util {

namespace detail {
inline std::atomic<bool> is_recording{false};
}  // namespace detail

/// Whether events are recorded. Thread-safe; one load.
[[nodiscard]] inline bool is_recording() {
  return detail::is_recording.load(std::memory_order_relaxed);
}

using TimelineClock = std::chrono::steady_clock;

/// Something that a thread did from `begin` to `end`. `details` are fields of a JSON object, such
/// as `"nodes": 3`; may be empty.
struct TimelineEvent {
  std::string name;
  const char* kind;
  TimelineClock::time_point begin, end;
  std::string details;
};

/// Adds an event of this thread, if events are recorded. Thread-safe. Beyond a million events only
/// their number is kept.
void record(TimelineEvent event);

/// Text between the quotes of a JSON string.
[[nodiscard]] std::string json_escaped(const std::string& text);

/// Records that a stage lasted as long as this lives. `name` is a literal.
class Slice {
 public:
  explicit Slice(const char* name) : name_(is_recording() ? name : nullptr) {
    if (name_ != nullptr) {
      begin_ = TimelineClock::now();
    }
  }
  Slice(const Slice&) = delete;
  Slice& operator=(const Slice&) = delete;
  ~Slice() {
    if (name_ != nullptr) {
      end();
    }
  }

 private:
  void end() noexcept;

  const char* name_;
  TimelineClock::time_point begin_;
};

/// Begins to record. UsageError during another recording.
void start_timeline();
/// Stops, and gives the record in the JSON format of Chrome's traces ("Trace Event Format",
/// complete events: times in microseconds since the start).
[[nodiscard]] std::string take_timeline();

}  // namespace dynet::util
