#pragma once

// Rounds of messages: waiting with patience, gathering, broadcasts, and the announcement before
// every call of all ranks.
//
// An announcement is a header from each rank to each. It says which call the rank makes, so that
// ranks that make other calls get an error with both calls, instead of bytes that mean something
// else. Example: rank 1 has had fewer examples and is at its end, rank 0 at update 58.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dynet/distributed.h"

namespace dynet::distributed {

/// The calls that all ranks make together.
enum class Call : std::uint64_t { kStart = 1, kUpdate, kCheck, kSum, kFromFirst, kEnd };

struct Header {
  Call call;
  std::uint64_t model;    ///< a signature of its parameters
  std::uint64_t updates;  ///< before the call
  std::uint64_t size;     ///< depends on the call
  float rate, threshold;  ///< of the trainer
};

/// Thread rule: as Exchange.
class Rounds {
 public:
  Rounds(Exchange& exchange, double patience) : exchange_(exchange), patience_(patience) {}

  [[nodiscard]] unsigned rank() const { return exchange_.rank(); }
  [[nodiscard]] unsigned size() const { return exchange_.size(); }

  void start(unsigned slot, const std::vector<Message>& out, const std::vector<Message>& in);
  /// Returns when the round is over. RankError if a rank is silent for too long; the exchange is
  /// broken then, and so it is after any other error.
  void wait(unsigned slot);
  /// all[r * room] and on: the bytes of rank r, at most `room`. Sends `bytes` bytes of `mine`.
  void gather(const void* mine, std::size_t bytes, std::byte* all, std::size_t room);
  /// Rank r has the bytes from begins[r] to begins[r + 1] of `data`; all ranks get all.
  void gather_parts(std::byte* data, const std::vector<std::size_t>& begins);
  /// All ranks get the bytes of rank 0, which sends a part to each, and the ranks pass these on: so
  /// no rank sends more than twice the bytes.
  void from_first(std::byte* data, std::size_t bytes);

  [[nodiscard]] bool is_broken() const { return is_broken_; }
  [[nodiscard]] const Traffic& traffic() const { return traffic_; }

 private:
  void check_whole() const;

  Exchange& exchange_;
  double patience_;
  bool is_broken_ = false;
  Traffic traffic_;
  std::vector<Message> out_, in_;
  std::vector<std::size_t> parts_;
};

}  // namespace dynet::distributed
