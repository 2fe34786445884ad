#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "execute/gradients.h"

namespace dynet::execute {

/// Gradients of rows of tables that a graph reads often. Read gradients are added to the row one
/// after the other, and 10^6 floats added so have two correct digits. So the gradients of a row
/// with more than kMostAdded readers are added up first: kMostAdded of them to a sum, kMostAdded
/// sums to a sum of sums, and so on (long_sum.h does the same in kernels).
///
/// Most rows have few readers. To find the others, reads are counted in buckets of a hash table
/// that has two buckets for each read: a row whose bucket has few reads has few reads. A row that
/// shares its bucket with rows that are read often counts as one of them, which does no harm.
/// Example: a batch of 1,000 words, 70 of which are the same: 2,048 buckets, and one row with
/// memory for two sums. Not thread-safe.
class LongRows {
 public:
  static constexpr std::uint32_t kMostAdded = 32;
  /// Reads of all tables below which none are counted.
  static constexpr std::size_t kFewReads = 64;

  /// The sums of one row.
  class Sums {
   public:
    /// Adds the gradient of one reader.
    void add(const void* gradient);

   private:
    friend LongRows;
    static constexpr std::size_t kLevels = 5;
    void add(std::size_t level, const void* numbers);
    /// Adds up all levels; null if nothing was added.
    const void* total();

    NodeId lookup_ = 0;  ///< one of those that read the row
    unsigned row_ = 0;
    std::uint32_t next_ = 0;  ///< another row of the bucket in LongRows::sums_, plus one; 0: none
    const ext::Kernels* kernels_ = nullptr;
    std::int64_t elements_ = 0;
    std::size_t used_ = 0;  ///< levels
    std::array<std::byte*, kLevels> data_{};
    std::array<std::uint32_t, kLevels> counts_{};
  };

  explicit LongRows(Gradients& gradients) : gradients_(gradients) {}

  /// Begins a pass: forgets all rows.
  void begin();
  /// Announces `reads` readers, the rows of which follow.
  void expect(std::size_t reads) { reads_ += reads; }
  /// Whether count() and find() are wanted: there are more than a few readers.
  [[nodiscard]] bool has_many_reads() const { return reads_ > kFewReads; }
  /// Counts the readers of a lookup node; of all nodes before the first call of `prepare`.
  void count(NodeId lookup, std::span<const unsigned> rows);
  /// Takes memory for the rows of this node that are read often. Memory may run out.
  void prepare(NodeId lookup, std::span<const unsigned> rows);
  [[nodiscard]] bool has_any() const { return !sums_.empty(); }
  /// The sums of a row that is read often, else null.
  [[nodiscard]] Sums* find(NodeId lookup, unsigned row);
  /// Calls `f(lookup, row, gradient)` for each row that is read often, with the sum of all that was
  /// added to it.
  template <class F>
  void for_each(F f) {
    for (Sums& sums : sums_) {
      if (const void* total = sums.total(); total != nullptr) {
        f(sums.lookup_, sums.row_, total);
      }
    }
  }

 private:
  [[nodiscard]] std::uint64_t key(NodeId lookup, unsigned row) const;
  [[nodiscard]] static std::uint64_t hash(std::uint64_t key) { return key * 0x9E3779B97F4A7C15ULL; }
  [[nodiscard]] std::uint64_t bucket(std::uint64_t key) const { return hash(key) >> shift_; }

  Gradients& gradients_;
  std::size_t reads_ = 0;
  int shift_ = 0;                       ///< of a hash to its bucket
  std::uint32_t most_ = 0;              ///< reads in a bucket
  std::vector<std::uint32_t> buckets_;  ///< reads; empty: none were counted
  std::vector<Sums> sums_;
  std::vector<std::uint32_t> first_;  ///< by bucket: a row in sums_, plus one; 0: none
};

}  // namespace dynet::execute
