// want: Results<NoShapes>
// want: shapes(const Shapes&) must return std::array<Dim, kOutputs>
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct NoShapes {
  static constexpr unsigned kOutputs = 2;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<NoShapes>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<NoShapes>; }
