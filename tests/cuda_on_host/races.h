#pragma once

// Which accesses of a kernel's threads have no order between them.
//
// Each word of 4 bytes of the device's and of shared memory has two records: who wrote it, and who
// has read it since. Two accesses of one launch, of which one at least writes, are a race unless
// the same thread makes both, or both are atomic, or they are of one block with a barrier between
// them, or of one warp with an exchange of lanes between them. Nothing orders two blocks.
//
// The findings do not depend on the order in which threads run: two accesses without an order are
// found whichever comes first.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cuda_on_host {

inline constexpr unsigned kWarp = 32;

/// Which accesses of each other the lanes of a warp know. Meetings of a warp's lanes are numbered.
class Warp {
 public:
  void start(unsigned lanes);
  /// Ends a meeting of the lanes of `mask`.
  void meet(unsigned mask);
  std::uint32_t meetings() const { return meetings_; }
  /// Lane `lane` knows all that lane `of` did before this many meetings.
  std::uint32_t seen(unsigned lane, unsigned of) const;

  unsigned lanes = 0;   ///< which the block has
  unsigned exited = 0;  ///< which have returned

 private:
  std::uint32_t meetings_ = 0, all_seen_ = 0;
  std::uint32_t seen_[kWarp][kWarp];
};

/// The thread that makes an access.
struct Accessor {
  std::uint32_t launch, block;
  std::uint32_t barriers;  ///< that the block has passed
  std::uint16_t warp, lane;
  const Warp* of;
};

/// Accesses to one word.
struct Record {
  std::uint32_t launch = 0;  ///< 0: none
  std::uint32_t block = 0, barriers = 0;
  std::uint32_t meetings = 0;  ///< of the warp, before the last of the accesses
  std::uint32_t lanes = 0;
  std::uint16_t warp = 0;
  bool several_warps = false, several_blocks = false, is_atomic = false;

  /// Whether all of the accesses come before `a` does anything.
  bool is_before(const Accessor& a) const;
  void add(const Accessor& a);
};
struct Word {
  Record write, read;
};

enum class Access { kRead, kWrite, kAtomic };

/// The words of a piece of memory.
class Words {
 public:
  /// Takes addresses for `bytes` of memory; the system gives memory for touched words.
  explicit Words(std::size_t bytes);
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;
  ~Words();

  /// Enters an access to the bytes from `offset` on. Returns a text that says which other
  /// access to these bytes has no order with this one, or null.
  const char* enter(const Accessor& a, Access how, std::size_t offset, std::size_t bytes);

 private:
  Word* words_;
  std::size_t bytes_;
};

}  // namespace cuda_on_host
