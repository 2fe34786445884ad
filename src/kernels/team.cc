// The team's threads, and the loop whose shares they take.
//
// Each thread has a seat with one word: the number of a loop and how far its share is. The caller
// offers the shares, runs its own, and then claims the shares that are still on offer. A thread
// that comes late finds its share claimed, or another loop's offer, which is as good. The fields of
// a loop are read only after a claim, and change only when no share is claimed.

#include "kernels/team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <exception>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/float_mode.h"
#include "util/fork.h"

namespace dynet::kernels {
namespace {

using Clock = std::chrono::steady_clock;

// Nanoseconds, measured with the models of bench/thread_speed.cc on two cores.

/// Work that pays for a share's way to a thread that looks for it, for the meeting at the end, and
/// for numbers in the other processor's cache.
constexpr double kBreakEven = 5000.0;
/// The least work of a share, if there are more than two.
constexpr double kLeastShare = 2000.0;
/// Work that pays for waking the threads. A call of the system wakes each, which takes long on a
/// virtual machine; with a lower bound, training on single sentences takes longer than on one
/// thread.
constexpr double kWorthWaking = 150000.0;

void pause_a_little() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// The calling thread's place.
struct Place {
  bool has_section = false;
  bool may_cut = false;  ///< its section has the team, and no share is running
};
thread_local Place place;

enum Phase : std::uint32_t { kDone = 0, kOffered = 1, kTaken = 2, kLeaves = 3 };
constexpr std::uint32_t kPhases = 4;

/// One thread of the team, and its share. `word` is the number of the loop * kPhases + the phase.
struct alignas(64) Seat {
  std::atomic<std::uint32_t> word{kDone};
  std::exception_ptr error;
  std::thread* thread = nullptr;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): one team; members stand by their use
class Team {
 public:
  [[nodiscard]] unsigned threads() const {
    const unsigned n = wanted_.load(std::memory_order_relaxed);
    if (n != 0) {
      return n;
    }
    return is_one_by_default_ ? 1 : processors_.load(std::memory_order_relaxed);
  }
  void set_one_by_default() { is_one_by_default_ = true; }
  void set_threads(unsigned n) {
    wanted_.store(std::min(n, kMostThreads), std::memory_order_relaxed);
    const std::uint32_t process = util::fork_count();
    const bool has_team = enter();
    if (has_team) {  // else the next section does it
      end_threads(threads());
    }
    leave(process, has_team);
  }

  /// Counts a section in. True if it has the team.
  bool enter() {
    forget_other_process();
    sections_.fetch_add(1, std::memory_order_relaxed);
    std::uint32_t is_free = kFree;
    return has_team_.compare_exchange_strong(is_free, kHeld, std::memory_order_acquire);
  }
  void leave(std::uint32_t process, bool has_team) {
    if (process != util::fork_count()) {
      return;  // the section was the parent's
    }
    if (has_team) {
      is_open_.store(false, std::memory_order_relaxed);
      has_team_.store(kFree, std::memory_order_release);
    }
    sections_.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Begins the section that has the team.
  void open() {
    size_ = threads();
    end_threads(size_);
    is_prepared_ = false;
    is_crowded_.store(size_ > processors_.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
    is_open_.store(true, std::memory_order_relaxed);
  }

  [[nodiscard]] unsigned shares_of(double nanoseconds) const {
    if (sections_.load(std::memory_order_relaxed) != 1 || process_ != util::fork_count()) {
      return 1;  // the processors belong to several graphs, or the threads to the parent
    }
    if (cuts_everything_.load(std::memory_order_relaxed)) {
      return size_;
    }
    const bool is_asleep = awake_.load(std::memory_order_relaxed) == 0;
    if (size_ == 1 || !(nanoseconds >= (is_asleep ? kWorthWaking : kBreakEven))) {
      return 1;
    }
    return static_cast<unsigned>(
        std::clamp(nanoseconds / kLeastShare, 2.0, static_cast<double>(size_)));
  }

  void run(unsigned shares, detail::Share share, const void* context) {
    prepare();
    const unsigned offered = std::min(shares - 1, started_.load());
    number_ += kPhases;
    share_ = share;
    context_ = context;
    flushes_ = FlushDenormals::is_on();
    for (unsigned i = 0; i < offered; ++i) {
      seats_[i].word.store(number_ + kOffered, std::memory_order_seq_cst);
      seats_[i].word.notify_one();
    }
    loops_.store(loops_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    std::exception_ptr error;
    const auto run_here = [&](unsigned s) {
      try {
        share(context, s);
      } catch (...) {
        error = error ? error : std::current_exception();
      }
    };
    place.may_cut = false;
    const bool is_reversed = cuts_everything_.load(std::memory_order_relaxed) && !waits_.load();
    if (!is_reversed) {
      run_here(0);
    }
    for (unsigned i = 1; i < shares; ++i) {
      const unsigned s = is_reversed ? shares - i : i;
      if (s > offered || claim(seats_[s - 1])) {
        run_here(s);
      } else {
        wait_for(seats_[s - 1]);
        error = error ? error : std::exchange(seats_[s - 1].error, nullptr);
        seats_[s - 1].error = nullptr;
      }
    }
    if (is_reversed) {
      run_here(0);
    }
    place.may_cut = true;
    if (error) {
      std::rethrow_exception(error);
    }
  }

  [[nodiscard]] TeamCounts counts() const {
    return {loops_.load(), shares_.load(), started_.load()};
  }
  void cut_everything(bool does, bool waits) {
    cuts_everything_.store(does);
    waits_.store(waits);
  }

 private:
  static constexpr std::uint32_t kFree = 0, kHeld = 1;

  /// A child process starts without threads. Objects of the parent's threads are never freed
  /// here: the C library does not know these threads any more.
  void forget_other_process() {
    if (process_.load(std::memory_order_acquire) == util::fork_count()) {
      return;
    }
    const std::lock_guard lock(mutex_);
    if (process_ == util::fork_count()) {
      return;
    }
    for (Seat& seat : seats_) {
      seat.word = kDone;
      new (&seat.error) std::exception_ptr;  // it may be half written
      seat.thread = nullptr;
    }
    started_ = 0;
    awake_ = 0;
    sections_ = 0;
    has_team_ = kFree;
    is_open_ = false;
    kept_from_ = -1;
    processors_ = usable_processors();
    process_.store(util::fork_count(), std::memory_order_release);  // last: others do not lock
  }

  /// Starts threads before the first loop of a section, and moves them off the caller's processor.
  void prepare() {
    if (is_prepared_) {
      return;
    }
    is_prepared_ = true;
    while (started_ + 1 < size_ && start(started_)) {
      ++started_;
      kept_from_ = -1;
    }
    keep_from_caller();
  }
  bool start(unsigned i) {
    sigset_t others;
    sigset_t before;
    sigfillset(&others);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP}) {
      sigdelset(&others, fault);
    }
    pthread_sigmask(SIG_SETMASK, &others, &before);
    Seat& seat = seats_[i];
    try {
      seat.word.store(kDone, std::memory_order_relaxed);
      seat.thread = new std::thread([this, i] { sit(i + 1); });
    } catch (const std::exception&) {
      seat.thread = nullptr;  // no thread, or no memory for it: the caller runs its shares
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return seat.thread != nullptr;
  }
  /// Ends threads until with the caller there are `n`. The section has the team.
  void end_threads(unsigned n) {
    while (started_ + 1 > std::max(n, 1U)) {
      Seat& seat = seats_[--started_];
      seat.word.store(kLeaves, std::memory_order_seq_cst);
      seat.word.notify_one();
      seat.thread->join();
      delete seat.thread;
      seat.thread = nullptr;
    }
  }

  /// The system likes to wake a thread on the processor of whoever wakes it. There it would wait
  /// until the caller sleeps, and help nobody.
  void keep_from_caller() {
    const int here = sched_getcpu();
    cpu_set_t others;
    if (started_ == 0 || here == kept_from_ || here < 0 || here >= CPU_SETSIZE ||
        sched_getaffinity(0, sizeof others, &others) != 0) {
      return;
    }
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0) {
      return;
    }
    for (unsigned i = 0; i < started_; ++i) {
      pthread_setaffinity_np(seats_[i].thread->native_handle(), sizeof others, &others);
    }
    kept_from_ = here;
  }

  bool claim(Seat& seat) const {
    std::uint32_t offer = number_ + kOffered;
    return !waits_.load(std::memory_order_relaxed) &&
           seat.word.compare_exchange_strong(offer, number_ + kDone, std::memory_order_acquire);
  }
  /// Yields without end: a sleep was not faster on a busy machine, and is slower on one at rest
  /// (docs/decisions/0037-threads-inside-a-graph.md).
  void wait_for(const Seat& seat) const {
    constexpr int kSpins = 2000;  // before the processor is given to others, such as this thread
    const std::uint32_t done = number_ + kDone;
    for (int spins = 0; seat.word.load(std::memory_order_acquire) != done; ++spins) {
      if (spins < kSpins) {
        pause_a_little();
      } else {
        std::this_thread::yield();
      }
    }
  }

  /// The life of a thread of the team.
  void sit(unsigned share) {
    Seat& seat = seats_[share - 1];
    awake_.fetch_add(1, std::memory_order_relaxed);
    for (;;) {
      const std::uint32_t word = look_for_work(seat);
      if (word == kLeaves) {
        awake_.fetch_sub(1, std::memory_order_relaxed);
        return;
      }
      if (word % kPhases == kOffered) {
        take(seat, word, share);
      } else {
        awake_.fetch_sub(1, std::memory_order_relaxed);
        seat.word.wait(word, std::memory_order_acquire);
        awake_.fetch_add(1, std::memory_order_relaxed);
      }
    }
  }
  /// The seat's word once it has an offer, or after some time without one.
  std::uint32_t look_for_work(const Seat& seat) const {
    constexpr auto kPatience = std::chrono::microseconds(300);  // inside a section
    constexpr auto kAfterwards = std::chrono::microseconds(50);
    const Clock::time_point since = Clock::now();
    for (int spins = 1;; ++spins) {
      const std::uint32_t word = seat.word.load(std::memory_order_acquire);
      if (word % kPhases != kDone) {
        return word;
      }
      if (spins % 32 == 0) {
        const bool is_open = is_open_.load(std::memory_order_relaxed);
        if (is_crowded_.load(std::memory_order_relaxed) ||
            Clock::now() - since > (is_open ? kPatience : kAfterwards)) {
          return word;
        }
      }
      pause_a_little();
    }
  }
  void take(Seat& seat, std::uint32_t word, unsigned share) {
    if (!seat.word.compare_exchange_strong(word, word - kOffered + kTaken,
                                           std::memory_order_acquire)) {
      return;
    }
    try {
      std::optional<FlushDenormals> float_mode;
      if (flushes_) {
        float_mode.emplace();
      }
      share_(context_, share);
    } catch (...) {
      seat.error = std::current_exception();
    }
    shares_.fetch_add(1, std::memory_order_relaxed);
    seat.word.store(word - kOffered + kDone, std::memory_order_release);
  }

  // Who has the team.
  std::atomic<unsigned> wanted_{0};
  std::atomic<bool> is_one_by_default_{false};
  std::atomic<unsigned> processors_{usable_processors()};  ///< when the process began to compute
  std::atomic<unsigned> sections_{0};
  std::atomic<std::uint32_t> has_team_{kFree};
  std::atomic<bool> is_open_{false};
  std::atomic<bool> is_crowded_{false};  ///< more threads than processors: nobody looks for long
  std::atomic<bool> cuts_everything_{false};
  std::atomic<bool> waits_{false};  ///< the caller claims no share
  util::ForkMutex mutex_;           ///< for the change of process_
  std::atomic<std::uint32_t> process_{util::fork_count()};

  // Of the section that has it.
  unsigned size_ = 1;
  bool is_prepared_ = false;
  std::atomic<unsigned> started_{0};
  std::atomic<unsigned> awake_{0};  ///< threads that look for work, or do it
  int kept_from_ = -1;              ///< the processor that the threads may not use

  // The loop.
  std::uint32_t number_ = 0;  ///< a multiple of kPhases
  detail::Share share_ = nullptr;
  const void* context_ = nullptr;
  bool flushes_ = false;
  std::array<Seat, kMostThreads - 1> seats_;

  std::atomic<std::uint64_t> loops_{0};
  std::atomic<std::uint64_t> shares_{0};
};

Team& team() {
  static Team& it = *new Team;  // graphs may outlive main()
  return it;
}

}  // namespace

unsigned processors_of_quota(const char* file) {
  std::ifstream in(file);
  double quota = 0.0;  // of processor time in each period, or "max"
  double period = 0.0;
  if (!(in >> quota >> period) || !(period > 0.0)) {
    return std::numeric_limits<unsigned>::max();
  }
  return static_cast<unsigned>(std::clamp(std::floor(quota / period), 1.0, 65536.0));
}

unsigned usable_processors() {
  static const unsigned quota = processors_of_quota("/sys/fs/cgroup/cpu.max");
  cpu_set_t set;
  CPU_ZERO(&set);
  const unsigned all = sched_getaffinity(0, sizeof set, &set) == 0
                           ? static_cast<unsigned>(CPU_COUNT(&set))
                           : std::thread::hardware_concurrency();  // too many for the set
  return std::clamp(all, 1U, std::min(quota, kMostThreads));
}

unsigned threads() { return team().threads(); }
void set_threads(unsigned n) { team().set_threads(n); }
void set_one_thread_by_default() { team().set_one_by_default(); }

Section::Section() : process_(util::fork_count()) {
  if (place.has_section) {
    return;
  }
  is_open_ = true;
  place.has_section = true;
  has_team_ = team().enter();
  if (has_team_) {
    team().open();
    place.may_cut = true;
  }
}
Section::~Section() {
  if (is_open_) {
    place = {};
    team().leave(process_, has_team_);
  }
}

unsigned shares_of(double nanoseconds) { return place.may_cut ? team().shares_of(nanoseconds) : 1; }

void detail::run_shares(unsigned shares, Share run, const void* context) {
  team().run(shares, run, context);
}

TeamCounts team_counts() { return team().counts(); }
CutEverything::CutEverything(bool waits) { team().cut_everything(true, waits); }
CutEverything::~CutEverything() { team().cut_everything(false, false); }

}  // namespace dynet::kernels
