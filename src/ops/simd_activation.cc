#include "dynet/ops/activation.h"

#include "kernels/simd_targets.h"
#include "simd_families.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_activation.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels::HWY_NAMESPACE {
void install_activation() { install_loops(ops::ActivationOps()); }
}  // namespace dynet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(install_activation);
}  // namespace dynet::kernels

void dynet::ops::install_activation() {
  // Highway's tables have no qualified names. NOLINTNEXTLINE(google-build-using-namespace)
  using namespace kernels;
  DYNET_FOR_TARGET(install_activation)();
}
#endif
