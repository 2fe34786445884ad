// The functions of all operations, and `_operations()`, their list as Python data, for tests and
// documentation. bind_family.h has the code that is run for each operation. Packages have no
// `_operations()` (DYNET_DESCRIPTIONS): it is nearly half of the code of the operations.

#include <deque>
#include <string>
#include <string_view>

#include "dynet/ops/families.h"

#include "bind_family.h"

namespace dynet::python {

const char* keep(std::string_view name) {
  static auto* names = new std::deque<std::string>;
  return names->emplace_back(name).c_str();
}

std::string doc_of(const ext::Info& info) {
  std::string doc(info.summary);
  if (is_of_places(info.name)) {
    doc += " A negative index counts from the end: -1 is the last.";
  }
  const auto add = [&doc](const char* title, std::string_view text) {
    if (!text.empty()) {
      doc.append("\n\n").append(title).append(text).append(".");
    }
  };
  if (!info.formula.empty()) {
    doc.append("\n\n    ").append(info.formula);
  }
  add("Shapes: ", info.shapes);
  add("Errors: ", info.errors);
  add("Source: ", info.source);
  return doc;
}

#define DYNET_BIND(family, Family) void define_##family(nb::module_& m);
DYNET_FAMILIES(DYNET_BIND)
#undef DYNET_BIND

#ifdef DYNET_DESCRIPTIONS
#define DYNET_BIND(family, Family) void describe_##family(nb::list& all);
DYNET_FAMILIES(DYNET_BIND)
#undef DYNET_BIND
namespace {
nb::list operations() {
  nb::list all;
#define DYNET_BIND(family, Family) describe_##family(all);
  DYNET_FAMILIES(DYNET_BIND)
#undef DYNET_BIND
  return all;
}
}  // namespace
#endif

void bind_ops(nb::module_& m) {
#define DYNET_BIND(family, Family) define_##family(m);
  DYNET_FAMILIES(DYNET_BIND)
#undef DYNET_BIND
#ifdef DYNET_DESCRIPTIONS
  m.def("_operations", &operations, nb::sig("def _operations() -> list[dict[str, typing.Any]]"),
        "All operations, with their names and examples.");
#endif
}

}  // namespace dynet::python
