// want: Roles<WholeList>
// want: kIndicesPer must be IndicesPer::kNode
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct WholeList {
  static constexpr ext::Payload kPayload = ext::Payload::kIndices;
  static constexpr std::array kRoles{ext::Role::kWhole};
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}, .payload = "v"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<WholeList>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<WholeList>; }
