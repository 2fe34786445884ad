// want: Optional<FirstAbsent>
// want: the first argument is always there
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct FirstAbsent {
  static constexpr ext::Info kInfo{.name = "op", .args = {"x", "y"}};
  static constexpr std::array kOptional{1, 0};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<FirstAbsent>> examples() { return {{{}, {{3}, {3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<FirstAbsent>; }
