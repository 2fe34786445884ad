// want: Roles<WholeRule>
// want: a rule cannot mix the examples of a batch
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct WholeRule {
  static constexpr std::array kRoles{ext::Role::kWhole};
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<WholeRule>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<WholeRule>; }
