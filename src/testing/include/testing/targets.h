#pragma once

#include <string>

#include "kernels/targets.h"
#include "ops/simd_rules.h"

namespace dynet::testing {

/// Chooses the kernels of other SIMD targets; the destructor restores the old target. Thread rule:
/// no other thread computes.
class SimdTarget {
 public:
  SimdTarget() = default;
  SimdTarget(const SimdTarget&) = delete;
  SimdTarget& operator=(const SimdTarget&) = delete;
  ~SimdTarget() { use(usual_); }
  static void use(const std::string& target) {
    kernels::use_target(target);
    ops::install_simd_rules();
  }

 private:
  std::string usual_ = kernels::current_target();
};

}  // namespace dynet::testing
