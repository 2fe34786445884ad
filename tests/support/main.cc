#include <gtest/gtest.h>

#include "dynet/init.h"

/// The library must be initialised before parameters are made, and a fixed seed makes failures
/// repeatable. Options of ours (--dynet-*) may be given.
int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  dynet::DynetParams params = dynet::extract_dynet_params(argc, argv);
  if (params.random_seed == 0) {
    params.random_seed = 1;
  }
  dynet::initialize(params);
  return RUN_ALL_TESTS();
}
