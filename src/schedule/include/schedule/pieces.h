#pragma once

// A plan cut into pieces, each a whole group or some of its members, and what they need of each
// other: for whoever gives a plan another order.

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "schedule/plan.h"
#include "util/stamped.h"

namespace dynet::schedule {

/// Owns its buffers. Use: clear, add all pieces in the order of the plan, connect; then `write`
/// makes a plan of them. Thread rule: one thread at a time.
class Pieces {
 public:
  void clear() { pieces_.clear(); }
  /// Members [first, first + members) of the plan, all of group `group`.
  void add(std::uint32_t group, std::uint32_t first, std::uint32_t members) {
    pieces_.push_back({.group = group, .first = first, .members = members});
  }
  /// Adds one member to the piece that was added last.
  void extend() { ++pieces_.back().members; }
  /// Finds what each piece needs. Linear in the plan.
  void connect(const graph::Graph& graph, const Plan& plan);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(pieces_.size()); }
  /// The group of the plan that piece `p` is of.
  [[nodiscard]] std::uint32_t group(std::uint32_t p) const { return pieces_[p].group; }
  /// The pieces whose results piece `p` reads, each once; all stand before it in the plan.
  [[nodiscard]] std::span<const std::uint32_t> needs(std::uint32_t p) const {
    return {needs_.data() + pieces_[p].needs_begin, pieces_[p].needs};
  }
  /// The pieces that read results of piece `p`.
  [[nodiscard]] std::span<const std::uint32_t> users(std::uint32_t p) const {
    return {users_.data() + pieces_[p].users_begin, pieces_[p].users};
  }
  /// Fills `to` with the pieces of `plan` in this order, each a group.
  void write(const Plan& plan, std::span<const std::uint32_t> order, Plan& to) const;

 private:
  struct Piece {
    std::uint32_t group;
    std::uint32_t first;
    std::uint32_t members;
    std::uint32_t needs_begin = 0;  ///< in `needs_`
    std::uint32_t needs = 0;
    std::uint32_t users_begin = 0;  ///< in `users_`
    std::uint32_t users = 0;
  };
  void find_needs(const graph::Graph& graph, const Plan& plan);
  void find_users();

  std::vector<Piece> pieces_;                ///< in the order of the plan
  util::Stamped<std::uint32_t> piece_of_;    ///< node -> the piece that ends it, + 1
  util::Stamped<std::uint32_t> first_part_;  ///< node -> the piece of its first terms, + 1
  std::vector<std::uint32_t> needs_;
  std::vector<std::uint32_t> users_;
  std::vector<std::uint32_t> stamp_;  ///< piece -> last piece that it was noted for, + 1
};

}  // namespace dynet::schedule
