// want: Computing<OnHost>
// want: kOnHost is for forward and backward: a rule runs on every device
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct OnHost {
  static constexpr bool kOnHost = true;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x * x; }
  auto slope(auto x, auto) const { return 2.0 * x; }
  static std::vector<ext::Example<OnHost>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<OnHost>; }
