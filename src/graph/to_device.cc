#include "graph/to_device.h"

namespace dynet::graph {
namespace {

constexpr ext::Info kInfo{.name = "to_device",
                          .args = {"x"},
                          .attrs = {"device"},
                          .formula = "y = x",
                          .summary = "A copy on another device; the gradient is copied back.",
                          .shapes = "any -> the same"};

constexpr ext::Record make_record() {
  ext::Record r{};
  r.info = &kInfo;
  r.op_bytes = sizeof(ToDevice);
  r.op_align = alignof(ToDevice);
  r.arg_count = 1;
  r.outputs = 1;
  r.role_count = 1;
  r.pack = [](const void* /*op*/, std::byte* /*to*/) {};
  r.shapes = [](const void* /*op*/, const ext::Shapes& in, Dim* out) { out[0] = in[0]; };
  r.attrs_text = [](const void* op) {
    return "device=" + static_cast<const ToDevice*>(op)->device->name;
  };
  return r;
}

}  // namespace

constexpr ext::Record kToDevice = make_record();

}  // namespace dynet::graph
