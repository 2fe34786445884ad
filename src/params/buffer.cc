#include "params/buffer.h"

#include "dynet/except.h"

#include "params/host_memory.h"
#include "params/settings.h"
#include "params/shared_memory.h"

namespace dynet::params {
namespace {
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;

ext::Memory& memory_of(const Device& device, Reach reach) {
  const bool can_share = reach == Reach::kWorkers && device.memory == &host_memory();
  return can_share && settings().shared_parameters ? shared_memory() : *device.memory;
}
}  // namespace

Buffer::Buffer(const Device& device, std::int64_t elements, const std::string& what, Reach reach)
    : memory_(&memory_of(device, reach)) {
  if (elements > kMaxBytes / device.number_bytes()) {
    throw SizeError(what + ": " + std::to_string(elements) + " elements of " +
                    std::to_string(device.number_bytes()) +
                    " bytes are more than can be addressed");
  }
  bytes_ = static_cast<std::size_t>(elements * device.number_bytes());
  data_ = static_cast<std::byte*>(memory_->allocate(bytes_, ext::Contents::kZeros));
  if (data_ == nullptr) {
    throw out_of_memory(what + ": " + device.name + " refused " + std::to_string(bytes_) +
                        " bytes");
  }
}

bool Buffer::is_shared() const { return memory_ == &shared_memory(); }

}  // namespace dynet::params
