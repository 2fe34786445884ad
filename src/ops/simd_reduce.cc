#include "dynet/ops/reduce.h"

#include "kernels/simd_targets.h"
#include "simd_families.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd_reduce.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/simd_rows-inl.h"
#include "kernels/simd_rule-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet::kernels::HWY_NAMESPACE {
void install_reduce() {
  install_loops(ops::ReduceOps());
  install_row_loops(ops::ReduceOps());
}
}  // namespace dynet::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet::kernels {
HWY_EXPORT(install_reduce);
}  // namespace dynet::kernels

void dynet::ops::install_reduce() {
  // Highway's tables have no qualified names. NOLINTNEXTLINE(google-build-using-namespace)
  using namespace kernels;
  DYNET_FOR_TARGET(install_reduce)();
}
#endif
