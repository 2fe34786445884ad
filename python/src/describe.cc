#include "describe.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

namespace dynet::python {
namespace {

/// The kind of code of the operation: "elementwise" and "rows" are rules (ext/rule.h, ext/over.h).
const char* kind_of(const ext::Record& record) {
  if (record.is_leaf()) {
    return "leaf";
  }
  if (record.aliases) {
    return "view";
  }
  if (record.rule != nullptr) {
    return "elementwise";
  }
  return record.row_rule != nullptr ? "rows" : "loops";
}

/// The role of each argument in a group (docs/batching.md); for a list, the pattern of its entries,
/// which is repeated.
std::vector<std::string> roles_of(const ext::Record& record) {
  constexpr const char* kNames[] = {"stacked", "shared", "either", "whole"};
  const std::size_t count = record.variadic ? record.role_count : record.arg_count;
  std::vector<std::string> roles;
  roles.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    roles.emplace_back(kNames[static_cast<std::size_t>(record.role(i))]);
  }
  return roles;
}

}  // namespace

Description::Description(const ext::Record& record)
    : record_(record),
      names_(*record.info, record.variadic),
      args_(record.variadic ? 1 : record.arg_count),
      has_payload_(record.payload != ext::Payload::kNone) {}

void Description::add_example(const ext::ExampleCall& call, const nb::list& attributes) {
  nb::list inputs;
  for (const Dim& shape : call.inputs) {
    inputs.append(shape_tuple(shape));
  }
  nb::dict attrs;
  std::size_t i = args_ + (has_payload_ ? 1 : 0);
  for (const nb::handle attribute : attributes) {
    attrs[names_.all[i++].c_str()] = attribute;
  }
  nb::dict d;
  d["inputs"] = inputs;
  d["attrs"] = attrs;
  d["indices"] = call.indices;
  d["values"] = call.values;
  d["low"] = call.low;
  d["high"] = call.high;
  examples_.append(d);
}

nb::dict Description::dict() const {
  const ext::Info& info = *record_.info;
  const std::vector<std::string>& names = names_.all;
  nb::dict d;
  d["name"] = std::string(info.name);
  d["python"] = std::string(info.python.empty() ? info.name : info.python);
  d["python_batch"] = std::string(info.python_batch);
  d["mirrored"] = std::string(info.mirrored);
  d["summary"] = std::string(info.summary);
  d["formula"] = std::string(info.formula);
  d["kind"] = kind_of(record_);
  d["roles"] = roles_of(record_);
  d["true_gradient"] = !record_.stops_gradient && !record_.surrogate_gradient;
  d["gradient_in_operations"] = record_.gradient != nullptr || record_.stops_gradient || args_ == 0;
  d["variadic"] = record_.variadic;
  d["random"] = record_.random;
  d["outputs"] = record_.outputs;
  d["args"] = std::vector<std::string>(names.begin(), names.begin() + static_cast<long>(args_));
  d["payload"] = has_payload_ && names.size() > args_ ? names[args_] : std::string();
  d["examples"] = examples_;
  return d;
}

}  // namespace dynet::python
