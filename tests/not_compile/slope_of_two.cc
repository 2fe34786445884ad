// want: Slope<TwoSlopes>
// want: value and slope must return one number each
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct TwoSlopes {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return dynet::rule::each(1.0, 2.0); }
  static std::vector<ext::Example<TwoSlopes>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<TwoSlopes>; }
