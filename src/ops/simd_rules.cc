#include "ops/simd_rules.h"

#include "simd_families.h"

namespace dynet::ops {

void install_simd_rules() {
  install_activation();
  install_arithmetic();
  install_linear();
  install_loss();
  install_recurrent();
  install_reduce();
}

}  // namespace dynet::ops
