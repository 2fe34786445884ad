#pragma once

// Where a worker waits between two calls, and on which processor it begins.
//
// Waking a thread that sleeps costs more than it seems: on an idle processor of a virtual machine
// some 50 us, and a system that finds two workers on one processor leaves them there for half a
// millisecond while another is idle. A call of some sentences takes two. So a worker looks for the
// next call for a while before it sleeps, and the parent moves workers that share a processor.

#include <sched.h>
#include <semaphore.h>
#include <sys/types.h>

#include <atomic>

namespace dynet::workers {

/// One worker's, in shared memory, zeros at first. The worker writes `processor`; the parent writes
/// the rest while the worker waits for a call.
struct Seat {
  std::atomic<int> processor;  ///< where the worker was seen last
  std::atomic<bool> is_moved;  ///< it may use `processor` alone until it begins
  cpu_set_t allowed;           ///< what it may use otherwise
};

/// Worker: waits until `call` is posted, for a millisecond without sleeping where there are
/// processors for others. Then the worker may use all its processors again.
void wait_in_seat(Seat& seat, sem_t& call);

/// Parent, before it posts a call: gives worker `pid` a processor that is not in `taken`, if its
/// own is and the system lets it, and adds its processor to `taken`.
void take_processor(Seat& seat, pid_t pid, cpu_set_t& taken);

}  // namespace dynet::workers
