// want: Computing<Reads>
// want: is_trainable() must say whether the storage is trained
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct Reads {
  static constexpr ext::Info kInfo{.name = "op"};
  static constexpr ext::Storage kReadsStorage = ext::Storage::kWhole;
  static constexpr ext::GradientTo kGradientGoesTo = ext::GradientTo::kStorage;
  Dim shape(const ext::Shapes&) const { return {3}; }
  static std::vector<ext::Example<Reads>> examples() { return {{{}, {}}}; }
};

const ext::Record* record() { return &ext::kRecord<Reads>; }
