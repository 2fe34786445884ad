// The `--dynet-*` options of the command line.
#include "params/options.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>

#include "dynet/devices.h"
#include "dynet/except.h"
#include "dynet/str-util.h"

#include "kernels/team.h"
#include "params/gpus.h"
#include "params/settings.h"
#include "util/env.h"
#include "util/number_text.h"

namespace dynet {
namespace {

[[noreturn]] void bad(const std::string& option, const std::string& value,
                      const std::string& wanted) {
  throw errors::ValueError("--dynet-" + option + ": the value is '" + value + "'; want " + wanted);
}

template <class T>
T parse(const std::string& option, const std::string& text, const char* wanted) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || text.empty()) {
    bad(option, text, wanted);
  }
  return value;
}
bool is_integer(const char* text) {
  int value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  return error == std::errc() && rest == end && rest != text;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> pieces(1);
  for (const char c : text) {
    if (c == ',') {
      pieces.emplace_back();
    } else {
      pieces.back() += c;
    }
  }
  return pieces;
}

/// Names of the devices, with devices that the program added.
std::vector<std::string> device_names() {
  std::vector<std::string> names{"CPU", "CPU:double"};
  for (const Device* d : get_device_manager()->get_devices()) {
    if (d->name != "CPU") {
      names.push_back(d->name);
    }
  }
  return names;
}
bool is_one_of(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}
std::string joined(const std::vector<std::string>& names, const char* word) {
  std::string text = names[0];
  for (std::size_t i = 1; i < names.size(); ++i) {
    text += (i + 1 == names.size() ? std::string(" ") + word + " " : ", ") + names[i];
  }
  return text;
}

/// Only one option says which devices there are, and says so once.
void require_first_choice(const DynetParams& p, const char* option, const std::string& text) {
  if (p.ids_requested || p.ngpus_requested) {
    const bool is_again = p.ids_requested == (std::strcmp(option, "devices") == 0);
    bad(option, text, is_again ? "the option once" : "--dynet-devices or --dynet-gpus, not both");
  }
}

/// Takes back all that options have said about devices.
void forget_devices(DynetParams& p) {
  const DynetParams none;
  p.ids_requested = p.ngpus_requested = p.cpu_requested = false;
  p.requested_gpus = none.requested_gpus;
  p.gpu_mask.clear();
  p.device = none.device;
}

/// The default device is the GPU of the lowest number, else the first that is not the CPU.
void read_devices(DynetParams& p, const std::string& text) {
  require_first_choice(p, "devices", text);
  std::vector<std::string> known = device_names();
  std::vector<std::string> seen;
  std::vector<int> mask;
  std::string device = "CPU";
  for (const std::string& name : split(text)) {
    const std::optional<int> gpu = is_one_of(known, name) ? std::nullopt : params::gpu_number(name);
    if (!gpu && !is_one_of(known, name)) {
      known.emplace_back("GPU:<number>");
      bad("devices", text, "a list of " + joined(known, "and"));
    }
    if (is_one_of(seen, name)) {
      bad("devices", text, "each device once");
    }
    seen.push_back(name);
    if (gpu) {
      const auto place = static_cast<std::size_t>(*gpu);
      mask.resize(std::max(mask.size(), place + 1));
      mask[place] = 1;
    }
    device = device == "CPU" ? name : device;
  }
  if (const auto first = std::find(mask.begin(), mask.end(), 1); first != mask.end()) {
    device = params::gpu_name(static_cast<int>(first - mask.begin()));
  }
  p.ids_requested = true;
  p.cpu_requested = is_one_of(seen, "CPU");
  p.gpu_mask = mask;
  p.device = device;
}

void read_gpus(DynetParams& p, const std::string& text) {
  require_first_choice(p, "gpus", text);
  const int count = parse<int>("gpus", text, "the number of GPUs");
  if (count < 0) {
    bad("gpus", text, "the number of GPUs");
  }
  p.ngpus_requested = true;
  p.requested_gpus = count;
}

struct Option {
  params::OptionText text;
  void (*read)(DynetParams& p, const std::string& value);

  [[nodiscard]] bool may_be_bare() const { return text.value[0] == '['; }
  [[nodiscard]] bool chooses_devices() const { return read == read_devices || read == read_gpus; }
};

constexpr Option kOptions[] = {
    {{"seed", "N", "Seed of the random numbers. 0, or no number: a new seed each time."},
     [](DynetParams& p, const std::string& v) {
       p.random_seed = parse<unsigned>("seed", v, "an unsigned integer");
     }},
    {{"autobatch", "[N]",
      "0: nodes run one by one. Another number, or no number: the library finds nodes that can run "
      "together. Default 1."},
     [](DynetParams& p, const std::string& v) {
       p.autobatch = parse<int>("autobatch", v, "an integer");
     }},
    {{"weight-decay", "X", "Weight decay of collections of parameters, in [0,1). Default 0."},
     [](DynetParams& p, const std::string& v) {
       p.weight_decay = parse<float>("weight-decay", v, "a number in [0,1)");
     }},
    {{"threads", "N",
      "Threads that compute one graph, at most 256. 1: the program's own thread alone. Default 0: "
      "as many as the process may use."},
     [](DynetParams& p, const std::string& v) {
       p.threads = parse<unsigned>("threads", v, params::kThreadsWanted);
     }},
    {{"mem-cap", "N",
      "Most that all graphs of the process may hold together, in MiB; beyond it an operation "
      "throws out_of_memory. Default 0: no limit."},
     [](DynetParams& p, const std::string& v) {
       p.mem_cap = parse<unsigned>("mem-cap", v, "MiB");
     }},
    {{"mem", "N | F,B,P | F,B,P,S",
      "First size of the memory of each graph, in MiB: F for values, B for gradients. The memory "
      "grows on demand. N is a quarter for each of the four. P and S are the sizes of pools of "
      "DyNet 2.1 that do not exist here: they must be numbers, and are ignored. Versions before "
      "2.0 had no S. Default: graphs begin with 1 MiB."},
     [](DynetParams& p, const std::string& v) { p.mem_descriptor = v; }},
    {{"profiling", "N",
      "1: the time of each operation, forward and backward, is printed on the standard output when "
      "the process ends. 2: also nodes per call and sizes of results. Default 0."},
     [](DynetParams& p, const std::string& v) {
       p.profiling = parse<int>("profiling", v, "0, 1 or 2");
     }},
    {{"devices", "D",
      "Devices, separated by commas: CPU; GPU:0, GPU:1 and so on; CPU:double, a plain and slow "
      "device in double precision to check results; or a device that the program added. The GPU of "
      "the lowest number is the default device, else the first device that is not CPU. Default "
      "CPU."},
     read_devices},
    {{"gpus", "N", "How many GPUs to use: the N with the most free memory. Default 0."}, read_gpus},
    {{"gpu-ids", "N,N", "No effect: --dynet-devices names GPUs."},
     [](DynetParams& /*p*/, const std::string& v) {
       params::warn("--dynet-gpu-ids " + v + " has no effect; --dynet-devices names GPUs");
     }},
    {{"dynamic-mem", "[N]", "No effect: memory grows on demand."},
     [](DynetParams& /*p*/, const std::string& /*v*/) {}},
    {{"shared-parameters", "N",
      "1: parameters and the state of trainers lie in memory that processes share, as worker "
      "processes need it. Default 0."},
     [](DynetParams& p, const std::string& v) {
       if (v != "0" && v != "1") {
         bad("shared-parameters", v, "0 or 1");
       }
       p.shared_parameters = v == "1";
     }},
    {{"lstm", "coupled | vanilla", "The class that LSTMBuilder stands for. Default coupled."},
     [](DynetParams& p, const std::string& v) { p.lstm = v; }},
    {{"precision", "highest",
      "Precision of products of float matrices. There is no other value yet, because no device of "
      "this build computes in less than float."},
     [](DynetParams& p, const std::string& v) { p.precision = v; }},
};

/// The option that `argument` names, and the length of its name part; null when there is none.
/// DyNet 2.1 takes longer names too ("--dynet-memory"), and so values that were not meant for it.
std::pair<const Option*, std::size_t> recognise(const std::string& argument) {
  const std::size_t length = std::min(argument.find('='), argument.size());
  std::string name = argument.substr(0, length);
  std::replace(name.begin(), name.end(), '_', '-');
  const std::string begin = "--dynet-";
  if (!startswith(name, begin)) {
    return {nullptr, length};
  }
  for (const Option& option : kOptions) {
    if (name.substr(begin.size()) == option.text.name) {
      return {&option, length};
    }
  }
  params::log(argument + " is no option of this library, and is left for the program");
  return {nullptr, length};
}

/// The options in environment variables. Arguments override them, and may repeat them.
DynetParams from_environment() {
  DynetParams p;
  for (const Option& option : kOptions) {
    const std::string value = util::option_value(option.text.name);
    if (value.empty()) {
      continue;
    }
    try {
      option.read(p, value);
      params::check(p);
    } catch (const errors::ValueError& error) {
      throw errors::ValueError(util::option_variable(option.text.name) +
                               " in the environment stands for " + error.what());
    }
  }
  return p;
}

}  // namespace

DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters) {
  DynetParams p = from_environment();
  p.shared_parameters = p.shared_parameters || shared_parameters;
  bool has_chosen = false;
  std::vector<char*> kept;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto [option, length] =
        i == 0 ? std::pair<const Option*, std::size_t>{} : recognise(argument);
    if (option == nullptr) {
      kept.push_back(argv[i]);
      continue;
    }
    if (option->chooses_devices() && !has_chosen) {
      forget_devices(p);  // of the environment
      has_chosen = true;
    }
    const bool has_next = i + 1 < argc && std::strncmp(argv[i + 1], "--", 2) != 0;
    if (length < argument.size()) {
      option->read(p, argument.substr(length + 1));
    } else if (option->may_be_bare() && !(has_next && is_integer(argv[i + 1]))) {
      option->read(p, "1");
    } else if (has_next) {
      option->read(p, argv[++i]);
    } else {
      throw errors::ValueError(argument + ": the value is missing");
    }
  }
  params::check(p);
  params::require_gpu_library(params::wanted_gpus(p));
  if (static_cast<int>(kept.size()) < argc) {
    std::copy(kept.begin(), kept.end(), argv);
    argc = static_cast<int>(kept.size());
    argv[argc] = nullptr;
  }
  return p;
}

namespace params {

std::vector<OptionText> option_table() {
  std::vector<OptionText> table;
  for (const Option& option : kOptions) {
    table.push_back(option.text);
  }
  return table;
}

FirstSizes parse_memory(const std::string& text) {
  constexpr std::size_t kMebi = std::size_t{1} << 20;
  constexpr std::size_t kMaxMebi = std::size_t{1} << 30;
  if (text.empty()) {
    return {};
  }
  const std::vector<std::string> pieces = split(text);
  if (pieces.size() != 1 && pieces.size() != 3 && pieces.size() != 4) {
    bad("mem", text, "N, F,B,P or F,B,P,S in MiB");
  }
  std::vector<std::size_t> bytes;
  for (const std::string& piece : pieces) {
    const std::size_t size = parse<unsigned>("mem", piece, "N, F,B,P or F,B,P,S in MiB");
    if (size == 0 || size > kMaxMebi) {
      bad("mem", text, "sizes from 1 to 2^30 MiB");
    }
    bytes.push_back(size * kMebi);
  }
  return pieces.size() == 1 ? FirstSizes{bytes[0] / 4, bytes[0] / 4}
                            : FirstSizes{bytes[0], bytes[1]};
}

void check(const DynetParams& p) {
  if (!(p.weight_decay >= 0.0F && p.weight_decay < 1.0F)) {
    bad("weight-decay", util::text_of(p.weight_decay), "a number in [0,1)");
  }
  parse_memory(p.mem_descriptor);
  if (p.profiling < 0 || p.profiling > 2) {
    bad("profiling", std::to_string(p.profiling), "0, 1 or 2");
  }
  static_assert(kernels::kMostThreads == 256, "texts of `threads` say so");
  if (p.threads > kernels::kMostThreads) {
    bad("threads", std::to_string(p.threads), kThreadsWanted);
  }
  if (p.lstm != "coupled" && p.lstm != "vanilla") {
    bad("lstm", p.lstm, "coupled or vanilla");
  }
  checked_precision(p.precision);
  const WantedGpus wanted = wanted_gpus(p);
  std::vector<std::string> known = device_names();
  std::transform(wanted.ids.begin(), wanted.ids.end(), std::back_inserter(known), gpu_name);
  if (!is_one_of(known, p.device)) {
    bad("devices", p.device, joined(known, "or"));
  }
  if (wanted.any() && p.shared_parameters) {
    throw errors::ValueError(wanted.subject() +
                             ": --dynet-shared-parameters is 1; want a CPU, because processes "
                             "cannot share the memory of a GPU");
  }
}

const char* checked_precision(const std::string& word) {
  if (word == "high" || word == "medium") {
    bad("precision", word,
        "highest: no device of this build multiplies in less than float, so the word would change "
        "nothing");
  }
  if (word != "highest") {
    bad("precision", word, "highest");
  }
  return "highest";
}

}  // namespace params
}  // namespace dynet
