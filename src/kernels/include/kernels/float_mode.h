#pragma once

// The floating-point mode of the calling thread.

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <immintrin.h>
#endif

namespace dynet::kernels {

/// While it lives, the calling thread treats denormal numbers as zero, in operands and results: an
/// update of parameters whose moments have decayed into denormals would cost 13 times as much. The
/// destructor restores the mode that was found. Thread rule: made and destroyed by one thread.
class FlushDenormals {
 public:
  FlushDenormals() : before_(read()) {
    if ((before_ & kFlush) != kFlush) {
      write(before_ | kFlush);
    }
  }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) {
      write(before_);
    }
  }

  /// Whether the calling thread has the mode.
  [[nodiscard]] static bool is_on() { return kFlush != 0 && (read() & kFlush) == kFlush; }

 private:
#if defined(__x86_64__) || defined(_M_X64)
  using Mode = std::uint32_t;
  static constexpr Mode kFlush = 0x8040;  // flush to zero, denormals are zero
  static Mode read() { return _mm_getcsr(); }
  static void write(Mode mode) { _mm_setcsr(mode); }
#elif defined(__aarch64__)
  using Mode = std::uint64_t;
  static constexpr Mode kFlush = Mode{1} << 24;
  static Mode read() {
    Mode mode = 0;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    return mode;
  }
  static void write(Mode mode) { asm volatile("msr fpcr, %0" : : "r"(mode)); }
#else
  using Mode = std::uint32_t;
  static constexpr Mode kFlush = 0;
  static Mode read() { return 0; }
  static void write(Mode) {}
#endif

  Mode before_;
};

}  // namespace dynet::kernels
