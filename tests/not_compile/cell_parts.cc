// want: Parts<PartOfThree>
// want: kParts must have one number per argument
#include "dynet/ext/op.h"

using dynet::Dim;
namespace ext = dynet::ext;

struct PartOfThree {
  static constexpr unsigned kOutputs = 2;
  static constexpr unsigned kSaved = 1;
  static constexpr std::array kParts{3, 1, 1};
  static constexpr std::array kOutParts{1, 1};
  static constexpr std::array kSavedParts{2};
  static constexpr ext::Info kInfo{.name = "op", .args = {"a", "c"}};
  std::array<Dim, 2> shapes(const ext::Shapes& in) const { return {in[1], in[1]}; }
  std::array<Dim, 1> saved(const ext::Shapes& in) const { return {in[0]}; }
  auto value(auto i, auto f, auto o, auto g, auto c) const {
    static_cast<void>(g);
    return dynet::rule::each(c, i, f, o);
  }
  auto pull(auto i, auto f, auto o, auto g, auto c, auto, auto, auto, auto, auto, auto) const {
    return dynet::rule::each(i, f, o, g, c);
  }
  static std::vector<ext::Example<PartOfThree>> examples() { return {{{}, {{4}, {1}}}}; }
};

const ext::Record* record() { return &ext::kRecord<PartOfThree>; }
