#include "io/keys.h"

#include <algorithm>

#include "dynet/except.h"
#include "dynet/ext/count.h"
#include "dynet/str-util.h"

#include "params/access.h"

namespace dynet::io {
namespace {

/// Whether a parameter is in a collection of this name, also with "_1", "_2", ... behind it.
bool is_in(std::string_view parameter, std::string_view collection) {
  const std::size_t end = parameter.rfind('/');
  const std::size_t begin = end == std::string_view::npos || end == 0
                                ? std::string_view::npos
                                : parameter.rfind('/', end - 1);
  if (begin == std::string_view::npos) {
    return false;
  }
  const std::string_view name = parameter.substr(begin + 1, end - begin - 1);
  return name == collection || startswith(std::string(name), std::string(collection) + '_');
}

}  // namespace

std::string collection_key(const char* call, const std::string& key) {
  if (key.empty()) {
    return key;
  }
  if (key[0] != '/' || key == "/" || key.find_first_of(" \t\r\n#") != std::string::npos) {
    throw errors::ValueError(
        std::string(call) + ": the key '" + key +
        "'; want one that starts with '/', is longer, and has no space or '#'");
  }
  return key.back() == '/' ? key : key + '/';
}

void check_parameter_key(const char* call, const std::string& key) {
  if (key == "/" || key.find_first_of(" \t\r\n#") != std::string::npos) {
    throw errors::ValueError(std::string(call) + ": the key '" + key +
                             "'; want one without space or '#' and not '/'");
  }
}

void require_key(const char* call, const std::string& key) {
  if (key.empty()) {
    throw errors::ValueError(std::string(call) + ": the key is empty");
  }
  check_parameter_key(call, key);
}

std::string shown(std::string_view text, std::size_t most) {
  std::string s;
  for (const char c : text.substr(0, most)) {
    s += c >= ' ' && c <= '~' ? c : '?';
  }
  return text.size() > most ? s + "..." : s;
}

namespace {
constexpr std::string_view kCoupled = "lstm-builder";
constexpr std::string_view kStandard = "vanilla-lstm-builder";
constexpr const char* kStandardInFile =
    "; the file's LSTMBuilder is the standard one, as in DyNet 2.1: name VanillaLSTMBuilder, or "
    "start with --dynet-lstm=vanilla or with DYNET_LSTM=vanilla in the environment (C++: compile "
    "with -DDYNET_LSTM_VANILLA)";
constexpr const char* kCoupledInFile =
    "; the file's LSTMBuilder is the one with coupled gates: name CoupledLSTMBuilder, or start "
    "with "
    "--dynet-lstm=coupled or with DYNET_LSTM=coupled in the environment";
}  // namespace

// The four gates of the standard LSTM are stacked, the gates of the coupled LSTM are not.
std::string other_lstm(const Dim& found, const Dim& wanted, std::string_view name) {
  const auto has_rows_of = [](const Dim& a, const Dim& b) {
    return a.nd == b.nd && ext::Count(a.rows()) == ext::Count(4) * b.rows() && a.cols() == b.cols();
  };
  if (is_in(name, kCoupled) && has_rows_of(found, wanted)) {
    return kStandardInFile;
  }
  if (is_in(name, kStandard) && has_rows_of(wanted, found)) {
    return kCoupledInFile;
  }
  return "";
}

std::string other_lstm(std::string_view name,
                       const std::function<bool(const std::string& name)>& has) {
  const bool is_standard = is_in(name, kStandard);
  if (!is_standard && !is_in(name, kCoupled)) {
    return "";
  }
  std::string other(name);
  const std::string_view own = is_standard ? kStandard : kCoupled;
  other.replace(other.rfind(own), own.size(), is_standard ? kCoupled : kStandard);
  if (!has(other)) {
    return "";
  }
  return is_standard ? kCoupledInFile : kStandardInFile;
}

std::string collection_in_file(const ParameterCollection& model, const std::string& prefix) {
  const std::string own = model.get_fullname();
  return prefix.empty() && own != "/" ? own : prefix;
}

namespace {

std::string name_in_file(const ParameterCollection& model, const std::string& name,
                         const std::string& prefix) {
  if (prefix.empty()) {
    return name;
  }
  const std::string full = model.get_fullname();
  if (startswith(name, full)) {
    return prefix + name.substr(full.size());
  }
  return prefix + (startswith(name, "/") ? name.substr(1) : name);  // one that load_param renamed
}

/// "/a/" of "/a/b/" and of "/a/b".
std::string above(const std::string& name) {
  const std::size_t last = name.find_last_not_of('/');
  return name.substr(0, name.rfind('/', last) + 1);
}
/// "b" of both.
std::string below(const std::string& name) {
  const std::size_t begin = above(name).size();
  return name.substr(begin, name.find_last_not_of('/') + 1 - begin);
}

}  // namespace

std::vector<Entry> entries_of(const ParameterCollection& model, const std::string& prefix) {
  using detail::ModelAccess;
  std::vector<Entry> entries;
  const auto add = [&](ParameterStorageBase& storage) {
    entries.push_back({&storage, name_in_file(model, storage.name, prefix), std::nullopt});
  };
  const auto& own = ModelAccess::parameters(model);
  const auto& beside = ModelAccess::state(model).beside;
  if (beside.empty()) {
    std::for_each(own.begin(), own.end(), [&](const auto& p) { add(*p); });
  } else {  // the model above has the order of both
    const std::string here = collection_in_file(model, prefix);
    const bool is_same = below(here) == below(model.get_fullname());
    for (const auto& p : ModelAccess::parameters(ModelAccess::root(model))) {
      if (const auto at = std::find(beside.begin(), beside.end(), p); at != beside.end()) {
        entries.push_back({p.get(), here + "ln_" + std::to_string(at - beside.begin()),
                           is_same ? above(here) + below(p->name) : ""});
      } else if (std::find(own.begin(), own.end(), p) != own.end()) {
        add(*p);
      }
    }
  }
  for (const auto& p : ModelAccess::lookups(model)) {
    add(*p);
  }
  return entries;
}

}  // namespace dynet::io
