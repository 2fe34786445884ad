// want: PayloadOf<Limited>
// want: index_limit() is given: kPayload must be
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Limited {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  unsigned index_limit(const ext::Shapes& in) const { return in[0].rows(); }
  auto value(auto x) const { return x; }
  auto slope(auto, auto) const { return 1.0; }
  static std::vector<ext::Example<Limited>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Limited>; }
