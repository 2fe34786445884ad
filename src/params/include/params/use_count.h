#pragma once

// The users of a model: any number of running graphs, or one update.

#include <atomic>
#include <cstdint>

namespace dynet {
struct ParameterStorageBase;
class ParameterCollection;
}  // namespace dynet

namespace dynet::params {

/// One per root collection, shared with its parameters. Work of other threads at the time of a fork
/// does not count in the child. Thread-safe.
class Usage {
 public:
  /// The number of running graphs; -1 during an update.
  [[nodiscard]] int users() const;
  /// One more running graph: true, and in which process (fork_count()). False during an update.
  [[nodiscard]] bool begin_run(std::uint32_t& process);
  void end_run(std::uint32_t process);
  /// An update begins, if nobody uses the model. Returns users() as it was.
  [[nodiscard]] int begin_update();
  void end_update();
  /// The number of changes of values of the model in this process, one storage at a time. An equal
  /// number later proves that nothing changed, without a look at each parameter.
  [[nodiscard]] std::uint64_t changes() const { return changes_.load(std::memory_order_relaxed); }
  void note_change() { changes_.fetch_add(1, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<std::uint64_t> word_{0};  ///< process, then users in the lower half
};
/// The counter of the model that `storage` belongs to; lives as long as the storage.
[[nodiscard]] Usage& usage_of(const ParameterStorageBase& storage);
[[nodiscard]] Usage& usage_of(const ParameterCollection& collection);

/// While the scope lives, a graph computes with a model: forward or backward. Any number at once,
/// in any threads and nested. GraphError when an update is running.
class RunScope {
 public:
  explicit RunScope(Usage& usage);
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() { usage_.end_run(process_); }

 private:
  Usage& usage_;
  std::uint32_t process_ = 0;
};

/// While the scope lives, `action` changes a model. GraphError naming it when a graph or another
/// update runs.
class UpdateScope {
 public:
  UpdateScope(Usage& usage, const char* action);
  UpdateScope(const UpdateScope&) = delete;
  UpdateScope& operator=(const UpdateScope&) = delete;
  ~UpdateScope() { usage_.end_update(); }

 private:
  Usage& usage_;
};

}  // namespace dynet::params
