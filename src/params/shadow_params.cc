#include "dynet/shadow-params.h"

#include "params/access.h"
#include "params/buffer.h"

namespace dynet {
namespace {

std::shared_ptr<void> zeros(const ParameterStorageBase& p, float*& data) {
  auto memory = std::make_shared<params::Buffer>(
      *p.device, p.state().elements, "state of the trainer for " + p.name, params::Reach::kProcess,
      p.state().next_state_lane());
  data = reinterpret_cast<float*>(memory->data());
  return memory;
}

}  // namespace

ShadowParameters::ShadowParameters(const ParameterStorage& p) : h(p.values) {
  memory_ = zeros(p, h.v);
}

ShadowLookupParameters::ShadowLookupParameters(const LookupParameterStorage& lp)
    : all_h(lp.all_values) {
  memory_ = zeros(lp, all_h.v);
  auto* row = reinterpret_cast<std::byte*>(all_h.v);
  h.reserve(lp.rows());
  for (unsigned r = 0; r < lp.rows(); ++r, row += lp.state().row_bytes) {
    h.emplace_back(lp.dim, reinterpret_cast<float*>(row), lp.device, DeviceMempool::PS);
  }
}

void allocate_shadow_parameters(const ParameterCollection& model, unsigned allocated,
                                std::vector<ShadowParameters>& target) {
  const auto& list = detail::ModelAccess::parameters(model);
  detail::ModelAccess::follow(list, allocated);
  for (std::size_t i = allocated; i < list.size(); ++i) {
    target.emplace_back(*list[i]);
  }
}

void allocate_shadow_lookup_parameters(const ParameterCollection& model, unsigned allocated,
                                       std::vector<ShadowLookupParameters>& target) {
  const auto& list = detail::ModelAccess::lookups(model);
  detail::ModelAccess::follow(list, allocated);
  for (std::size_t i = allocated; i < list.size(); ++i) {
    target.emplace_back(*list[i]);
  }
}

}  // namespace dynet
