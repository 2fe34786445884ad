// want: Arity<NoPayload>
// want: takes a number s per node: kPayload must be
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct NoPayload {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x", "s"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x, auto s) const { return x * s; }
  auto slope(auto, auto s, auto) const { return s; }
  static std::vector<ext::Example<NoPayload>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<NoPayload>; }
