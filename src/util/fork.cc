#include "util/fork.h"

#include <pthread.h>

namespace dynet::util {
namespace {
std::atomic<std::uint32_t> forks{0};
}  // namespace

std::uint32_t fork_count() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);  // without memory for it, forks stay uncounted
  return forks.load(std::memory_order_relaxed);
}

}  // namespace dynet::util
