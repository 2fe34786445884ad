// want: PayloadOf<NamedOnly>
// want: kPayload must say what it is
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct NamedOnly {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}, .payload = "v"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<NamedOnly>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<NamedOnly>; }
