#include "ops/simd_rules.h"

#include "dynet/ops/families.h"

namespace dynet::ops {

// Each function stores the loops of a family, for the SIMD target in use, in the place that calls
// read (simd_families.cc.in).
#define DYNET_INSTALL(family, Family) void install_##family();
DYNET_FAMILIES(DYNET_INSTALL)
#undef DYNET_INSTALL

void install_simd_rules() {
#define DYNET_INSTALL(family, Family) install_##family();
  DYNET_FAMILIES(DYNET_INSTALL)
#undef DYNET_INSTALL
}

}  // namespace dynet::ops
