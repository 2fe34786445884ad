#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "graph/graph.h"

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

}  // namespace dynet::execute
