// want: Computing<Summed>
// want: kSummed is for elementwise rules
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Summed {
  static constexpr bool kSummed = true;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Summed>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Summed>; }
