// want: Results<LongSaved>
// want: saved(const Shapes&) must return std::array<Dim, kSaved>
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct LongSaved {
  static constexpr unsigned kSaved = 1;
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  std::array<Dim, 2> saved(const ext::Shapes& in) const { return {in[0], in[0]}; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<LongSaved>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<LongSaved>; }
