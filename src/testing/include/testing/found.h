#pragma once

#include <string>
#include <utility>

#include "dynet/ext/testing.h"

namespace dynet::testing {

/// Gathers the mistakes that one check finds in one example, and stops at a few: the first is the
/// most telling.
class Found {
 public:
  explicit Found(const Sample& sample) : sample_(sample.text()) {}
  /// `what` is empty if all is right.
  void add(const std::string& where, const std::string& what) {
    if (!what.empty() && !is_full()) {
      failures_.push_back(sample_ + ", " + where + ": " + what);
    }
  }
  [[nodiscard]] bool is_full() const { return failures_.size() >= kMost; }
  Failures take() { return std::move(failures_); }

 private:
  static constexpr std::size_t kMost = 4;
  std::string sample_;
  Failures failures_;
};

}  // namespace dynet::testing
