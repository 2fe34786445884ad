#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace dynet::execute {

/// What this thread asks whether to go on; none where `check` is null.
struct Check {
  void (*check)(void* of) = nullptr;
  void* of = nullptr;
};
/// Sets it, and returns what was there.
Check exchange_check(const Check& check);

/// Asks this thread's check now and then, between the groups of a request. Belongs to an executor;
/// not thread-safe.
class Interrupt {
 public:
  /// A request that may be stopped, from its start to its end: beyond that the check may be gone.
  class Request {
   public:
    explicit Request(Interrupt& of) : of_(of) { of_.begin(); }
    ~Request() { of_.check_ = {}; }
    Request(const Request&) = delete;
    Request& operator=(const Request&) = delete;

   private:
    Interrupt& of_;
  };
  /// A group is going to be run that makes and reads so many numbers. Throws what the check throws.
  void pass(std::int64_t numbers) {
    if (check_.check != nullptr) [[unlikely]] {
      budget_ -= 1 + numbers / 256;
      if (budget_ <= 0) {
        look();
      }
    }
  }
  [[nodiscard]] bool is_on() const { return check_.check != nullptr; }

 private:
  void begin();
  void look();

  Check check_;
  std::int64_t budget_ = 0;  ///< work until the clock is looked at
  std::chrono::steady_clock::time_point last_;
};

}  // namespace dynet::execute
