#include "gpus.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "dynet/gpus.h"

#include "binding.h"
#include "start.h"

namespace dynet::python {
namespace {

/// False, with a warning, if the machine has no library of GPUs.
bool may_ask(const char* asker) {
  const bool has_library = !gpu_library().empty();
  if (!has_library) {
    const std::string text =
        std::string(asker) +
        " asks for a GPU: this build of DyNet has no CUDA; install dynet-cuda13. The program runs "
        "on the CPU";
    nb::module_::import_("warnings").attr("warn")(text);
  }
  return has_library;
}

/// ValueError for less than no GPU.
void check_count(int count) {
  if (count < 0) {
    throw errors::ValueError("requested_gpus is " + std::to_string(count) +
                             "; want the number of GPUs");
  }
}

void set_count(DynetParams& params, int count) {
  params.ngpus_requested = count > 0;
  params.requested_gpus = count > 0 ? count : DynetParams().requested_gpus;
}

/// Whether the mask has a GPU. ValueError for another number than 0 and 1.
bool has_any(const std::vector<int>& mask) {
  for (const int wanted : mask) {
    if (wanted != 0 && wanted != 1) {
      throw errors::ValueError("gpu_mask: the mask has " + std::to_string(wanted) +
                               "; want 0 or 1 for each GPU");
    }
  }
  return std::count(mask.begin(), mask.end(), 1) > 0;
}

template <class T>
T value_or(const nb::dict& conf, const char* key, const T& otherwise) {
  return conf.contains(key) && !conf[key].is_none() ? nb::cast<T>(conf[key]) : otherwise;
}

}  // namespace

void forget_devices(DynetParams& params) {
  const DynetParams none;
  params.device = none.device;
  params.requested_gpus = none.requested_gpus;
  params.gpu_mask.clear();
  params.ngpus_requested = params.ids_requested = params.cpu_requested = false;
}

void apply_devices(DynetParams& params, const nb::dict& conf) {
  const std::string devices = config_text(conf, "devices", "CPU");
  const int count = value_or(conf, "requested_gpus", 0);
  check_count(count);
  const auto mask = value_or(conf, "gpu_mask", std::vector<int>());
  if (devices != "CPU") {
    const DynetParams read = params_from({"dynet_config", "--dynet-devices=" + devices}, false);
    params.device = read.device;
    params.gpu_mask = read.gpu_mask;
    params.ids_requested = read.ids_requested;
    params.cpu_requested = read.cpu_requested;
    params.ngpus_requested = false;
    params.requested_gpus = read.requested_gpus;
  }
  const bool has_mask = has_any(mask);
  if ((count > 0 || has_mask) && may_ask("dynet_config")) {
    if (devices == "CPU") {
      forget_devices(params);
    }
    set_count(params, count);
    if (has_mask) {
      params.gpu_mask = mask;
    }
  }
}

void bind_gpus(nb::module_& m) {
  auto c = nb::borrow<nb::class_<DynetParams>>(m.attr("DynetParams"));
  c.def(
       "set_requested_gpus",
       [](DynetParams& params, int requested_gpus) {
         check_count(requested_gpus);
         set_count(params, requested_gpus > 0 && may_ask("DynetParams") ? requested_gpus : 0);
       },
       nb::arg("requested_gpus"),
       "Asks for so many GPUs, with the most free memory. Without a library of GPUs a warning.")
      .def(
          "set_gpu_mask",
          [](DynetParams& params, const std::vector<int>& gpu_mask) {
            params.gpu_mask =
                has_any(gpu_mask) && may_ask("DynetParams") ? gpu_mask : std::vector<int>();
          },
          nb::arg("gpu_mask"), "Asks for the GPUs with a 1. Without a library of GPUs a warning.");
  m.def("_gpu_library", [] { return gpu_library(); });
}

}  // namespace dynet::python
