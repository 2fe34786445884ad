// The `--dynet-*` options of the command line.
#include "params/options.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <system_error>
#include <utility>

#include "dynet/except.h"

namespace dynet {
namespace {

[[noreturn]] void bad(const std::string& option, const std::string& value, const char* wanted) {
  throw ValueError("--dynet-" + option + ": the value is '" + value + "'; want " + wanted);
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

void check_memory(const std::string& text) {
  const std::vector<std::string> pieces = split(text);
  if (pieces.size() != 1 && pieces.size() != 4) {
    bad("mem", text, "N or F,B,P,S in MiB");
  }
  for (const std::string& piece : pieces) {
    if (parse<unsigned>("mem", piece, "N or F,B,P,S in MiB") == 0) {
      bad("mem", text, "sizes above 0");
    }
  }
}

void read_devices(DynetParams& p, const std::string& text) {
  if (p.ids_requested) {
    bad("devices", text, "the option once");
  }
  bool cpu = false;
  bool checker = false;
  for (const std::string& name : split(text)) {
    bool* seen = name == "CPU" ? &cpu : name == "CPU:double" ? &checker : nullptr;
    if (seen == nullptr) {
      bad("devices", text, "a list of CPU and CPU:double (this library has no CUDA)");
    }
    if (*seen) {
      bad("devices", text, "each device once");
    }
    *seen = true;
  }
  p.ids_requested = true;
  p.cpu_requested = cpu;
  p.device = checker ? "CPU:double" : "CPU";
}

struct Option {
  const char* name;
  void (*read)(DynetParams& p, const std::string& value);
};

// A name is recognised when the argument starts with it ("--dynet-memory" is "--dynet-mem"), so the
// longer of two comes first.
constexpr Option kOptions[] = {
    {"mem-cap", [](DynetParams& p,
                   const std::string& v) { p.mem_cap = parse<unsigned>("mem-cap", v, "MiB"); }},
    {"mem",
     [](DynetParams& p, const std::string& v) {
       check_memory(v);
       p.mem_descriptor = v;
     }},
    {"weight-decay",
     [](DynetParams& p, const std::string& v) {
       p.weight_decay = parse<float>("weight-decay", v, "a number in [0,1)");
       if (!(p.weight_decay >= 0.0F && p.weight_decay < 1.0F)) {
         bad("weight-decay", v, "a number in [0,1)");
       }
     }},
    {"seed",
     [](DynetParams& p, const std::string& v) {
       p.random_seed = parse<unsigned>("seed", v, "an unsigned integer");
     }},
    {"autobatch",
     [](DynetParams& p, const std::string& v) {
       p.autobatch = parse<int>("autobatch", v, "an integer");
     }},
    {"profiling",
     [](DynetParams& p, const std::string& v) {
       p.profiling = parse<int>("profiling", v, "an integer");
     }},
    {"devices", read_devices},
    {"lstm",
     [](DynetParams& p, const std::string& v) {
       if (v != "coupled" && v != "vanilla") {
         bad("lstm", v, "coupled or vanilla");
       }
       p.lstm = v;
     }},
    {"precision",
     [](DynetParams& p, const std::string& v) { p.precision = params::checked_precision(v); }},
};

/// The option that `argument` names, and the length of its name part; null when there is none.
std::pair<const Option*, std::size_t> recognise(const std::string& argument) {
  const std::size_t length = std::min(argument.find('='), argument.size());
  std::string name = argument.substr(0, length);
  for (char& c : name) {
    if (c == '_') {
      c = '-';
    }
  }
  for (const Option& option : kOptions) {
    if (name.rfind(std::string("--dynet-") + option.name, 0) == 0) {
      return {&option, length};
    }
  }
  return {nullptr, length};
}

}  // namespace

DynetParams extract_dynet_params(int& argc, char**& argv, bool shared_parameters) {
  DynetParams p;
  p.shared_parameters = shared_parameters;
  std::vector<char*> kept;
  for (int i = 0; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto [option, length] =
        i == 0 ? std::pair<const Option*, std::size_t>{} : recognise(argument);
    if (option == nullptr) {
      kept.push_back(argv[i]);
      continue;
    }
    const bool has_next = i + 1 < argc && std::strncmp(argv[i + 1], "--", 2) != 0;
    if (length < argument.size()) {
      option->read(p, argument.substr(length + 1));
    } else if (std::strcmp(option->name, "autobatch") == 0 &&
               !(has_next && is_integer(argv[i + 1]))) {
      p.autobatch = 1;  // bare
    } else if (has_next) {
      option->read(p, argv[++i]);
    } else {
      throw ValueError(argument + ": the value is missing");
    }
  }
  if (static_cast<int>(kept.size()) < argc) {
    std::copy(kept.begin(), kept.end(), argv);
    argc = static_cast<int>(kept.size());
    argv[argc] = nullptr;
  }
  return p;
}

namespace params {

void check(const DynetParams& p) {
  if (!(p.weight_decay >= 0.0F && p.weight_decay < 1.0F)) {
    bad("weight-decay", std::to_string(p.weight_decay), "a number in [0,1)");
  }
  check_memory(p.mem_descriptor);
  if (p.lstm != "coupled" && p.lstm != "vanilla") {
    bad("lstm", p.lstm, "coupled or vanilla");
  }
  checked_precision(p.precision);
  if (p.device != "CPU" && p.device != "CPU:double") {
    bad("devices", p.device, "CPU or CPU:double (this library has no CUDA)");
  }
}

const char* checked_precision(const std::string& word) {
  for (const char* known : {"highest", "high", "medium"}) {
    if (word == known) {
      return known;
    }
  }
  bad("precision", word, "highest, high or medium");
}

}  // namespace params
}  // namespace dynet
