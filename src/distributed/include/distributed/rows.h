#pragma once

// The rows of a lookup table that any rank has touched, in one update.
//
// Each rank tells the numbers of its rows. From all numbers every rank computes the union, in
// order, and the owner of each row of the union: rank r owns the r-th part. So all ranks know which
// rows every message has, and messages have nothing but numbers. Example: rank 0 has the rows 3 and
// 7, rank 1 has 7 and 9. The union is 3, 7, 9. Rank 0 owns 3; rank 1 owns 7 and 9, gets row 7 from
// rank 0, and sends the sums of 7 and 9.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/model.h"

#include "distributed/rounds.h"
#include "params/buffer.h"

namespace dynet::distributed {

/// Order of the calls: begin, write_numbers and read_numbers, unite; then scatter, add_up and
/// gather by Sums; then store. Thread rule: as Exchange.
class Rows {
 public:
  Rows(LookupParameterStorage& table, unsigned rank, unsigned ranks);

  /// The number of rows with a gradient: none of a frozen table, or of one with a gradient as a
  /// whole.
  [[nodiscard]] std::uint32_t touched() const;
  /// The bytes of so many numbers: four bytes each, or a bit for each row of the table.
  [[nodiscard]] std::size_t number_bytes(std::uint32_t count) const;
  /// Lists the rows of this rank.
  void begin();
  void write_numbers(std::byte* to) const;
  /// RankError for a row that the table lacks.
  void read_numbers(unsigned rank, std::uint32_t count, const std::byte* from);
  /// Computes the union and collects the rows of this rank.
  void unite();

  void scatter(std::vector<Message>& out, std::vector<Message>& in, std::vector<std::byte>& room);
  /// As add_parts.
  std::uint64_t add_up(const std::vector<std::byte>& room, const std::vector<double>& factors,
                       unsigned& bad);
  void gather(std::vector<Message>& out, std::vector<Message>& in);
  /// Makes the sums the gradient of the table.
  void store();

 private:
  /// The rows of rank `r` that rank `owner` owns: the first one, and the end.
  struct Span {
    std::size_t begin, end;
  };
  [[nodiscard]] Span owned(unsigned r, unsigned owner) const;
  [[nodiscard]] std::size_t begin_of(unsigned owner) const;
  [[nodiscard]] bool is_list(std::uint32_t count) const;

  LookupParameterStorage& table_;
  unsigned rank_;
  std::size_t row_bytes_;
  std::vector<std::vector<unsigned>> rows_;  ///< of each rank, in order
  std::vector<std::uint64_t> bits_;          ///< one for each row of the table
  std::vector<unsigned> union_;
  std::vector<std::byte> mine_;  ///< the numbers of this rank's rows
  std::vector<std::byte> sums_;  ///< of the union
  std::vector<unsigned char> is_first_;
  params::Buffer staged_;  ///< sums on a device whose memory the host does not see
  std::size_t staged_rows_ = 0;
};

}  // namespace dynet::distributed
