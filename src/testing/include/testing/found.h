#pragma once

#include <string>
#include <utility>

#include "dynet/ext/testing.h"

namespace dynet::testing {

/// Gathers what one check finds wrong with one example, and stops at a few: the first says most.
class Found {
 public:
  explicit Found(const Sample& sample) : sample_(sample.text()) {}
  /// `what` is empty where all is right.
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
