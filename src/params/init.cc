#include "dynet/init.h"

#include <atomic>
#include <mutex>
#include <sstream>
#include <utility>

#include "dynet/except.h"

#include "kernels/team.h"
#include "params/gpus.h"
#include "params/options.h"
#include "params/random_streams.h"
#include "params/settings.h"
#include "util/fork.h"

namespace dynet {
namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

std::atomic<std::uint64_t> seed{std::mt19937::default_seed};
std::atomic<std::uint64_t> next_stream{0};

/// Where messages go. Never destroyed: threads may be at work until the process ends.
struct Log {
  util::ForkMutex mutex;
  std::function<void(const std::string&)> sink;
};
Log& log_of_process() {
  static Log& it = *new Log;
  return it;
}

util::ForkMutex init_mutex;
bool is_initialized = false;
std::atomic<const char*> precision_word{"highest"};

}  // namespace

namespace params {

std::uint64_t random_seed() { return seed.load(); }
std::uint64_t next_random_stream() { return next_stream.fetch_add(1); }
void return_random_stream(std::uint64_t stream) {
  std::uint64_t next = stream + 1;
  next_stream.compare_exchange_strong(next, stream);
}
void seed_random_streams(std::uint64_t value) { restore_random_streams(value, 0); }
std::uint64_t random_streams_given() { return next_stream.load(); }
void restore_random_streams(std::uint64_t value, std::uint64_t given) {
  seed.store(value);
  next_stream.store(given);
}

std::string random_state_text() {
  std::ostringstream text;
  text << random_seed() << ' ' << random_streams_given() << ' ' << *rndeng;
  return text.str();
}
std::optional<RandomState> random_state_from(const std::string& text) {
  RandomState state;
  std::istringstream in(text);
  if (!(in >> state.seed >> state.given >> state.generator)) {
    return std::nullopt;
  }
  return state;
}
void restore_random_state(const RandomState& state) {
  *rndeng = state.generator;
  restore_random_streams(state.seed, state.given);
}

Settings& settings() {
  static Settings all;
  return all;
}

void log(const std::string& text) {
  std::function<void(const std::string&)> copy;  // called without the lock: it may set another sink
  {
    const std::lock_guard lock(log_of_process().mutex);
    copy = log_of_process().sink;
  }
  if (copy) {
    copy(text);
  }
}

void warn(const std::string& text) { log("warning: " + text); }

}  // namespace params

DynetParams::DynetParams() = default;
DynetParams::~DynetParams() = default;

template <int>
void set_log_sink(std::function<void(const std::string&)> new_sink) {
  std::function<void(const std::string&)> old;  // its end may run code of the program's
  const std::lock_guard lock(log_of_process().mutex);
  old = std::exchange(log_of_process().sink, std::move(new_sink));
}
template void set_log_sink<>(std::function<void(const std::string&)> new_sink);

template <int>
void set_float32_matmul_precision(const std::string& precision) {
  precision_word = params::checked_precision(precision);
}
template void set_float32_matmul_precision<>(const std::string& precision);
template <int>
void set_threads(unsigned threads) {
  if (threads > kernels::kMostThreads) {
    throw errors::ValueError("set_threads: the value is " + std::to_string(threads) + "; want " +
                             params::kThreadsWanted);
  }
  kernels::set_threads(threads);
}
template void set_threads<>(unsigned threads);

template <int>
unsigned get_threads() {
  return kernels::threads();
}
template unsigned get_threads<>();

template <int>
std::string get_float32_matmul_precision() {
  return precision_word.load();
}
template std::string get_float32_matmul_precision<>();

void reset_rng(unsigned new_seed) {
  rndeng->seed(new_seed);
  params::seed_random_streams(new_seed);
}

namespace {

bool is_started() {
  const std::lock_guard lock(init_mutex);
  return is_initialized;
}

/// Makes the GPUs known, and returns the default device: a GPU, if there is one.
Device* add_devices(const DynetParams& params, const std::vector<Device*>& gpus) {
  DeviceManager& manager = *get_device_manager();
  for (Device* gpu : gpus) {
    manager.add(gpu);
  }
  return gpus.empty() || params::gpu_number(params.device)
             ? manager.get_global_device(params.device)
             : gpus.front();
}

/// False if the library is initialized already.
bool set_up(DynetParams& params, const std::vector<Device*>& gpus) {
  const std::lock_guard lock(init_mutex);
  if (is_initialized) {
    return false;
  }
  while (params.random_seed == 0) {
    params.random_seed = std::random_device()();
  }
  Device* device = add_devices(params, gpus);
  reset_rng(params.random_seed);
  default_device = device;
  default_weight_decay_lambda = params.weight_decay;
  autobatch_flag = params.autobatch;
  profiling_flag = params.profiling;
  if (params.threads != 0) {
    kernels::set_threads(params.threads);
  }
  precision_word = params::checked_precision(params.precision);
  params::settings().lstm =
      params.lstm == "vanilla" ? params::LstmKind::kVanilla : params::LstmKind::kCoupled;
  params::settings().shared_parameters = params.shared_parameters;
  params::settings().memory_cap_bytes = params.mem_cap * kMebi;
  const params::FirstSizes first = params::parse_memory(params.mem_descriptor);
  params::settings().first_value_bytes = first.values;
  params::settings().first_gradient_bytes = first.gradients;
  is_initialized = true;
  return true;
}

}  // namespace

void initialize(DynetParams& params) {
  // Without the lock: a sink is code of the program's, which may wait for another thread or call
  // this.
  if (!is_started()) {
    params::check(params);
    if (set_up(params, params::open_gpus(params::wanted_gpus(params)))) {
      params::log("random seed: " + std::to_string(params.random_seed));
      return;
    }
  }
  params::log("initialize: the library is initialized already; the call changes nothing");
}

void initialize(int& argc, char**& argv, bool shared_parameters) {
  DynetParams params = extract_dynet_params(argc, argv, shared_parameters);
  initialize(params);
}

void cleanup() {
  const std::lock_guard lock(init_mutex);
  get_device_manager()->clear();
  default_device = get_device_manager()->get_global_device("CPU");
  default_weight_decay_lambda = 0.0F;
  autobatch_flag = 1;
  profiling_flag = 0;
  kernels::set_threads(0);
  precision_word = "highest";
  params::settings().lstm = params::LstmKind::kCoupled;
  params::settings().shared_parameters = false;
  params::settings().memory_cap_bytes = 0;
  params::settings().first_value_bytes = 0;
  params::settings().first_gradient_bytes = 0;
  reset_rng(std::mt19937::default_seed);
  is_initialized = false;
}

}  // namespace dynet
