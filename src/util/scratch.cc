#include "util/scratch.h"

#include <cstdlib>
#include <new>

namespace dynet::util {
namespace {
thread_local Scratch* first_of_thread = nullptr;
}  // namespace

/// Gives back what this thread has when it ends.
struct ThreadEnd {
  ThreadEnd() = default;
  ThreadEnd(const ThreadEnd&) = delete;
  ThreadEnd& operator=(const ThreadEnd&) = delete;
  ~ThreadEnd() {
    while (first_of_thread != nullptr) {
      Scratch& it = *first_of_thread;
      first_of_thread = it.next_;
      std::free(it.data_);
      it.data_ = nullptr;
      it.capacity_ = 0;
      it.next_ = nullptr;
    }
  }
  /// Sees to it that the destructor will run.
  void expect() const {}
};

namespace {
thread_local ThreadEnd thread_end;
}  // namespace

void Scratch::grow(std::size_t n) {
  const std::size_t bytes = (n * sizeof(float) + 4095) / 4096 * 4096;
  void* fresh = std::aligned_alloc(64, bytes);
  if (fresh == nullptr) {
    throw std::bad_alloc();
  }
  if (data_ == nullptr) {
    thread_end.expect();
    next_ = first_of_thread;
    first_of_thread = this;
  }
  std::free(data_);
  data_ = static_cast<float*>(fresh);
  capacity_ = bytes / sizeof(float);
}

}  // namespace dynet::util
