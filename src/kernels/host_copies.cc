#include "kernels/host_copies.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dynet::kernels {

AlignedBytes allocate_aligned(std::size_t bytes) {
  return AlignedBytes(
      static_cast<std::byte*>(::operator new(bytes, std::align_val_t{FreeAligned::kAlignment})));
}

/// Neighbours stay apart, so that pieces that are only read are not written back.
void HostCopies::join_overlapping() {
  std::sort(pieces_.begin(), pieces_.end(), [](const Piece& a, const Piece& b) {
    return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
  });
  std::vector<Piece> joined;
  for (Piece& p : pieces_) {
    if (!joined.empty() && p.data < joined.back().data + joined.back().bytes) {
      Piece& last = joined.back();
      last.bytes = std::max(last.bytes, static_cast<std::size_t>(p.data - last.data) + p.bytes);
      last.is_written = last.is_written || p.is_written;
    } else if (p.bytes != 0) {
      joined.push_back(std::move(p));
    }
  }
  pieces_ = std::move(joined);
}

void HostCopies::copy_out() {
  join_overlapping();
  for (Piece& p : pieces_) {
    p.copy = allocate_aligned(p.bytes);
    device_.copy_out(p.data, p.copy.get(), p.bytes);
  }
}

void* HostCopies::copy_at(const void* data) const {
  const auto* const at = static_cast<const std::byte*>(data);
  const auto after =
      std::upper_bound(pieces_.begin(), pieces_.end(), at,
                       [](const std::byte* place, const Piece& p) { return place < p.data; });
  if (after == pieces_.begin()) {
    return nullptr;  // a block without elements
  }
  const Piece& p = *std::prev(after);
  return p.copy.get() + (at - p.data);
}

void HostCopies::copy_in() {
  for (const Piece& p : pieces_) {
    if (p.is_written) {
      device_.copy_in(p.copy.get(), const_cast<std::byte*>(p.data), p.bytes);
    }
  }
}

}  // namespace dynet::kernels
