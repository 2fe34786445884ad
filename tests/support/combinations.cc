// Which combinations of batched and shared arguments the random graphs try.

#include <algorithm>

#include "support/generator.h"
#include "support/samples.h"

namespace dynet::testing {

std::string Combination::pattern() const {
  std::string s;
  for (std::size_t i = 0; i < batched.size(); ++i) {
    s += !has(i) ? '-' : batched[i] != 0 ? 'n' : '1';
  }
  if (!s.empty()) {
    return s;
  }
  return sample->inputs.empty() ? "-1" : "";
}

std::string Combination::reason_alone() const {
  const ext::Record& r = *sample->record;
  if (r.aliases) {
    return "is its argument's memory: nothing is computed";
  }
  if (r.has_whole) {
    return "";
  }
  const bool any = std::any_of(batched.begin(), batched.end(), [](char b) { return b != 0; });
  for (std::size_t i = 0; i < batched.size(); ++i) {
    if (!has(i)) {
      continue;
    }
    const bool may_share = r.role(i) == ext::Role::kShared || r.role(i) == ext::Role::kEither;
    if (any && batched[i] == 0 && !(may_share && shared[i] != 0)) {
      return "one example beside a batch, not one storage: needs an index per member";
    }
    if (r.role(i) == ext::Role::kShared && batched[i] != 0) {
      return "a weight with a batch of its own";
    }
    if (shared[i] != 0 && batched[i] != 0 && may_share) {
      return "a batch shared by all members";
    }
    if (r.role(i) == ext::Role::kShared && shared[i] == 0) {
      return "different weights: calls of their own";
    }
  }
  return "";
}

namespace {
/// The first arguments are tried with subsets; any further arguments are as in the example.
constexpr std::size_t kMostVaried = 5;

/// Operations with many arguments are not tried with all subsets: none, all, the first, one of the
/// next two, the weights of an affine transform, its weights and bias, and the others of its
/// arguments.
bool is_common(unsigned mask, std::size_t n) {
  const unsigned all = (1U << n) - 1;
  const unsigned weights = 0b01010U & all;
  return mask <= 2 || mask == 4 || mask == all || mask == weights || mask == (weights | 1U) ||
         mask == (all & ~weights & ~1U);
}

/// Bit i of `batched`, `shared`: whether argument i is.
Combination combination(const Sample& s, unsigned batched, unsigned shared) {
  const std::vector<char> none(s.inputs.size(), 0);
  Combination c{&s, none, none};
  for (std::size_t i = 0; i < std::min(s.inputs.size(), kMostVaried); ++i) {
    c.batched[i] = static_cast<char>((batched >> i) & 1);
    c.shared[i] = static_cast<char>((shared >> i) & 1);
  }
  return c;
}
/// Sharing is tried if it has a meaning: weights always, `either` both ways.
bool is_sensible(const Combination& c) {
  for (std::size_t i = 0; i < c.batched.size(); ++i) {
    const ext::Role role = c.sample->record->role(i);
    const bool is_right =
        c.has(i) ? role == ext::Role::kEither || c.shared[i] == (role == ext::Role::kShared ? 1 : 0)
                 : c.batched[i] == 0 && c.shared[i] == 0;
    if (i < kMostVaried && !is_right) {
      return false;
    }
  }
  return true;
}
}  // namespace

std::vector<Combination> combinations_of(const std::vector<Sample>& samples) {
  std::vector<Combination> all;
  for (const Sample& s : samples) {
    if (s.is_leaf()) {
      continue;
    }
    const std::size_t n = std::min(s.inputs.size(), kMostVaried);
    for (unsigned batched = 0; batched < (1U << n); ++batched) {
      for (unsigned shared = 0; shared < (1U << n); ++shared) {
        Combination c = combination(s, batched, shared);
        if (is_sensible(c) &&
            (n <= 2 || (is_common(batched, n) &&
                        (is_common(shared, n) || shared == (~batched & ((1U << n) - 1)))))) {
          all.push_back(std::move(c));
        }
      }
    }
  }
  return all;
}

}  // namespace dynet::testing
