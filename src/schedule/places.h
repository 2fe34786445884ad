#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace dynet::schedule {

/// For ordering by a key below `keys`, members with equal keys as they stand: places[k] becomes the
/// place of the first member with key k. Who gives out places counts them up; then places[k] is the
/// end of the members with key k.
template <class Members, class Key>
void find_places(const Members& members, std::size_t keys, Key key,
                 std::vector<std::uint32_t>& places) {
  places.assign(keys + 1, 0);
  for (const std::uint32_t m : members) {
    ++places[key(m) + 1];
  }
  std::partial_sum(places.begin(), places.end(), places.begin());
}

}  // namespace dynet::schedule
