#pragma once

#include <new>

namespace dynet::util {

/// Throws out_of_memory; takes nothing from the heap.
[[noreturn]] void fail_small_allocation();

/// Runs `f`. A failed allocation inside it, however small, is out_of_memory to the caller.
template <class F>
decltype(auto) with_typed_allocation(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail_small_allocation();
  }
}

}  // namespace dynet::util
