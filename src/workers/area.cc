#include "workers/area.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "dynet/except.h"

namespace dynet::workers {

Area::Area(std::size_t bytes, Kind kind) : bytes_(bytes == 0 ? 1 : bytes) {
  const int sharing = kind == Kind::kShared ? MAP_SHARED : MAP_PRIVATE;
  void* const memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    throw out_of_memory("workers: the system refused to map " + std::to_string(bytes_) +
                        " bytes for the gradients of the pieces");
  }
  data_ = static_cast<std::byte*>(memory);
}
Area::Area(Area&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
Area::~Area() {
  if (data_ != nullptr) {
    munmap(data_, bytes_);
  }
}

}  // namespace dynet::workers
