// Functions of whole sequences; C++ has them in dynet/sequence.h. `transduce` is bound with the
// builders.

#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <variant>
#include <vector>

#include "dynet/sequence.h"

#include "binding.h"
#include "graph.h"
#include "texts.h"
#include "where.h"

namespace dynet::python {
namespace {

using Sequence = std::vector<unsigned>;
using Sequences = std::vector<std::vector<unsigned>>;

nb::list look_up(const PyLookupParameters& p, const std::variant<Sequence, Sequences>& indices) {
  const detail::LocatedGraph graph(current_graph().cg, here());
  const std::vector<Expression> xs =
      std::visit([&](const auto& some) { return lookup_sequence(graph, p.p, some); }, indices);
  nb::list list;
  for (const Expression& x : xs) {
    list.append(make_expression(x));
  }
  return list;
}

/// Labels, or None for no label.
struct LabelListArg {
  static constexpr auto kType = nb::detail::const_name("collections.abc.Iterable[int | None]");
  static constexpr const char* kList = "a list of whole numbers or None";
  static bool read(PyObject* o, unsigned& label) noexcept {
    if (o == Py_None) {
      label = kNoLabel;
      return true;
    }
    std::int64_t number = 0;
    const bool fits = read_whole(o, whole<unsigned>(), number);
    label = static_cast<unsigned>(number);
    return fits;
  }

  std::vector<unsigned> list;
};

}  // namespace
}  // namespace dynet::python

namespace nanobind::detail {

template <>
struct type_caster<dynet::python::LabelListArg> : ListCaster<dynet::python::LabelListArg> {};

}  // namespace nanobind::detail

namespace dynet::python {

void bind_sequence(nb::module_& m) {
  using nb::arg;
  m.def("lookup_sequence", &look_up, arg("p"), arg("indices"),
        nb::sig("def lookup_sequence(p: LookupParameters, indices: "
                "collections.abc.Sequence[int] | collections.abc.Sequence[collections.abc.Sequence"
                "[int]]) -> list[Expression]"),
        texts::lookup_sequence);
  m.def(
      "sequence_loss",
      [](const ExprArg& scores, const LabelListArg& labels) {
        return PyExpression(sequence_loss(scores.node(), labels.list, here()));
      },
      arg("scores"), arg("labels"), texts::sequence_loss);
}

}  // namespace dynet::python
