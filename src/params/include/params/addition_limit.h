#pragma once

#include <cstdint>
#include <string>

namespace dynet::params {

/// While it lives, the additions of this thread to collections may have so many numbers together.
/// For objects whose sizes a file says: a hostile file of 1 kB may ask for a matrix of 100 GB. A
/// limit within another one replaces it while it lives.
class AdditionLimit {
 public:
  explicit AdditionLimit(std::uint64_t numbers);
  AdditionLimit(const AdditionLimit&) = delete;
  AdditionLimit& operator=(const AdditionLimit&) = delete;
  ~AdditionLimit();

  /// Before the memory of an addition, `what`, is taken. SizeError beyond the limit, if one is on.
  static void take(std::uint64_t numbers, const std::string& what);

 private:
  std::uint64_t left_;
  AdditionLimit* before_;
};

}  // namespace dynet::params
