// want: Members<Op>
// want: the operation has no examples()
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Op {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
};

const ext::Record* record() { return &ext::kRecord<Op>; }
