#pragma once

#include <algorithm>
#include <cstddef>

namespace dynet::util {

/// Room for `count` more items in a vector, so that adding them does not throw; grows by doubling.
template <class Vector>
void reserve_more(Vector& v, std::size_t count) {
  if (v.capacity() - v.size() < count) {
    v.reserve(std::max(v.size() + count, 2 * v.capacity()));
  }
}

}  // namespace dynet::util
