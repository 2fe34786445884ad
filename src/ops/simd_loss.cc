#include "dynet/ops/loss.h"

#include "kernels/simd_targets.h"
#include "simd_families.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_loss.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_rows-inl.h"
#include "kernels/simd_rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels::HWY_NAMESPACE {
void install_loss() {
  install_loops(ops::LossOps());
  install_row_loops(ops::LossOps());
}
}  // namespace dynet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(install_loss);
}  // namespace dynet::kernels

void dynet::ops::install_loss() {
  // Highway's tables have no qualified names. NOLINTNEXTLINE(google-build-using-namespace)
  using namespace kernels;
  DYNET_FOR_TARGET(install_loss)();
}
#endif
