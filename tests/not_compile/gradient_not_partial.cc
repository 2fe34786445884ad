// want: GradientRun<Op>
// want: the operation gives a part of a gradient: it must say kPartialGradient
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Op {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& /*in*/) const { return {1}; }
  void forward(ext::Call&) const {}
  void gradient(auto& to) const { to.give(0, to.padded(to.d_out(), 0, 3, 0)); }
  static std::vector<ext::Example<Op>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Op>; }
