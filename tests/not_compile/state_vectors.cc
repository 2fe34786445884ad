// want: Arguments<Terms>
// want: kStateVectors has a bit for each
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Terms {
  static constexpr bool kVariadic = true;
  static constexpr unsigned kTermArgs = 2;
  static constexpr unsigned kHeadArgs = 1;
  static constexpr unsigned kStateArgs = 2;
  static constexpr std::uint32_t kStateVectors = 0b100;
  static constexpr unsigned kSaved = 1;
  static constexpr ext::Info kInfo{.name = "op", .args = {"xs"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Terms>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Terms>; }
