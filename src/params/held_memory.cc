#include "params/held_memory.h"

#include <atomic>
#include <string>

#include "dynet/except.h"

#include "params/settings.h"

namespace dynet::params {
namespace {
std::atomic<std::size_t> held{0};
}  // namespace

std::size_t held_bytes() { return held.load(); }

bool may_hold(std::size_t bytes) {
  const std::size_t limit = settings().memory_cap_bytes.load();
  return limit == 0 || held.load() + bytes <= limit;
}

void hold(std::size_t bytes) {
  const std::size_t limit = settings().memory_cap_bytes.load();
  const std::size_t before = held.fetch_add(bytes);  // first: another thread may do so, too
  if (limit != 0 && before + bytes > limit) {
    held -= bytes;
    throw out_of_memory("out of memory: " + std::to_string(bytes) +
                        " bytes more would pass the cap of " + std::to_string(limit) + " bytes (" +
                        std::to_string(before) + " held)");
  }
}

void let_go(std::size_t bytes) noexcept { held -= bytes; }

}  // namespace dynet::params
