#pragma once

// Who is using a model: any number of running graphs, or one update.

#include <atomic>

namespace dynet {
struct ParameterStorageBase;
class ParameterCollection;
}  // namespace dynet

namespace dynet::params {

/// One a root collection, shared by it and its parameters. Positive: running graphs; -1: an update.
struct Usage {
  std::atomic<int> users{0};
};
/// The counter of the model that `storage` belongs to; lives as long as the storage.
[[nodiscard]] Usage& usage_of(const ParameterStorageBase& storage);
[[nodiscard]] Usage& usage_of(const ParameterCollection& collection);

/// While it lives, a graph computes with a model: forward or backward. Any number at once, in any
/// threads and nested. GraphError when an update is running.
class RunScope {
 public:
  explicit RunScope(Usage& usage);
  RunScope(const RunScope&) = delete;
  RunScope& operator=(const RunScope&) = delete;
  ~RunScope() { usage_.users.fetch_sub(1, std::memory_order_release); }

 private:
  Usage& usage_;
};

/// While it lives, `action` changes a model. GraphError naming it when a graph or another update
/// runs.
class UpdateScope {
 public:
  UpdateScope(Usage& usage, const char* action);
  UpdateScope(const UpdateScope&) = delete;
  UpdateScope& operator=(const UpdateScope&) = delete;
  ~UpdateScope() { usage_.users.store(0, std::memory_order_release); }

 private:
  Usage& usage_;
};

}  // namespace dynet::params
