// want: Computing<Op>
// want: the operation has neither value and slope, nor forward and backward
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Op {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  static std::vector<ext::Example<Op>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Op>; }
