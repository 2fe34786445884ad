#pragma once

// Devices: each has its memory, its runner, and streams that run late.
//
// A stream is a queue. Its work runs when somebody waits for the stream, or when the queue has
// grown to a length that is drawn anew each time. So a program that forgets to wait reads NaN, or
// numbers of before.

#include <sys/types.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "cuda_runtime.h"
#include "region.h"
#include "runner.h"

namespace cuda_on_host {

/// An event, once recorded: whether its stream has come to it.
struct Mark {
  bool is_done = false;
};
class Device;
struct Stream;
struct Work {
  std::function<void()> run;
  std::shared_ptr<const Mark> after = nullptr;  ///< must be done first
  Stream* of_after = nullptr;
  bool is_kernel = false;
};
struct Stream {
  Device* device;
  std::deque<Work> queue = {};
  std::size_t longest = 0;  ///< 0: not drawn
  bool is_blocking = true;  ///< has an order with the default stream of its device
  bool runs = false;
};

/// The part of the host, which all devices share.
struct Host {
  std::recursive_mutex mutex;
  Region managed{Region::Kind::kManaged};
  std::map<const void*, std::size_t> pinned;  ///< host memory that copies read and write late
  cudaError_t last = cudaSuccess;
};

/// All calls hold `mutex`. DYNET_CUDA_DEVICES says how many there are. Devices do not see each
/// other's memory: a copy between two devices names both.
class Device {
 public:
  static int count();
  static Device& at(int id);
  /// The one that the calling thread has chosen.
  static Device& get();
  static void choose(int id);
  /// The device whose memory has the address; null: none.
  static Device* owner(const void* p);
  static void drain_each();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() = delete;  // at()

  [[nodiscard]] int id() const { return id_; }
  Stream* stream(cudaStream_t s) {
    return s == nullptr ? &default_stream_ : reinterpret_cast<Stream*>(s);
  }
  cudaStream_t make_stream(bool is_blocking);
  void end_stream(Stream* s);
  void enqueue(Stream* s, Work work);
  /// Runs the first `count` of a queue.
  void run(Stream* s, std::size_t count);
  void drain(Stream* s) { run(s, s->queue.size()); }
  void drain_all();

  /// Ends the program if `launch` has an address of the host among its arguments.
  void check_arguments(const Launch& launch);
  bool is_pinned(const void* p) const;
  /// The error of every call for the device: in a child of the process that uses it, and after the
  /// kernel of DYNET_CUDA_ILLEGAL.
  cudaError_t error() const;
  /// Ends the use of the device, as a kernel's illegal address does.
  void stop() { is_stopped_ = true; }
  /// Counts the calls since a program set a variable to n, in `number`. False: the variable is not
  /// set, or fewer than n calls were made.
  static bool is_past(const char* setting, long& number);

  std::recursive_mutex& mutex;
  Region memory{Region::Kind::kDevice};
  Region& managed;
  Runner runner{memory, managed};
  std::map<const void*, std::size_t>& pinned;
  cudaError_t& last;
  Counts counts{};

 private:
  Device(int id, Host& host);
  bool is_readable(const void* p);

  int id_;
  bool is_stopped_ = false;
  Stream default_stream_{.device = this};
  std::set<Stream*> streams_;
  unsigned runs_ = 0;
  pid_t process_;
  int pipe_[2];
};

}  // namespace cuda_on_host
