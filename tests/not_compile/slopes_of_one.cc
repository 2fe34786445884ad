// want: Slopes<OneSlope>
// want: slopes(a, b, y) must return each(dy/da, dy/db)
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct OneSlope {
  static constexpr ext::Info kInfo{.name = "op", .args = {"a", "b"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto a, auto b) const { return a * b; }
  auto slopes(auto, auto b, auto) const { return dynet::rule::each(b); }
  static std::vector<ext::Example<OneSlope>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<OneSlope>; }
