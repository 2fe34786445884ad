// want: Arity<TwoOfOne>
// want: value(a, b) with slopes takes two arguments
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct TwoOfOne {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto a, auto b) const { return a * b; }
  auto slopes(auto a, auto b, auto) const { return dynet::rule::each(b, a); }
  static std::vector<ext::Example<TwoOfOne>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<TwoOfOne>; }
