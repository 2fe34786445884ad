// The table of live graphs, keyed by address.
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "api/graph_state.h"
#include "util/fork.h"

namespace dynet::api {
namespace {

/// Open addressing. Readers probe without a lock, and believe a graph that they find. A reader that
/// finds nothing looks again with the mutex, which writers hold: a table may be cleared of graves
/// meanwhile. An outgrown table is kept until the process ends, as a reader may still be in it:
/// sizes double, so all old tables together are smaller than the current one.
struct Table {
  explicit Table(std::size_t size) : slots(size) { alive.reserve(size / 2); }
  std::vector<std::atomic<const void*>> slots;
  std::size_t used = 0;            ///< live entries and graves
  std::vector<const void*> alive;  ///< while graves are cleared
};
const char kGraveMarker = 0;
const void* const kGrave = &kGraveMarker;

util::ForkMutex mutex;
std::atomic<Table*> current{nullptr};
std::atomic<int> live{0};

/// Never destroyed: graphs may outlive main().
std::vector<std::unique_ptr<Table>>& tables() {
  static auto& all = *new std::vector<std::unique_ptr<Table>>;
  return all;
}

std::size_t hash_of(const void* p) {
  return (reinterpret_cast<std::uintptr_t>(p) >> 4) * 0x9E3779B97F4A7C15ULL >> 24;
}

void put(Table& table, const void* graph) {
  const std::size_t mask = table.slots.size() - 1;
  std::size_t i = hash_of(graph) & mask;
  while (true) {
    const void* there = table.slots[i].load(std::memory_order_relaxed);
    if (there == nullptr || there == kGrave) {
      table.used += there == nullptr ? 1 : 0;
      table.slots[i].store(graph, std::memory_order_release);
      return;
    }
    i = (i + 1) & mask;
  }
}

void list_alive(Table& table) {
  table.alive.clear();
  for (const auto& slot : table.slots) {
    const void* p = slot.load(std::memory_order_relaxed);
    if (p != nullptr && p != kGrave) {
      table.alive.push_back(p);
    }
  }
}

/// Graphs that come and go at ever new addresses leave graves alone: no memory is taken for them.
void clear_graves(Table& table) {
  list_alive(table);
  for (auto& slot : table.slots) {
    slot.store(nullptr, std::memory_order_relaxed);
  }
  table.used = 0;
  for (const void* p : table.alive) {
    put(table, p);
  }
}

void make_room() {
  constexpr std::size_t kSmallest = 256;
  Table* old = current.load();
  const std::size_t wanted = 4 * (static_cast<std::size_t>(live.load()) + 1);
  std::size_t size = old == nullptr ? kSmallest : old->slots.size();
  if (old != nullptr && wanted <= size) {
    clear_graves(*old);
    return;
  }
  while (size < wanted) {
    size *= 2;
  }
  auto fresh = std::make_unique<Table>(size);
  if (old != nullptr) {
    list_alive(*old);
    for (const void* p : old->alive) {
      put(*fresh, p);
    }
  }
  tables().push_back(std::move(fresh));
  current.store(tables().back().get(), std::memory_order_release);
}

/// Every use of an expression asks: inlined, so that a question is no second call.
[[gnu::always_inline]] inline bool has(const Table& table, const void* graph) {
  const std::size_t mask = table.slots.size() - 1;
  for (std::size_t i = hash_of(graph) & mask;; i = (i + 1) & mask) {
    const void* there = table.slots[i].load(std::memory_order_acquire);
    if (there == graph) {
      return true;
    }
    if (there == nullptr) {
      return false;
    }
  }
}

[[gnu::noinline]] bool has_with_lock(const void* graph) {
  const std::lock_guard lock(mutex);
  return has(*current.load(), graph);
}

}  // namespace

void enter_live(const ComputationGraph* graph) {
  const std::lock_guard lock(mutex);
  Table* table = current.load();
  if (table == nullptr || (table->used + 1) * 2 > table->slots.size()) {
    make_room();
    table = current.load();
  }
  put(*table, graph);
  ++live;
}

void leave_live(const ComputationGraph* graph) {
  const std::lock_guard lock(mutex);
  Table& table = *current.load();
  const std::size_t mask = table.slots.size() - 1;
  std::size_t i = hash_of(graph) & mask;
  while (table.slots[i].load(std::memory_order_relaxed) != graph) {
    i = (i + 1) & mask;
  }
  table.slots[i].store(kGrave, std::memory_order_release);
  --live;
}

bool is_live(const ComputationGraph* graph) {
  const Table* table = current.load(std::memory_order_acquire);
  if (table == nullptr) {
    return false;
  }
  return has(*table, graph) || has_with_lock(graph);
}

int live_count() { return live.load(); }

}  // namespace dynet::api
