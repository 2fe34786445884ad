#pragma once

// Messages between the parent and its workers, in shared memory: one call at a time.

#include <semaphore.h>

#include <atomic>
#include <cstdint>

#include "workers/seat.h"

namespace dynet::workers {

/// One worker's part. `go` is posted by the parent, the rest is written by the worker.
struct alignas(64) Cell {
  static constexpr std::size_t kTextBytes = 16384;
  std::atomic<std::uint64_t> pulse;  ///< util/pulse.h
  sem_t go;
  Seat seat;                   ///< the worker's place while waiting
  std::atomic<bool> has_left;  ///< is done with the call
  char text[kTextBytes];       ///< of the exception, ends with 0
};

/// The call. Written by the parent while all workers wait, but for the atomics.
struct Control {
  sem_t changed;  ///< posted when the last worker has left the call, or one failed
  alignas(64) std::atomic<std::uint32_t> running;  ///< workers that have not left the call
  std::atomic<std::uint32_t> first_error;  ///< number of the worker that threw, + 1; 0: none
  std::atomic<bool> must_leave;            ///< the workers are to end
  std::uint64_t seed;                      ///< of random numbers
  std::uint64_t stream;                    ///< number of the call, for random numbers
  std::uint64_t count;                     ///< of examples
  std::uint64_t pieces;
  std::uint32_t active;  ///< workers that take part
  bool learn;
  bool has_ends;  ///< pieces end where the call says
};

}  // namespace dynet::workers
