// The helper's thread, and the loop whose parts both threads take.
//
// Parts are claimed by counting up one word, which also has the number of the loop: a late thread
// finds another number, or the loop closed, and cannot claim. Its earlier reads of the loop may be
// old or new; they are used only after a claim, which shows that they were true.
//
// The two threads take parts from the two ends, until all are claimed. Example: of 8 parts the
// caller may take 0 to 4 and the helper 7 to 5. The caller's end depends on its processor: so a
// processor that works on the same numbers in loop after loop (a gradient is added up, then used,
// and the moments stay for the next update) mostly finds them in its own cache. Numbers from
// another cache take several times as long.

#include "util/helper.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <mutex>
#include <new>
#include <thread>

#include "util/fork.h"

namespace dynet::util {
namespace {

using Clock = std::chrono::steady_clock;

void pause_a_little() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

class SharedLoop {
 public:
  void run(std::size_t count, std::size_t piece, detail::PartOfLoop part, const void* context) {
    if (count <= piece || !has_help() || is_in_use_.exchange(true, std::memory_order_acquire)) {
      part(context, 0, count);
      return;
    }
    if (has_help()) {
      run_shared(count, piece, part, context);
    } else {
      is_in_use_.store(false, std::memory_order_release);
      part(context, 0, count);
    }
  }

  void enter() {
    const std::lock_guard lock(mutex_);
    forget_other_process();
    ++helpers_;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--helpers_ != 0 || thread_ == nullptr) {
      return;
    }
    while (is_in_use_.exchange(true, std::memory_order_acquire)) {
      std::this_thread::yield();  // a loop of another thread ends first
    }
    has_thread_ = false;
    is_in_use_.store(false, std::memory_order_release);
    must_leave_ = true;
    ring();
    thread_->join();
    delete thread_;
    thread_ = nullptr;
  }
  void expect() {
    {
      const std::lock_guard lock(mutex_);
      forget_other_process();
      if (thread_ == nullptr && helpers_ != 0) {
        start();
      }
      keep_from_caller();
    }
    rests_.store(false, std::memory_order_relaxed);
    ring();
  }
  void rest() { rests_.store(true, std::memory_order_relaxed); }
  void set_begins(bool begins) { begins_ = begins; }

 private:
  static constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kClosed = kOne - 1;

  [[nodiscard]] bool has_help() const {
    return has_thread_.load(std::memory_order_acquire) && process_ == fork_count();
  }
  void ring() {
    bell_.fetch_add(1, std::memory_order_release);
    bell_.notify_one();
  }
  /// A child process starts without a thread. Objects of the parent's thread are never freed here:
  /// the C library does not know that thread any more.
  void forget_other_process() {
    if (process_ != fork_count()) {
      helpers_ = 0;
      thread_ = nullptr;
      has_thread_ = false;
      new (&error_) std::exception_ptr;  // it may be half written
      is_in_use_ = false;
      process_ = fork_count();  // last: other threads look for help without the mutex
    }
  }
  void start() {
    if (!has_two_processors()) {
      return;
    }
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
      sigdelset(&others, fault);
    }
    pthread_sigmask(SIG_SETMASK, &others, &before);
    try {
      must_leave_ = false;
      thread_ = new std::thread([this] { be_helper(); });
      kept_from_ = -1;
      has_thread_.store(true, std::memory_order_release);
    } catch (const std::exception&) {
      thread_ = nullptr;  // the system gives no thread, or no memory: loops run without help
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }

  /// The system likes to wake a thread on the processor of whoever wakes it. There the helper would
  /// wait until the caller sleeps, and help nobody.
  void keep_from_caller() {
    const int here = sched_getcpu();
    cpu_set_t others;
    if (thread_ == nullptr || here == kept_from_ || here < 0 || here >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof others, &others) != 0) {
      return;
    }
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) != 0 &&
        pthread_setaffinity_np(thread_->native_handle(), sizeof others, &others) == 0) {
      kept_from_ = here;
    }
  }

  /// The caller has is_in_use_.
  void run_shared(std::size_t count, std::size_t piece, detail::PartOfLoop part,
                  const void* context) {
    const std::uint64_t number = (next_.load(std::memory_order_relaxed) / kOne + 1) * kOne;
    count_.store(count, std::memory_order_release);
    piece_.store(piece, std::memory_order_release);
    part_.store(part, std::memory_order_release);
    context_.store(context, std::memory_order_release);
    const bool is_from_end = sched_getcpu() % 2 == 1;
    helps_from_end_.store(!is_from_end, std::memory_order_release);
    helped_.store(0, std::memory_order_relaxed);
    next_.store(number, std::memory_order_release);
    rests_.store(false, std::memory_order_relaxed);
    ring();
    while (begins_.load(std::memory_order_relaxed) && next_.load() == number) {
      std::this_thread::yield();
    }
    std::exception_ptr error;
    std::uint64_t done = 0;
    try {
      const Parts parts{count, piece, is_from_end};
      while (claim(number, parts.size())) {
        parts.run(done++, part, context);
      }
    } catch (...) {
      error = std::current_exception();
    }
    const std::uint64_t claimed =
        next_.exchange(number + kClosed, std::memory_order_acq_rel) - number;
    wait_for_help(claimed - done);
    if (!error && error_) {
      error = error_;
    }
    error_ = nullptr;
    is_in_use_.store(false, std::memory_order_release);
    if (error) {
      std::rethrow_exception(error);
    }
  }
  void wait_for_help(std::uint64_t parts) const {
    constexpr int kSpins = 2000;  // before the processor is given to others, such as the helper
    for (int spins = 0; helped_.load(std::memory_order_acquire) != parts; ++spins) {
      if (spins < kSpins) {
        pause_a_little();
      } else {
        std::this_thread::yield();
      }
    }
  }
  /// Parts of a loop, as one of the two threads counts them.
  struct Parts {
    [[nodiscard]] std::size_t size() const { return (count + piece - 1) / piece; }
    void run(std::size_t nth, detail::PartOfLoop part, const void* context) const {
      const std::size_t i = is_from_end ? size() - 1 - nth : nth;
      part(context, i * piece, std::min(count, (i + 1) * piece));
    }
    std::size_t count;
    std::size_t piece;
    bool is_from_end;
  };
  /// One part more of loop `number`, if it has any: the next from the end of whoever claims it.
  bool claim(std::uint64_t number, std::size_t parts) {
    std::uint64_t now = next_.load(std::memory_order_acquire);
    do {
      if (now < number || now - number >= std::min<std::uint64_t>(parts, kClosed)) {
        return false;
      }
    } while (!next_.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel));
    return true;
  }

  void be_helper() {
    while (true) {
      const std::uint32_t heard = bell_.load(std::memory_order_acquire);
      if (must_leave_) {
        return;
      }
      look_for_loops();
      bell_.wait(heard, std::memory_order_acquire);
    }
  }
  void look_for_loops() {
    constexpr auto kPatience = std::chrono::microseconds(100);
    Clock::time_point since = Clock::now();
    while (!rests_.load(std::memory_order_relaxed) && !must_leave_) {
      if (help()) {
        since = Clock::now();
      } else if (Clock::now() - since > kPatience) {
        return;
      }
      pause_a_little();
    }
  }
  /// Takes parts of the current loop; false if there is none.
  bool help() {
    const std::uint64_t number = next_.load(std::memory_order_acquire) / kOne * kOne;
    const Parts parts{count_.load(std::memory_order_acquire),
                      piece_.load(std::memory_order_acquire),
                      helps_from_end_.load(std::memory_order_acquire)};
    const detail::PartOfLoop part = part_.load(std::memory_order_acquire);
    const void* const context = context_.load(std::memory_order_acquire);
    std::size_t done = 0;
    while (part != nullptr && claim(number, parts.size())) {
      try {
        parts.run(done++, part, context);
      } catch (...) {
        error_ = std::current_exception();  // read when this part counts as done
      }
      helped_.fetch_add(1, std::memory_order_acq_rel);
    }
    return done != 0;
  }

  // The loop.
  std::atomic<bool> is_in_use_{false};
  std::atomic<std::uint64_t> next_{kClosed};  ///< number * kOne + parts claimed
  std::atomic<std::size_t> count_{0};
  std::atomic<std::size_t> piece_{1};
  std::atomic<detail::PartOfLoop> part_{nullptr};
  std::atomic<const void*> context_{nullptr};
  std::atomic<bool> helps_from_end_{true};
  std::atomic<std::uint64_t> helped_{0};  ///< parts that the helper has done
  std::atomic<bool> begins_{false};       ///< the helper has the first part
  std::exception_ptr error_;              ///< of the helper's parts

  // The thread.
  std::atomic<std::uint32_t> bell_{0};  ///< counts the reasons to wake it
  std::atomic<bool> rests_{true};
  std::atomic<bool> must_leave_{false};
  std::atomic<bool> has_thread_{false};
  ForkMutex mutex_;  ///< for the members below
  std::atomic<std::uint32_t> process_{fork_count()};
  unsigned helpers_ = 0;
  std::thread* thread_ = nullptr;
  int kept_from_ = -1;  ///< the processor that the thread may not use
};

SharedLoop& shared_loop() {
  static SharedLoop& loop = *new SharedLoop;  // trainers may outlive main()
  return loop;
}

}  // namespace

bool has_quota_of_two(const char* file) {
  std::ifstream in(file);
  double quota = 0.0;  // of processor time in each period, or "max"
  double period = 0.0;
  return !(in >> quota >> period) || quota >= 2.0 * period;
}

bool has_two_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool may_run_on_two = sched_getaffinity(0, sizeof set, &set) != 0  // too many for the set
                              || CPU_COUNT(&set) >= 2;
  static const bool has_time_of_two = has_quota_of_two("/sys/fs/cgroup/cpu.max");
  return may_run_on_two && has_time_of_two;
}

Helper::Helper() : process_(fork_count()) { shared_loop().enter(); }
Helper::~Helper() {
  if (process_ == fork_count()) {
    shared_loop().leave();
  }
}
void Helper::expect() { shared_loop().expect(); }
void Helper::rest() { shared_loop().rest(); }
void Helper::set_begins(bool begins) { shared_loop().set_begins(begins); }

void detail::share_loop(std::size_t count, std::size_t piece, PartOfLoop run, const void* context) {
  shared_loop().run(count, piece, run, context);
}

}  // namespace dynet::util
