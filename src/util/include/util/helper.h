#pragma once

// A second thread for short loops of a process with one thread: between the calls of a pool of
// workers, only the trainer's update runs, and the workers' processors are free.

#include <cstddef>
#include <cstdint>

namespace dynet::util {

/// While a Helper lives in this process, a thread helps share_loop(); all Helpers share the thread.
/// A child process has none. The thread starts with the first expect(), if the process may use two
/// processors, and takes no signals except for its own faults. Thread-safe.
class Helper {
 public:
  Helper();
  Helper(const Helper&) = delete;
  Helper& operator=(const Helper&) = delete;
  ~Helper();
  /// Loops come soon: wakes the thread, which then looks for them for a tenth of a millisecond.
  void expect();
  /// No loop comes soon: the thread sleeps, so that its processor is free.
  void rest();
  /// Whether the first part of a loop is the thread's, however long it takes to come: for tests,
  /// which else see help by chance alone.
  static void set_begins(bool begins);

 private:
  std::uint32_t process_;  ///< of the constructor, by fork_count()
};

/// Whether the calling thread may use two processors or more: the system says so for each thread
/// (`taskset`, for example, leaves a program fewer than the machine has), and a container has a
/// share of their time.
[[nodiscard]] bool has_two_processors();
/// Whether a control group with this `cpu.max` has the time of two processors; so it has without
/// the file.
[[nodiscard]] bool has_quota_of_two(const char* file);

namespace detail {
using PartOfLoop = void (*)(const void* context, std::size_t first, std::size_t last);
void share_loop(std::size_t count, std::size_t piece, PartOfLoop run, const void* context);
}  // namespace detail

/// Runs f(first, last) over [0, count) in parts that begin at multiples of `piece`, and returns
/// when all are done. f is called by two threads if there is help, and otherwise once; so that
/// numbers do not depend on the help, no part may use results of another. An exception of f is
/// thrown here; other parts may have run then, or not. Thread-safe: one loop at a time has the
/// help.
template <class F>
void share_loop(std::size_t count, std::size_t piece, const F& f) {
  detail::share_loop(
      count, piece,
      [](const void* context, std::size_t first, std::size_t last) {
        (*static_cast<const F*>(context))(first, last);
      },
      &f);
}

}  // namespace dynet::util
