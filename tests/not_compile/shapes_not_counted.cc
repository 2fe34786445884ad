// want: Results<UncountedShapes>
// want: kOutputs must say how many
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct UncountedShapes {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const { return {in[0], in[0]}; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<UncountedShapes>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<UncountedShapes>; }
