#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "dynet/globals.h"

#include "graph/graph.h"
#include "util/timeline.h"
#include "util/trace.h"

namespace dynet::execute {

/// What the calls of each operation took. Plain data; not thread-safe.
class Profile {
 public:
  /// One call: how many nodes it computed (or backward: whose gradients it read), the bytes of
  /// their results, its time.
  void add(const ext::Record& record, bool backward, std::int64_t nodes, std::int64_t bytes,
           double seconds);
  void add(const Profile& other);
  void clear() { rows_.clear(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Seconds of all calls.
  [[nodiscard]] double seconds() const;
  /// A line for each operation and direction, the one that took longest first. `details`: with
  /// nodes per call and bytes of results.
  [[nodiscard]] std::string to_text(bool details) const;

 private:
  struct Row {
    std::int64_t calls = 0;
    std::int64_t nodes = 0;
    std::int64_t bytes = 0;
    double seconds = 0.0;
  };
  struct Key {
    const ext::Record* record;
    bool backward;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, Row> rows_;
};

/// What `--dynet-profiling` gathered from all graphs. Thread-safe.
[[nodiscard]] std::string process_profile_text();
void reset_process_profile();

/// Follows one request of one graph, a forward or a backward pass: traces its calls and takes their
/// times, as DYNET_TRACE, `--dynet-profiling` and a TimelineScope say. Does nothing where none of
/// them says anything. Thread rule: that of its graph.
class Watch {
 public:
  /// Whether any of them says something.
  [[nodiscard]] static bool is_wanted() {
    return util::is_traced(util::TraceWord::kExecute) || util::is_traced(util::TraceWord::kTime) ||
           util::is_recording() || profiling_flag > 0;
  }
  /// Puts itself into `slot` while it lives, where it has something to do.
  Watch(const graph::Graph& graph, bool backward, Watch*& slot);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  /// Reports what was gathered, also where the request failed.
  ~Watch();

  /// The calls that come are those of this group of the history.
  void begin_group(std::uint32_t group) { group_ = group; }
  void before_call(std::span<const graph::NodeId> members);
  void after_call(std::span<const graph::NodeId> members);

 private:
  using Clock = std::chrono::steady_clock;

  void report();
  void record_call(std::span<const graph::NodeId> members, std::int64_t bytes,
                   Clock::time_point end);

  const graph::Graph& graph_;
  bool backward_;
  Watch*& slot_;
  bool traces_calls_;
  bool traces_time_;
  bool is_recording_;
  bool takes_times_;
  std::uint32_t group_ = 0;
  Clock::time_point begin_;
  Clock::time_point call_;
  Profile profile_;
};

}  // namespace dynet::execute
