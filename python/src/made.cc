#include "made.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "binding.h"

namespace dynet::python {
namespace {

/// All classes of builders of the module.
std::vector<BuilderClass>& all_classes() {
  static std::vector<BuilderClass> of_module;
  return of_module;
}

/// `from_spec(spec, model)`: the constructor with the members of `spec` around the model.
nb::object from_spec(nb::handle cls, const nb::object& spec, nb::handle model, int collection_at) {
  if (PyTuple_Check(spec.ptr()) == 0 && PyList_Check(spec.ptr()) == 0) {
    refuse(spec.ptr(), "a tuple");
    throw Refused();
  }
  const nb::tuple all(spec);
  if (all.size() < static_cast<std::size_t>(collection_at)) {
    throw errors::ValueError("spec has " + std::to_string(all.size()) + " members; want " +
                             std::to_string(collection_at) + " or more");
  }
  const auto at = std::min(static_cast<std::size_t>(collection_at), all.size());
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

}  // namespace

const BuilderClass* builder_of(nb::handle object) {
  if (!nb::inst_check(object) || !nb::inst_ready(object)) {
    return nullptr;
  }
  const std::vector<BuilderClass>& all = all_classes();
  const auto found = std::find_if(all.begin(), all.end(), [object](const BuilderClass& builder) {
    return PyObject_TypeCheck(object.ptr(), reinterpret_cast<PyTypeObject*>(builder.type.ptr()));
  });
  return found == all.end() ? nullptr : &*found;
}

namespace making {

nb::object reduced(nb::handle self, const char* function) {
  return nb::module_::import_("dynet._pickling").attr(function)(self);
}

void add_class(const BuilderClass& builder) {
  all_classes().push_back(builder);
  if (builder.collection_at < 0) {
    return;
  }
  // nanobind has no class methods: a function, wrapped.
  const nb::object function = nb::cpp_function(
      [at = builder.collection_at](nb::handle cls, const nb::object& spec, nb::handle model) {
        return from_spec(cls, spec, model, at);
      },
      nb::name("from_spec"), nb::arg("cls"), nb::arg("spec"), nb::arg("model"),
      nb::sig("def from_spec(cls, spec: tuple[typing.Any, ...], model: ParameterCollection) -> "
              "typing.Any"),
      "A builder with new parameters that is otherwise made as `spec` says.");
  nb::setattr(builder.type, "from_spec", nb::steal(PyClassMethod_New(function.ptr())));
}

}  // namespace making

namespace {
/// (spec, place of the collection, parent or None, uses, uses of sub-collections, settings); None
/// for an object that is no builder.
nb::object made_of(nb::handle object) {
  const BuilderClass* const builder = builder_of(object);
  if (builder == nullptr) {
    return nb::none();
  }
  const Made& made = builder->made(object);
  nb::list settings;
  for (const auto& [about, setting] : made.settings) {
    settings.append(nb::make_tuple(setting.method, setting.arguments));
  }
  const nb::object parent = made.parent ? nb::cast(*made.parent) : nb::none();
  return nb::make_tuple(made.spec, builder->collection_at, parent, made.before.parameters,
                        made.before.subcollections, settings);
}
}  // namespace

void bind_made(nb::module_& m) {
  m.def("_made_of", &made_of, nb::arg("object").none(),
        nb::sig("def _made_of(object: object) -> tuple[typing.Any, ...] | None"));
}

}  // namespace dynet::python
