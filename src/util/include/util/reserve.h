#pragma once

#include <algorithm>
#include <cstddef>

namespace dynet::util {

namespace detail {
template <class Vector>
[[gnu::noinline]] void grow(Vector& v, std::size_t count) {
  v.reserve(std::max(v.size() + count, 2 * v.capacity()));
}
}  // namespace detail

/// Room for `count` more items in a vector, so that adding them does not throw; grows by doubling.
template <class Vector>
inline void reserve_more(Vector& v, std::size_t count) {
  if (v.capacity() - v.size() < count) {
    detail::grow(v, count);
  }
}

}  // namespace dynet::util
