// The start of the library from Python, and functions for the whole process.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <exception>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/globals.h"
#include "dynet/init.h"

#include "binding.h"
#include "errors.h"
#include "gil.h"
#include "gpus.h"
#include "start.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

std::vector<std::string> program_arguments() {
  std::vector<std::string> args;
  const nb::object argv = nb::getattr(nb::module_::import_("sys"), "argv", nb::list());
  for (const nb::handle arg : nb::iter(argv)) {
    // The bytes of the command line: a name of a file need not be UTF-8.
    const nb::object bytes = nb::steal(PyUnicode_EncodeFSDefault(nb::str(arg).ptr()));
    if (!bytes.is_valid()) {
      throw nb::python_error();
    }
    args.emplace_back(PyBytes_AsString(bytes.ptr()));
  }
  if (args.empty()) {
    args.emplace_back();
  }
  return args;
}

/// Forks by this process and by its parents. GIL held.
unsigned forks_since_seeding = 0;

/// A forked child has random numbers of its own, as otherwise all children would draw the same
/// numbers. They depend on the seed, on earlier draws, and on the number of the child, and on
/// nothing else.
void separate_random_numbers_of_forks() {
  const nb::object os = nb::module_::import_("os");
  if (!nb::hasattr(os, "register_at_fork")) {
    return;
  }
  os.attr("register_at_fork")(nb::arg("before") = nb::cpp_function([] { ++forks_since_seeding; }),
                              nb::arg("after_in_child") = nb::cpp_function([] {
                                std::mt19937 drawn = *rndeng;
                                std::seed_seq mixed{static_cast<std::uint32_t>(drawn()),
                                                    forks_since_seeding};
                                std::uint32_t seed = 0;
                                mixed.generate(&seed, &seed + 1);
                                reset_rng(seed);
                              }));
}

template <class T>
void set_unless_default(T& to, const nb::dict& conf, const char* key, const T& otherwise) {
  if (!conf.contains(key) || conf[key].is_none()) {
    return;
  }
  const T value = nb::cast<T>(conf[key]);
  if (value != otherwise) {
    to = value;
  }
}

void set_text_unless_default(std::string& to, const nb::dict& conf, const char* key,
                             const char* otherwise) {
  const std::string value = config_text(conf, key, otherwise);
  if (value != otherwise) {
    to = value;
  }
}

bool is_on(const nb::dict& conf, const char* key) {
  return conf.contains(key) && nb::cast<bool>(nb::bool_(nb::handle(conf[key])));
}

/// The settings given to dynet_config.set; the arguments decide all others.
void apply_config(DynetParams& params, const nb::dict& conf) {
  if (conf.contains("mem") && !conf["mem"].is_none()) {
    const nb::object given = conf["mem"];  // an int or a string
    const auto mem = nb::cast<std::string>(nb::str(nb::handle(given)));
    if (mem != "512") {  // the default that dynet_config has since 2.1
      params.mem_descriptor = mem;
    }
  }
  set_unless_default(params.random_seed, conf, "seed", 0U);
  set_unless_default(params.autobatch, conf, "autobatch", 1);
  set_unless_default(params.profiling, conf, "profiling", 0);
  set_unless_default(params.threads, conf, "threads", 0U);
  set_unless_default(params.mem_cap, conf, "mem_cap", 0U);
  params.shared_parameters = params.shared_parameters || is_on(conf, "shared_params");
  set_unless_default(params.weight_decay, conf, "weight_decay", 0.0F);
  set_text_unless_default(params.lstm, conf, "lstm", "coupled");
  set_text_unless_default(params.precision, conf, "precision", "highest");
  apply_devices(params, conf);
}

/// Warnings of the library go to Python's warnings, which show them and may raise them as errors.
/// Other messages go to Python's logging, which shows none unless asked: a program that has not
/// imported logging has not asked, and need not wait for the import.
void send_log_to_python() {
  set_log_sink([](const std::string& text) {
    if (!is_python_alive()) {
      return;
    }
    const WithGil gil;
    constexpr std::string_view kWarning = "warning: ";
    if (std::string_view(text).substr(0, kWarning.size()) == kWarning) {
      if (warn_here(text.c_str() + kWarning.size()) != 0) {
        throw nb::python_error();
      }
      return;
    }
    try {
      if (nb::cast<nb::dict>(nb::module_::import_("sys").attr("modules")).contains("logging")) {
        nb::module_::import_("logging").attr("getLogger")("dynet").attr("info")("%s", text);
      }
    } catch (nb::python_error& e) {
      e.discard_as_unraisable("dynet log");
    }
  });
}

void name_lstm(nb::module_& m, const DynetParams& params) {
  m.attr("LSTMBuilder") =
      m.attr(params.lstm == "vanilla" ? "VanillaLSTMBuilder" : "CoupledLSTMBuilder");
}

void start(DynetParams& params) {
  send_log_to_python();
  initialize(params);
  nb::module_ m = nb::module_::import_("_dynet");
  name_lstm(m, params);
}

DynetParams read_params(std::vector<std::string> texts, bool shared_parameters) {
  for (std::size_t i = 1; i < texts.size(); ++i) {
    const std::string name = texts[i].substr(0, texts[i].find('='));
    if (name != "--dynet-gpu" && name != "--dynet_gpu") {
      continue;
    }
    if (name != texts[i]) {
      throw errors::ValueError("--dynet-gpu: the argument is '" + texts[i] +
                               "'; want no value, or --dynet-gpus" + texts[i].substr(name.size()));
    }
    texts[i] = "--dynet-gpus=1";
  }
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  int count = static_cast<int>(texts.size());
  char** at = pointers.data();
  return extract_dynet_params(count, at, shared_parameters);
}

/// LSTMBuilder until the start: a program that imports `_dynet` alone takes the class before. The
/// start reports wrong options.
void name_lstm_before_start(nb::module_& m) {
  DynetParams params;
  try {
    params = read_params(program_arguments(), false);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): until the start
  }
  name_lstm(m, params);
}

void bind_params_class(nb::module_& m) {
  using nb::arg;
  nb::class_<DynetParams>(m, "DynetParams", "The options of the process, before it is started.")
      .def(nb::init<>())
      .def(
          "from_args",
          [](DynetParams& p, std::optional<bool> shared_parameters) {
            p = params_from(program_arguments(), shared_parameters.value_or(false));
          },
          arg("shared_parameters") = nb::none(),
          "Reads --dynet-* from sys.argv, which stays as it is.")
      .def(
          "from_config", [](DynetParams& p, const nb::dict& conf) { apply_config(p, conf); },
          arg("conf"), "Takes the options given to `dynet_config.set`.")
      .def(
          "set_mem", [](DynetParams& p, int mem) { p.mem_descriptor = std::to_string(mem); },
          arg("mem"))
      .def(
          "set_random_seed", [](DynetParams& p, unsigned seed) { p.random_seed = seed; },
          arg("random_seed"))
      .def(
          "set_autobatch", [](DynetParams& p, bool on) { p.autobatch = on ? 1 : 0; },
          arg("autobatch"))
      .def(
          "set_profiling", [](DynetParams& p, int level) { p.profiling = level; }, arg("profiling"))
      .def(
          "set_weight_decay", [](DynetParams& p, float rate) { p.weight_decay = rate; },
          arg("weight_decay"))
      .def(
          "set_shared_parameters", [](DynetParams& p, bool on) { p.shared_parameters = on; },
          arg("shared_parameters"))
      .def(
          "set_cpu_mode",
          [](DynetParams& p) {
            forget_devices(p);
            p.cpu_requested = true;
          },
          "Takes back the requests for another device.")
      .def("init", &start, "Starts the library.")
      .def("__repr__", [](const DynetParams& p) {
        return "DynetParams(mem=" + (p.mem_descriptor.empty() ? "default" : p.mem_descriptor) +
               ", random_seed=" + std::to_string(p.random_seed) +
               ", autobatch=" + std::to_string(p.autobatch) +
               ", profiling=" + std::to_string(p.profiling) +
               ", weight_decay=" + short_text(p.weight_decay) + ", device=" + p.device +
               (p.requested_gpus > 0 ? ", requested_gpus=" + std::to_string(p.requested_gpus)
                                     : "") +
               ", lstm=" + p.lstm +
               ", shared_parameters=" + (p.shared_parameters ? "True" : "False") + ")";
      });
}

}  // namespace

std::string config_text(const nb::dict& conf, const char* key, const char* otherwise) {
  if (!conf.contains(key) || conf[key].is_none()) {
    return otherwise;
  }
  const nb::object value = conf[key];
  if (!nb::isinstance<nb::str>(value)) {
    throw TypeError("conf['" + std::string(key) + "'] is " + told(value) + "; want text");
  }
  return nb::cast<std::string>(value);
}

DynetParams params_from(const std::vector<std::string>& args, bool shared_parameters) {
  send_log_to_python();  // a warning about an option comes while options are read
  return read_params(args, shared_parameters);
}

void bind_start(nb::module_& m) {
  using nb::arg;
  name_lstm_before_start(m);
  bind_params_class(m);
  bind_gpus(m);
  m.def(
      "init",
      [](std::optional<bool> shared_parameters) {
        DynetParams params = params_from(program_arguments(), shared_parameters.value_or(false));
        start(params);
      },
      arg("shared_parameters") = nb::none(),
      "Reads --dynet-* from sys.argv, which stays as it is, and starts the library.");
  m.def("init_from_params", &start, arg("params"), "Starts the library.");
  m.def(
      "reset_random_seed",
      [](unsigned seed) {
        reset_rng(seed);
        forks_since_seeding = 0;
      },
      arg("seed"),
      "Seeds initial values and the random operations of graphs made or renewed from now on.");
  separate_random_numbers_of_forks();
  m.def(
      "available_devices",
      [] {
        std::vector<std::string> names;
        for (const Device* d : get_device_manager()->get_devices()) {
          names.push_back(d->name);
        }
        return names;
      },
      "Names of the devices.");
  nb::class_<Device>(m, "DeviceInfo", texts::Device)
      .def_ro("name", &Device::name)
      .def_prop_ro(
          "type", [](const Device& /*d*/) { return -1; }, "-1, as in DyNet 2.1.")
      .def_ro("id", &Device::device_id)
      .def("__repr__", [](const Device& d) { return "<DeviceInfo \"" + d.name + "\">"; });
  m.def(
      "get_device_info",
      [](const std::string& name) { return get_device_manager()->get_global_device(name); },
      nb::rv_policy::reference, nb::arg("name"),
      "Facts about a device; \"\" is the default device. DeviceError if there is none.");
  m.def("set_threads", &set_threads<>, arg("threads"),
        "Sets the number of threads that compute one graph; 0 (the default): as many as the "
        "process may use. Results are the same bits for any number.");
  m.def("get_threads", &get_threads<>, "The number of threads that compute one graph.");
  m.def("set_float32_matmul_precision", &set_float32_matmul_precision<>, arg("precision"),
        "Of products of float matrices: \"highest\". \"high\" and \"medium\" would change nothing "
        "in this build and are a ValueError.");
  m.def("get_float32_matmul_precision", &get_float32_matmul_precision<>);
}

}  // namespace dynet::python
