#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/ext/kernels.h"

#include "execute/gradients.h"
#include "params/gradient.h"

namespace dynet::execute {

/// Gradients of rows of tables on devices that the host does not see, where each start of a loop
/// costs: a table gets all its gradients in one call, Kernels::add_all.
///
/// A row that is read often gets sums of kMostAdded gradients each, in the order of the nodes, as
/// LongRows does elsewhere. Example: 100 readers of a row are three sums of 32 and one of 4, and
/// then four additions to the row. Not thread-safe.
class RowLists {
 public:
  static constexpr std::size_t kMostAdded = 32;

  explicit RowLists(Gradients& gradients) : gradients_(gradients) {}

  /// Begins a pass: forgets all gradients.
  void begin() { reads_.clear(); }
  /// Adds the gradient of a reader of a row. The order of readers is kept.
  void add(NodeId lookup, unsigned row, const void* gradient);
  /// Makes the sums of rows that are read often. Memory may run out; no table has changed.
  void prepare();
  /// Adds to the tables. Throws nothing of its own.
  void deliver();

 private:
  struct Read {
    std::uint32_t table;  ///< number of its storage in the graph
    unsigned row;
    NodeId lookup;
    const void* gradient;
    std::size_t order = 0;  ///< of its addition
  };
  [[nodiscard]] std::size_t end_of_table(std::size_t begin) const;
  void sum_table(std::size_t begin, std::size_t end, std::vector<Read>& to);

  Gradients& gradients_;
  std::vector<Read> reads_, next_;
  std::vector<params::RowGradient> rows_;
  std::vector<ext::Addition> additions_;
};

}  // namespace dynet::execute
