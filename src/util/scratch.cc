#include "util/scratch.h"

#include <pthread.h>

#include <new>

namespace dynet::util {
namespace {
thread_local Scratch* first_of_thread = nullptr;
constexpr std::align_val_t kAlignment{64};
}  // namespace

/// Gives back the memory of a thread at its end: in the destructor of a pthread key, which runs
/// after the destructors of the program's thread_local objects, and once more if these take memory
/// again.
struct ThreadEnd {
  static void give_back(void* /*value*/) {
    while (first_of_thread != nullptr) {
      Scratch& it = *first_of_thread;
      first_of_thread = it.next_;
      ::operator delete(it.data_, kAlignment);
      it.data_ = nullptr;
      it.capacity_ = 0;
      it.next_ = nullptr;
    }
  }
  /// Arranges that the memory of this thread is given back.
  static void expect() {
    static const pthread_key_t key = [] {
      pthread_key_t made{};
      if (pthread_key_create(&made, &give_back) != 0) {
        throw std::bad_alloc();
      }
      return made;
    }();
    if (pthread_setspecific(key, static_cast<void*>(&first_of_thread)) != 0) {
      throw std::bad_alloc();
    }
  }
};

void Scratch::grow(std::size_t n) {
  const std::size_t bytes = (n * sizeof(float) + 4095) / 4096 * 4096;
  if (data_ == nullptr) {
    ThreadEnd::expect();
  }
  void* fresh = ::operator new(bytes, kAlignment);
  if (data_ == nullptr) {
    next_ = first_of_thread;
    first_of_thread = this;
  }
  ::operator delete(data_, kAlignment);
  data_ = static_cast<float*>(fresh);
  capacity_ = bytes / sizeof(float);
}

}  // namespace dynet::util
