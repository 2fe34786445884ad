#include "params/buffer.h"

#include <cstdint>

#include "dynet/except.h"

#include "params/host_memory.h"
#include "params/settings.h"
#include "params/shared_memory.h"

namespace dynet::params {
namespace {
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
constexpr std::uintptr_t kPage = 4096;
constexpr std::uintptr_t kBetweenLanes = kPage / kLanes;  // 320 bytes are enough
constexpr std::size_t kLarge = 8 * kPage;                 // blocks that may be a page larger

/// The first address from `from` on where blocks of this lane begin.
std::byte* begin_of(std::byte* from, Lane lane) {
  const auto address = reinterpret_cast<std::uintptr_t>(from);
  return from + ((lane * kBetweenLanes - address) % kPage);
}

ext::Memory& memory_of(const Device& device, Reach reach) {
  const bool can_share = reach == Reach::kWorkers && device.memory == &host_memory();
  return can_share && settings().shared_parameters ? shared_memory() : *device.memory;
}
}  // namespace

Buffer::Buffer(const Device& device, std::int64_t elements, const std::string& what, Reach reach,
               Lane lane)
    : memory_(&memory_of(device, reach)) {
  if (elements > kMaxBytes / device.number_bytes()) {
    throw errors::SizeError(what + ": " + std::to_string(elements) + " elements of " +
                            std::to_string(device.number_bytes()) +
                            " bytes are more than can be addressed");
  }
  bytes_ = static_cast<std::size_t>(elements * device.number_bytes());
  const bool has_lane = bytes_ >= kLarge && memory_->is_host_visible();
  if (has_lane) {
    bytes_ += kPage;
  }
  try {
    block_ = memory_->allocate(bytes_, ext::Contents::kZeros);
  } catch (const out_of_memory& e) {
    throw out_of_memory(what + ": " + e.what());
  }
  if (block_ == nullptr) {
    throw out_of_memory(what + ": " + device.name + " refused " + std::to_string(bytes_) +
                        " bytes");
  }
  data_ = static_cast<std::byte*>(block_);
  if (has_lane) {
    data_ = begin_of(data_, lane);
  }
}

bool Buffer::is_shared() const { return memory_ == &shared_memory(); }

}  // namespace dynet::params
