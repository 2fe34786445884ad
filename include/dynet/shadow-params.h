#pragma once

// Tensors of the shape of parameters, for the state of trainers.

#include <memory>
#include <vector>

#include "dynet/model.h"

namespace dynet {

/// Zeros of the shape and on the device of a parameter. Copies share the memory.
struct ShadowParameters {
  ShadowParameters() = default;
  explicit ShadowParameters(const ParameterStorage& p);
  Tensor h;

 private:
  std::shared_ptr<void> memory_;
};

/// Tensors in the shape of a lookup table; `h[i]` is row i.
struct ShadowLookupParameters {
  ShadowLookupParameters() = default;
  explicit ShadowLookupParameters(const LookupParameterStorage& lp);
  Tensor all_h;
  std::vector<Tensor> h;

  /// The library's own: the owner of the memory.
  [[nodiscard]] const std::shared_ptr<void>& memory() const { return memory_; }

 private:
  std::shared_ptr<void> memory_;
};

/// Appends shadows of the parameters from index `allocated` on.
void allocate_shadow_parameters(const ParameterCollection& model, unsigned allocated,
                                std::vector<ShadowParameters>& target);
void allocate_shadow_lookup_parameters(const ParameterCollection& model, unsigned allocated,
                                       std::vector<ShadowLookupParameters>& target);

}  // namespace dynet
