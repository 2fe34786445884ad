#include "params/memory.h"

#include <cstdlib>

#include "dynet/except.h"

namespace dynet::params {
namespace {
constexpr std::size_t kAlignment = 64;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 62;
}  // namespace

Memory::Memory(std::int64_t elements, std::int64_t number_bytes, const std::string& what) {
  if (elements > kMaxBytes / number_bytes) {
    throw SizeError(what + ": " + std::to_string(elements) + " elements of " +
                    std::to_string(number_bytes) + " bytes are more than can be addressed");
  }
  const auto bytes = static_cast<std::size_t>(elements * number_bytes);
  // calloc, not operator new: the system gives zeroed pages without touching them.
  base_ = std::calloc(bytes + kAlignment, 1);
  if (base_ == nullptr) {
    throw out_of_memory(what + ": the system refused " + std::to_string(bytes) + " bytes");
  }
  const auto address = reinterpret_cast<std::uintptr_t>(base_);
  data_ = static_cast<std::byte*>(base_) + (kAlignment - address % kAlignment) % kAlignment;
}

Memory::~Memory() { std::free(base_); }

}  // namespace dynet::params
