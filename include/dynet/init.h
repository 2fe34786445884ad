#pragma once

// Starting the library. Nothing must be called: parameters and graphs can be made at once, on the
// CPU, with batching on. `initialize` reads the options of the command line and seeds the random
// numbers.

#include <functional>
#include <string>
#include <vector>

#include "dynet/devices.h"
#include "dynet/globals.h"

namespace dynet {

/// The options of a process.
struct DynetParams {
  DynetParams();
  ~DynetParams();
  DynetParams(const DynetParams&) = default;
  DynetParams& operator=(const DynetParams&) = default;

  unsigned random_seed = 0;            ///< 0: initialize() draws one and writes it here
  std::string mem_descriptor = "512";  ///< MiB: "N" or "F,B,P,S"; a first size, memory grows
  float weight_decay = 0.0F;           ///< in [0,1)
  int autobatch = 1;                   ///< 0: graphs run their nodes one by one
  int profiling = 0;
  bool shared_parameters = false;
  bool ngpus_requested = false;
  bool ids_requested = false;
  bool cpu_requested = false;
  int requested_gpus = -1;
  std::vector<int> gpu_mask;
  // Ours.
  unsigned mem_cap = 0;               ///< MiB of graph memory; beyond: out_of_memory. 0: no cap
  std::string device = "CPU";         ///< the default device: "CPU" or "CPU:double"
  std::string lstm = "coupled";       ///< what LSTMBuilder is: "coupled" or "vanilla"
  std::string precision = "highest";  ///< of float products: "highest", "high" or "medium"
};

/// Reads the `--dynet-*` options after argv[0] and removes them and their values from argc and
/// argv. Others stay. ValueError, with argc and argv as they were, for a missing or malformed
/// value. argc may be 0 and argv null.
///
///   --dynet-seed N            --dynet-autobatch [N]     --dynet-mem N | F,B,P,S   --dynet-mem-cap
///   N
///   --dynet-weight-decay X    --dynet-profiling N       --dynet-devices CPU | CPU:double
///   --dynet-lstm coupled | vanilla                      --dynet-precision highest | high | medium
///
/// A value follows after `=` or as the next argument; `_` is read as `-`.
DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters = false);
/// Applies `params`. A second call changes nothing (and says so to the log sink). ValueError for
/// values that are not allowed; then nothing was changed.
void initialize(DynetParams& params);
void initialize(int& argc, char**& argv, bool shared_parameters = false);
/// Back to the state before initialize().
void cleanup();
/// Seeds `*rndeng` and the random operations of graphs made from now on.
void reset_rng(unsigned seed);

/// Where the library's few messages go. None (the default): nowhere. Called from any thread.
void set_log_sink(std::function<void(const std::string&)> sink);

/// Precision of float matrix products. ValueError for other words.
void set_float32_matmul_precision(const std::string& precision);
[[nodiscard]] std::string get_float32_matmul_precision();

}  // namespace dynet
