#include "distributed/rounds.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace dynet::distributed {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kGatherSlot = 4;
constexpr unsigned kPartsSlot = 5;
// A wait asks without a pause, then lets other threads run, then sleeps: a rank on a machine with
// fewer cores than ranks would keep the awaited rank from its core. On a busy machine a thread that
// yields comes back after all others, and a thread that slept before them.
constexpr int kAsk = 200;
constexpr auto kYield = std::chrono::microseconds(200);
constexpr auto kNap = std::chrono::microseconds(50);
// At most so much of the time between two questions counts as waiting: a process that was stopped
// for a minute has not waited for a minute.
constexpr Clock::duration kMostBetween = std::chrono::milliseconds(100);

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void Rounds::check_whole() const {
  if (is_broken_) {
    throw errors::RankError(
        "distributed: an earlier exchange of this job failed; want the job to end", rank());
  }
}

void Rounds::start(unsigned slot, const std::vector<Message>& out, const std::vector<Message>& in) {
  check_whole();
  is_broken_ = true;  // unless the call returns
  exchange_.start(slot, out, in);
  is_broken_ = false;
  traffic_.messages += out.size();
  for (const Message& m : out) {
    traffic_.bytes += m.bytes;
  }
}

void Rounds::wait(unsigned slot) {
  is_broken_ = true;  // unless the call returns
  for (int i = 0; i < kAsk; ++i) {
    if (exchange_.test(slot)) {
      is_broken_ = false;
      return;
    }
  }
  ++traffic_.rounds;
  const Clock::time_point start = Clock::now();
  Clock::time_point last = start;
  Clock::duration passed{};
  while (!exchange_.test(slot)) {
    const Clock::time_point now = Clock::now();
    passed += std::min(now - last, kMostBetween);
    last = now;
    if (patience_ > 0 && passed > std::chrono::duration<double>(patience_)) {
      const unsigned peer = exchange_.waiting_for(slot);
      throw errors::RankError("distributed: rank " + std::to_string(rank()) + " of " +
                                  std::to_string(size()) + " has heard nothing from rank " +
                                  std::to_string(peer) + " for " +
                                  std::to_string(static_cast<long>(patience_)) +
                                  " seconds; want a larger patience if that rank may take so long",
                              peer);
    }
    if (passed < kYield) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kNap);
    }
  }
  traffic_.seconds += seconds_since(start);
  is_broken_ = false;
}

void Rounds::gather(const void* mine, std::size_t bytes, std::byte* all, std::size_t room) {
  out_.clear();
  in_.clear();
  for (unsigned r = 0; r < size(); ++r) {
    if (r != rank()) {
      out_.push_back({r, const_cast<void*>(mine), bytes});  // NOLINT: sent, not changed
      in_.push_back({r, all + r * room, room});
    }
  }
  std::memcpy(all + rank() * room, mine, bytes);
  start(kGatherSlot, out_, in_);
  wait(kGatherSlot);
}

void Rounds::gather_parts(std::byte* data, const std::vector<std::size_t>& begins) {
  out_.clear();
  in_.clear();
  const std::size_t mine = begins[rank() + 1] - begins[rank()];
  for (unsigned r = 0; r < size(); ++r) {
    const std::size_t theirs = begins[r + 1] - begins[r];
    if (r != rank() && mine != 0) {
      out_.push_back({r, data + begins[rank()], mine});
    }
    if (r != rank() && theirs != 0) {
      in_.push_back({r, data + begins[r], theirs});
    }
  }
  start(kPartsSlot, out_, in_);
  wait(kPartsSlot);
}

void Rounds::from_first(std::byte* data, std::size_t bytes) {
  parts_.clear();
  for (unsigned r = 0; r <= size(); ++r) {
    parts_.push_back(bytes / size() * r + bytes % size() * r / size());
  }
  out_.clear();
  in_.clear();
  for (unsigned r = 1; r < size() && rank() == 0; ++r) {
    if (parts_[r + 1] != parts_[r]) {
      out_.push_back({r, data + parts_[r], parts_[r + 1] - parts_[r]});
    }
  }
  if (rank() != 0 && parts_[rank() + 1] != parts_[rank()]) {
    in_.push_back({0, data + parts_[rank()], parts_[rank() + 1] - parts_[rank()]});
  }
  start(kPartsSlot, out_, in_);
  wait(kPartsSlot);
  const std::vector<std::size_t> begins = parts_;
  gather_parts(data, begins);
}

}  // namespace dynet::distributed
