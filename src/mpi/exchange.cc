// The Exchange of MPI: messages between two processes, none of MPI's own reductions.

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "dynet/mpi.h"

namespace dynet::mpi {
namespace {

constexpr int kEndTag = static_cast<int>(distributed::Exchange::kSlots);
constexpr std::size_t kLargest = std::size_t{1} << 30;  // of a message; MPI counts in int
constexpr double kPatienceAfterError = 5;               // seconds

/// UsageError with MPI's text for a call that failed.
void check(int code, const char* call) {
  if (code == MPI_SUCCESS) {
    return;
  }
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw errors::UsageError(std::string("mpi: ") + call + ": " + text +
                           "; want a job whose ranks all live");
}

bool has_started() {
  int is_started = 0;
  MPI_Initialized(&is_started);
  return is_started != 0;
}
bool has_ended() {
  int is_ended = 0;
  MPI_Finalized(&is_ended);
  return is_ended != 0;
}
void require_not_ended(const char* call) {
  if (has_ended()) {
    throw errors::UsageError(std::string("mpi::") + call +
                             ": MPI has ended in this process; want the call before its end");
  }
}

/// The messages of a slot. A long message is several requests.
struct Slot {
  std::vector<MPI_Request> requests;
  std::vector<unsigned> peers;  ///< of the requests
};

class Ranks final : public distributed::Exchange {
 public:
  /// Owns the communicator, and MPI itself if `owns_mpi`.
  Ranks(MPI_Comm communicator, bool owns_mpi) : comm_(communicator), owns_mpi_(owns_mpi) {
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    int number = 0;
    check(MPI_Comm_rank(comm_, &number), "MPI_Comm_rank");
    rank_ = static_cast<unsigned>(number);
    check(MPI_Comm_size(comm_, &number), "MPI_Comm_size");
    size_ = static_cast<unsigned>(number);
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() override {
    if (std::uncaught_exceptions() > exceptions_) {
      mpi::abort("ends by an exception");
    }
    if (has_ended()) {
      return;
    }
    say_goodbye();
    MPI_Comm_free(&comm_);
    if (owns_mpi_) {
      MPI_Finalize();
    }
  }

  [[nodiscard]] unsigned rank() const override { return rank_; }
  [[nodiscard]] unsigned size() const override { return size_; }

  void start(unsigned slot, const std::vector<distributed::Message>& out,
             const std::vector<distributed::Message>& in) override {
    Slot& to = slots_[slot];
    to.requests.clear();
    to.peers.clear();
    begin(to, in, static_cast<int>(slot), false);
    begin(to, out, static_cast<int>(slot), true);
  }

  bool test(unsigned slot) override {
    Slot& of = slots_[slot];
    int is_done = 0;
    check(MPI_Testall(static_cast<int>(of.requests.size()), of.requests.data(), &is_done,
                      MPI_STATUSES_IGNORE),
          "MPI_Testall");
    return is_done != 0;
  }

  unsigned waiting_for(unsigned slot) override {
    Slot& of = slots_[slot];
    for (std::size_t i = 0; i < of.requests.size(); ++i) {
      int is_done = 0;
      check(MPI_Test(&of.requests[i], &is_done, MPI_STATUS_IGNORE), "MPI_Test");
      if (is_done == 0) {
        return of.peers[i];
      }
    }
    return rank_;
  }

  void note_error() override { has_error_ = true; }

 private:
  void begin(Slot& slot, const std::vector<distributed::Message>& messages, int tag, bool is_out) {
    for (const distributed::Message& m : messages) {
      auto* data = static_cast<std::byte*>(m.data);
      std::size_t left = m.bytes;
      do {
        const int bytes = static_cast<int>(std::min(left, kLargest));
        const int peer = static_cast<int>(m.peer);
        slot.peers.push_back(m.peer);
        MPI_Request& request = slot.requests.emplace_back(MPI_REQUEST_NULL);
        if (is_out) {
          check(MPI_Isend(data, bytes, MPI_BYTE, peer, tag, comm_, &request), "MPI_Isend");
        } else {
          check(MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, comm_, &request), "MPI_Irecv");
        }
        data += bytes;
        left -= static_cast<std::size_t>(bytes);
      } while (left > 0);
    }
  }

  /// Waits until all ranks are here. After an error of this rank others may wait for it elsewhere:
  /// then the job ends.
  void say_goodbye() {
    Slot end;
    std::byte nothing{};
    std::vector<std::byte> theirs(size_);
    std::vector<distributed::Message> out;
    std::vector<distributed::Message> in;
    for (unsigned r = 0; r < size_; ++r) {
      if (r != rank_) {
        out.push_back({r, &nothing, 1});
        in.push_back({r, &theirs[r], 1});
      }
    }
    try {
      begin(end, in, kEndTag, false);
      begin(end, out, kEndTag, true);
      std::swap(slots_[0], end);
      const auto start = std::chrono::steady_clock::now();
      while (!test(0)) {
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
        if (has_error_ && passed.count() > kPatienceAfterError) {
          mpi::abort("ends after an error, and rank " + std::to_string(waiting_for(0)) +
                     " goes on");
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    } catch (const std::exception& e) {
      mpi::abort(e.what());
    }
  }

  MPI_Comm comm_;
  bool owns_mpi_;
  bool has_error_ = false;
  int exceptions_ = std::uncaught_exceptions();  ///< when this object was made
  unsigned rank_ = 0;
  unsigned size_ = 1;
  Slot slots_[kSlots];
};

/// The process that started MPI: children of it, such as workers, must not end the job.
pid_t owner = 0;

void at_exit() {
  if (getpid() == owner && has_started() && !has_ended()) {
    mpi::abort("exits, and the job goes on");
  }
}

}  // namespace

std::shared_ptr<distributed::Exchange> start() {
  require_not_ended("start");
  const bool owns_mpi = !has_started();
  if (owns_mpi) {
    owner = getpid();
    std::atexit(at_exit);
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  }
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  return std::make_shared<Ranks>(copy, owns_mpi);
}

std::shared_ptr<distributed::Exchange> over(const void* communicator) {
  require_not_ended("over");
  if (!has_started()) {
    throw errors::UsageError(
        "mpi::over: MPI has not started in this process; want MPI_Init before it, or mpi::start()");
  }
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(*static_cast<const MPI_Comm*>(communicator), &copy), "MPI_Comm_dup");
  return std::make_shared<Ranks>(copy, false);
}

int run(const std::function<int(const std::shared_ptr<distributed::Exchange>&)>& program) {
  const std::shared_ptr<distributed::Exchange> world = start();
  try {
    return program(world);
  } catch (const std::exception& e) {
    abort(e.what());
  } catch (...) {
    abort("ends by an exception");
  }
}

void abort(const std::string& text) {
  int rank = 0;
  int size = 1;
  const bool can_abort = has_started() && !has_ended();
  if (can_abort) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  std::fflush(stdout);
  std::fprintf(stderr, "dynet: rank %d of %d: %s\n", rank, size, text.c_str());
  std::fflush(stderr);
  if (can_abort) {
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  std::abort();
}

}  // namespace dynet::mpi
