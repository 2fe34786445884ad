// A library of GPUs beside the installed library. The argument is the place where DyNet must find
// one, and a GPU of it computes; without an argument there must be none.

#include "dynet/gpus.h"

#include <string>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"

#include "common.h"

int main(int argc, char** argv) {
  check(dynet::gpu_library() == std::string(argc > 1 ? argv[1] : ""),
        "the library is where it belongs");
  if (argc > 1) {
    dynet::DynetParams params;
    params.requested_gpus = 1;
    dynet::initialize(params);
    dynet::ComputationGraph cg;
    const dynet::Expression x = dynet::input(cg, {3}, {1.0F, 2.0F, 3.0F});
    check(x.get_device_name().substr(0, 4) == "GPU:", "nodes are on the GPU");
    check(dynet::as_scalar(dynet::squared_norm(x).value()) == 14.0F, "a GPU computes");
  }
  return wrong == 0 ? 0 : 1;
}
