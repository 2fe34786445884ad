// want: Arity<OneOfTwo>
// want: value(x) takes one argument: kInfo.args must name one
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct OneOfTwo {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x", "y"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<OneOfTwo>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<OneOfTwo>; }
