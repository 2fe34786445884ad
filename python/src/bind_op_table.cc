// `_operations()`: the list of operations as Python data, for tests and documentation.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "dynet/ops/all.h"

#include "binding.h"
#include "op_names.h"

namespace dynet::python {
namespace {

nb::tuple shape_tuple(const Dim& d) {
  nb::list extents;
  for (unsigned i = 0; i < d.nd; ++i) {
    extents.append(d.d[i]);
  }
  return nb::tuple(extents);
}
template <class T>
nb::object attribute_object(const T& v) {
  return nb::cast(AttrParam<T>::write(v));
}
template <>
nb::object attribute_object(const Dim& d) {
  return shape_tuple(d);
}

template <class Op>
nb::dict example_dict(const ext::Example<Op>& example, const Names& names, std::size_t first_attr) {
  nb::dict d;
  nb::list inputs;
  for (const Dim& shape : example.inputs) {
    inputs.append(shape_tuple(shape));
  }
  nb::dict attrs;
  Op op = example.op;
  std::size_t i = first_attr;
  std::apply(
      [&](const auto&... a) { ((attrs[names.all[i++].c_str()] = attribute_object(a)), ...); },
      ext::attributes(op));
  d["inputs"] = inputs;
  d["attrs"] = attrs;
  d["indices"] = example.indices;
  d["values"] = example.values;
  d["low"] = example.low;
  d["high"] = example.high;
  return d;
}

template <class Op>
nb::dict op_dict() {
  constexpr const ext::Info& kInfo = Op::kInfo;
  constexpr bool kVariadic = ext::detail::is_variadic<Op>();
  const Names names(kInfo, kVariadic);
  const std::size_t args = kVariadic ? 1 : ext::kArgCount<Op>;
  const bool has_payload = ext::detail::payload_of<Op>() != ext::Payload::kNone;
  nb::dict d;
  d["name"] = std::string(kInfo.name);
  d["python"] = std::string(kInfo.python.empty() ? kInfo.name : kInfo.python);
  d["python_batch"] = std::string(kInfo.python_batch);
  d["mirrored"] = std::string(kInfo.mirrored);
  d["summary"] = std::string(kInfo.summary);
  d["variadic"] = kVariadic;
  d["random"] = ext::detail::is_random<Op>();
  d["outputs"] = ext::detail::outputs_of<Op>();
  d["args"] =
      std::vector<std::string>(names.all.begin(), names.all.begin() + static_cast<long>(args));
  d["payload"] = has_payload && names.all.size() > args ? names.all[args] : std::string();
  nb::list examples;
  for (const ext::Example<Op>& example : Op::examples()) {
    examples.append(example_dict(example, names, args + (has_payload ? 1 : 0)));
  }
  d["examples"] = examples;
  return d;
}

}  // namespace

void bind_op_table(nb::module_& m) {
  m.def(
      "_operations",
      [] {
        nb::list all;
        ops::AllOps::for_each([&all]<class Op>() { all.append(op_dict<Op>()); });
        return all;
      },
      nb::sig("def _operations() -> list[dict[str, typing.Any]]"),
      "All operations, with their names and examples.");
}

}  // namespace dynet::python
