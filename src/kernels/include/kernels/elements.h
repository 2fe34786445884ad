#pragma once

#include <cstdint>

#include "dynet/dim.h"

namespace dynet::kernels {

/// Elements of one example; shapes were checked when the node was built.
[[nodiscard]] inline std::int64_t elements_of(const Dim& d) {
  std::int64_t n = 1;
  for (unsigned i = 0; i < d.nd; ++i) {
    n *= d.d[i];
  }
  return n;
}

}  // namespace dynet::kernels
