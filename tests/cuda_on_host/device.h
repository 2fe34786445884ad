#pragma once

// A device: its memory, its runner, and streams that run late.
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
struct Stream;
struct Work {
  std::function<void()> run;
  std::shared_ptr<const Mark> after = nullptr;  ///< must be done first
  Stream* of_after = nullptr;
  bool is_kernel = false;
};
struct Stream {
  std::deque<Work> queue;
  std::size_t longest = 0;  ///< 0: not drawn
  bool is_blocking = true;  ///< has an order with the default stream
  bool runs = false;
};

/// All calls hold `mutex`.
class Device {
 public:
  static Device& get();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() = delete;  // get()

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
  /// Whether the process is a child of the process that uses the device.
  bool is_child() const;

  std::recursive_mutex mutex;
  Region memory{Region::Kind::kDevice}, managed{Region::Kind::kManaged};
  Runner runner{memory, managed};
  std::map<const void*, std::size_t> pinned;  ///< host memory that copies read and write late
  cudaError_t last = cudaSuccess;
  Counts counts{};

 private:
  Device();
  bool is_readable(const void* p);

  Stream default_stream_;
  std::set<Stream*> streams_;
  unsigned runs_ = 0;
  pid_t process_;
  int pipe_[2];
};

}  // namespace cuda_on_host
