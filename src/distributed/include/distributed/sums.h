#pragma once

// Sums of vectors over the ranks.
//
// Rank r owns the r-th part of every vector. A vector is cut into pieces; in a piece, each rank
// sends the owners their parts, adds the parts that arrive for its own, and sends the sums to all.
// While one piece is added the next one travels. Example: two ranks, 10 numbers, one piece: rank 1
// sends numbers 0 to 4 and gets 5 to 9; then each sends its sums.
//
// Numbers are added in double, in the order of the ranks, and rounded once, by their owner alone.
// All ranks thus have the same bits, whatever carried them; mpi's own reductions promise less.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/ext/operand.h"

#include "distributed/rounds.h"
#include "distributed/rows.h"

namespace dynet::distributed {

/// A vector of each rank, as long on all; the sum takes its place.
struct Vector {
  std::byte* data;
  std::int64_t elements;
  ext::Number number;
};

/// Numbers that are not finite, found by the owner of a sum.
struct Culprit {
  std::uint64_t count = 0;      ///< in all sums of this owner
  unsigned rank = 0;            ///< of the first one's summand
  const void* place = nullptr;  ///< the first one: in a Vector, or a Rows object
};

/// Thread rule: as Exchange.
class Sums {
 public:
  explicit Sums(Rounds& rounds) : rounds_(rounds) {}

  void clear();
  void add(const Vector& vector);
  void add(Rows& rows);
  /// Replaces the vectors by sums: of `factors[r]` times the numbers of rank r.
  void run(const std::vector<double>& factors);
  [[nodiscard]] const Culprit& culprit() const { return culprit_; }

 private:
  /// A piece of a vector, or a table.
  struct Piece {
    Vector vector;
    std::int64_t first;  ///< in the part of each rank
    std::int64_t count;  ///< at most
    Rows* rows;          ///< null: a piece of the vector
  };
  void scatter(std::size_t piece);
  void add_up(std::size_t piece, const std::vector<double>& factors);
  void gather(std::size_t piece);

  Rounds& rounds_;
  std::vector<Piece> pieces_;
  std::vector<std::byte> room_[2];  ///< for arriving numbers, of pieces in turn
  std::vector<const std::byte*> parts_;
  std::vector<Message> out_, in_;
  Culprit culprit_;
};

/// to[i] = the sum of factors[r] * parts[r][i], over the parts that are not null. `to` may be one
/// of the parts. Returns how many sums are not finite; then `bad` is the first part that is not,
/// or, if all parts are finite, stays. Also for rows.
std::uint64_t add_parts(ext::Number number, std::byte* to,
                        const std::vector<const std::byte*>& parts,
                        const std::vector<double>& factors, std::int64_t n, unsigned& bad);

}  // namespace dynet::distributed
