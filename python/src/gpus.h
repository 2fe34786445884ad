#pragma once

// GPUs as Python programs ask for them: by options, by dynet_config, or by the methods of
// DynetParams. Without a library of GPUs an option is an error; the other two warn, as in DyNet
// 2.1, and the program goes on with the CPU.

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "dynet/init.h"

namespace dynet::python {

namespace nb = nanobind;

/// Takes back all that was said about devices.
void forget_devices(DynetParams& params);
/// Replaces the devices in `params` by the devices of dynet_config, if it names any.
void apply_devices(DynetParams& params, const nb::dict& conf);
/// Methods of DynetParams, and the path of the library.
void bind_gpus(nb::module_& m);

}  // namespace dynet::python
