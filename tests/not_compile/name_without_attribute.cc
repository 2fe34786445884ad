// want: Members<Op>
// want: kInfo.attrs must name every member, and no more
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Op {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}, .attrs = {"alpha"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<Op>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Op>; }
