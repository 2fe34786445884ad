#pragma once

// Starting the library. No call is required: parameters and graphs can be made at once, on the CPU,
// with batching on. `initialize` reads the options of the command line and seeds the random
// numbers. Example: with argv of "train --dynet-seed 7 data.txt" argc is 2 afterwards.

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

  unsigned random_seed = 0;        ///< 0: initialize() draws one and writes it here
  std::string mem_descriptor;      ///< MiB, a first size: "N", "F,B,P", "F,B,P,S"
  float weight_decay = 0.0F;       ///< in [0,1)
  int autobatch = 1;               ///< 0: graphs run their nodes one by one
  int profiling = 0;               ///< 1 or 2: a table is printed when the process ends
  bool shared_parameters = false;  ///< for worker processes (workers.h), on the host
  bool ngpus_requested = false;    ///< `--dynet-gpus` was given
  int requested_gpus = -1;         ///< so many GPUs, with the most free memory
  std::vector<int> gpu_mask;       ///< GPUs by number: 1 at place 2 asks for GPU:2
  bool ids_requested = false;      ///< `--dynet-devices` was given
  bool cpu_requested = false;      ///< and named the CPU, which always exists
  // Ours.
  unsigned threads = 0;               ///< of one graph; 0: as many as the process may use
  unsigned mem_cap = 0;               ///< MiB of graph memory; beyond: out_of_memory. 0: no cap
  std::string device = "CPU";         ///< the default device: "CPU", "CPU:double" or "GPU:1"
  std::string lstm = "coupled";       ///< the class LSTMBuilder: "coupled" or "vanilla"
  std::string precision = "highest";  ///< of products of float matrices; no other yet
};

/// Reads the `--dynet-*` options of docs/options.md after argv[0] and removes them and their values
/// from argc and argv. Other arguments stay, longer names too. A value follows after `=` or as the
/// next argument; `_` is read as `-`. ValueError, with argc and argv as they were, for a missing or
/// malformed value. argc may be 0 and argv null.
DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters = false);
/// Applies `params`. A second call changes nothing (and says so to the log sink). ValueError for
/// values that are not allowed, DeviceError for a missing GPU; then nothing was changed.
void initialize(DynetParams& params);
void initialize(int& argc, char**& argv, bool shared_parameters = false);
/// Back to the state before initialize().
void cleanup();
/// Seeds `*rndeng` and the random operations of graphs made from now on.
void reset_rng(unsigned seed);

/// Sets the receiver of the library's few messages; null (the default): messages are dropped.
/// Called from any thread. A message about a probable mistake begins with "warning: ": an update
/// without a gradient, a negative learning rate, a graph that grows and grows. Warnings come before
/// any change; a sink may throw then, which ends the call.
template <int = 0>
void set_log_sink(std::function<void(const std::string&)> sink);

/// Sets the number of threads that compute one graph, this one included; 0 (the default): as many
/// as the process may use. Results are the same bits for any number. A graph that computes beside
/// another one of the program uses one. Takes effect with the next value, backward or update.
/// ValueError for more than 256.
template <int = 0>
void set_threads(unsigned threads);
/// The number in effect; 1 at least.
template <int = 0>
[[nodiscard]] unsigned get_threads();

/// Precision of products of float matrices: "highest". ValueError for "high" and "medium", which
/// allow less than float and would change nothing in this build, and for other words.
template <int = 0>
void set_float32_matmul_precision(const std::string& precision);
template <int = 0>
[[nodiscard]] std::string get_float32_matmul_precision();

}  // namespace dynet
