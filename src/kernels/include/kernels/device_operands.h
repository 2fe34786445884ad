#pragma once

// Operands in any number of blocks, for kernels of a device: one launch for a call. For .cu files,
// and for src/cuda.
//
// The examples of a call are cut into segments, which lie in one block of every operand. An operand
// whose blocks lie evenly is an address and a distance; any other operand is a column of a table,
// with an address for each segment. Example: 64 examples of which each has its own block are 64
// segments. The result was taken from one piece of memory and has no column; the argument, which
// came from 64 nodes, has one, of 64 words.
//
// Tables travel in the parameters of a kernel; a table that is too long for them is copied first.

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "dynet/ext/kernels.h"
#include "dynet/ext/operand.h"

#include "kernels/device_scratch.h"
#include "kernels/launch.h"

namespace dynet::kernels {

// Parameters of kernels have no padding behind arrays: GCC 12 clears other bytes in its place, and
// the tests on the host clear it.

/// Words that travel in the parameters of a kernel. CUDA has room for 4,095.
inline constexpr std::size_t kNearWords = 384;

/// A table, as a parameter of a kernel: either `near` has the words or `far`.
struct DeviceWords {
  const std::uint64_t* far;
  std::uint64_t near[kNearWords];
  [[nodiscard]] __device__ std::uint64_t operator[](std::int64_t i) const {
    return far != nullptr ? far[i] : near[i];
  }
};
/// The host's side of a table. Lives until the kernel has been started.
class WordsOnDevice {
 public:
  WordsOnDevice(const std::vector<std::uint64_t>& words, void* cuda_stream) {
    words_.far = nullptr;
    std::fill_n(words_.near, kNearWords, std::uint64_t{0});
    if (words.size() <= kNearWords) {
      std::copy(words.begin(), words.end(), words_.near);
      return;
    }
    const std::size_t bytes = words.size() * sizeof(std::uint64_t);
    copy_.emplace(static_cast<std::int64_t>(bytes), cuda_stream);
    for (std::size_t at = 0; at < bytes; at += kMostAtOnce) {
      check_cuda(cudaMemcpyAsync(static_cast<std::byte*>(copy_->data()) + at,
                                 reinterpret_cast<const std::byte*>(words.data()) + at,
                                 std::min(kMostAtOnce, bytes - at), cudaMemcpyHostToDevice,
                                 static_cast<cudaStream_t>(cuda_stream)),
                 "the addresses of a call");
    }
    words_.far = static_cast<const std::uint64_t*>(copy_->data());
  }
  [[nodiscard]] const DeviceWords& get() const { return words_; }

 private:
  /// CUDA reads so much of the host's memory before the call returns, and without a wait.
  static constexpr std::size_t kMostAtOnce = std::size_t{64} << 10;

  DeviceWords words_;
  std::optional<DeviceScratch> copy_;
};

/// How the examples are cut. The table begins with the first example of each segment, unless all
/// segments have `even` examples.
struct DeviceSegments {
  std::int64_t count, even;
};
/// Where an operand lies.
struct DeviceOperand {
  std::uint64_t base;   ///< address of the first example
  std::int64_t step;    ///< bytes from an example to the next in a segment; 0: one for all
  std::int32_t column;  ///< of the table; -1: `base` and `step` hold for all examples
  std::uint32_t adds;   ///< result, without a column: 1 if added to the numbers in memory
};
/// An example of a call.
struct DeviceExample {
  std::int64_t number, segment, in_segment;
};
/// An example of an operand. A column has the lowest bit of the address set if numbers are added.
template <class T>
struct DevicePlace {
  T* at;
  bool adds;
};

__device__ inline DeviceExample example_at(const DeviceSegments& s, const DeviceWords& words,
                                           std::int64_t e) {
  if (s.even != 0) {
    return {e, e / s.even, e % s.even};
  }
  std::int64_t low = 0;
  for (std::int64_t high = s.count; high - low > 1;) {
    const std::int64_t middle = (low + high) / 2;
    (static_cast<std::int64_t>(words[middle]) <= e ? low : high) = middle;
  }
  return {e, low, e - static_cast<std::int64_t>(words[low])};
}
/// `offset` in bytes.
template <class T>
__device__ DevicePlace<T> place_of(const DeviceOperand& o, const DeviceSegments& s,
                                   const DeviceWords& words, const DeviceExample& e,
                                   std::int64_t offset) {
  std::uint64_t address = o.base;
  std::int64_t steps = e.number;
  bool adds = o.adds != 0;
  if (o.column >= 0) {
    const std::int64_t row = (s.even != 0 ? 0 : s.count) + o.column * s.count + e.segment;
    address = words[row];
    steps = e.in_segment;
    adds = (address & 1U) != 0;
    address &= ~std::uint64_t{1};
  }
  return {reinterpret_cast<T*>(address + static_cast<std::uint64_t>(steps * o.step + offset)),
          adds};
}

/// How the memory of results meets other memory of a call.
enum class Meeting : std::uint8_t {
  kNowhere,   ///< results of an example at most with other operands of the example, in place
  kInOrder,   ///< as whole examples: right if one thread takes all examples of an element in order
  kAnywhere,  ///< in other ways
};

/// The operands of a call of `examples` examples, as a table. Operands outlive the object.
class OperandTable {
 public:
  explicit OperandTable(std::int64_t examples) : examples_(examples) {}
  /// Each returns the operand's number. Absent operands are not added.
  std::size_t read(const ext::Operand& o) { return add(o, false, ext::Write::kAsBlocks); }
  std::size_t write(const ext::Operand& o, ext::Write write) { return add(o, true, write); }
  /// Cuts the examples. Call it once, after the last operand.
  void cut();

  [[nodiscard]] std::int64_t examples() const { return examples_; }
  [[nodiscard]] const DeviceSegments& segments() const { return segments_; }
  [[nodiscard]] const DeviceOperand& operand(std::size_t number) const {
    return all_[number].where;
  }
  /// Whether the operand has an example for each of the call.
  [[nodiscard]] bool steps(std::size_t number) const { return all_[number].steps; }
  [[nodiscard]] const std::vector<std::uint64_t>& words() const { return words_; }
  /// `element_wise`: a thread reads and writes one element of each operand.
  [[nodiscard]] Meeting meeting(bool element_wise);
  /// After meeting(): whether examples of a result share memory with other examples of the call.
  [[nodiscard]] bool meets(std::size_t number) const { return all_[number].meets; }

 private:
  struct Entry {
    const ext::Operand* operand;
    std::int64_t bytes;  ///< of an example; a number has 4
    bool writes, steps, is_even, meets;
    ext::Write write;
    DeviceOperand where;
  };
  struct Piece {  ///< of an operand, in one block
    std::uint64_t begin, end;
    std::int64_t first;  ///< example
    std::int64_t bytes;  ///< of an example
    std::size_t entry;
  };

  std::size_t add(const ext::Operand& o, bool writes, ext::Write write);
  void cut_at_blocks();
  void fill_column(Entry& entry);
  [[nodiscard]] std::vector<Piece> pieces(bool written) const;

  std::int64_t examples_;
  DeviceSegments segments_{1, 0};
  std::vector<Entry> all_;
  std::vector<std::int64_t> first_;  ///< example of each segment
  std::vector<std::uint64_t> words_;
};

}  // namespace dynet::kernels
