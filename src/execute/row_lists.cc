#include "execute/row_lists.h"

#include <algorithm>
#include <tuple>

namespace dynet::execute {

void RowLists::add(NodeId lookup, unsigned row, const void* gradient) {
  const auto table =
      static_cast<std::uint32_t>(gradients_.context().graph[lookup].payload->storage_slot);
  reads_.push_back({table, row, lookup, gradient, reads_.size()});
}

std::size_t RowLists::end_of_table(std::size_t begin) const {
  std::size_t end = begin;
  while (end < reads_.size() && reads_[end].table == reads_[begin].table) {
    ++end;
  }
  return end;
}

void RowLists::prepare() {
  // In the order of additions, without the memory that std::stable_sort takes.
  std::sort(reads_.begin(), reads_.end(), [](const Read& a, const Read& b) {
    return std::tie(a.table, a.row, a.order) < std::tie(b.table, b.row, b.order);
  });
  bool has_long = true;
  while (has_long) {
    next_.clear();
    for (std::size_t begin = 0; begin < reads_.size();) {
      const std::size_t end = end_of_table(begin);
      sum_table(begin, end, next_);
      begin = end;
    }
    has_long = next_.size() != reads_.size();
    reads_.swap(next_);
  }
  rows_.reserve(reads_.size());
  additions_.reserve(reads_.size());
}

/// One round: rows with more than kMostAdded gradients get sums of so many.
void RowLists::sum_table(std::size_t begin, std::size_t end, std::vector<Read>& to) {
  const Context& context = gradients_.context();
  additions_.clear();
  for (std::size_t first = begin; first < end;) {
    std::size_t last = first;
    while (last < end && reads_[last].row == reads_[first].row) {
      ++last;
    }
    const bool is_long = last - first > kMostAdded;
    void* sum = nullptr;
    for (std::size_t i = first; i < last; ++i) {
      const Read& read = reads_[i];
      if (!is_long) {
        to.push_back(read);
        continue;
      }
      const bool begins = (i - first) % kMostAdded == 0;
      if (begins) {
        sum = gradients_.pools()
                  .of(context.memory(read.lookup))
                  .allocate(context.graph.example_bytes(read.lookup));
        to.push_back({read.table, read.row, read.lookup, sum});
      }
      additions_.push_back({read.gradient, sum, begins});
    }
    first = last;
  }
  if (!additions_.empty()) {
    const NodeId lookup = reads_[begin].lookup;
    context.kernels(lookup).add_all(1.0, additions_, context.graph.example_size(lookup));
  }
}

void RowLists::deliver() {
  for (std::size_t begin = 0; begin < reads_.size();) {
    const std::size_t end = end_of_table(begin);
    rows_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      rows_.push_back({reads_[i].row, reads_[i].gradient});
    }
    void* const storage = gradients_.context().graph[reads_[begin].lookup].payload->storage;
    params::LookupGradientLock(params::lookup_storage(storage)).add_list(rows_, additions_);
    begin = end;
  }
}

}  // namespace dynet::execute
