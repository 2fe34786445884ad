#pragma once

// The waiting of a worker between two calls, and its first processor in a call.
//
// A sleeping thread wakes slowly: on an idle processor of a virtual machine in some 50 us, and a
// system that finds two workers on one processor leaves both there for half a millisecond while
// another processor is idle. A call of some sentences takes two milliseconds. So a worker looks for
// the next call for a while before it sleeps, and the parent moves workers that share a processor.

#include <sched.h>
#include <semaphore.h>
#include <sys/types.h>

#include <atomic>

namespace dynet::workers {

/// One worker's, in shared memory, zeros at first. The worker writes `processor`; the parent writes
/// the rest while the worker waits for a call.
struct Seat {
  std::atomic<int> processor;  ///< the worker's last known processor
  std::atomic<bool> is_moved;  ///< it may use `processor` alone until it begins
  cpu_set_t allowed;           ///< the worker's processors otherwise
};

/// Worker: waits until `call` is posted; for the first millisecond without sleep, if there are
/// processors for others. Afterwards the worker may use all its processors again.
void wait_in_seat(Seat& seat, sem_t& call);

/// Parent, before it posts a call: if the processor of worker `pid` is in `taken`, gives the worker
/// another processor, if the system permits. Adds the worker's processor to `taken`.
void take_processor(Seat& seat, pid_t pid, cpu_set_t& taken);

}  // namespace dynet::workers
