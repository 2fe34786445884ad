#pragma once

#include <cstddef>

namespace dynet::util {

/// Makes the axes of a walk over boxes of numbers, fastest first, as few as they can be: an axis of
/// one element is dropped, and one over which all operands go on evenly from the axis before is
/// joined with it. The caller keeps extents and steps in its own way:
///
///   is_single(k)      axis k has one element and may be dropped
///   goes_on(last, k)  step[k] == step[last] * extent[last] for all operands
///   join(last, k)     extent[last] *= extent[k]; the steps of `last` hold for both
///   keep(to, k)       axis k becomes axis `to`, which is k or before it
///
/// Returns how many axes are left.
template <class IsSingle, class GoesOn, class Join, class Keep>
std::size_t join_axes(std::size_t count, IsSingle is_single, GoesOn goes_on, Join join, Keep keep) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < count; ++k) {
    if (is_single(k)) {
      continue;
    }
    if (kept > 0 && goes_on(kept - 1, k)) {
      join(kept - 1, k);
    } else {
      keep(kept++, k);
    }
  }
  return kept;
}

}  // namespace dynet::util
