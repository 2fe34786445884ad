#include "workers/seat.h"

#include <chrono>

#include "kernels/team.h"

namespace dynet::workers {
namespace {

using Clock = std::chrono::steady_clock;

/// About the time of a parent between two calls: adding up rows, and an update.
constexpr auto kPatience = std::chrono::milliseconds(1);

bool look_for_call(Seat& seat, sem_t& call) {
  const Clock::time_point until = Clock::now() + kPatience;
  do {
    seat.processor.store(sched_getcpu(), std::memory_order_relaxed);
    if (sem_trywait(&call) == 0) {
      return true;
    }
    sched_yield();  // the threads of the parent work now
  } while (Clock::now() < until);
  return false;
}

/// Gives worker `pid` processor `to` alone until it begins.
void move(Seat& seat, pid_t pid, int to) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(to, &one);
  seat.is_moved = sched_setaffinity(pid, sizeof one, &one) == 0;
  if (seat.is_moved) {
    seat.processor = to;
  }
}

}  // namespace

void wait_in_seat(Seat& seat, sem_t& call) {
  if (kernels::usable_processors() < 2 || !look_for_call(seat, call)) {
    while (sem_wait(&call) != 0) {
    }
  }
  if (seat.is_moved) {
    sched_setaffinity(0, sizeof seat.allowed, &seat.allowed);
    seat.is_moved = false;
  }
}

void take_processor(Seat& seat, pid_t pid, cpu_set_t& taken) {
  if (CPU_ISSET(seat.processor, &taken) &&
      sched_getaffinity(pid, sizeof seat.allowed, &seat.allowed) == 0) {
    int free = 0;
    while (free < CPU_SETSIZE && (!CPU_ISSET(free, &seat.allowed) || CPU_ISSET(free, &taken))) {
      ++free;
    }
    if (free < CPU_SETSIZE) {
      move(seat, pid, free);
    }
  }
  CPU_SET(seat.processor, &taken);
}

}  // namespace dynet::workers
