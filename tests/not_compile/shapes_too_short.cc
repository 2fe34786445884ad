// want: Results<ShortShapes>
// want: shapes(const Shapes&) must return std::array<Dim, kOutputs>
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct ShortShapes {
  static constexpr unsigned kOutputs = 3;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const { return {in[0], in[0]}; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<ShortShapes>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<ShortShapes>; }
