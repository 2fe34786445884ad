// want: Arguments<Terms>
// want: kHeadArgs must be given
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Terms {
  static constexpr bool kVariadic = true;
  static constexpr unsigned kTermArgs = 2;
  static constexpr unsigned kStateArgs = 2;
  static constexpr ext::Info kInfo{.name = "op", .args = {"xs"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Terms>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Terms>; }
