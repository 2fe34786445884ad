#pragma once

// The threads that compute one plan together.
//
// A Section is opened around a plan, or around an update of a trainer. Inside it a loop that is
// worth it is cut into shares, one for each thread, and all threads meet at the loop's end. The
// threads are woken by the first loop that is long; they look for the next one for a while, and
// then sleep. A section without such a loop wakes nobody.
//
// Results must not depend on the number of shares: a loop is cut between results that do not meet,
// never along a sum, and chooses its way from the sizes of the whole call. Example: rows 0 to 511
// of a product {1024,16} are the caller's share, the other rows are the second thread's, and each
// element is the same sum as ever.
//
// One section at a time has the team. If two threads of a program compute at the same time, each
// computes alone. Shares that no thread has begun are done by the caller, so that a thread that
// the system does not run delays nobody. A child process begins without threads and makes its own.

#include <cstddef>
#include <cstdint>

namespace dynet::kernels {

/// More threads than these gain nothing from loops of this library's sizes.
inline constexpr unsigned kMostThreads = 256;

/// The number of threads that a graph may use, the caller's included; 1 at least.
[[nodiscard]] unsigned threads();
/// Sets the number of threads, from the next section on; 0: as many as the process may use.
void set_threads(unsigned n);
/// The default of this process and its children is one thread from now on: for a process that
/// computes beside others.
void set_one_thread_by_default();
/// Processors that the process may use: its affinity, and the quota of its control group.
[[nodiscard]] unsigned usable_processors();
/// Processors that a control group with this `cpu.max` pays for; no limit without the file.
[[nodiscard]] unsigned processors_of_quota(const char* file);

/// While it lives, loops of this thread may be cut. Within another section of the thread, it is
/// the other one. Made and destroyed by one thread, in the order of scopes.
class Section {
 public:
  Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;
  ~Section();

 private:
  std::uint32_t process_;  ///< by util::fork_count(): a child process has left the section
  bool is_open_ = false;   ///< no outer section has
  bool has_team_ = false;
};

/// Into how many shares a loop of so many nanoseconds (of one thread) is cut: 1 outside of
/// sections, within a share, and below the break-even, which is higher while the threads sleep.
[[nodiscard]] unsigned shares_of(double nanoseconds);

namespace detail {
using Share = void (*)(const void* context, unsigned share);
void run_shares(unsigned shares, Share run, const void* context);
}  // namespace detail

/// Calls f(share) once for each share, on several threads, and returns when all are done. The
/// threads have the caller's floating-point mode. The exception of the first share that throws is
/// thrown here; the other shares run all the same. `shares` is shares_of()'s result, or fewer.
template <class F>
void run_shares(unsigned shares, const F& f) {
  if (shares <= 1) {
    f(0U);
    return;
  }
  detail::run_shares(
      shares, [](const void* context, unsigned s) { (*static_cast<const F*>(context))(s); }, &f);
}

/// A share of [0, count) whose bounds are multiples of `unit`, or the end.
struct Range {
  std::size_t first, last;
  Range(std::size_t count, std::size_t unit, unsigned share, unsigned shares) {
    const std::size_t units = (count + unit - 1) / unit;
    first = units * share / shares * unit;
    last = units * (share + 1) / shares * unit;
    first = first < count ? first : count;
    last = last < count ? last : count;
  }
  [[nodiscard]] bool empty() const { return first >= last; }
};

/// Calls f(first, last) for shares of [0, count) that begin at multiples of `unit`; once if the
/// loop, which takes `nanoseconds`, is not cut.
template <class F>
void cut(std::size_t count, std::size_t unit, double nanoseconds, const F& f) {
  const unsigned shares = count > unit ? shares_of(nanoseconds) : 1;
  if (shares == 1) {
    f(std::size_t{0}, count);
    return;
  }
  run_shares(shares, [&](unsigned s) {
    const Range range(count, unit, s, shares);
    if (!range.empty()) {
      f(range.first, range.last);
    }
  });
}

// ---- for tests
// -----------------------------------------------------------------------------------

/// Counts of the team's work since the process began.
struct TeamCounts {
  std::uint64_t loops = 0;    ///< loops that were cut
  std::uint64_t shares = 0;   ///< shares that threads of the team have run, not their callers
  std::uint64_t threads = 0;  ///< threads that live
};
[[nodiscard]] TeamCounts team_counts();
/// While it lives, all loops are cut that can be; with `waits`, the caller leaves each share to its
/// thread, however long that takes to come; without, the caller takes shares from the last to the
/// first, so that results that meet differ. The destructor brings the break-even back. One at a
/// time.
class CutEverything {
 public:
  explicit CutEverything(bool waits = false);
  CutEverything(const CutEverything&) = delete;
  CutEverything& operator=(const CutEverything&) = delete;
  ~CutEverything();
};

}  // namespace dynet::kernels
