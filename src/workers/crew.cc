// A crew: the parent's side, and the work of a worker.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "dynet/globals.h"
#include "dynet/workers.h"

#include "api/evaluating.h"
#include "kernels/team.h"
#include "params/random_streams.h"
#include "params/use_count.h"
#include "util/number_text.h"
#include "util/pulse.h"
#include "workers/area.h"
#include "workers/control.h"
#include "workers/processes.h"
#include "workers/slots.h"
#include "workers/watch.h"

namespace dynet::workers {
namespace {

constexpr std::size_t kResultAlignment = 16;
constexpr long kPollNanoseconds = 50'000'000;

double seconds_now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Waits for at most a poll. False if the semaphore was not posted.
bool wait_a_little(sem_t& semaphore) {
  timespec until{};
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_nsec += kPollNanoseconds;
  until.tv_sec += until.tv_nsec / 1'000'000'000;
  until.tv_nsec %= 1'000'000'000;
  return sem_clockwait(&semaphore, CLOCK_MONOTONIC, &until) == 0;
}

/// The text of the exception that is being handled.
std::string text_of_exception() {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

/// One number out of two, well mixed (the finalizer of SplitMix64).
std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a + 0x9E3779B97F4A7C15ULL * (b + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

/// ValueError for options out of range.
WorkerOptions checked(const WorkerOptions& options, std::size_t learning_pieces) {
  constexpr unsigned kMostWorkers = 1024;
  if (options.workers == 0 || options.workers > kMostWorkers) {
    throw errors::ValueError("workers: " + std::to_string(options.workers) +
                             " workers; want 1 to " + std::to_string(kMostWorkers));
  }
  if (learning_pieces == 0 || learning_pieces > Crew::kMaxLearningPieces) {
    throw errors::ValueError("workers: " + std::to_string(learning_pieces) + " pieces; want 1 to " +
                             std::to_string(Crew::kMaxLearningPieces));
  }
  if (!(options.patience >= 0)) {
    throw errors::ValueError("workers: patience of " + util::text_of(options.patience) +
                             " seconds; want 0 (without end) or more");
  }
  return options;
}

}  // namespace

/// Lives in the parent and, as a copy, in each worker.
class Crew::Implementation {
 public:
  Implementation(const ParameterCollection& model, Work work, std::size_t result_bytes,
                 std::size_t learning_pieces, const WorkerOptions& options, Hooks hooks)
      : options_(checked(options, learning_pieces)),
        model_(model),
        work_(std::move(work)),
        hooks_(std::move(hooks)),
        stride_(std::max<std::size_t>(
            (result_bytes + kResultAlignment - 1) / kResultAlignment * kResultAlignment,
            kResultAlignment)),
        learning_pieces_(learning_pieces),
        area_(layout().bytes(), Area::Kind::kShared),
        slots_(model, learning_pieces),
        watch_(options.patience),
        owner_(getpid()) {
    sem_init(&control().changed, 1, 0);
    for (std::size_t i = 0; i < options_.workers; ++i) {
      sem_init(&cell(i).go, 1, 0);
    }
    if (!hooks_.fork) {
      hooks_.fork = [] { return ::fork(); };
    }
    for (std::size_t i = 0; i < options_.workers; ++i) {
      processes_.add(hooks_.fork, [this, i] { be_worker(i); });
    }
  }
  Implementation(const Implementation&) = delete;
  Implementation& operator=(const Implementation&) = delete;
  ~Implementation() {
    end();
    for (std::size_t i = 0; i < options_.workers; ++i) {
      sem_destroy(&cell(i).go);
    }
    sem_destroy(&control().changed);
  }

  const std::byte* run(const Call& call) {
    const InUse in_use(is_in_use_);
    check(call);
    slots_.begin(call.learn ? call.pieces : 0);
    const params::RunScope nobody_updates(params::usage_of(model_));
    start(call);
    try {
      wait();
    } catch (...) {
      params::return_random_stream(control().stream);  // for the call that repeats this one
      end_after(text_of_exception());
      throw;
    }
    if (call.learn) {
      const kernels::Section section;
      slots_.collect(call.pieces, call.scale);
    }
    return results();
  }
  void close() {
    const InUse in_use(is_in_use_);
    end();
  }
  [[nodiscard]] std::size_t stride() const { return stride_; }
  [[nodiscard]] std::vector<int> pids() const {
    return {processes_.pids().begin(), processes_.pids().end()};
  }

 private:
  struct InUse {
    explicit InUse(std::atomic<bool>& use) : flag(use) {
      if (flag.exchange(true)) {
        throw errors::UsageError(
            "workers: a call is in progress, which another thread may have made; want one at a "
            "time, and close() after it");
      }
    }
    InUse(const InUse&) = delete;
    InUse& operator=(const InUse&) = delete;
    ~InUse() { flag = false; }
    std::atomic<bool>& flag;
  };

  Layout layout() {
    Layout all;
    all.take(sizeof(Control));
    cells_at_ = all.take(options_.workers * sizeof(Cell));
    claims_at_ = all.take(kMaxPieces * sizeof(Claim));
    ends_at_ = all.take(kMaxLearningPieces * sizeof(std::uint32_t));
    examples_at_ = all.take(kMaxExamples * sizeof(unsigned));
    results_at_ = all.take(kMaxPieces * stride_);
    return all;
  }
  [[nodiscard]] Control& control() const { return *reinterpret_cast<Control*>(area_.data()); }
  [[nodiscard]] Cell& cell(std::size_t worker) const {
    return reinterpret_cast<Cell*>(area_.data() + cells_at_)[worker];
  }
  [[nodiscard]] unsigned* examples() const {
    return reinterpret_cast<unsigned*>(area_.data() + examples_at_);
  }
  using Claim = std::atomic<bool>;
  /// Whether a worker took a piece.
  [[nodiscard]] Claim* claims() const {
    return reinterpret_cast<Claim*>(area_.data() + claims_at_);
  }
  /// The ends of pieces, in a call that gives them.
  [[nodiscard]] std::uint32_t* ends() const {
    return reinterpret_cast<std::uint32_t*>(area_.data() + ends_at_);
  }
  /// Behind the last example of the pieces before `piece`.
  [[nodiscard]] std::size_t begin_of(std::size_t piece) const {
    const Control& c = control();
    return c.has_ends ? (piece == 0 ? 0 : ends()[piece - 1]) : c.count * piece / c.pieces;
  }
  [[nodiscard]] std::byte* results() const { return area_.data() + results_at_; }

  // In the parent.
  void end();
  void check(const Call& call) const;
  void start(const Call& call);
  void wait();
  void look_after_workers(double seconds);
  void end_after(const std::string& reason);
  [[nodiscard]] std::string name_of(std::size_t worker, int pid) const;
  [[noreturn]] void fail(const std::string& what, std::size_t worker, int pid, int signal);

  // In a worker.
  void be_worker(std::size_t number);
  void take_part(std::size_t number);
  void run_piece(std::size_t piece);

  const WorkerOptions options_;
  ParameterCollection model_;
  Work work_;
  Hooks hooks_;
  std::size_t stride_;
  std::size_t learning_pieces_;
  std::size_t cells_at_ = 0;
  std::size_t claims_at_ = 0;
  std::size_t ends_at_ = 0;
  std::size_t examples_at_ = 0;
  std::size_t results_at_ = 0;
  Area area_;
  Slots slots_;
  Watch watch_;
  std::size_t active_ = 0;  ///< the first so many workers take part in this call
  std::atomic<bool> is_in_use_{false};
  std::string why_closed_;
  pid_t owner_;
  Processes processes_;  // last: the workers end before the members that they use
};

/// Ends the workers, if this process has any.
void Crew::Implementation::end() {
  constexpr double kPatience = 1;
  if (processes_.pids().empty() || getpid() != owner_) {
    return;
  }
  control().must_leave = true;
  for (std::size_t i = 0; i < options_.workers; ++i) {
    sem_post(&cell(i).go);
  }
  processes_.wait(kPatience);
  processes_.kill_all();
  why_closed_ = why_closed_.empty() ? "it was closed" : why_closed_;
}

void Crew::Implementation::check(const Call& call) const {
  if (getpid() != owner_) {
    throw errors::UsageError("workers: they belong to process " + std::to_string(owner_) +
                             "; want a pool of the own process");
  }
  if (processes_.pids().empty()) {
    throw errors::UsageError("workers: there are none any more, " + why_closed_ +
                             "; want another pool");
  }
  const std::size_t most = call.learn ? learning_pieces_ : kMaxPieces;
  if (call.count > kMaxExamples || call.pieces > most || call.pieces > call.count ||
      call.pieces == 0) {
    throw errors::ValueError("workers: " + std::to_string(call.count) + " examples in " +
                             std::to_string(call.pieces) + " pieces; want at most " +
                             std::to_string(kMaxExamples) + " in 1 to " + std::to_string(most));
  }
}

void Crew::Implementation::start(const Call& call) {
  Control& c = control();
  std::copy_n(call.examples, call.count, examples());
  active_ = std::min<std::size_t>(options_.workers, call.pieces);
  std::fill_n(claims(), call.pieces, false);
  c.first_error = 0;
  c.active = static_cast<std::uint32_t>(active_);
  c.running = c.active;
  c.seed = params::random_seed();
  c.stream = params::next_random_stream();
  c.count = call.count;
  c.pieces = call.pieces;
  c.learn = call.learn;
  c.has_ends = call.learn && call.ends != nullptr;
  if (c.has_ends) {
    std::copy_n(call.ends, call.pieces, ends());
  }
  watch_.restart(active_);
  cpu_set_t taken;
  CPU_ZERO(&taken);
  for (std::size_t i = 0; i < active_; ++i) {
    cell(i).has_left = false;
    take_processor(cell(i).seat, processes_.pids()[i], taken);
    sem_post(&cell(i).go);
  }
}

void Crew::Implementation::wait() {
  double before = seconds_now();
  while (true) {
    const bool is_told = wait_a_little(control().changed);
    if (const std::uint32_t failed = control().first_error; failed != 0) {
      const std::size_t worker = failed - 1;
      fail(std::string("threw: ") + cell(worker).text, worker, processes_.pids()[worker], 0);
    }
    if (is_told) {
      return;
    }
    if (hooks_.wait) {
      hooks_.wait();
    }
    const double now = seconds_now();
    look_after_workers(now - before);
    before = now;
  }
}

void Crew::Implementation::look_after_workers(double seconds) {
  End end;
  if (processes_.find_gone(end)) {
    const std::string what =
        end.is_known ? describe_end(end.status) : "is gone, and somebody else waited for it";
    const bool is_killed = end.is_known && WIFSIGNALED(end.status);
    fail(what, end.worker, end.pid, is_killed ? WTERMSIG(end.status) : 0);
  }
  for (std::size_t i = 0; i < active_; ++i) {
    if (cell(i).has_left) {
      continue;
    }
    const pid_t pid = processes_.pids()[i];
    const std::string what = watch_.look(i, pid, cell(i).pulse, seconds);
    if (!what.empty()) {
      fail("hangs: it " + what + ", and gave no sign of life for " +
               util::text_of(options_.patience) +
               " seconds (WorkerOptions::patience); it was ended",
           i, pid, 0);
    }
  }
}

std::string Crew::Implementation::name_of(std::size_t worker, int pid) const {
  return "worker " + std::to_string(worker) + " of " + std::to_string(options_.workers) +
         " (process " + std::to_string(pid) + ")";
}

void Crew::Implementation::fail(const std::string& what, std::size_t worker, int pid, int signal) {
  throw errors::WorkerError(name_of(worker, pid) + " " + what, static_cast<unsigned>(worker), pid,
                            signal);
}

/// Only the values of the model outlive a failed call, which does not change them.
void Crew::Implementation::end_after(const std::string& reason) {
  why_closed_ = "after \"" + reason + "\"";
  processes_.kill_all();
  slots_.forget();
}

void Crew::Implementation::be_worker(std::size_t number) {
  util::pulse_word = &cell(number).pulse;
  const api::OutsideEvaluating own;  // the fork copied the scopes of the parent's thread
  bool is_new = true;
  while (true) {
    wait_in_seat(cell(number).seat, cell(number).go);
    if (control().must_leave) {
      break;
    }
    try {
      if (std::exchange(is_new, false)) {
        slots_.enter();
      }
      take_part(number);
    } catch (...) {
      const std::string text = text_of_exception();
      const std::size_t length = std::min(text.size(), Cell::kTextBytes - 1);
      std::memcpy(cell(number).text, text.data(), length);
      cell(number).text[length] = 0;
      std::uint32_t none = 0;
      control().first_error.compare_exchange_strong(none, static_cast<std::uint32_t>(number + 1));
      sem_post(&control().changed);
      continue;  // the parent ends all workers
    }
    cell(number).has_left = true;
    if (control().running.fetch_sub(1) == 1) {
      sem_post(&control().changed);
    }
  }
  if (hooks_.leave) {
    hooks_.leave();
  }
}

/// Workers begin far from each other and go on with the next piece, so that a worker mostly adds
/// gradients of its own pieces, which are in its cache; in the end it takes pieces left by others.
/// Example: of 8 pieces and 2 workers, worker 1 begins with piece 4.
void Crew::Implementation::take_part(std::size_t number) {
  const Control& c = control();
  slots_.follow();
  const std::size_t first = c.pieces * number / c.active;
  for (std::size_t i = 0; i < c.pieces; ++i) {
    const std::size_t piece = (first + i) % c.pieces;
    if (!claims()[piece].exchange(true, std::memory_order_relaxed)) {
      util::beat();
      run_piece(piece);
    }
  }
}

void Crew::Implementation::run_piece(std::size_t piece) {
  // Each call has 2^36 streams of graphs of its own, and each piece 2^15 streams of the call's.
  // Streams of the parent are below all of them.
  constexpr std::uint64_t kOfWorkers = std::uint64_t{1} << 63;
  const Control& c = control();
  const std::uint64_t stream =
      kOfWorkers | c.stream << 36 | static_cast<std::uint64_t>(piece) << 15;
  params::restore_random_streams(c.seed, stream);
  rndeng->seed(static_cast<std::mt19937::result_type>(mixed(c.seed, stream)));
  const std::size_t first = begin_of(piece);
  const std::size_t last = begin_of(piece + 1);
  if (c.learn) {
    slots_.start_piece(piece);
  }
  work_({examples() + first, last - first, c.learn, results() + piece * stride_});
  if (c.learn) {
    slots_.finish_piece(piece);
    slots_.add_up(piece, c.pieces);
  }
}

Crew::Crew(const ParameterCollection& model, Work work, std::size_t result_bytes,
           std::size_t learning_pieces, const WorkerOptions& options, Hooks hooks)
    : it_(std::make_unique<Implementation>(model, std::move(work), result_bytes, learning_pieces,
                                           options, std::move(hooks))) {}
Crew::~Crew() = default;
const std::byte* Crew::run(const Call& call) { return it_->run(call); }
std::size_t Crew::result_stride() const { return it_->stride(); }
void Crew::close() { it_->close(); }
std::vector<int> Crew::pids() const { return it_->pids(); }

}  // namespace dynet::workers
