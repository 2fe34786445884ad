// want: SavedKinds<Kinds>
// want: kSavedAs must have one entry per saved output
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Kinds {
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kSavedAs{ext::SavedAs::kIndices, ext::SavedAs::kNumbers};
  static constexpr ext::Info kInfo{.name = "op", .args = {"x"}};
  Dim shape(const ext::Shapes& in) const { return in[0]; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  void forward(ext::Call&) const {}
  void backward(ext::Call&) const {}
  static std::vector<ext::Example<Kinds>> examples() { return {{{}, {{3}}}}; }
};

const ext::Record* record() { return &ext::kRecord<Kinds>; }
