// want: Arguments<Terms>
// want: kTermArgs is for variadic operations
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Terms {
  static constexpr unsigned kTermArgs = 2;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Terms>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Terms>; }
