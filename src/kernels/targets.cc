#include "kernels/targets.h"

#include <atomic>

#include "dynet/except.h"

#include "float_loops.h"
#include "kernels/simd_targets.h"
#include "util/env.h"

namespace dynet::kernels {
namespace {

/// The targets of `mask` as single bits, the best first: better targets have lower bits.
std::vector<std::int64_t> split(std::int64_t mask) {
  std::vector<std::int64_t> bits;
  for (; mask != 0; mask &= mask - 1) {
    bits.push_back(mask & -mask);
  }
  return bits;
}

std::int64_t available() {
  const std::int64_t mask = HWY_TARGETS & hwy::SupportedTargets();
  return mask == 0 ? HWY_STATIC_TARGET : mask;
}

/// This target and all worse ones.
std::int64_t from(std::int64_t target) { return ~(target - 1); }

std::int64_t find(const std::string& name) {
  for (const std::int64_t target : split(available())) {
    if (name == hwy::TargetName(target)) {
      return from(target);
    }
  }
  return 0;
}

/// A name in DYNET_SIMD that means nothing here is passed over: the variable may be set for a whole
/// cluster.
std::int64_t first_choice() {
  const std::int64_t wanted = find(util::simd_target());
  return wanted == 0 ? from(split(available()).front()) : wanted;
}

std::atomic<std::int64_t>& mask() {
  static std::atomic<std::int64_t> value{first_choice()};
  return value;
}

}  // namespace

std::vector<std::string> supported_targets() {
  std::vector<std::string> names;
  for (const std::int64_t target : split(available())) {
    names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

std::int64_t target_mask() { return mask().load(std::memory_order_relaxed); }

void use_target(const std::string& name) {
  const std::int64_t wanted = find(name);
  if (wanted == 0) {
    throw errors::ValueError("use_target: no SIMD target \"" + name + "\" on this machine");
  }
  mask().store(wanted);
  choose_float_loops();
}

std::string current_target() { return hwy::TargetName(split(target_mask() & available()).front()); }

}  // namespace dynet::kernels
