#pragma once

// Access of the host to numbers of any device.
//
// If the host can touch the device's memory, the functions work on it directly, else on a copy. No
// other file makes this distinction. Example: visit() of a tensor in a GPU's memory copies the
// numbers to the host first.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "dynet/ext/memory.h"
#include "dynet/tensor.h"

namespace dynet::params {

/// The numbers of a tensor for the host, while it lives. Thread rule: the tensor's.
class HostNumbers {
 public:
  enum class Use : std::uint8_t { kRead, kChange, kOverwrite };
  HostNumbers(const Tensor& t, Use use) : tensor_(t), data_(t.v) {
    if (t.device != nullptr && !t.device->is_host_visible()) {
      copy_from_device(use);
    }
  }
  [[nodiscard]] void* data() const { return data_; }
  /// Copies changed numbers to the device.
  void commit() {
    if (copy_ != nullptr) {
      copy_to_device();
    }
  }

 private:
  [[nodiscard]] std::size_t bytes() const;
  void copy_from_device(Use use);
  void copy_to_device();

  const Tensor& tensor_;
  void* data_;
  std::unique_ptr<std::byte[]> copy_;
};

/// Runs `f(pointer, elements)` over all numbers of `t`, as const float* or const double*.
template <class F>
auto visit(const Tensor& t, F f) {
  const HostNumbers numbers(t, HostNumbers::Use::kRead);
  const std::int64_t n = t.d.elements();
  return t.is_double() ? f(static_cast<const double*>(numbers.data()), n)
                       : f(static_cast<const float*>(numbers.data()), n);
}
/// visit() as float* or double*, to change them. With kOverwrite, `f` writes all numbers and reads
/// none.
template <class F>
void change(const Tensor& t, F f, HostNumbers::Use use = HostNumbers::Use::kChange) {
  HostNumbers numbers(t, use);
  const std::int64_t n = t.d.elements();
  if (t.is_double()) {
    f(static_cast<double*>(numbers.data()), n);
  } else {
    f(static_cast<float*>(numbers.data()), n);
  }
  numbers.commit();
}
template <class F>
void overwrite(const Tensor& t, F f) {
  change(t, f, HostNumbers::Use::kOverwrite);
}

/// Element `index` alone.
[[nodiscard]] inline Tensor element(const Tensor& t, std::int64_t index) {
  float* at = t.is_double() ? reinterpret_cast<float*>(reinterpret_cast<double*>(t.v) + index)
                            : t.v + index;
  return {Dim({1}), at, t.device, t.mem_pool};
}

/// Copies n floats of the host to numbers of `device`; the copy may wait in its queue.
void copy_in(const Device& device, const float* from, void* to, std::int64_t n);

/// UsageError naming `operation` unless `t` is a square matrix without a batch; its order.
unsigned square_order(const Tensor& t, const char* operation);

}  // namespace dynet::params
