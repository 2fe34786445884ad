#pragma once

// Dense gradients of a model in one buffer.
//
// The gradients move there, so that backward writes to the buffer and nothing is copied before or
// after an exchange. Each gradient begins on 64 bytes; floats come first, then doubles. Gradients
// on a device whose memory the host does not see stay there, and are copied through the buffer.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dynet/model.h"

#include "distributed/sums.h"
#include "params/buffer.h"

namespace dynet::distributed {

/// Thread rule: as Trainer::update.
class DenseGradients {
 public:
  /// UsageError if a parameter's gradient lies in another buffer.
  explicit DenseGradients(const ParameterCollection& model);
  DenseGradients(const DenseGradients&) = delete;
  DenseGradients& operator=(const DenseGradients&) = delete;
  /// The gradients move back to their own memory.
  ~DenseGradients();

  [[nodiscard]] std::size_t size() const { return members_.size(); }
  [[nodiscard]] bool has_gradient(std::size_t i) const;
  /// Adds to `sums` the gradients i with `is_present[i]`; a gradient that this rank lacks is zero.
  void begin(const std::vector<bool>& is_present, Sums& sums);
  /// The sums are the gradients.
  void end(const std::vector<bool>& is_present);
  /// The parameter with this number in its gradient; null: none.
  [[nodiscard]] const ParameterStorage* owner_of(const void* place) const;

 private:
  struct Member {
    ParameterStorage* storage;
    std::byte* home;     ///< the gradient's own memory
    std::size_t offset;  ///< in the buffer
    std::size_t bytes;
    bool is_staged;  ///< stays at home
  };
  static void move(ParameterStorage& storage, std::byte* place);

  ParameterCollection model_;  ///< keeps the storages
  std::vector<Member> members_;
  std::vector<std::uint64_t> memory_;
  std::byte* data_ = nullptr;
};

}  // namespace dynet::distributed
