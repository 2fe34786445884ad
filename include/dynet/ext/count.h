#pragma once

#include <cstdint>
#include <string>

namespace dynet::ext {

/// A number of extents, elements or bytes, for sums and products without overflow. A result above
/// 2^62 stays too large in all further arithmetic, so that one check at the end is enough: 2^40 *
/// 2^40 + 1 prints as "more than 2^62". Thread rule: a value, like an int.
class Count {
 public:
  static constexpr std::int64_t kMost = std::int64_t{1} << 62;

  // NOLINTNEXTLINE(google-explicit-constructor): an extent is a count
  constexpr Count(std::int64_t n) : n_(n <= kMost ? n : kTooLarge) {}

  [[nodiscard]] constexpr bool fits(std::int64_t limit = kMost) const { return n_ <= limit; }
  /// Only if it fits.
  [[nodiscard]] constexpr std::int64_t value() const { return n_; }
  /// "4294967296", or "more than 2^62".
  [[nodiscard]] std::string text() const {
    return fits() ? std::to_string(n_) : std::string("more than 2^62");
  }

  friend constexpr Count operator+(Count a, Count b) {
    return saturated(static_cast<std::uint64_t>(a.n_) + static_cast<std::uint64_t>(b.n_));
  }
  friend constexpr Count operator*(Count a, Count b) {
    std::uint64_t n = 0;
    const bool overflows = __builtin_mul_overflow(static_cast<std::uint64_t>(a.n_),
                                                  static_cast<std::uint64_t>(b.n_), &n);
    return a.fits() && b.fits() && !overflows ? saturated(n) : Count(kTooLarge);
  }
  friend constexpr bool operator==(Count a, Count b) { return a.n_ == b.n_; }
  friend constexpr bool operator!=(Count a, Count b) { return a.n_ != b.n_; }

 private:
  static constexpr std::int64_t kTooLarge = kMost + 1;
  static constexpr Count saturated(std::uint64_t n) {
    return n <= static_cast<std::uint64_t>(kMost) ? Count(static_cast<std::int64_t>(n))
                                                  : Count(kTooLarge);
  }

  std::int64_t n_;  ///< from 0 to kTooLarge
};

}  // namespace dynet::ext
