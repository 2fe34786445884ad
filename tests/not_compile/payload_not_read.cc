// want: Arity<NotRead>
// want: kPayload gives a number per node that the rule does not read
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct NotRead {
  static constexpr ext::Payload kPayload = ext::Payload::kValues;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}, .payload = "s"};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<NotRead>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<NotRead>; }
