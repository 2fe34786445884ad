#pragma once

// The memory of the device.

#include <cstddef>
#include <map>

namespace cuda_on_host {

/// Addresses for allocations, first fit. All bytes are mapped twice: at the addresses that callers
/// get, which have no access but while kernels run, and at `open`, for copies. New and freed memory
/// holds NaN.
///
/// Managed memory is for host and device; it has access always.
class Region {
 public:
  enum class Kind { kDevice, kManaged };
  explicit Region(Kind kind);

  /// Null: there is not enough.
  void* allocate(std::size_t bytes);
  /// Whether `data` is an allocation, which then is no more.
  bool free(void* data);
  bool contains(const void* p) const { return p >= base_ && p < base_ + size_; }
  std::size_t offset(const void* p) const {
    return static_cast<std::size_t>(static_cast<const char*>(p) - base_);
  }
  /// Whether `bytes` from `p` on lie in one allocation.
  bool is_allocated(const void* p, std::size_t bytes);
  /// The address with access for an address of this region; any other address is itself.
  void* open(const void* p) const;
  std::size_t size() const { return size_; }
  std::size_t in_use() const { return in_use_; }

  /// Kernels run between these calls. New memory may need access anew.
  void give_access();
  void take_access();
  bool has_access() const { return accessible_ == high_; }

 private:
  std::size_t size_;
  bool is_strict_;
  char *base_ = nullptr, *open_ = nullptr;
  std::map<std::size_t, std::size_t> unused_, used_;  ///< offset to size
  std::size_t in_use_ = 0, high_ = 0;                 ///< high_: nothing was allocated beyond
  std::size_t accessible_ = 0;                        ///< with access up to here
  std::size_t seen_begin_ = 0, seen_end_ = 0;         ///< the allocation that was looked up last
};

}  // namespace cuda_on_host
