#include "made.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "dynet/except.h"

#include "binding.h"

namespace dynet::python {
namespace {

nb::list lines_of(const std::string& text) {
  nb::list lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    nb::object line = nb::steal(PyUnicode_DecodeUTF8(
        text.data() + begin, static_cast<Py_ssize_t>(end - begin), "surrogateescape"));
    if (!line.is_valid()) {
      throw nb::python_error();
    }
    lines.append(line);
    begin = end + 1;
  }
  return lines;
}

/// `from_spec(spec, model)`: the constructor with the members of `spec` around the model.
nb::object from_spec(nb::handle cls, const nb::object& spec, nb::handle model) {
  const nb::tuple all(spec);
  const auto at =
      std::min(nb::cast<std::size_t>(nb::object(cls.attr("_collection_at"))), all.size());
  nb::list arguments;
  for (std::size_t i = 0; i <= all.size(); ++i) {
    if (i == at) {
      arguments.append(model);
    }
    if (i < all.size()) {
      arguments.append(nb::object(all[i]));
    }
  }
  return cls(*nb::tuple(arguments));
}

std::map<std::string, unsigned> differing(const std::map<std::string, unsigned>& before,
                                          const std::map<std::string, unsigned>& now) {
  std::map<std::string, unsigned> were;
  for (const auto& [name, uses] : now) {
    const auto found = before.find(name);
    const unsigned then = found == before.end() ? 0 : found->second;
    if (then != uses) {
      were[name] = then;
    }
  }
  return were;
}

}  // namespace

std::optional<std::string> Lines::text() const {
  if (PyUnicode_Check(ptr()) != 0) {
    return std::nullopt;
  }
  const nb::object lines = read_sequence(ptr(), "the name of a file, or a list of its lines");
  if (!lines.is_valid()) {
    throw Refused();
  }
  std::string text;
  Py_ssize_t number = 0;
  for (const nb::handle line : nb::iter(lines)) {
    if (PyUnicode_Check(line.ptr()) == 0) {
      refuse(line.ptr(), "a line of a file");
      refuse_entry(ptr(), number);
      throw Refused();
    }
    ++number;
    const nb::object bytes =
        nb::steal(PyUnicode_AsEncodedString(line.ptr(), "utf-8", "surrogateescape"));
    if (!bytes.is_valid()) {
      throw nb::python_error();
    }
    text.append(PyBytes_AS_STRING(bytes.ptr()),
                static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr())));
    text += '\n';
  }
  return text;
}

nb::list Lines::list() const {
  if (const std::optional<std::string> given = text()) {
    return lines_of(*given);
  }
  std::ifstream in(nb::cast<std::string>(*static_cast<const nb::object*>(this)), std::ios::binary);
  return lines_of(std::string(std::istreambuf_iterator<char>(in), {}));
}

namespace making {

NameUses changed(NameUses before, const ParameterCollection& now) {
  const NameUses uses = uses_in(now);
  return {differing(before.parameters, uses.parameters),
          differing(before.subcollections, uses.subcollections)};
}

nb::object made_tuple(const Made& made, int collection_at) {
  nb::list settings;
  for (const auto& [about, setting] : made.settings) {
    settings.append(nb::make_tuple(setting.method, setting.arguments));
  }
  const nb::object parent = made.parent ? nb::cast(*made.parent) : nb::none();
  return nb::make_tuple(made.spec, collection_at, parent, made.before.parameters,
                        made.before.subcollections, settings);
}

nb::object reduced(nb::handle self, const char* function) {
  return nb::module_::import_("dynet._pickling").attr(function)(self);
}

void add_from_spec(nb::handle type, int collection_at) {
  nb::setattr(type, "_collection_at", nb::int_(collection_at));
  // nanobind has no class methods: a function, wrapped.
  const nb::object function = nb::cpp_function(
      &from_spec, nb::name("from_spec"), nb::arg("cls"), nb::arg("spec"), nb::arg("model"),
      nb::sig("def from_spec(cls, spec: tuple[typing.Any, ...], model: ParameterCollection) -> "
              "typing.Any"),
      "A builder with new parameters that is otherwise made as `spec` says.");
  nb::setattr(type, "from_spec", nb::steal(PyClassMethod_New(function.ptr())));
}

}  // namespace making
}  // namespace dynet::python
