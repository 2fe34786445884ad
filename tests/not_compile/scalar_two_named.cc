// want: Arity<ScalarNamed>
// want: takes one argument, and the number as payload
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct ScalarNamed {
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x", "s"}, .payload = "s"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x, auto s) const { return x * s; }
  auto slope(auto, auto s, auto) const { return s; }
  static std::vector<ext::Example<ScalarNamed>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<ScalarNamed>; }
